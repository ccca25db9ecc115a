//! Connections to other servers: ports, and connections that have ended but are not forgotten.
//!
//! Must not know who connects. Invariant: connections are counted by the address they went to, since ports run out by address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::advice::{Advice, Severity};
use super::tree::Tree;

/// TIME-WAIT and ESTABLISHED in /proc/net/tcp (include/net/tcp_states.h).
const TIME_WAIT: &str = "06";
const ESTABLISHED: &str = "01";
/// Lines that are read of a table: enough to see what fills it.
const LINES_MAX: usize = 500_000;

pub fn examine(tree: &Tree) -> Vec<Advice> {
    [ports(tree), used_up(tree), reuse(tree), ends(tree)].into_iter().flatten().collect()
}

/// The ports of outgoing connections to one address, less those that are reserved.
pub fn ports_free(tree: &Tree) -> Option<u64> {
    let [first, last] = tree.sysctls("net.ipv4.ip_local_port_range")[..] else { return None };
    let reserved = tree.text("proc/sys/net/ipv4/ip_local_reserved_ports").unwrap_or_default();
    let within = |range: &str| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let (from, to) = (from.trim().parse::<u64>().ok()?, to.trim().parse::<u64>().ok()?);
        (to.min(last) + 1).checked_sub(from.max(first))
    };
    let taken: u64 = reserved.split(',').filter_map(within).sum();
    Some((last + 1).saturating_sub(first).saturating_sub(taken))
}

fn ports(tree: &Tree) -> Option<Advice> {
    let ports = ports_free(tree)?;
    let found = format!("{ports} connections at once to one address and port (net.ipv4.ip_local_port_range)");
    if ports >= 20_000 {
        return Some(Advice::note("ports", Severity::Fine, found));
    }
    Some(
        Advice::note("ports", Severity::Warning, found)
            .because("to a database or an upstream without keep-alive they last a minute each: beyond that connect() fails")
            .sysctl("net.ipv4.ip_local_port_range", "15000 65535"),
    )
}

fn used_up(tree: &Tree) -> Option<Advice> {
    let free = ports_free(tree)?;
    let (peer, waiting, open) = census(tree).into_iter().max_by_key(|(_, waiting, open)| waiting + open)?;
    // Where this machine answers, its own port is the well-known one, and the peers' ports differ.
    let is_full = waiting + open > free / 2;
    (is_full || waiting > 1_000).then(|| {
        let found = format!("{waiting} ended connections to {peer} keep their ports for a minute, {open} are open; there are {free} ports");
        let severity = if is_full { Severity::Serious } else { Severity::Warning };
        Advice::note("TIME_WAIT", severity, found)
            .because("this side closes first, so the client of that server does not keep its connections")
            .fix(format!("keep the connections to {peer}: a pool (Weft\\Database), persistent PDO, or one curl handle that is reused"))
    })
}

fn reuse(tree: &Tree) -> Option<Advice> {
    let (reuse, stamps) = (tree.sysctl("net.ipv4.tcp_tw_reuse")?, tree.sysctl("net.ipv4.tcp_timestamps")?);
    (reuse > 0 && stamps == 0).then(|| {
        Advice::note("net.ipv4.tcp_timestamps", Severity::Warning, "net.ipv4.tcp_timestamps = 0 beside tcp_tw_reuse")
            .because("ports are reused only with timestamps, and without them a connection at full rate wraps its sequence numbers")
            .sysctl("net.ipv4.tcp_timestamps", 1)
    })
}

fn ends(tree: &Tree) -> Option<Advice> {
    let (orphans, max) = (orphans(tree)?, tree.sysctl("net.ipv4.tcp_max_orphans")?);
    (orphans > max / 2).then(|| {
        Advice::note(
            "orphans",
            Severity::Warning,
            format!("{orphans} connections are being ended that no process has, of {max}"),
        )
        .because("beyond that the kernel resets them, and clients lose the ends of answers")
        .sysctl("net.ipv4.tcp_max_orphans", max * 2)
    })
}

fn orphans(tree: &Tree) -> Option<u64> {
    let text = tree.text("proc/net/sockstat")?;
    let line = text.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = line.split_ascii_whitespace().skip_while(|word| *word != "orphan");
    words.nth(1)?.parse().ok()
}

/// Outgoing connections by the address they went to: those in TIME-WAIT, and those that are open.
pub fn census(tree: &Tree) -> Vec<(SocketAddr, u64, u64)> {
    let mut seen: HashMap<SocketAddr, (u64, u64)> = HashMap::new();
    let [first, last] = tree.sysctls("net.ipv4.ip_local_port_range")[..] else { return Vec::new() };
    for file in ["proc/net/tcp", "proc/net/tcp6"] {
        for line in tree.text(file).unwrap_or_default().lines().skip(1).take(LINES_MAX) {
            let mut words = line.split_ascii_whitespace().skip(1);
            let (Some(own), Some(peer), Some(state)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let (Some(own), Some(peer)) = (address(own), address(peer)) else { continue };
            let is_outgoing = (first..=last).contains(&u64::from(own.port()))
                && !(first..=last).contains(&u64::from(peer.port()));
            let counts = seen.entry(peer).or_default();
            counts.0 += u64::from(is_outgoing && state == TIME_WAIT);
            counts.1 += u64::from(is_outgoing && state == ESTABLISHED);
        }
    }
    seen.into_iter().map(|(peer, (waiting, open))| (peer, waiting, open)).collect()
}

/// `0100007F:0050` is 127.0.0.1:80: each word of an address is written as the machine keeps it (proc_net(5)).
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    let words: Vec<u32> = (0..host.len() / 8)
        .map(|word| u32::from_str_radix(host.get(word * 8..word * 8 + 8)?, 16).ok())
        .collect::<Option<_>>()?;
    let ip = match words[..] {
        [one] => IpAddr::V4(Ipv4Addr::from(one.to_ne_bytes())),
        [a, b, c, d] => {
            let bytes: Vec<u8> = [a, b, c, d].iter().flat_map(|word| word.to_ne_bytes()).collect();
            IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}
