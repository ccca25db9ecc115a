//! Those that gave way at the end of a time slice, in the order in which they run again.
//!
//! Must not know when a slice ends: that is `runtime/slice.rs`. Invariant: each gets its turn, in the order of arrival
//! within its queue; who was interrupted before its slice had ended goes on with it first.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use crate::Wait;
use crate::ticker::Board;

/// Queues of those that gave way, by what they have computed so far.
pub(crate) const LEVELS: usize = 3;
/// Every so many times it is the turn of the highest level that is not empty.
const TURN_OF_THE_HIGHEST: u32 = 4;

/// The state of slices in a runtime.
pub(crate) struct Slices {
    pub board: &'static Board,
    behind: RefCell<[VecDeque<Wait>; LEVELS]>,
    turns: Cell<u32>,
    /// Whether each question whether a slice has ended is answered with yes.
    pub ends_each: Cell<bool>,
    /// Whether the coroutine that runs is one of those that gave way.
    pub is_behind: Cell<bool>,
}

impl Slices {
    pub(crate) fn new(board: &'static Board) -> Slices {
        Slices {
            board,
            behind: RefCell::default(),
            turns: Cell::new(0),
            ends_each: Cell::new(false),
            is_behind: Cell::new(false),
        }
    }

    /// Changes with each tick while coroutines run.
    pub(crate) fn ticks(&self) -> u32 {
        self.board.of_others.load(Ordering::Relaxed)
    }

    /// How many there are in the queues.
    fn waiting(&self) -> usize {
        self.board.behind.load(Ordering::Relaxed)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting() == 0
    }

    /// `goes_on`: before the others of its queue. At most the one that was popped last may, so that no other waits longer
    /// than for the rest of its slice.
    pub(crate) fn push(&self, level: usize, wait: Wait, goes_on: bool) {
        let queue = &mut self.behind.borrow_mut()[level];
        if goes_on {
            queue.push_front(wait);
        } else {
            queue.push_back(wait);
        }
        self.board.behind.store(self.waiting() + 1, Ordering::Relaxed);
    }

    /// Who runs next of those that gave way.
    pub(crate) fn pop(&self) -> Option<Wait> {
        let mut behind = self.behind.borrow_mut();
        let turn = self.turns.get().wrapping_add(1);
        let lowest = behind.iter().position(|level| !level.is_empty())?;
        let highest = behind.iter().rposition(|level| !level.is_empty())?;
        let level = if turn.is_multiple_of(TURN_OF_THE_HIGHEST) { highest } else { lowest };
        self.turns.set(turn);
        self.board.behind.store(self.waiting() - 1, Ordering::Relaxed);
        behind[level].pop_front()
    }
}
