//! Settings of the kernel that were good advice once: where they stand, and what has become of them.
//!
//! Must not know what is set now: a line in a file comes back with the next start of the machine. Invariant: each is named with
//! its file and line.

use super::advice::{Advice, Severity};
use super::tree::Tree;

/// Where such lines are (sysctl.d(5)), the last word first.
const PLACES: [&str; 5] =
    ["etc/sysctl.d", "run/sysctl.d", "usr/local/lib/sysctl.d", "usr/lib/sysctl.d", "lib/sysctl.d"];

/// A setting, whether a value of it is aged, how bad that is, and why.
type Aged = (&'static str, fn(&[u64]) -> bool, Severity, &'static str);

const AGED: [Aged; 9] = [
    (
        "net.ipv4.tcp_tw_recycle",
        |_| true,
        Severity::Note,
        "it is gone since Linux 4.12, where it broke clients behind NAT; the line does nothing, and sysctl -p fails at it",
    ),
    (
        "net.ipv4.tcp_max_tw_buckets",
        |values| values.first().is_some_and(|value| *value < 65_536),
        Severity::Warning,
        "beyond so few, connections are forgotten at once that the kernel should remember for a minute: late segments reach \
         other connections. An entry costs 250 bytes",
    ),
    (
        "net.ipv4.tcp_fin_timeout",
        |values| values.first().is_some_and(|value| *value < 60),
        Severity::Note,
        "it does not shorten TIME_WAIT, which is a constant of 60 s; it cuts off clients that have not confirmed the end of an answer",
    ),
    (
        "net.ipv4.route.max_size",
        |_| true,
        Severity::Note,
        "the cache of routes it bounded is gone since Linux 3.6; in IPv6 it bounded too little",
    ),
    (
        "net.ipv4.tcp_timestamps",
        |values| values.first() == Some(&0),
        Severity::Warning,
        "without timestamps, ports cannot be reused early (tcp_tw_reuse), and fast connections wrap their sequence numbers",
    ),
    (
        "net.ipv4.tcp_sack",
        |values| values.first() == Some(&0),
        Severity::Warning,
        "without it one lost segment has everything behind it sent again; the defects it was turned off for in 2019 are mended",
    ),
    (
        "net.ipv4.tcp_tw_reuse",
        |values| values.first() == Some(&1),
        Severity::Note,
        "it matters for outgoing connections only; what helps is to keep them. 2, for loopback only, is the kernel's own choice",
    ),
    (
        "net.ipv4.tcp_mem",
        |values| !values.is_empty(),
        Severity::Note,
        "the kernel chooses it by the machine's memory; a fixed value bounds a larger machine later (it is in pages, not bytes)",
    ),
    ("net.ipv4.tcp_low_latency", |_| true, Severity::Note, "it does nothing since Linux 4.14"),
];

pub fn examine(tree: &Tree) -> Vec<Advice> {
    let own = std::iter::once("etc/sysctl.conf".to_owned());
    let below = PLACES.iter().flat_map(|place| {
        let files = tree.names(place).into_iter().filter(|name| name.ends_with(".conf"));
        files.map(move |name| format!("{place}/{name}"))
    });
    own.chain(below).flat_map(|file| in_file(tree, &file)).collect()
}

fn in_file(tree: &Tree, file: &str) -> Vec<Advice> {
    let text = tree.text(file).unwrap_or_default();
    let lines = text.lines().enumerate();
    lines.filter_map(|(index, line)| in_line(file, index + 1, line)).collect()
}

fn in_line(file: &str, number: usize, line: &str) -> Option<Advice> {
    let line = line.trim();
    if line.starts_with(['#', ';']) {
        return None;
    }
    let (key, value) = line.split_once('=')?;
    // A key may begin with "-" (errors are ignored), and have slashes.
    let key = key.trim().trim_start_matches('-').replace('/', ".");
    let values: Vec<u64> = value.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
    let (subject, _, severity, why) =
        *AGED.iter().find(|(name, is_aged, ..)| *name == key && is_aged(&values))?;
    let found = format!("/{file}:{number}: {key} = {}", value.trim());
    let fix = format!(
        "sed -i {number}d /{file}, and restart the machine, or set the kernel's own value with sysctl -w"
    );
    Some(Advice::note(subject, severity, found).because(why).fix(fix))
}
