//! What a job will probably compute: as little as any of the last ones that were like it.
//!
//! Job size is queueing theory's word for it. Must not know what makes jobs alike: that is told as keys. Invariants: who has
//! been short lately is taken for short, so that a guess delays none that has always been quick; the table has a fixed size, and
//! what has no place in it is taken for short.

use std::cell::{Cell, RefCell};

use crate::coroutine::{Job, SizeKeys};

/// Tells what makes a job like others.
pub type SizeKeysOf = fn(Job) -> SizeKeys;

/// Sizes that are told apart, each four times the one before it.
pub(crate) const CLASSES: usize = 4;
/// The ticks at which the first of them begins. Who needs less is done before anybody would interrupt it.
pub(crate) const FIRST_CLASS: u32 = crate::board::ALONE;
const FACTOR: u32 = 4;

/// Keys of which something is known.
const PLACES: usize = 1_024;
/// The last jobs of a key that count; of fewer, nothing is concluded.
const RUNS: usize = 8;
const RUNS_MIN: u8 = 4;

/// The class of jobs that compute for so many ticks. `None`: they are short, or so long that nothing is concluded from it.
pub(crate) fn class_of(ticks: u32) -> Option<usize> {
    let class = (ticks / FIRST_CLASS).checked_ilog(FACTOR)? as usize;
    (class < CLASSES).then_some(class)
}

/// The last jobs of one key.
#[derive(Clone, Copy, Default)]
struct Known {
    key: u64,
    /// The ticks of each, in a ring.
    ticks: [u16; RUNS],
    runs: u8,
    next: u8,
}

impl Known {
    fn add(&mut self, ticks: u32) {
        self.ticks[usize::from(self.next)] = u16::try_from(ticks).unwrap_or(u16::MAX);
        self.next = (self.next + 1) % RUNS as u8;
        self.runs = (self.runs + 1).min(RUNS as u8);
    }

    fn least(&self) -> Option<u32> {
        let known = self.ticks[..usize::from(self.runs)].iter().min()?;
        (self.runs >= RUNS_MIN).then_some(u32::from(*known))
    }
}

/// What is known of the jobs of a runtime.
#[derive(Default)]
pub(crate) struct Sizes {
    of: Cell<Option<SizeKeysOf>>,
    /// Empty until the first job that was not short.
    known: RefCell<Box<[Known]>>,
}

impl Sizes {
    pub(crate) fn keep(&self, of: SizeKeysOf) {
        self.of.set(Some(of));
    }

    /// Whether sizes are wanted.
    #[inline]
    pub(crate) fn are_kept(&self) -> bool {
        self.of.get().is_some()
    }

    /// The keys of a job that begins. Where all have been short nobody asks for them.
    #[inline]
    pub(crate) fn keys(&self, job: Job) -> SizeKeys {
        match self.of.get() {
            Some(of) if !self.known.borrow().is_empty() => of(job),
            _ => SizeKeys::default(),
        }
    }

    /// For how many ticks a job with these keys will compute at least; 0 if that is not known.
    pub(crate) fn expected(&self, keys: &SizeKeys) -> u32 {
        let known = self.known.borrow();
        let least = |key: &u64| known.get(place(*key)).filter(|known| known.key == *key)?.least();
        keys.iter().filter(|key| **key != 0).find_map(least).unwrap_or(0)
    }

    /// A job has ended that has computed for so many ticks.
    pub(crate) fn add(&self, keys: &SizeKeys, ticks: u32) {
        let mut known = self.known.borrow_mut();
        if known.is_empty() {
            if ticks >= FIRST_CLASS {
                *known = vec![Known::default(); PLACES].into_boxed_slice();
            }
            return;
        }
        for key in keys.iter().filter(|key| **key != 0) {
            let known = &mut known[place(*key)];
            if known.key != *key {
                *known = Known { key: *key, ..Known::default() };
            }
            known.add(ticks);
        }
    }
}

fn place(key: u64) -> usize {
    key as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: Job = Job { kind: 0, argument: 0, pool: 0 };

    fn sizes() -> Sizes {
        let sizes = Sizes::default();
        sizes.keep(|_| [1, 2, 3]);
        assert_eq!(sizes.keys(JOB), [0; 3], "all were short");
        sizes.add(&[0; 3], FIRST_CLASS);
        assert_eq!(sizes.keys(JOB), [1, 2, 3]);
        sizes
    }

    #[test]
    fn a_size_is_the_least_of_the_last_of_the_closest_key_that_is_known() {
        let sizes = sizes();
        for ticks in [20, 30, 40] {
            sizes.add(&[1, 0, 3], ticks);
        }
        assert_eq!(sizes.expected(&[1, 0, 3]), 0, "three say nothing");
        sizes.add(&[9, 0, 3], 10);
        assert_eq!((sizes.expected(&[1, 0, 3]), sizes.expected(&[7, 0, 3])), (10, 10));
        sizes.add(&[1, 0, 3], 50);
        assert_eq!((sizes.expected(&[1, 0, 3]), sizes.expected(&[7, 0, 3])), (20, 10));
        for ticks in [60; RUNS] {
            sizes.add(&[1, 0, 0], ticks);
        }
        assert_eq!(sizes.expected(&[1, 0, 3]), 60, "what was long ago does not count");
        sizes.add(&[1, 0, 0], 0);
        assert_eq!(sizes.expected(&[1, 0, 3]), 0, "one of them was short");
    }

    #[test]
    fn a_key_that_takes_the_place_of_another_inherits_nothing() {
        let sizes = sizes();
        for _ in 0..RUNS {
            sizes.add(&[5, 0, 0], 20);
        }
        let other = 5 + PLACES as u64;
        assert_eq!(sizes.expected(&[other, 0, 0]), 0);
        sizes.add(&[other, 0, 0], 30);
        assert_eq!((sizes.expected(&[5, 0, 0]), sizes.expected(&[other, 0, 0])), (0, 0));
    }

    #[test]
    fn short_ones_and_very_long_ones_have_no_class() {
        let limit = FIRST_CLASS * FACTOR.pow(CLASSES as u32);
        let classes = [FIRST_CLASS, FIRST_CLASS * FACTOR - 1, FIRST_CLASS * FACTOR, limit - 1].map(class_of);
        assert_eq!(classes, [Some(0), Some(0), Some(1), Some(CLASSES - 1)]);
        assert_eq!([0, FIRST_CLASS - 1, limit, u32::MAX].map(class_of), [None; 4]);
    }
}
