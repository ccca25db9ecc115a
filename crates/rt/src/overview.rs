//! The live coroutines, what they wait for, and their families: for cancellation, status, reports, and for keeping families
//! apart.
//!
//! It must not know why they are listed. Invariant: a coroutine that has ended is never listed.

use crate::coroutine::{Context, Coroutine, Job, State};
use crate::family::Family;
use crate::record::{Record, SingleWait};
use crate::{CoroutineId, Nanos, Runtime, WaitKind};

/// What a coroutine does that does not run at this moment.
#[derive(Debug)]
pub struct Standing {
    /// Where its code stands, in the switch's words; may be empty.
    pub place: String,
    /// It waits for nothing but its turn.
    pub could_run: bool,
    /// What its wait is for, if it could not run.
    pub kind: WaitKind,
    /// The peers and files that it waits for: each one's address or name.
    pub waits_for: Vec<String>,
    /// Whether the time alone ends its wait.
    pub has_deadline: bool,
}

/// A coroutine that does not run, and its stack.
#[derive(Debug)]
pub struct Stacked {
    /// Its functions in the switch's words, outermost first, with `;` between them; may be empty.
    pub stack: String,
    /// What it waits for; `None`: for its turn.
    pub waits_for: Option<WaitKind>,
}

impl Runtime {
    /// What a coroutine does; `None` if it has ended, or runs.
    pub fn standing(&self, id: CoroutineId) -> Option<Standing> {
        let (context, kind, could_run, has_deadline) = {
            let coroutines = self.coroutines.borrow();
            let coroutine =
                coroutines.get(id.index as usize).filter(|found| found.generation == id.generation)?;
            match coroutine.state {
                State::Idle | State::Running => return None,
                State::Ready => (coroutine.context, coroutine.waits_for, true, false),
                State::Parked => (coroutine.context, coroutine.waits_for, false, coroutine.timer.is_some()),
            }
        };
        let waits_for = self.fds.borrow().waited_for_by(id).map(crate::reactor::name_of).collect();
        Some(Standing { place: self.switch.place(context), could_run, kind, waits_for, has_deadline })
    }

    /// The stacks of coroutines that do not run: at most so many, from the one at `from` in the order of their places, and
    /// around. Also returns how many there are in all.
    pub fn stacks(&self, from: usize, most: usize) -> (Vec<Stacked>, usize) {
        let coroutines = self.coroutines.borrow();
        let waits = |coroutine: &&Coroutine| matches!(coroutine.state, State::Parked | State::Ready);
        let all = coroutines.iter().filter(waits).count();
        let around = coroutines.iter().filter(waits).cycle().skip(from.checked_rem(all).unwrap_or(0));
        let found: Vec<_> = around
            .take(most.min(all))
            .map(|coroutine| {
                let is_parked = coroutine.state == State::Parked;
                (coroutine.context, is_parked.then_some(coroutine.waits_for))
            })
            .collect();
        drop(coroutines);
        let stacked = |(context, waits_for)| Stacked { stack: self.switch.stack(context), waits_for };
        (found.into_iter().map(stacked).collect(), all)
    }

    /// The record of a coroutine's job so far, without a wait that lasts; `None` if it has none, or has ended.
    pub fn record(&self, id: CoroutineId) -> Option<Record> {
        let coroutines = self.coroutines.borrow();
        let coroutine = coroutines.get(id.index as usize)?;
        let is_it = coroutine.generation == id.generation && coroutine.state != State::Idle;
        coroutine.record.as_deref().filter(|_| is_it).cloned()
    }

    /// The wait of a coroutine that lasts, and the longest one that its job's record has.
    pub fn waits_of(&self, id: CoroutineId, now: Nanos) -> (Option<SingleWait>, Option<SingleWait>) {
        let coroutines = self.coroutines.borrow();
        let of_job = |coroutine: &&Coroutine| coroutine.generation == id.generation;
        let Some(coroutine) = coroutines.get(id.index as usize).filter(of_job) else { return (None, None) };
        let lasts = (coroutine.state == State::Parked).then(|| SingleWait {
            number: coroutine.wait,
            kind: coroutine.waits_for,
            took: now.saturating_sub(coroutine.waits_since),
        });
        (lasts, coroutine.record.as_deref().and_then(|record| record.longest))
    }

    /// When a coroutine's job was started; `None` if it has ended.
    pub fn since(&self, id: CoroutineId) -> Option<Nanos> {
        let coroutines = self.coroutines.borrow();
        let coroutine = coroutines.get(id.index as usize)?;
        (coroutine.generation == id.generation && coroutine.state != State::Idle).then_some(coroutine.since)
    }

    /// The live coroutines, their jobs and when these were started: for cancellation, status and reports.
    pub fn live(&self) -> Vec<(CoroutineId, Job, Nanos)> {
        let coroutines = self.coroutines.borrow();
        let alive = coroutines.iter().enumerate().filter(|(_, coroutine)| coroutine.state != State::Idle);
        alive
            .map(|(index, coroutine)| {
                let id = CoroutineId { index: index as u32, generation: coroutine.generation };
                (id, coroutine.job, coroutine.since)
            })
            .collect()
    }

    /// Whether a context waits for something, not only for its turn.
    pub fn is_parked(&self, context: Context) -> bool {
        let coroutines = self.coroutines.borrow();
        coroutines.iter().any(|coroutine| coroutine.context == context && coroutine.state == State::Parked)
    }

    /// The family of the running coroutine.
    #[inline]
    pub(crate) fn family(&self) -> Option<Family> {
        let id = self.current()?;
        Some(self.coroutines.borrow()[id.index as usize].family)
    }

    /// The families of the live coroutines, in order.
    pub(crate) fn live_families(&self) -> Vec<Family> {
        let coroutines = self.coroutines.borrow();
        let alive = coroutines.iter().filter(|coroutine| coroutine.state != State::Idle);
        let mut families: Vec<Family> = alive.map(|coroutine| coroutine.family).collect();
        families.sort_unstable();
        families
    }
}
