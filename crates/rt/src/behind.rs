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
use crate::usual::Usual;
use crate::{Nanos, Wait};

/// For each tick of one that has computed for long, the others have so many while both wait.
const TICKS_OF_SHORT: u32 = 3;

/// The state of slices in a runtime.
pub(crate) struct Slices {
    pub board: &'static Board,
    /// For how long jobs compute.
    pub usual: Usual,
    /// Those that have not computed for long, with the moment at which each is due.
    short: RefCell<VecDeque<(Nanos, Wait)>>,
    long: RefCell<VecDeque<Wait>>,
    /// Ticks that those who have not computed for long have had since it was the turn of one that has.
    ahead: Cell<u32>,
    is_turn_of_long: Cell<bool>,
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
            usual: Usual::default(),
            short: RefCell::default(),
            long: RefCell::default(),
            ahead: Cell::new(0),
            is_turn_of_long: Cell::new(false),
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
        let pop_short = || self.short.borrow_mut().pop_front().map(|(_, wait)| wait);
        let pop_long = || self.long.borrow_mut().pop_front();
        let next = if self.is_turn_of_long.get() {
            pop_long().or_else(pop_short)
        } else {
            pop_short().or_else(pop_long)
        }?;
        self.tell();
        Some(next)
    }

    /// One that was popped has computed for so many ticks; a slice has so many. Time counts and not turns, because every event
    /// interrupts one that has computed for long: its turns are shorter than those of others.
    pub(crate) fn had(&self, ticks: u32, is_long: bool, slice: u32) {
        let turn = slice.saturating_mul(TICKS_OF_SHORT);
        if is_long {
            self.ahead.set(self.ahead.get().saturating_sub(ticks.saturating_mul(TICKS_OF_SHORT)));
            if self.ahead.get() == 0 {
                self.is_turn_of_long.set(false);
            }
        } else {
            self.ahead.set(self.ahead.get().saturating_add(ticks).min(turn));
            if self.ahead.get() == turn {
                self.is_turn_of_long.set(true);
            }
        }
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
    fn those_that_have_computed_for_long_get_a_quarter_of_the_time_however_often_they_are_interrupted() {
        const SLICE: u32 = 8;
        let slices = slices();
        let (mut turns, mut ticks) = (Vec::new(), [0, 0]);
        slices.push_short(1, wait(0));
        slices.push_long(wait(1), false);
        for _ in 0..6 * (3 + SLICE) {
            let next = slices.pop().unwrap();
            let is_long = next.number == 1;
            let had = if is_long { 1 } else { SLICE };
            if is_long {
                slices.push_long(next, true);
            } else {
                slices.push_short(1, next);
            }
            slices.had(had, is_long, SLICE);
            turns.push(next.number);
            ticks[usize::from(is_long)] += had;
        }
        assert_eq!(turns[..14], [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0]);
        assert_eq!(ticks[0], 3 * ticks[1]);
    }

    #[test]
    fn what_one_that_has_computed_for_long_is_owed_does_not_grow_while_none_is_there() {
        const SLICE: u32 = 8;
        let slices = slices();
        (0..100).for_each(|_| slices.had(SLICE, false, SLICE));
        slices.push_short(1, wait(0));
        slices.push_long(wait(1), false);
        slices.push_long(wait(2), false);
        assert_eq!(slices.pop().unwrap(), wait(1));
        slices.had(SLICE, true, SLICE);
        assert_eq!(order(&slices), [0, 2], "it has had its slice");
    }
}
