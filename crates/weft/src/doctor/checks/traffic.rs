//! What lies between a connection and its socket: tracking of connections, queues of received packets, silence.
//!
//! Must not know requests. Invariant: counters since boot are told with what they are a part of.

use super::advice::{Advice, Severity};
use super::plan::Plan;
use super::tree::Tree;

pub fn examine(tree: &Tree, plan: &Plan) -> Vec<Advice> {
    [tracked(tree, plan), softnet(tree), squeezed(tree), keepalive(tree, plan), loopback(tree)]
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

/// A processor's line of /proc/net/softnet_stat (`softnet_seq_show` in the kernel's net/core/net-procfs.c). Its counters have 32 bits,
/// and begin anew.
struct Softnet {
    processor: u64,
    packets: u64,
    /// Packets that found its queue full.
    dropped: u64,
    /// Times that it gave up early, with packets left.
    squeezed: u64,
}

fn softnet_lines(tree: &Tree) -> Vec<Softnet> {
    let text = tree.text("proc/net/softnet_stat").unwrap_or_default();
    let line = |(place, line): (u64, &str)| {
        let columns: Vec<u64> =
            line.split_ascii_whitespace().map_while(|word| u64::from_str_radix(word, 16).ok()).collect();
        let [packets, dropped, squeezed, ..] = columns[..] else { return None };
        // Older kernels do not name it; there processors that are offline have no line, and shift the others.
        let processor = columns.get(12).copied().unwrap_or(place);
        Some(Softnet { processor, packets, dropped, squeezed })
    };
    (0..).zip(text.lines()).filter_map(line).collect()
}

/// A processor's queue is for packets that come from the machine itself, or that another processor has steered to it.
fn softnet(tree: &Tree) -> Option<Advice> {
    let lines = softnet_lines(tree);
    let dropped: u64 = lines.iter().map(|line| line.dropped).sum();
    let packets: u64 = lines.iter().map(|line| line.packets).sum();
    let worst = lines.iter().max_by_key(|line| line.dropped).filter(|line| line.dropped > 0)?;
    let found = format!(
        "of {packets} packets since boot {dropped} were dropped, {} of them at processor {}",
        worst.dropped, worst.processor
    );
    let severity = if dropped * 10_000 > packets { Severity::Warning } else { Severity::Note };
    let backlog = tree.sysctl("net.core.netdev_max_backlog").unwrap_or(1_000) * 4;
    Some(
        Advice::note("softnet", severity, found)
            .because("packets come in bursts for which a processor's queue has no room: they are sent again, after 200 ms at least")
            .sysctl("net.core.netdev_max_backlog", backlog),
    )
}

/// A turn of receiving ends after `netdev_budget` packets or `netdev_budget_usecs`, whichever is first
/// (Documentation/admin-guide/sysctl/net.rst). Where a thousandth of the packets sees that, it is a third of the packets: a turn has
/// up to 300.
fn squeezed(tree: &Tree) -> Option<Advice> {
    let lines = softnet_lines(tree);
    let worst =
        lines.iter().filter(|line| line.squeezed * 1_000 > line.packets).max_by_key(|line| line.squeezed)?;
    let (budget, micros) = (
        tree.sysctl("net.core.netdev_budget").unwrap_or(300),
        tree.sysctl("net.core.netdev_budget_usecs").unwrap_or(2_000),
    );
    let found = format!(
        "processor {} ended receiving early {} times, with packets left, for {} packets since boot",
        worst.processor, worst.squeezed, worst.packets
    );
    let mut advice = Advice::note("time_squeeze", Severity::Note, found)
        .because("what is left waits for the next turn, behind other work of that processor, and fills the ring of the card meanwhile")
        .sysctl("net.core.netdev_budget", budget * 2);
    let (key, value) = ("net.core.netdev_budget_usecs", micros * 2);
    advice.fix.push_str(&format!("; sysctl -w {key}='{value}'"));
    advice.keep.push_str(&format!("; echo '{key} = {value}' >> /etc/sysctl.d/60-weft.conf"));
    Some(advice)
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
