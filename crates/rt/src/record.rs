//! What one job has done with its time: for how long it had the loop, and what it has waited for, with its tasks apart.
//!
//! Must not know what a job is, nor who reads it. Invariant: a job has a record only if somebody asked for one when it began; a
//! wait is recorded when it has ended, once.

use std::cell::Cell;

use crate::coroutine::{Coroutine, Job, State};
use crate::{CoroutineId, Nanos, Runtime, WaitKind};

/// Whether a job that begins gets a record.
pub type RecordOf = fn(Job) -> bool;

/// Who gets records, if anybody does.
#[derive(Default)]
pub(crate) struct Records {
    of: Cell<Option<RecordOf>>,
}

/// Waits of one kind.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Waited {
    /// How many.
    pub times: u32,
    /// How long they took in all.
    pub nanos: Nanos,
}

/// How coroutines have spent their time.
#[derive(Clone, Default, Debug)]
pub struct Spent {
    /// For how long they had the loop.
    pub ran: Nanos,
    /// What they have waited for, by [`WaitKind::place`].
    pub waited: [Waited; WaitKind::COUNT],
}

impl Spent {
    /// How long the waits took, of all kinds.
    pub fn waited_in_all(&self) -> Nanos {
        self.waited.iter().map(|waited| waited.nanos).sum()
    }
}

/// One wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SingleWait {
    /// Its number: the coroutine has no other of that number, as long as its job runs.
    pub number: u32,
    /// What for.
    pub kind: WaitKind,
    /// How long it took, or has lasted so far.
    pub took: Nanos,
}

/// The record of a job.
#[derive(Clone, Default, Debug)]
pub struct Record {
    /// The job's own coroutine.
    pub own: Spent,
    /// Its tasks, together: they run beside it, so they may have waited for longer than it has lasted.
    pub tasks: Spent,
    /// The longest wait of its own coroutine.
    pub longest: Option<SingleWait>,
}

impl Record {
    fn waited(&mut self, wait: SingleWait, is_own: bool) {
        let spent = if is_own { &mut self.own } else { &mut self.tasks };
        let waited = &mut spent.waited[wait.kind.place()];
        waited.times = waited.times.saturating_add(1);
        waited.nanos += wait.took;
        if is_own && self.longest.is_none_or(|longest| wait.took > longest.took) {
            self.longest = Some(wait);
        }
    }

    fn ran(&mut self, spent: Nanos, is_own: bool) {
        if is_own {
            self.own.ran += spent;
        } else {
            self.tasks.ran += spent;
        }
    }
}

impl Records {
    /// Gives a job that begins a fresh record, if it is to have one; a task has its parent's.
    #[inline]
    pub fn begin(&self, coroutine: &mut Coroutine, id: CoroutineId, of_parent: Option<CoroutineId>) {
        if self.of.get().is_some() {
            self.begin_one(coroutine, id, of_parent);
        }
    }

    fn begin_one(&self, coroutine: &mut Coroutine, id: CoroutineId, of_parent: Option<CoroutineId>) {
        let has_own = !coroutine.task && self.of.get().is_some_and(|of| of(coroutine.job));
        coroutine.recorder = if has_own { Some(id) } else { of_parent };
        match &mut coroutine.record {
            Some(record) if has_own => **record = Record::default(),
            none => *none = has_own.then(Box::default),
        }
    }

    /// Writes that a wait of the coroutine has ended.
    #[cold]
    pub fn waited(
        coroutines: &mut [Coroutine],
        (of, recorder): (CoroutineId, CoroutineId),
        wait: SingleWait,
    ) {
        if let Some(record) = record_of(coroutines, recorder) {
            record.waited(wait, of == recorder);
        }
    }

    /// Writes that the coroutine has had the loop.
    #[cold]
    pub fn ran(coroutines: &mut [Coroutine], (of, recorder): (CoroutineId, CoroutineId), spent: Nanos) {
        if let Some(record) = record_of(coroutines, recorder) {
            record.ran(spent, of == recorder);
        }
    }
}

fn record_of(coroutines: &mut [Coroutine], recorder: CoroutineId) -> Option<&mut Record> {
    let coroutine = coroutines.get_mut(recorder.index as usize)?;
    (coroutine.generation == recorder.generation).then_some(())?;
    coroutine.record.as_deref_mut()
}

impl Runtime {
    /// From here on the jobs that `of` names have records. It MUST NOT call the runtime.
    pub fn keep_records(&self, of: RecordOf) {
        self.records.of.set(Some(of));
        self.accounts.measure();
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_added_by_kind_and_the_longest_is_one_of_the_jobs_own() {
        let mut record = Record::default();
        let wait = |number, kind, took| SingleWait { number, kind, took };
        record.waited(wait(1, WaitKind::Disk, 5), true);
        record.waited(wait(3, WaitKind::Disk, 7), true);
        record.waited(wait(5, WaitKind::Sleep, 7), true);
        record.waited(wait(1, WaitKind::Dns, 100), false);
        record.ran(3, true);
        record.ran(4, false);
        assert_eq!(record.own.waited[WaitKind::Disk.place()], Waited { times: 2, nanos: 12 });
        assert_eq!((record.own.ran, record.own.waited_in_all()), (3, 19));
        assert_eq!((record.tasks.ran, record.tasks.waited_in_all()), (4, 100));
        assert_eq!(record.longest, Some(wait(3, WaitKind::Disk, 7)), "the first of two that took the same");
    }
}
