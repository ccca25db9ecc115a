//! Those that gave way at the end of a time slice, and what is known of the present one.
//!
//! Must not know when a slice ends: that is `runtime/slice.rs`. Invariant: each gets its turn, in the order of arrival within
//! its queue.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use crate::Wait;

/// Queues of those that gave way, by what they have computed so far.
pub(crate) const LEVELS: usize = 3;
/// Every so many times it is the turn of the highest level that is not empty.
const TURN_OF_THE_HIGHEST: u32 = 4;

/// The state of slices in a runtime.
#[derive(Default)]
pub(crate) struct Slices {
    /// The heartbeat at the last tick, and how many ticks have found it so.
    pub beat: Cell<u64>,
    pub ticks: Cell<u32>,
    /// Whether ticks come.
    pub ticking: Cell<bool>,
    /// Ticks since one of those that gave way has run.
    pub of_others: Cell<u32>,
    behind: RefCell<[VecDeque<Wait>; LEVELS]>,
    /// How many there are in these queues.
    waiting: Cell<usize>,
    turns: Cell<u32>,
}

impl Slices {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.get() == 0
    }

    pub(crate) fn push(&self, level: usize, wait: Wait) {
        self.behind.borrow_mut()[level].push_back(wait);
        self.waiting.set(self.waiting.get() + 1);
    }

    /// Who runs next of those that gave way.
    pub(crate) fn pop(&self) -> Option<Wait> {
        let mut behind = self.behind.borrow_mut();
        let turn = self.turns.get().wrapping_add(1);
        let lowest = behind.iter().position(|level| !level.is_empty())?;
        let highest = behind.iter().rposition(|level| !level.is_empty())?;
        let level = if turn.is_multiple_of(TURN_OF_THE_HIGHEST) { highest } else { lowest };
        self.turns.set(turn);
        self.waiting.set(self.waiting.get() - 1);
        behind[level].pop_front()
    }
}
