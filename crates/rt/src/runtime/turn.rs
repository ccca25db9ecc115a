//! The loop: it runs ready coroutines, waits for events and dispatches them.
//!
//! It must not know what the [`Driver`] serves. Invariants: only the loop enters a coroutine; a coroutine that becomes
//! ready during a turn runs in the next one, so that I/O is never starved; what has been answered is sent before one
//! that gave way computes on.

use std::sync::atomic::Ordering;

use super::{CHILD_KEY, DRIVER_KEY, OFFLOAD_KEY, Ready, Runtime, Spawn};
use crate::coroutine::{Job, Start, State};
use crate::reactor::{self, Event};
use crate::timers::Due;
use crate::{Nanos, Readiness, Wait, Wake, clock, hook};

/// Coroutines that are entered in one turn of the loop before their output is sent.
const READY_PER_TURN: usize = 64;

/// While coroutines are ready, the kernel is asked for events at most this often: to ask costs as much as a switch to a
/// coroutine and back. In nanoseconds.
const EVENTS_EVERY: Nanos = 20_000;

/// What the loop serves besides coroutines: listeners, connections, control pipes.
pub trait Driver {
    /// A descriptor registered under `key` (at least [`DRIVER_KEY`]) is ready.
    fn event(&self, event: Event);
    /// The end of a turn, with nothing left to run: sends what was written, expires what is late.
    fn turn(&self, now: Nanos);
    /// When [`Driver::turn`] must be called next even if nothing happens.
    fn deadline(&self) -> Option<Nanos>;
    /// A job has waited longer for a coroutine than
    /// [`queue_wait_max`](crate::SchedulerLimits::queue_wait_max); it will not run.
    fn expired(&self, job: Job) {
        let _ = job;
    }
    /// The turn of a job has come that waited for a coroutine. Returns `false` if it is no longer to be run here.
    fn takes_up(&self, job: Job) -> bool {
        let _ = job;
        true
    }
    /// Coroutines are parked, and nothing known to the runtime can ever wake one. Returns `true` if the driver has done
    /// something about it; otherwise the loop waits for whatever may come, such as a signal.
    fn stalled(&self) -> bool {
        false
    }
    /// Whether the loop should return.
    fn finished(&self) -> bool;
}

impl Runtime {
    /// The loop. Returns when the driver has finished.
    pub fn run(&self, driver: &dyn Driver) {
        // Nothing has become ready for a loop that did not run.
        self.asked.set(clock::now());
        loop {
            self.run_ready(driver);
            if self.nothing_is_ready() {
                hook::before_idle(self);
            }
            driver.turn(self.now.get());
            if driver.finished() {
                return;
            }
            self.slices.board.sent_at.store(self.heartbeat.beat(), Ordering::Relaxed);
            let is_due = self.slice_is_due();
            if is_due {
                self.run_behind(true);
            }
            let is_quiet = self.poll(driver, !is_due);
            self.stats.turns.set(self.stats.turns.get() + 1);
            self.stats.queued.set(self.queued());
            self.expire_timers();
            while let Some(job) = self.expired_job() {
                driver.expired(job);
            }
            if is_quiet && !is_due && !self.slices.is_empty() && self.ready.borrow().is_empty() {
                self.run_behind(false);
            }
        }
    }

    fn expire_timers(&self) {
        while let Some(due) = { self.timers.borrow_mut().expire(self.now.get()) } {
            match due {
                Due::Wait(wait) => self.end_wait(wait, Wake::TimedOut),
                Due::Interrupt(id) => self.interrupt(id),
            };
        }
    }

