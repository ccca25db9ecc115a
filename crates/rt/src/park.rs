//! The only way to suspend: `begin` a wait, hand it to what will end it, `park`; ending it is `wake`.
//!
//! Invariant: a wait ends once, by its first waker, its deadline or a cancellation; later wakers find another wait number
//! and do nothing.

use crate::coroutine::State;
use crate::record::SingleWait;
use crate::runtime::Records;
use crate::timers::{Due, TimerKey};
use crate::waits::NO_FD;
use crate::{CoroutineId, Nanos, Readiness, Runtime, Wait, WaitKind, Wake, clock};

impl Runtime {
    /// Opens a wait for the running coroutine. [`Runtime::park`] must follow before the coroutine does anything
    /// else that waits.
    ///
    /// # Panics
    /// If called from the loop: only coroutines wait.
    pub fn begin_wait(&self) -> Wait {
        let id = self.current().expect("only a coroutine can wait; the loop must not");
        let mut coroutines = self.coroutines.borrow_mut();
        let coroutine = &mut coroutines[id.index as usize];
        coroutine.wait = coroutine.wait.wrapping_add(1);
        coroutine.wake = Wake::TimedOut;
        Wait { coroutine: id, number: coroutine.wait }
    }

    /// Parks the running coroutine until `wait` is ended or the deadline (absolute, [`clock::now`]) has passed.
    /// The caller must hold no borrow, guard or lock.
    pub fn park(&self, wait: Wait, deadline: Option<Nanos>) -> Wake {
        self.leave(wait, deadline, true)
    }

    /// Parks until the deadline or until woken, even if cancelled: for calls that cannot fail, such as taking a mutex
    /// that another coroutine holds.
    pub fn sleep_uncancelled(&self, deadline: Nanos) {
        let wait = self.begin_wait();
        self.leave(wait, Some(deadline), false);
    }

    /// Parks until woken, and ignores a cancellation: for work that must not be left half done.
    pub(crate) fn park_uncancelled(&self, wait: Wait) {
        self.leave(wait, None, false);
    }

    fn leave(&self, wait: Wait, deadline: Option<Nanos>, heed_cancel: bool) -> Wake {
        let (kind, fd) = self.waits_for.replace((WaitKind::Coroutine, NO_FD));
        let account = self.name_account(wait.coroutine.index);
        let (context, waits) = {
            let mut coroutines = self.coroutines.borrow_mut();
            let coroutine = &mut coroutines[wait.coroutine.index as usize];
            coroutine.account = account;
            // The wait ended before it began, or was cancelled. The coroutine still leaves through the ready queue:
            // this keeps the order, and a cancelled coroutine that waits in a loop does not occupy the processor.
            let ready = coroutine.state == State::Ready;
            let mut waits = false;
            if (coroutine.cancelled || coroutine.interrupted) && heed_cancel && !ready {
                coroutine.state = State::Ready;
                coroutine.wake = Wake::Cancelled;
                self.ready.borrow_mut().push_back(crate::runtime::Ready::Wake(wait));
            } else if !ready {
                coroutine.state = State::Parked;
                coroutine.waits_for = kind;
                coroutine.waits_since = self.stats.waits[kind.place()].begin();
                coroutine.timer = deadline.map(|at| self.timers.borrow_mut().arm(at, Due::Wait(wait)));
                coroutine.waits = coroutine.waits.saturating_add(1);
                waits = true;
            }
            let context = coroutine.context;
            if let Some(recorder) = coroutine.recorder {
                Records::waits(&mut coroutines, (wait.coroutine, recorder), fd);
            }
            (context, waits)
        };
        self.stats.parks.set(self.stats.parks.get() + 1);
        crate::hook::leaves();
        self.switch.leave(context);
        crate::hook::runs(wait.coroutine);
        let mut coroutines = self.coroutines.borrow_mut();
        let coroutine = &mut coroutines[wait.coroutine.index as usize];
        let mut recorded = None;
        if waits {
            let took = self.stats.waits[kind.place()].end(coroutine.waits_since, self.turn_began());
            if let Some(account) = coroutine.account {
                account.waited(kind, took);
            }
            recorded = coroutine.recorder.map(|recorder| (recorder, took));
        }
        // The wait is over: a waker that still holds it must find it stale.
        coroutine.wait = coroutine.wait.wrapping_add(1);
        if let Some(key) = coroutine.timer.take() {
            self.timers.borrow_mut().disarm(key);
        }
        let (wake, for_good) = (coroutine.wake, coroutine.cancelled);
        let stopped = heed_cancel && (for_good || wake == Wake::Cancelled);
        coroutine.interrupted &= !stopped;
        if let Some((recorder, took)) = recorded {
            let ended = SingleWait { number: wait.number, kind, took };
            Records::waited(&mut coroutines, (wait.coroutine, recorder), ended);
        }
        drop(coroutines);
        self.switch.resumed(context);
        if !stopped {
            return wake;
        }
        self.switch.cancelled(for_good);
        Wake::Cancelled
    }

