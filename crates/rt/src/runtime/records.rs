//! Which jobs have a record, the way of what happens into it, and who gets it.
//!
//! Must not know what is recorded. Invariant: a job has a record only if somebody asked for one when it began; what its tasks do is
//! recorded there as well, until its coroutine has another job.

use std::cell::{Cell, RefCell};
use std::os::fd::RawFd;

use crate::coroutine::{Coroutine, Job};
use crate::reactor::peer_name;
use crate::record::{Detail, ListedWait, Record, Recorder, SingleWait};
use crate::waits::NO_FD;
use crate::{CoroutineId, Nanos};

/// How much is recorded of a job that begins.
pub type RecordOf = fn(Job) -> Detail;
/// Gets the record of a job that has ended, and when it began, if that lists waits.
pub type Recorded = fn(Job, Nanos, Record);

/// Who gets records, if anybody does.
#[derive(Default)]
pub(crate) struct Records {
    of: Cell<Option<RecordOf>>,
    to: Cell<Option<Recorded>>,
    /// Whether there was one that lists waits: others are not handed out.
    any_lists: Cell<bool>,
}

impl Records {
    pub fn keep(&self, of: RecordOf, to: Recorded) {
        self.of.set(Some(of));
        self.to.set(Some(to));
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
        let of = self.of.get().filter(|_| !coroutine.task);
        let detail = of.map_or(Detail::Nothing, |of| of(coroutine.job));
        if detail == Detail::Nothing {
            (coroutine.recorder, coroutine.record) = (of_parent, None);
        } else {
            coroutine.recorder = Some(Recorder::of(id));
            self.any_lists.set(self.any_lists.get() || detail == Detail::Waits);
            coroutine.record.get_or_insert_default().begin(detail);
        }
    }

    /// The coroutine may wait for this descriptor. What that is connected to is asked now: it may be closed later.
    #[cold]
    pub fn waits(coroutines: &mut [Coroutine], (of, recorder): (CoroutineId, Recorder), fd: RawFd) {
        let lists = fd != NO_FD && record_of(coroutines, recorder).is_some_and(|record| record.lists());
        coroutines[of.index as usize].peer =
            lists.then(|| peer_name(fd)).flatten().map(String::into_boxed_str);
    }

    /// Writes that a wait of the coroutine has ended.
    #[cold]
    pub fn waited(coroutines: &mut [Coroutine], (of, recorder): (CoroutineId, Recorder), wait: SingleWait) {
        let coroutine = &mut coroutines[of.index as usize];
        let (began, peer) = (coroutine.waits_since, coroutine.peer.take());
        let Some(record) = record_of(coroutines, recorder) else { return };
        let is_own = Recorder::of(of) == recorder;
        record.waited(wait, is_own);
        if record.lists() {
            record.list(ListedWait { kind: wait.kind, began, took: wait.took, peer, is_own });
        }
    }

    /// Gives the record of a job that has ended to whoever wants it.
    #[inline]
    pub fn hand_out(&self, coroutines: &RefCell<Vec<Coroutine>>, index: u32) {
        if self.any_lists.get() {
            self.hand_out_one(coroutines, index);
        }
    }

    #[cold]
    fn hand_out_one(&self, coroutines: &RefCell<Vec<Coroutine>>, index: u32) {
        let (job, since, record) = {
            let coroutine = &mut coroutines.borrow_mut()[index as usize];
            let lists = coroutine.record.as_ref().is_some_and(|record| record.lists());
            (coroutine.job, coroutine.since, coroutine.record.take_if(|_| lists))
        };
        if let (Some(record), Some(to)) = (record, self.to.get()) {
            to(job, since, *record);
        }
    }

    /// Writes that the coroutine has had the loop.
    #[inline]
    pub fn ran(&self, coroutines: &RefCell<Vec<Coroutine>>, index: u32, spent: Nanos) {
        if self.of.get().is_some() {
            Records::ran_one(&mut coroutines.borrow_mut(), index, spent);
        }
    }

    fn ran_one(coroutines: &mut [Coroutine], index: u32, spent: Nanos) {
        let coroutine = &coroutines[index as usize];
        let of = CoroutineId { index, generation: coroutine.generation };
        let Some(recorder) = coroutine.recorder else { return };
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
