//! Which jobs have a record, and the way of what happens into it.
//!
//! Must not know what is recorded. Invariant: a job has a record only if somebody asked for one when it began; what its tasks do is
//! recorded there as well, until its coroutine has another job.

use std::cell::Cell;

use crate::coroutine::{Coroutine, Job};
use crate::record::{Record, Recorder, SingleWait};
use crate::{CoroutineId, Nanos};

/// Whether a job that begins gets a record.
pub type RecordOf = fn(Job) -> bool;

/// Who gets records, if anybody does.
#[derive(Default)]
pub(crate) struct Records {
    of: Cell<Option<RecordOf>>,
}

impl Records {
    pub fn keep(&self, of: RecordOf) {
        self.of.set(Some(of));
    }

    /// Gives a job that begins a fresh record, if it is to have one; a task has its parent's.
    #[inline]
    pub fn begin(&self, coroutine: &mut Coroutine, id: CoroutineId, of_parent: Option<Recorder>) {
        if self.of.get().is_some() {
            self.begin_one(coroutine, id, of_parent);
        }
    }

    #[cold]
    fn begin_one(&self, coroutine: &mut Coroutine, id: CoroutineId, of_parent: Option<Recorder>) {
        let has_own = !coroutine.task && self.of.get().is_some_and(|of| of(coroutine.job));
        coroutine.recorder = if has_own { Some(Recorder::of(id)) } else { of_parent };
        match &mut coroutine.record {
            Some(record) if has_own => **record = Record::default(),
            none => *none = has_own.then(Box::default),
        }
    }

    /// Writes that a wait of the coroutine has ended.
    #[cold]
    pub fn waited(coroutines: &mut [Coroutine], (of, recorder): (CoroutineId, Recorder), wait: SingleWait) {
        if let Some(record) = record_of(coroutines, recorder) {
            record.waited(wait, Recorder::of(of) == recorder);
        }
    }

    /// Writes that the coroutine has had the loop.
    #[cold]
    pub fn ran(coroutines: &mut [Coroutine], (of, recorder): (CoroutineId, Recorder), spent: Nanos) {
        if let Some(record) = record_of(coroutines, recorder) {
            record.ran(spent, Recorder::of(of) == recorder);
        }
    }
}

fn record_of(coroutines: &mut [Coroutine], recorder: Recorder) -> Option<&mut Record> {
    let recorder = recorder.id();
    let coroutine = coroutines.get_mut(recorder.index as usize)?;
    (coroutine.generation == recorder.generation).then_some(())?;
    coroutine.record.as_deref_mut()
}
