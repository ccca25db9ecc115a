//! What one job has done with its time: for how long it had the loop, and what it has waited for, with its tasks apart.
//!
//! Must not know what a job is, which ones have a record, nor who reads it. Invariant: a wait is recorded when it has ended, once.

use std::num::NonZeroU64;

use crate::clock::Nanos;
use crate::wait::CoroutineId;
use crate::waits::WaitKind;

/// The coroutine that has a record, as one word: each job that starts carries it, or none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Recorder(NonZeroU64);

impl Recorder {
    pub fn of(id: CoroutineId) -> Recorder {
        Recorder(NonZeroU64::MIN.saturating_add(u64::from(id.index) << 32 | u64::from(id.generation)))
    }

    pub fn id(self) -> CoroutineId {
        let word = self.0.get() - 1;
        CoroutineId { index: (word >> 32) as u32, generation: word as u32 }
    }
}

/// How much is recorded of a job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Detail {
    /// Nothing.
    Nothing,
    /// How its time was spent.
    Sums,
    /// That, and each of its waits.
    Waits,
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

/// A wait that a record lists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedWait {
    /// What for.
    pub kind: WaitKind,
    /// When it began.
    pub began: Nanos,
    /// How long it took.
    pub took: Nanos,
    /// Whom or what it was for, as far as that has an address or a name.
    pub peer: Option<Box<str>>,
    /// Whether the job's own coroutine waited, not a task of it.
    pub is_own: bool,
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
    /// Its first waits, in the order in which they ended: [`Record::LISTED_MAX`] at most, and none without [`Detail::Waits`].
    pub waits: Vec<ListedWait>,
    /// How many more there were.
    pub unlisted: u32,
    lists: bool,
    /// Whether a wait is in it.
    has_waits: bool,
}

impl Record {
    /// Waits that a record lists.
    pub const LISTED_MAX: usize = 128;

    /// Forgets everything, and from here on has so much.
    pub(crate) fn begin(&mut self, detail: Detail) {
        if std::mem::take(&mut self.has_waits) {
            (self.own, self.tasks, self.longest) = (Spent::default(), Spent::default(), None);
            self.waits.clear();
            self.unlisted = 0;
        }
        (self.own.ran, self.tasks.ran) = (0, 0);
        self.lists = detail == Detail::Waits;
    }

    /// Whether it lists waits.
    pub(crate) fn lists(&self) -> bool {
        self.lists
    }

    pub(crate) fn waited(&mut self, wait: SingleWait, is_own: bool) {
        self.has_waits = true;
        let spent = if is_own { &mut self.own } else { &mut self.tasks };
        let waited = &mut spent.waited[wait.kind.place()];
        waited.times = waited.times.saturating_add(1);
        waited.nanos += wait.took;
        if is_own && self.longest.is_none_or(|longest| wait.took > longest.took) {
            self.longest = Some(wait);
        }
    }

    pub(crate) fn list(&mut self, wait: ListedWait) {
        self.has_waits = true;
        if self.waits.len() < Record::LISTED_MAX {
            self.waits.push(wait);
        } else {
            self.unlisted = self.unlisted.saturating_add(1);
        }
    }

    pub(crate) fn ran(&mut self, spent: Nanos, is_own: bool) {
        if is_own {
            self.own.ran += spent;
        } else {
            self.tasks.ran += spent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorder_is_one_coroutine() {
        for (index, generation) in [(0, 0), (0, u32::MAX), (7, 1), (u32::MAX - 1, u32::MAX)] {
            let id = CoroutineId { index, generation };
            assert_eq!(Recorder::of(id).id(), id);
        }
    }

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
        record.ran(3, true);
        record.begin(Detail::Sums);
        let in_all = [&record.own, &record.tasks].map(|spent| spent.ran + spent.waited_in_all());
        assert_eq!((in_all, record.longest), ([0, 0], None));
    }

    #[test]
    fn a_list_of_waits_has_a_bound() {
        let mut record = Record::default();
        record.begin(Detail::Waits);
        let wait = |began| ListedWait { kind: WaitKind::Dns, began, took: 1, peer: None, is_own: true };
        (0..Record::LISTED_MAX as Nanos + 3).for_each(|began| record.list(wait(began)));
        assert_eq!((record.waits.len(), record.unlisted), (Record::LISTED_MAX, 3));
        assert_eq!(record.waits[0], wait(0), "the first are kept");
        record.begin(Detail::Sums);
        assert!(record.waits.is_empty() && record.unlisted == 0 && !record.lists());
    }
}
