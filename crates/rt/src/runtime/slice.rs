//! Time slices: which coroutine that computes gives way, and when it runs again.
//!
//! While coroutines run, the ticker says that the running one should give way; the switch then calls [`Runtime::give_way`]
//! as soon as the coroutine is where it may leave. One that gave way is behind all that have just
//! begun or whose wait has ended, and behind those that have computed less.
//!
//! It must not know how code is interrupted, or when a slice ends: that is `ticker.rs`. Invariant: who gave way runs again,
//! however busy the others are.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Runtime;
use crate::board::ALONE;
use crate::coroutine::State;
use crate::ticker::Ticker;
use crate::{MILLISECOND, Nanos, Readiness, Wake};

/// The longest interval between two ticks. Each costs some microseconds of the core: the thread wakes, and a timer is set.
const TICK_MAX: Nanos = MILLISECOND;
/// The shortest one: below it, a worker would do little else.
const TICK_MIN: Nanos = 50_000;
/// Slices after which one has computed for long, where jobs usually compute for less.
const LONG_AFTER: u32 = 8;
/// Where they compute for more: so many times as long as usual. Those that are alike have one order, that in which they
/// began; a few ticks more or less must not make one of many the last of all.
const USUAL_TIMES: u32 = 4;
/// Slices after which one has computed for long, whatever is usual.
const LONG_AFTER_MAX: u32 = 32;
/// For how many ticks one is left alone at most that will soon end, but does not wait often.
const ALONE_BEHIND_MAX: u32 = 1;
/// While this many parts of slices went to others, one goes to those that gave way.
const PARTS_OF_OTHERS: u32 = 3;

impl Runtime {
    /// Time slices begin, where they are wanted and the switch can interrupt.
    ///
    /// # Errors
    /// Those of pthread_create(3) and eventfd(2).
    pub fn start_slices(&self) -> std::io::Result<()> {
        let slice = self.limits.slice;
        let Some(interrupt) = self.switch.interrupter().filter(|_| slice != 0) else { return Ok(()) };
        self.slices.board.own.store(self.part_of_slice(), Ordering::Relaxed);
        self.slices.board.leave_alone(ALONE);
        self.slices.board.hang_bell()?;
        let ticker = Ticker {
            heartbeat: self.heartbeat,
            board: self.slices.board,
            events: self.reactor.borrow().descriptor(),
            span: Duration::from_nanos(self.tick_span()),
            // For tests: a slice shorter than any tick.
            slice: if slice < TICK_MIN { 0 } else { self.slice_ticks() },
            interrupt,
        };
        ticker.start()
    }

    /// A slice, in ticks.
    fn slice_ticks(&self) -> u32 {
        u32::try_from(self.limits.slice / self.tick_span()).unwrap_or(u32::MAX).max(1)
    }

    fn tick_span(&self) -> Nanos {
        self.limits.slice.clamp(TICK_MIN, TICK_MAX)
    }

    fn is_long(&self, computed: u32) -> bool {
        let slices = |count| self.slice_ticks().saturating_mul(count);
        let usual = self.slices.usual.ticks();
        computed >= usual.saturating_mul(USUAL_TIMES).clamp(slices(LONG_AFTER), slices(LONG_AFTER_MAX))
    }

    /// When it is the turn of one that has computed for so many ticks, but not for long. Who began first is first, but each
    /// falls back by what it has computed, times the slices that this is: after one slice as if it had begun a slice later,
    /// after eight as if it had begun 64 later. So those that compute about as long end in the order in which they began,
    /// with few in the midst of their work, and a short one passes those that compute for much longer.
    fn due(&self, begun: Nanos, computed: u32) -> Nanos {
        let ticks = u64::from(computed) * u64::from(computed) / u64::from(self.slice_ticks());
        begun.saturating_add(ticks.saturating_mul(self.tick_span()))
    }

    /// For a coroutine whose wait has ended: when it is due, behind those that are ready. `None`: it runs with them. Many that
    /// wait now and then would otherwise have their turns there, one after each wait, and all would end as late as the last
    /// one. One that has hardly begun is not kept, nor is anyone who would be the next anyway; for one that computes for
    /// long, a wait is as good as a turn that others had.
    pub(crate) fn due_after_wait(&self, begun: Nanos, computed: u32) -> Option<Nanos> {
        if computed < self.part_of_slice() || self.is_long(computed) {
            return None;
        }
        let due = self.due(begun, computed);
        let is_next = self.ready.borrow().is_empty() && !self.slices.has_sooner(due);
        (!is_next).then_some(due)
    }

    /// A quarter of a slice, in ticks: also what one that has just begun may run while others wait that gave way. It may be
    /// one of many short ones: the next is soon.
    fn part_of_slice(&self) -> u32 {
        (self.slice_ticks() / 4).max(1)
    }

