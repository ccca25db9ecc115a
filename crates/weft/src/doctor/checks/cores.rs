//! Which processors share a core, and which of them this process may use.
//!
//! Must not know what runs there. Invariant: a processor whose core is unknown is a core of its own.

use std::collections::{BTreeMap, BTreeSet};

use super::advice::{Advice, Severity};
use super::plan::Plan;
use super::tree::Tree;

/// Where the kernel describes processors: `topology/thread_siblings_list` of each names those of its core
/// (Documentation/admin-guide/cputopology.rst).
const PROCESSORS: &str = "sys/devices/system/cpu";

pub fn examine(tree: &Tree, plan: &Plan) -> Vec<Advice> {
    paired(tree, plan).into_iter().collect()
}

/// The processors in a list such as `0-3,8`.
pub fn list(text: &str) -> BTreeSet<u32> {
    let of = |range: &str| {
        let (first, last) = range.trim().split_once('-').unwrap_or((range.trim(), range.trim()));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    };
    text.split(',').filter_map(of).flatten().collect()
}

/// A list such as `0-3,8` of these processors.
pub fn listed(processors: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &processor in processors {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == processor => *last = processor,
            _ => ranges.push((processor, processor)),
        }
    }
    let range = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

/// The processors that this process may use; empty if that is unknown.
pub fn allowed(tree: &Tree) -> BTreeSet<u32> {
    let status = tree.text("proc/self/status").unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(list).unwrap_or_default()
}

/// How this process is kept on these processors from now on: fix and keep.
pub fn pinned(tree: &Tree, processors: &str) -> (String, String) {
    match tree.unit() {
        Some(unit) => (
            format!("systemctl edit {unit}: [Service] CPUAffinity={processors}"),
            format!("systemctl restart {unit}"),
        ),
        None if tree.is_container() => {
            (format!("start the container with --cpuset-cpus={processors}"), String::new())
        }
        None => (
            format!("taskset -c {processors} weft serve …"),
            format!("[Service] CPUAffinity={processors} in the unit that starts weft"),
        ),
    }
}

/// The hardware threads of each core, by the first of them.
fn cores(tree: &Tree) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut cores: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for name in tree.names(PROCESSORS) {
        let Some(number) = name.strip_prefix("cpu").and_then(|number| number.parse::<u32>().ok()) else {
            continue;
        };
        let file = format!("{PROCESSORS}/{name}/topology/thread_siblings_list");
        let siblings = tree.text(&file).map(|text| list(&text)).unwrap_or_default();
        let first = siblings.first().copied().unwrap_or(number);
        cores.entry(first).or_default().insert(number);
    }
    cores
}

/// Threads of a core share its execution units: two workers there are slower than on two cores. That can only be changed where
/// somebody has chosen the processors, and other cores are left.
fn paired(tree: &Tree, plan: &Plan) -> Option<Advice> {
    let (cores, allowed) = (cores(tree), allowed(tree));
    let used = cores.values().filter(|threads| !threads.is_disjoint(&allowed)).count();
    let busy = (plan.workers as usize).min(allowed.len());
    if allowed.is_empty() || busy <= used || used == cores.len() {
        return None;
    }
    let wanted: BTreeSet<u32> = cores.keys().copied().take(allowed.len()).collect();
    let found = format!(
        "processors {} are hardware threads of {used} cores; the machine has {} cores",
        listed(&allowed),
        cores.len()
    );
    let (fix, keep) = pinned(tree, &listed(&wanted));
    let fix = format!("{fix}, unless the other cores are somebody else's");
    let why = format!(
        "{} workers run there: two that share a core together do little more than one alone, while other cores are left",
        plan.workers
    );
    Some(Advice { fix, keep, ..Advice::note("hardware threads", Severity::Note, found).because(why) })
}

#[cfg(test)]
#[test]
fn a_list_of_processors_is_read_and_written() {
    let counts = ["0-3,8", "0", " 2-2\n", "", "3-1"].map(|text| list(text).len());
    assert_eq!(counts, [5, 1, 1, 0, 0]);
    assert_eq!(listed(&list("8,0-2, 4-5\n")), "0-2,4-5,8");
}
