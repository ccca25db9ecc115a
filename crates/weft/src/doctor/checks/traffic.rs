//! What lies between a connection and its socket: tracking of connections, queues of received packets, silence.
//!
//! Must not know requests. Invariant: counters since boot are told with what they are a part of.

use super::advice::{Advice, Severity};
use super::plan::Plan;
use super::tree::Tree;

pub fn examine(tree: &Tree, plan: &Plan) -> Vec<Advice> {
    [tracked(tree, plan), softnet(tree), keepalive(tree, plan), loopback(tree)]
        .into_iter()
        .flatten()
        .collect()
}

fn tracked(tree: &Tree, plan: &Plan) -> Option<Advice> {
    let (count, max) =
        (tree.sysctl("net.netfilter.nf_conntrack_count")?, tree.sysctl("net.netfilter.nf_conntrack_max")?);
    let wanted = plan.workers * plan.connections;
    let found = format!("the firewall follows {count} connections of {max}");
    if count * 10 < max * 8 && max >= wanted {
        return Some(Advice::note("conntrack", Severity::Fine, found));
    }
    let ports: Vec<String> = plan.ports.iter().map(u16::to_string).collect();
    let which = if ports.is_empty() { String::new() } else { format!(" (ports {})", ports.join(", ")) };
    let why = format!(
        "{wanted} connections are planned{which}; beyond the bound packets of new ones are dropped without a word"
    );
    let severity = if count * 10 >= max * 9 { Severity::Serious } else { Severity::Warning };
    let buckets = tree.sysctl("net.netfilter.nf_conntrack_buckets").unwrap_or(max / 4).max(1);
    let value = max.max(2 * wanted);
    let mut advice = Advice::note("conntrack", severity, found)
        .because(why)
        .sysctl("net.netfilter.nf_conntrack_max", value);
    if value / buckets > 8 {
        advice.fix.push_str(&format!("; echo {} > /sys/module/nf_conntrack/parameters/hashsize", value / 4));
    }
    Some(advice)
}

/// The columns of /proc/net/softnet_stat, one line for each core: packets, dropped, squeezed (hexadecimal).
fn softnet(tree: &Tree) -> Option<Advice> {
    let text = tree.text("proc/net/softnet_stat")?;
    let column = |at: usize| {
        let of = |line: &str| u64::from_str_radix(line.split_ascii_whitespace().nth(at)?, 16).ok();
        text.lines().filter_map(of).sum::<u64>()
    };
    let (packets, dropped, squeezed) = (column(0), column(1), column(2));
    (dropped > 0 || squeezed * 1_000 > packets).then(|| {
        let found = format!("of {packets} packets since boot {dropped} were dropped, and the kernel gave up early {squeezed} times");
        let backlog = tree.sysctl("net.core.netdev_max_backlog").unwrap_or(1_000) * 4;
        Advice::note("softnet", if dropped * 10_000 > packets { Severity::Warning } else { Severity::Note }, found)
            .because("packets come in bursts that one core cannot take: they are sent again, after 200 ms at least")
            .sysctl("net.core.netdev_max_backlog", backlog)
    })
}

fn keepalive(tree: &Tree, plan: &Plan) -> Option<Advice> {
    let seconds = tree.sysctl("net.ipv4.tcp_keepalive_time")?;
    (plan.idle_timeout_ms == 0 && seconds > 600).then(|| {
        Advice::note("net.ipv4.tcp_keepalive_time", Severity::Note, format!("a silent connection is asked after {seconds} s whether its peer lives"))
            .because("idle connections are never closed (idle_timeout_ms = 0), and routers between forget them after some minutes")
            .sysctl("net.ipv4.tcp_keepalive_time", 300)
    })
}

fn loopback(tree: &Tree) -> Option<Advice> {
    let mtu = tree.number("sys/class/net/lo/mtu")?;
    (mtu < 16_384).then(|| {
        Advice::note("lo", Severity::Note, format!("packets to this machine itself are of {mtu} bytes"))
            .because("databases and proxies on the same machine cost more segments")
            .fix("ip link set lo mtu 65536")
    })
}