    /// Whether the running coroutine should give way. For a handler of signals on the loop's thread.
    pub fn slice_has_ended(&self) -> bool {
        // None seems to run during work that must not be interleaved.
        let has_ended = || self.slices.board.asked_at(self.heartbeat.beat()).is_some();
        self.current().is_some() && (self.slices.ends_each.get() || has_ended())
    }

    /// For tests: from here on a slice has ended whenever that is asked.
    pub fn end_each_slice(&self) {
        self.slices.ends_each.set(true);
    }

    /// The running coroutine lets others run, and continues when it is its turn again. The caller must hold no borrow,
    /// guard or lock, and is in PHP code.
    pub fn give_way(&self) {
        if self.current().is_none() {
            return;
        }
        let board = self.slices.board;
        let ticks = board.asked_at(self.heartbeat.beat()).unwrap_or(0).max(1);
        let wait = self.begin_wait();
        let context = {
            let mut coroutines = self.coroutines.borrow_mut();
            let coroutine = &mut coroutines[wait.coroutine.index as usize];
            coroutine.state = State::Ready;
            coroutine.wake = Wake::Ready(Readiness::default());
            self.slices.count(coroutine);
            if self.slices.ends_each.get() {
                coroutine.computed = coroutine.computed.saturating_add(1);
            }
            let rest = board.own.load(Ordering::Relaxed).saturating_sub(ticks);
            if self.is_long(coroutine.computed) {
                coroutine.rest = rest;
                let goes_on = self.slices.is_behind.get() && rest > 0 && !self.slices.ends_each.get();
                self.slices.push_long(wait, goes_on);
            } else {
                coroutine.rest = 0;
                self.slices.push_short(self.due(coroutine.since, coroutine.computed), wait);
            }
            coroutine.context
        };
        crate::hook::leaves();
        self.switch.leave(context);
        crate::hook::runs(wait.coroutine);
        let cancelled = {
            let mut coroutines = self.coroutines.borrow_mut();
            let coroutine = &mut coroutines[wait.coroutine.index as usize];
            coroutine.wait = coroutine.wait.wrapping_add(1);
            coroutine.cancelled
        };
        if cancelled {
            self.switch.stop();
        }
    }

    /// Whether it is the turn of those that gave way, although others are ready.
    pub(crate) fn slice_is_due(&self) -> bool {
        !self.slices.is_empty()
            && self.slices.board.of_others.load(Ordering::Relaxed)
                >= self.part_of_slice().saturating_mul(PARTS_OF_OTHERS)
    }

    /// Runs one of those that gave way.
    pub(crate) fn run_behind(&self, is_due: bool) {
        let Some(wait) = self.slices.pop() else { return };
        if self.is_ready(wait) {
            let board = self.slices.board;
            let (own, alone, is_long) = {
                let coroutine = &self.coroutines.borrow()[wait.coroutine.index as usize];
                let own = if coroutine.rest > 0 { coroutine.rest } else { self.slice_ticks() };
                let is_long = self.is_long(coroutine.computed);
                let waits_often = coroutine.waits_within(ALONE);
                (own, alone_ticks(self.part_of_slice(), is_due, is_long, waits_often), is_long)
            };
            board.own.store(own, Ordering::Relaxed);
            board.leave_alone(alone);
            board.catch_up();
            let begun = self.slices.ticks();
            self.slices.is_behind.set(true);
            self.enter(wait.coroutine.index, None);
            self.slices.is_behind.set(false);
            board.catch_up();
            self.slices.had(self.slices.ticks().wrapping_sub(begun), is_long, self.slice_ticks());
            board.own.store(self.part_of_slice(), Ordering::Relaxed);
            board.leave_alone(ALONE);
            board.of_others.store(0, Ordering::Relaxed);
        }
    }
}

/// For how many ticks one that gave way may compute whatever is ready. `is_due`: others are, and it is its turn all the same. One
/// that will probably end soon is left alone, too: most events are for others like it, whose turn it is not yet. One that waits
/// often will probably wait again before an interruption is worth its cost.
fn alone_ticks(part_of_slice: u32, is_due: bool, is_long: bool, waits_often: bool) -> u32 {
    match (is_due, is_long) {
        (_, false) if waits_often => ALONE,
        (true, _) => part_of_slice,
        (false, true) => 0,
        (false, false) => part_of_slice.min(ALONE_BEHIND_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_waits_often_is_interrupted_later_than_one_that_only_computes() {
        const PART: u32 = 2;
        let due_or_not =
            |is_long, waits_often| [true, false].map(|due| alone_ticks(PART, due, is_long, waits_often));
        assert_eq!(due_or_not(false, true), [ALONE, ALONE]);
        assert_eq!(due_or_not(false, false), [PART, ALONE_BEHIND_MAX]);
        for waits_often in [true, false] {
            assert_eq!(
                due_or_not(true, waits_often),
                [PART, 0],
                "whoever has come goes before one that has computed for long"
            );
        }
    }
}
