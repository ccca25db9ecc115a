//! How often each hooked symbol blocked the whole worker because the coroutine could not leave.

use std::sync::atomic::{AtomicU64, Ordering};

use super::symbols::{SYMBOLS, Symbol};

static COUNTS: [AtomicU64; SYMBOLS.len()] = [const { AtomicU64::new(0) }; SYMBOLS.len()];

pub(super) fn count(symbol: Symbol) {
    COUNTS[symbol as usize].fetch_add(1, Ordering::Relaxed);
}

/// The symbols that blocked at least once since the process began, with how often.
pub fn blocked_calls() -> impl Iterator<Item = (&'static str, u64)> {
    let counts = SYMBOLS.iter().zip(&COUNTS);
    counts.map(|(row, count)| (row.name, count.load(Ordering::Relaxed))).filter(|&(_, count)| count > 0)
}