    /// Ends a wait. Stale waits are ignored, so every code that might end it may call this. Returns `false` if
    /// it was stale.
    pub fn wake(&self, wait: Wait, readiness: Readiness) -> bool {
        self.end_wait(wait, Wake::Ready(readiness))
    }

    /// [`Runtime::wake`] for a wait kept as a word.
    pub fn wake_word(&self, word: u64, readiness: Readiness) -> bool {
        self.wait_of(word).is_some_and(|wait| self.wake(wait, readiness))
    }

    /// The wait behind a word. Wait numbers continue across generations, so slot and number identify one wait.
    fn wait_of(&self, word: u64) -> Option<Wait> {
        let index = ((word >> 32) as u32).checked_sub(1)?;
        let generation = self.coroutines.borrow().get(index as usize)?.generation;
        Some(Wait { coroutine: CoroutineId { index, generation }, number: word as u32 })
    }

    /// Whether a wait kept as a word has not ended yet.
    pub fn is_waiting(&self, word: u64) -> bool {
        let Some(wait) = self.wait_of(word) else { return false };
        let coroutines = self.coroutines.borrow();
        let coroutine = &coroutines[wait.coroutine.index as usize];
        coroutine.wait == wait.number && matches!(coroutine.state, State::Parked | State::Running)
    }

    /// [`Runtime::park`] for a wait kept as a word. `None` if it is not the current wait of the running
    /// coroutine.
    pub fn park_word(&self, word: u64, deadline: Option<Nanos>) -> Option<Wake> {
        self.present_wait(word).map(|wait| self.park(wait, deadline))
    }

    /// The wait behind a word, if it is the current one of the running coroutine.
    pub(crate) fn present_wait(&self, word: u64) -> Option<Wait> {
        let wait = self.wait_of(word).filter(|wait| self.current() == Some(wait.coroutine))?;
        let present = self.coroutines.borrow()[wait.coroutine.index as usize].wait;
        (present == wait.number).then_some(wait)
    }

    /// [`Runtime::wake`] for a coroutine to whom something was left that others wait for: it runs before them.
    pub(crate) fn wake_first(&self, wait: Wait) -> bool {
        self.end_wait_in(wait, Wake::Ready(Readiness::default()), true)
    }

    pub(crate) fn end_wait(&self, wait: Wait, wake: Wake) -> bool {
        self.end_wait_in(wait, wake, false)
    }

    fn end_wait_in(&self, wait: Wait, wake: Wake, first: bool) -> bool {
        let mut coroutines = self.coroutines.borrow_mut();
        let Some(coroutine) = coroutines.get_mut(wait.coroutine.index as usize) else { return false };
        let current = coroutine.generation == wait.coroutine.generation && coroutine.wait == wait.number;
        if !current || !matches!(coroutine.state, State::Parked | State::Running) {
            return false;
        }
        // Not for one that only lets others run.
        let waited = coroutine.state == State::Parked;
        coroutine.state = State::Ready;
        coroutine.wake = wake;
        let (begun, computed) = (coroutine.since, coroutine.computed);
        drop(coroutines);
        let first = waited && (first || crate::hook::comes_first(wait.coroutine));
        // Most have computed for less than a tick.
        let due = if computed == 0 || first || !waited { None } else { self.due_after_wait(begun, computed) };
        match due {
            Some(due) => self.slices.push_short(due, wait),
            None if first => self.ready.borrow_mut().push_first(crate::runtime::Ready::Wake(wait)),
            None => self.ready.borrow_mut().push_back(crate::runtime::Ready::Wake(wait)),
        }
        true
    }

    /// Opens a wait as [`Runtime::begin_wait`] does, for a call of C code. If that code has not noticed yet that it was
    /// interrupted, the wait has already ended: otherwise the code would wait for its peer a second time, or try again
    /// to its own end.
    pub(crate) fn begin_call_wait(&self) -> Wait {
        let wait = self.begin_wait();
        if self.switch.interruption_pending() {
            self.end_wait(wait, Wake::Cancelled);
        }
        wait
    }

