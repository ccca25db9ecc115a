//! Those that gave way at the end of a time slice, or whose wait has ended after they had computed for a while, in the
//! order in which they run again.
//!
//! Must not know when a slice ends: that is `runtime/slice.rs`. Invariant: each gets its turn. Those that have computed for
//! long have a slice each in the order of arrival, and who was interrupted before its slice had ended goes on with it first.
//! The others are ordered by when they are due.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use crate::board::Board;
use crate::coroutine::Coroutine;
use crate::{Nanos, Wait};

/// Every so many times it is the turn of one that has computed for long.
const TURN_OF_LONG: u32 = 4;

/// The state of slices in a runtime.
pub(crate) struct Slices {
    pub board: &'static Board,
    /// Those that have not computed for long, with the moment at which each is due.
    short: RefCell<VecDeque<(Nanos, Wait)>>,
    long: RefCell<VecDeque<Wait>>,
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
            short: RefCell::default(),
            long: RefCell::default(),
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

    pub(crate) fn is_empty(&self) -> bool {
        self.board.behind.load(Ordering::Relaxed) == 0
    }

    /// `due`: before those that are due later.
    pub(crate) fn push_short(&self, due: Nanos, wait: Wait) {
        let mut short = self.short.borrow_mut();
        let at = short.partition_point(|(other, _)| *other <= due);
        short.insert(at, (due, wait));
        drop(short);
        self.tell();
    }

    /// `goes_on`: before the others. At most the one that was popped last may, so that no other waits longer than for the
    /// rest of its slice.
    pub(crate) fn push_long(&self, wait: Wait, goes_on: bool) {
        if goes_on {
            self.long.borrow_mut().push_front(wait);
        } else {
            self.long.borrow_mut().push_back(wait);
        }
        self.tell();
    }

    fn tell(&self) {
        let count = self.short.borrow().len() + self.long.borrow().len();
        self.board.behind.store(count, Ordering::Relaxed);
    }

    /// Whether one waits that is due before that.
    pub(crate) fn has_sooner(&self, due: Nanos) -> bool {
        self.short.borrow().front().is_some_and(|(other, _)| *other < due)
    }

    /// Who runs next of those that gave way.
    pub(crate) fn pop(&self) -> Option<Wait> {
        let turn = self.turns.get().wrapping_add(1);
        let pop_short = || self.short.borrow_mut().pop_front().map(|(_, wait)| wait);
        let pop_long = || self.long.borrow_mut().pop_front();
        let next = if turn.is_multiple_of(TURN_OF_LONG) {
            pop_long().or_else(pop_short)
        } else {
            pop_short().or_else(pop_long)
        }?;
        self.turns.set(turn);
        self.tell();
        Some(next)
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
    fn of_those_that_have_not_computed_for_long_whoever_is_due_first_is_next() {
        let slices = slices();
        for (due, number) in [(30, 3), (10, 1), (20, 2), (10, 4)] {
            slices.push_short(due, wait(number));
        }
        assert!(slices.has_sooner(20) && !slices.has_sooner(10));
        assert_eq!(order(&slices), [1, 4, 2, 3]);
        assert!(slices.is_empty());
    }

    #[test]
    fn those_that_have_computed_for_long_run_as_they_come_and_who_was_interrupted_goes_on() {
        let slices = slices();
        for number in [1, 2, 3] {
            slices.push_long(wait(number), false);
        }
        let first = slices.pop().unwrap();
        slices.push_long(first, true);
        assert_eq!(order(&slices), [1, 2, 3]);
    }

    #[test]
    fn those_that_have_computed_for_long_get_every_fourth_turn() {
        let slices = slices();
        for number in 1..=6 {
            slices.push_short(u64::from(number), wait(number));
            slices.push_long(wait(10 + number), false);
        }
        assert_eq!(order(&slices)[..8], [1, 2, 3, 11, 4, 5, 6, 12]);
    }
}
