//! The loop: it runs ready coroutines, waits for events and dispatches them.
//!
//! It must not know what the [`Driver`] serves. Invariants: only the loop enters a coroutine; a coroutine that becomes
//! ready during a turn runs in the next one, so that I/O is never starved.

use super::{CHILD_KEY, DRIVER_KEY, OFFLOAD_KEY, Ready, Runtime, Spawn};
use crate::coroutine::{Job, Start, State};
use crate::reactor::Event;
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
        loop {
            self.run_ready(driver);
            if self.nothing_is_ready() {
                hook::before_idle(self);
            }
            driver.turn(self.now.get());
            if driver.finished() {
                return;
            }
            self.poll(driver);
            self.stats.turns.set(self.stats.turns.get() + 1);
            self.stats.queued.set(self.queued());
            self.expire_timers();
            while let Some(job) = self.expired_job() {
                driver.expired(job);
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

    /// Waits for events until the next deadline at most, and dispatches them.
    fn poll(&self, driver: &dyn Driver) {
        let timeout = if self.nothing_is_ready() {
            let timer = self.timers.borrow().next();
            let next = [timer, self.queue_deadline(), driver.deadline()].into_iter().flatten().min();
            if next.is_none()
                && !self.fds.borrow().has_waiters()
                && self.offload.is_idle()
                && driver.stalled()
            {
                return;
            }
            next.map(|at| at.saturating_sub(clock::now()))
        } else {
            self.now.set(clock::now());
            if self.now.get() < self.asked.get() + EVENTS_EVERY {
                hook::deliver(self);
                return;
            }
            Some(0)
        };
        self.heartbeat.idle();
        let waited = self.reactor.borrow_mut().wait(timeout);
        self.now.set(clock::now());
        self.asked.set(self.now.get());
        hook::deliver(self);
        if waited.is_err() {
            return; // EINTR: the turn continues with what is due
        }
        for index in 0.. {
            let Some(event) = ({ self.reactor.borrow().event(index) }) else { return };
            match event.key {
                key if key >= DRIVER_KEY => driver.event(event),
                OFFLOAD_KEY => self.offload.finished(|wait| {
                    self.wake(wait, event.readiness);
                }),
                key if key >= CHILD_KEY => hook::child_ended((key - CHILD_KEY) as i32),
                fd => self.fd_ready(fd as i32, event.readiness),
            }
        }
    }

    /// Runs what is ready now, but at most [`READY_PER_TURN`] coroutines: their answers are sent before the next ones
    /// are made. What becomes ready meanwhile waits for the next turn, so that I/O is never starved.
    /// Then one of those that gave way has its turn.
    fn run_ready(&self, driver: &dyn Driver) {
        let mut turns = self.ready.borrow().len().min(READY_PER_TURN);
        while turns > 0 && !self.slice_is_due() {
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
        self.run_behind();
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
