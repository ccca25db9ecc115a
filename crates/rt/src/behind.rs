//! Those that gave way at the end of a time slice, or whose wait has ended after they had computed for a while, in the
//! order in which they run again.
//!
//! Must not know when a slice ends: that is `runtime/slice.rs`. Invariant: each gets its turn. In the highest queue that
//! is the order of arrival, and who was interrupted before its slice had ended goes on with it first. In the others it is
//! the order in which they began: who began first ends first, and the fewest are in the midst of their work.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use crate::board::Board;
use crate::coroutine::Coroutine;
use crate::{Nanos, Wait};

/// Queues of those that gave way, by what they have computed so far.
pub(crate) const LEVELS: usize = 3;
pub(crate) const HIGHEST: usize = LEVELS - 1;
/// Every so many times it is the turn of the highest level that is not empty.
const TURN_OF_THE_HIGHEST: u32 = 4;

/// The state of slices in a runtime.
pub(crate) struct Slices {
    pub board: &'static Board,
    /// With the moment at which each began.
    behind: RefCell<[VecDeque<(Nanos, Wait)>; LEVELS]>,
    turns: Cell<u32>,
    /// The tick at which the running coroutine was entered, or was last counted.
    entered: Cell<u32>,
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
            entered: Cell::new(0),
            ends_each: Cell::new(false),
            is_behind: Cell::new(false),
        }
    }

    /// Changes with each tick while coroutines run.
    #[inline]
    pub(crate) fn ticks(&self) -> u32 {
        self.board.ticked.load(Ordering::Relaxed)
    }

    /// A coroutine is entered.
    #[inline]
    pub(crate) fn entered(&self) {
        self.entered.set(self.ticks());
    }

    /// Whether ticks have to be counted for the coroutine that was entered last.
    #[inline]
    pub(crate) fn has_computed(&self) -> bool {
        self.entered.get() != self.ticks()
    }

    /// Counts them. A short run is counted as a tick or as none, which is right on the average.
    pub(crate) fn count(&self, coroutine: &mut Coroutine) {
        self.board.catch_up();
        let ticks = self.ticks();
        coroutine.computed =
            coroutine.computed.saturating_add(ticks.wrapping_sub(self.entered.replace(ticks)));
    }

    /// How many there are in the queues.
    fn waiting(&self) -> usize {
        self.board.behind.load(Ordering::Relaxed)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting() == 0
    }

    /// `begun`: the moment at which its job began. `goes_on`: before the others of the highest queue. At most the one that
    /// was popped last may, so that no other waits longer than for the rest of its slice.
    pub(crate) fn push(&self, level: usize, begun: Nanos, wait: Wait, goes_on: bool) {
        let queue = &mut self.behind.borrow_mut()[level];
        let at = match level {
            HIGHEST if goes_on => 0,
            HIGHEST => queue.len(),
            _ => queue.partition_point(|(other, _)| *other <= begun),
        };
        queue.insert(at, (begun, wait));
        self.board.behind.store(self.waiting() + 1, Ordering::Relaxed);
    }

    /// Whether one that began earlier waits, in this queue or a lower one.
    pub(crate) fn has_older(&self, level: usize, begun: Nanos) -> bool {
        self.behind.borrow()[..=level]
            .iter()
            .any(|queue| queue.front().is_some_and(|(other, _)| *other < begun))
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
        behind[level].pop_front().map(|(_, wait)| wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CoroutineId;

    fn slices() -> Slices {
        Slices::new(Box::leak(Box::default()))
    }

    fn wait(number: u32) -> Wait {
        Wait { coroutine: CoroutineId { index: number, generation: 1 }, number }
    }

    fn order(slices: &Slices) -> Vec<u32> {
        std::iter::from_fn(|| slices.pop()).map(|wait| wait.number).collect()
    }

    #[test]
    fn below_the_highest_queue_whoever_began_first_is_next() {
        let slices = slices();
        for (begun, number) in [(30, 3), (10, 1), (20, 2), (10, 4)] {
            slices.push(1, begun, wait(number), false);
        }
        slices.push(0, 40, wait(5), false);
        assert!(slices.has_older(1, 20) && slices.has_older(0, 50));
        assert!(!slices.has_older(1, 10) && !slices.has_older(0, 40));
        assert_eq!(order(&slices), [5, 1, 4, 2, 3]);
        assert!(slices.is_empty());
    }

    #[test]
    fn in_the_highest_queue_the_order_is_that_of_arrival_and_who_was_interrupted_goes_on() {
        let slices = slices();
        for number in [1, 2, 3] {
            slices.push(HIGHEST, 10 - u64::from(number), wait(number), false);
        }
        let first = slices.pop().unwrap();
        slices.push(HIGHEST, 0, first, true);
        assert_eq!(order(&slices), [1, 2, 3]);
    }

    #[test]
    fn those_that_have_computed_for_long_get_every_fourth_turn() {
        let slices = slices();
        for number in 1..=6 {
            slices.push(0, u64::from(number), wait(number), false);
            slices.push(HIGHEST, 0, wait(10 + number), false);
        }
        assert_eq!(order(&slices)[..8], [1, 2, 3, 11, 4, 5, 6, 12]);
    }
}
