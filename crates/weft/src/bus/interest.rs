//! Which workers have subscribers to which topics, as far as a publisher has to know: whom it wakes.
//!
//! Must not know how a worker is woken. Invariants: whoever has subscribers to a topic is among those that are found for it,
//! with others only where the names of topics share a bucket; the bits of a place are changed by its owner alone.
//!
//! A publisher writes a message, and then looks here; who gets a first subscriber writes here, and then looks for messages.
//! So one of the two sees what the other has done, whatever the processors do in between.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

/// Buckets for each worker: a worker with as many topics as it may have connections is found by mistake for one message in
/// two, or in a few, of those that are for one other worker alone.
const BUCKETS_PER_WORKER: usize = 16 * 1024;
/// Beyond it, workers are woken by mistake more often.
const BUCKETS_MAX: usize = 1 << 20;
const BITS: usize = u64::BITS as usize;
const FIRST_WORDS: usize = 8;

/// How large it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Places that are told apart.
    pub places: usize,
    /// Buckets for the names of topics: a power of two.
    pub buckets: usize,
}

impl Size {
    /// That for a server of so many workers, whose places are told apart from the first one.
    pub fn of(workers: usize, places: usize) -> Size {
        let buckets = workers.saturating_mul(BUCKETS_PER_WORKER).clamp(BUCKETS_PER_WORKER, BUCKETS_MAX);
        Size { places, buckets: buckets.next_power_of_two() }
    }

    /// Words of a bucket, which has a bit for each place.
    fn width(self) -> usize {
        self.places.div_ceil(BITS)
    }

    /// Words that all of it takes; `None` if there cannot be so many.
    pub fn words(self) -> Option<usize> {
        self.buckets.is_power_of_two().then_some(())?;
        self.width().checked_mul(self.buckets)?.checked_add(FIRST_WORDS)
    }
}

/// Who has subscribers to what.
#[derive(Debug)]
pub struct Interest {
    /// 1 once a worker reads whose place is not told apart: it is told of everything.
    untold: &'static AtomicU64,
    bits: &'static [AtomicU64],
    size: Size,
}

impl Interest {
    /// That in these words.
    pub fn of(words: &'static [AtomicU64], size: Size) -> Interest {
        let (first, bits) = words.split_at(FIRST_WORDS);
        Interest { untold: &first[0], bits, size }
    }

    /// The bucket of a topic with this number.
    pub fn bucket_of(&self, number: u64) -> u32 {
        // The upper half differs more than the lower one alone.
        ((number ^ number >> 32) as usize & (self.size.buckets - 1)) as u32
    }

    /// A worker has taken this place, which another one may have had.
    pub fn begin(&self, place: usize, had_owner: bool) {
        if place >= self.size.places {
            self.untold.store(1, SeqCst);
        } else if had_owner {
            for bucket in 0..self.size.buckets {
                self.forget(place, bucket as u32);
            }
        }
    }

    /// The worker in this place has subscribers to a topic of this bucket; returns whether it was noted before.
    pub fn note(&self, place: usize, bucket: u32) -> bool {
        let Some((word, bit)) = self.bit(place, bucket) else { return false };
        word.fetch_or(bit, SeqCst) & bit != 0
    }

    /// The worker in this place has none to any topic of this bucket.
    pub fn forget(&self, place: usize, bucket: u32) {
        let noted = self.bit(place, bucket).filter(|(word, bit)| word.load(Relaxed) & bit != 0);
        if let Some((word, bit)) = noted {
            word.fetch_and(!bit, SeqCst);
        }
    }

    /// The places whose workers may have subscribers to a topic of this bucket; `None` for all workers.
    pub fn places(&self, bucket: u32) -> Option<impl Iterator<Item = usize> + Clone> {
        (self.untold.load(SeqCst) == 0).then_some(())?;
        let words = self.bucket(bucket).iter().enumerate();
        Some(words.flat_map(|(at, word)| {
            let word = word.load(SeqCst);
            (0..BITS).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * BITS + bit)
        }))
    }

    fn bucket(&self, bucket: u32) -> &'static [AtomicU64] {
        let width = self.size.width();
        &self.bits[bucket as usize * width..][..width]
    }

    fn bit(&self, place: usize, bucket: u32) -> Option<(&'static AtomicU64, u64)> {
        let word = self.bucket(bucket).get(place / BITS).filter(|_| place < self.size.places)?;
        Some((word, 1 << (place % BITS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::memory::Memory;

    fn of_places(places: usize) -> (Memory, Interest) {
        let size = Size { places, buckets: 16 };
        let memory = Memory::new(size.words().unwrap()).unwrap();
        let interest = Interest::of(memory.words, size);
        (memory, interest)
    }

    fn found(interest: &Interest, bucket: u32) -> Vec<usize> {
        interest.places(bucket).unwrap().collect()
    }

    #[test]
    fn who_has_subscribers_is_found_until_there_are_none() {
        let (_memory, interest) = of_places(130);
        for place in [0, 63, 64, 129] {
            interest.begin(place, false);
            assert!(!interest.note(place, 5));
            assert!(interest.note(place, 5));
        }
        interest.note(1, 15);
        assert_eq!(found(&interest, 5), [0, 63, 64, 129]);
        assert_eq!((found(&interest, 15), found(&interest, 0)), (vec![1], vec![]));
        interest.forget(63, 5);
        interest.forget(63, 5);
        assert_eq!(found(&interest, 5), [0, 64, 129]);
    }

    #[test]
    fn what_the_last_owner_of_a_place_had_is_forgotten() {
        let (_memory, interest) = of_places(4);
        (0..16).for_each(|bucket| {
            interest.note(2, bucket);
            interest.note(3, bucket);
        });
        interest.begin(2, true);
        assert!((0..16).all(|bucket| found(&interest, bucket) == [3]));
    }

    #[test]
    fn all_are_meant_once_there_is_one_that_is_not_told_apart() {
        let (_memory, interest) = of_places(64);
        assert!(!interest.note(64, 3) && !interest.note(64, 3));
        assert!(found(&interest, 3).is_empty());
        interest.begin(64, false);
        assert!(interest.places(3).is_none());
    }

    #[test]
    fn it_grows_with_the_workers_up_to_a_bound() {
        let buckets = |workers| Size::of(workers, 2).buckets;
        assert_eq!(
            [0, 1, 2, 3, 64, 4096].map(buckets),
            [1 << 14, 1 << 14, 1 << 15, 1 << 16, 1 << 20, 1 << 20]
        );
        assert_eq!(Size { places: 2, buckets: 3 }.words(), None);
        assert_eq!(Size { places: 65, buckets: 1 << 63 }.words(), None);
    }
}
