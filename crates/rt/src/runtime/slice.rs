//! Time slices: which coroutine that computes gives way, and when it runs again.
//!
//! While coroutines run, the switch calls [`Runtime::tick`] at equal intervals, each time between any two instructions of
//! the loop's thread. A tick tells whether the running coroutine should give way; then the switch calls
//! [`Runtime::give_way`] as soon as the coroutine is where it may leave. One that gave way is behind all that have just
//! begun or whose wait has ended, and behind those that have computed less.
//!
//! It must not know how code is interrupted. Invariants: a tick changes only what no interrupted code is changing; a slice
//! costs the loop's fast path no clock and no system call; who gave way runs again, however busy the others are.

use super::Runtime;
use crate::behind::LEVELS;
use crate::coroutine::State;
use crate::{MILLISECOND, Nanos, Readiness, Wake};

/// The longest interval between two ticks.
const TICK_MAX: Nanos = MILLISECOND;
/// The shortest one: below it, a worker would do little else.
const TICK_MIN: Nanos = 50_000;
/// Ticks without any coroutine after which there are no more until one runs.
const QUIET_TICKS: u32 = 16;
/// A level holds those that have computed at most this many slices more than the level before it.
const SLICES_PER_LEVEL: u32 = 8;
/// While this many slices went to others, one goes to those that gave way.
const SLICES_OF_OTHERS: u32 = 3;

impl Runtime {
    /// A slice, in ticks; 0: there are none.
    fn slice_ticks(&self) -> u32 {
        let slice = self.limits.slice;
        if slice == 0 { 0 } else { u32::try_from(slice / self.tick_span()).unwrap_or(u32::MAX).max(1) }
    }

    fn tick_span(&self) -> Nanos {
        self.limits.slice.clamp(TICK_MIN, TICK_MAX)
    }

    /// Which queue a coroutine belongs to that has computed for so many ticks.
    fn level(&self, computed: u32) -> usize {
        let slices = computed / self.slice_ticks().max(1);
        (0..LEVELS - 1).find(|level| slices < SLICES_PER_LEVEL.pow(*level as u32)).unwrap_or(LEVELS - 1)
    }

    /// A coroutine begins to run: from now on ticks come.
    #[inline]
    pub(crate) fn slice_begins(&self) {
        if self.limits.slice != 0 && !self.slices.ticking.get() {
            self.slices.ticking.set(true);
            self.switch.ticks(Some(self.tick_span()));
        }
    }

    /// A tick. Returns whether the running coroutine should give way: its slice has ended, or something else could run
    /// and it has run for a tick at least. For a handler of signals on the loop's thread.
    pub fn tick(&self) -> bool {
        let slices = &self.slices;
        let (beat, looping) = self.heartbeat.here();
        if beat != slices.beat.get() {
            slices.beat.set(beat);
            slices.ticks.set(0);
        }
        let ticks = slices.ticks.get().saturating_add(1);
        slices.ticks.set(ticks);
        if looping {
            if ticks > QUIET_TICKS {
                slices.ticking.set(false);
                self.switch.ticks(None);
            }
            return false;
        }
        slices.of_others.set(slices.of_others.get().saturating_add(1));
        if self.current().is_none() {
            return false; // work that must not be interleaved
        }
        // The first tick came at some time within the interval.
        let run = ticks - 1;
        let slice = self.slice_ticks();
        let computed = self.computed().saturating_add(run);
        // Who has just begun may be one of many short ones: the next is soon.
        let own = if self.level(computed) == 0 { slice / 4 } else { slice };
        // For tests: a slice shorter than any tick.
        let shortest = self.limits.slice < TICK_MIN;
        shortest || run >= own.max(1) || (run >= 1 && self.others_are_ready())
    }

    /// Ticks for which the running coroutine has computed in earlier slices.
    fn computed(&self) -> u32 {
        let Some(id) = self.current() else { return 0 };
        let coroutines = self.coroutines.try_borrow();
        coroutines.ok().and_then(|all| all.get(id.index as usize).map(|one| one.computed)).unwrap_or(0)
    }

    fn others_are_ready(&self) -> bool {
        self.ready.try_borrow().is_ok_and(|ready| !ready.is_empty())
            || self.reactor.try_borrow().is_ok_and(|reactor| reactor.has_events())
    }

    /// The running coroutine lets others run, and continues when it is its turn again. The caller must hold no borrow,
    /// guard or lock, and is in PHP code.
    pub fn give_way(&self) {
        if self.current().is_none() {
            return;
        }
        let wait = self.begin_wait();
        let context = {
            let mut coroutines = self.coroutines.borrow_mut();
            let coroutine = &mut coroutines[wait.coroutine.index as usize];
            coroutine.state = State::Ready;
            coroutine.wake = Wake::Ready(Readiness::default());
            coroutine.computed = coroutine.computed.saturating_add(self.slices.ticks.get().max(1));
            self.slices.push(self.level(coroutine.computed), wait);
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
            && self.slices.of_others.get() >= self.slice_ticks().saturating_mul(SLICES_OF_OTHERS)
    }

    /// Runs one of those that gave way.
    pub(crate) fn run_behind(&self) {
        let Some(wait) = self.slices.pop() else { return };
        self.slices.of_others.set(0);
        if self.is_ready(wait) {
            self.enter(wait.coroutine.index, None);
        }
        self.slices.of_others.set(0);
    }
}