    /// Parks until the deadline. Returns how it ended: `TimedOut` is the normal case.
    pub fn sleep_until(&self, deadline: Nanos) -> Wake {
        let wait = self.begin_wait();
        self.park(wait, Some(deadline))
    }

    /// Lets all other ready coroutines run first. A pending interruption ends it, as it ends any wait.
    pub fn yield_now(&self) -> Wake {
        let wait = self.begin_wait();
        let interrupted = self.coroutines.borrow()[wait.coroutine.index as usize].interrupted;
        if !interrupted {
            self.end_wait(wait, Wake::Ready(Readiness::default()));
        }
        self.park(wait, None)
    }

    /// [`Runtime::yield_now`] that ignores a cancellation.
    pub(crate) fn yield_uncancelled(&self) {
        let wait = self.begin_wait();
        self.end_wait(wait, Wake::Ready(Readiness::default()));
        self.leave(wait, None, false);
    }

    /// Interrupts a coroutine: its current wait, or else the next one, ends with [`Wake::Cancelled`], once. Returns
    /// false if the coroutine has ended.
    pub fn interrupt(&self, id: CoroutineId) -> bool {
        let wait = {
            let mut coroutines = self.coroutines.borrow_mut();
            let Some(coroutine) = coroutines.get_mut(id.index as usize) else { return false };
            if coroutine.generation != id.generation || coroutine.state == State::Idle {
                return false;
            }
            coroutine.interrupted = true;
            if coroutine.state != State::Parked {
                return true;
            }
            Wait { coroutine: id, number: coroutine.wait }
        };
        self.end_wait(wait, Wake::Cancelled);
        true
    }

    /// Withdraws an interruption that no wait of the running coroutine has met yet.
    pub fn forget_interrupt(&self) {
        if let Some(id) = self.current() {
            self.coroutines.borrow_mut()[id.index as usize].interrupted = false;
        }
    }

    /// Interrupts a coroutine when the deadline has passed, unless [`Runtime::disarm`] comes first.
    pub fn interrupt_at(&self, deadline: Nanos, id: CoroutineId) -> TimerKey {
        self.timers.borrow_mut().arm(deadline, Due::Interrupt(id))
    }

    /// Disarms a timer. Returns false if it has fired.
    pub fn disarm(&self, key: TimerKey) -> bool {
        self.timers.borrow_mut().disarm(key)
    }

    /// Cancels a coroutine: its current wait and all further ones end with [`Wake::Cancelled`]. Returns false if it was
    /// cancelled before, or has ended.
    pub fn cancel(&self, id: CoroutineId) -> bool {
        let wait = {
            let mut coroutines = self.coroutines.borrow_mut();
            let Some(coroutine) = coroutines.get_mut(id.index as usize) else { return false };
            if coroutine.generation != id.generation || coroutine.state == State::Idle || coroutine.cancelled
            {
                return false;
            }
            coroutine.cancelled = true;
            if coroutine.state == State::Running {
                return true;
            }
            Wait { coroutine: id, number: coroutine.wait }
        };
        self.end_wait(wait, Wake::Cancelled);
        true
    }

    /// Whether the running coroutine's job has run for longer than [`run_max`](crate::SchedulerLimits::run_max). If so, all
    /// its waits end from now on; the caller stops it.
    pub fn is_late(&self) -> bool {
        let (limit, of) = (self.limits.run_max, self.run_max_of.get());
        let Some(id) = self.current().filter(|_| limit > 0 || of.is_some()) else { return false };
        let mut coroutines = self.coroutines.borrow_mut();
        let coroutine = &mut coroutines[id.index as usize];
        let limit = of.map_or(limit, |of| of(coroutine.job));
        let is_late = limit > 0 && !coroutine.task && clock::now().saturating_sub(coroutine.since) >= limit;
        coroutine.cancelled |= is_late;
        is_late
    }

    /// The running coroutine has done what its job was for, and goes on to the next: what it was cancelled for is over, and its time
    /// begins anew.
    pub fn begin_anew(&self) {
        let Some(id) = self.current() else { return };
        let mut coroutines = self.coroutines.borrow_mut();
        let coroutine = &mut coroutines[id.index as usize];
        (coroutine.cancelled, coroutine.interrupted, coroutine.since) = (false, false, clock::now());
    }

    /// The deadline `span` from now; `None` (forever) stays `None`.
    pub fn deadline(&self, span: Option<Nanos>) -> Option<Nanos> {
        span.map(|ns| clock::now().saturating_add(ns))
    }
}
