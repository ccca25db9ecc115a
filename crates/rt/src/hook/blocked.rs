//! Counters per symbol: how often it blocked the whole worker because the coroutine could not leave, and how often an
//! offload thread ran it.

use std::sync::atomic::{AtomicU64, Ordering};

use super::names::{ALL, Symbol};

type Counts = [AtomicU64; ALL.len()];

static BLOCKED: Counts = [const { AtomicU64::new(0) }; ALL.len()];
static OFFLOADED: Counts = [const { AtomicU64::new(0) }; ALL.len()];

/// Counts a call that blocks. Returns `true` if it is the first of its symbol.
pub(super) fn count(symbol: Symbol) -> bool {
    BLOCKED[symbol as usize].fetch_add(1, Ordering::Relaxed) == 0
}

pub(super) fn count_offloaded(symbol: Symbol) {
    OFFLOADED[symbol as usize].fetch_add(1, Ordering::Relaxed);
}

/// The symbols that have blocked at least once since the process began, with their counts.
pub fn blocked_calls() -> impl Iterator<Item = (&'static str, u64)> {
    named(&BLOCKED)
}

/// The symbols that a thread has called at least once since the process began, with their counts.
pub fn offloaded_calls() -> impl Iterator<Item = (&'static str, u64)> {
    named(&OFFLOADED)
}

/// What the function is called that [`BlockedAt`](crate::blocking::BlockedAt) names by its number.
pub fn function_name(number: usize) -> &'static str {
    ALL.get(number).map_or("", |&(name, _)| name)
}

fn named(counts: &'static Counts) -> impl Iterator<Item = (&'static str, u64)> {
    let counts = ALL.iter().zip(counts);
    counts.map(|(&(name, _), count)| (name, count.load(Ordering::Relaxed))).filter(|&(_, count)| count > 0)
}