    /// Dispatches events; if none are left, waits for some until the next deadline at most, unless the driver has a turn
    /// first: what has run may have answered. Returns whether there were none: those that gave way may run.
    fn poll(&self, driver: &dyn Driver, may_wait: bool) -> bool {
        let is_late = self.reactor.borrow().event(self.dispatched.get()).is_some();
        if !is_late && !self.ask(driver, may_wait) {
            return false;
        }
        let began = self.slices.ticks();
        loop {
            let index = self.dispatched.get();
            let Some(event) = ({ self.reactor.borrow().event(index) }) else { return index == 0 };
            self.dispatched.set(index + 1);
            match event.key {
                key if key >= DRIVER_KEY => driver.event(event),
                OFFLOAD_KEY => self.offload.finished(|wait| {
                    self.wake(wait, event.readiness);
                }),
                key if key >= CHILD_KEY => hook::child_ended((key - CHILD_KEY) as i32),
                // Coroutines have run since the kernel said this: what had come may be received, the file may be another.
                fd if is_late => self.fd_ready(fd as i32, reactor::ready_now(fd as i32)),
                fd => self.fd_ready(fd as i32, event.readiness),
            }
            if self.slices.ticks() != began {
                return false; // what has been answered is sent before more begins
            }
        }
    }

    /// Asks the kernel for events. Returns false if that must wait, for the driver or for those that are ready.
    fn ask(&self, driver: &dyn Driver, may_wait: bool) -> bool {
        let timeout = if may_wait && self.nothing_is_ready() {
            let timer = self.timers.borrow().next();
            let next = [timer, self.queue_deadline(), driver.deadline()].into_iter().flatten().min();
            if next.is_none()
                && !self.fds.borrow().has_waiters()
                && self.offload.is_idle()
                && driver.stalled()
            {
                return false;
            }
            let now = clock::now();
            self.looks_again(now);
            next.map(|at| at.saturating_sub(now))
        } else {
            self.now.set(clock::now());
            if self.now.get() < self.asked.get() + EVENTS_EVERY && !self.ready.borrow().is_empty() {
                hook::deliver(self);
                return false;
            }
            self.looks_again(self.now.get());
            Some(0)
        };
        self.heartbeat.idle();
        self.dispatched.set(0);
        // On EINTR there are no events: the turn continues with what is due.
        let _ = self.reactor.borrow_mut().wait(timeout);
        self.now.set(clock::now());
        self.asked.set(self.now.get());
        hook::deliver(self);
        true
    }

    /// The kernel is asked for events at this moment.
    #[inline]
    fn looks_again(&self, now: Nanos) {
        // The clock does not run backwards.
        self.stats.lag.add(now.wrapping_sub(self.asked.get()));
    }

    /// Runs what is ready now, but at most [`READY_PER_TURN`] coroutines, and none that begins when the ticker has ticked:
    /// their answers are sent before the next ones are made. What becomes ready meanwhile waits for the next turn, so that
    /// I/O is never starved.
    fn run_ready(&self, driver: &dyn Driver) {
        let mut turns = self.ready.borrow().len().min(READY_PER_TURN);
        let began = self.slices.ticks();
        while turns > 0 && self.slices.ticks() == began {
            turns -= 1;
            if hook::somebody_holds_up() && self.offload.has_finished() {
                // What it waited for need not wait for the end of this turn.
                self.offload.finished(|wait| {
                    self.wake(wait, Readiness::default());
                });
            }
            let Some(next) = ({ self.ready.borrow_mut().pop_front() }) else { break };
            match next {
                Ready::Wake(wait) if self.is_ready(wait) => self.enter(wait.coroutine.index, None),
                Ready::Wake(_) => (), // cancelled between its wake and its turn
                Ready::Start(start) => self.start_or_tell(start, driver),
                Ready::Queued(start) => {
                    self.kept.set(self.kept.get() - usize::from(!start.task));
                    if driver.takes_up(start.job) {
                        self.start_or_tell(start, driver);
                    } else {
                        self.offer_place();
                    }
                }
            }
        }
    }

    /// Starts a job whose owner was told that it would run: if it cannot, the owner hears of it.
    fn start_or_tell(&self, start: Start, driver: &dyn Driver) {
        if self.start_job(start) == Spawn::Refused {
            driver.expired(start.job);
        }
    }

    fn nothing_is_ready(&self) -> bool {
        self.slices.is_empty() && self.ready.borrow().is_empty()
    }

    pub(crate) fn is_ready(&self, wait: Wait) -> bool {
        let coroutines = self.coroutines.borrow();
        let coroutine = &coroutines[wait.coroutine.index as usize];
        coroutine.state == State::Ready
            && coroutine.generation == wait.coroutine.generation
            && coroutine.wait == wait.number
    }
}
