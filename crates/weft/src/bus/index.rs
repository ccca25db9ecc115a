//! Where the last message of each topic is.
//!
//! Each message names the one before it of its topic, so from here its history can be walked. Must not know what a
//! message is. Invariant: a topic that was forgotten to make room is never taken for one that had no messages; a writer
//! that dies between two steps leaves something that the next one repairs.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::memory::Held;

/// Topics whose names come to the same number of a bucket, and that are remembered.
const BUCKET: usize = 8;
/// Topics that are remembered.
const TOPICS: usize = 32 * 1024;
const ENTRY_WORDS: usize = 2;
const FIRST_WORDS: usize = 8;
/// Words that all of it takes.
pub const WORDS: usize = FIRST_WORDS + TOPICS * ENTRY_WORDS;

// The first words.
const FORGOTTEN: usize = 0;
const CHANGED: usize = 1;
const CHANGED_NAME: usize = 2;
const CHANGED_LAST: usize = 3;

/// The index.
#[derive(Debug)]
pub struct Index {
    first: &'static [AtomicU64],
    entries: &'static [AtomicU64],
}

/// A topic's name as a number, the same in each version of weft (FNV-1a).
pub fn number_of(topic: &[u8]) -> u64 {
    topic.iter().fold(0xcbf2_9ce4_8422_2325, |number, byte| {
        (number ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl Index {
    /// That in these words.
    pub fn of(words: &'static [AtomicU64]) -> Index {
        let (first, entries) = words.split_at(FIRST_WORDS);
        Index { first, entries }
    }

    /// The position of a topic's last message; `Err` with the position up to which messages may have been forgotten. Under the
    /// lock: a writer changes an entry in several steps, and notes a message before it is there.
    pub fn last(&self, _: &Held<'_>, number: u64) -> Result<u64, u64> {
        let forgotten = self.first[FORGOTTEN].load(Acquire);
        let found = bucket(number).find(|entry| self.entries[*entry].load(Acquire) == number);
        let last = found.map_or(0, |entry| self.entries[entry + 1].load(Acquire));
        if last == 0 { Err(forgotten) } else { Ok(last) }
    }

    /// Notes that a topic's last message will be at a position; returns where the one before it is, or the position up
    /// to which that may have been forgotten. [`Index::is_noted`] MUST follow when the message is there.
    pub fn note(&self, _: &Held<'_>, number: u64, at: u64) -> u64 {
        let (name, last) = (
            |entry: usize| self.entries[entry].load(Relaxed),
            |entry: usize| self.entries[entry + 1].load(Relaxed),
        );
        let known = bucket(number).find(|entry| name(*entry) == number && last(*entry) != 0);
        // The one that is longest without a message makes room.
        let entry = known.or_else(|| bucket(number).min_by_key(|entry| last(*entry))).unwrap_or_default();
        self.first[CHANGED_NAME].store(name(entry), Relaxed);
        self.first[CHANGED_LAST].store(last(entry), Relaxed);
        self.first[CHANGED].store(entry as u64 + 1, Release);
        let previous = match known {
            Some(entry) => last(entry),
            None => self.first[FORGOTTEN].fetch_max(last(entry), Relaxed).max(last(entry)),
        };
        self.entries[entry + 1].store(0, Release);
        self.entries[entry].store(number, Release);
        self.entries[entry + 1].store(at, Release);
        previous
    }

    /// The message is there.
    pub fn is_noted(&self, _: &Held<'_>) {
        self.first[CHANGED].store(0, Release);
    }

    /// Takes back what a writer has noted that has died before its message was there, at the present `head`.
    pub fn repair(&self, _: &Held<'_>, head: u64) {
        let Some(entry) = (self.first[CHANGED].load(Acquire) as usize).checked_sub(1) else { return };
        let Some([name, last]) = self.entries.get(entry..entry + 2) else { return };
        // It is not, if the entry is half changed, or names what is not there yet.
        if !(1..head).contains(&last.load(Acquire)) {
            last.store(0, Release);
            name.store(self.first[CHANGED_NAME].load(Relaxed), Release);
            last.store(self.first[CHANGED_LAST].load(Relaxed), Release);
        }
        self.first[CHANGED].store(0, Release);
    }
}

/// The entries in which a topic may be.
fn bucket(number: u64) -> impl Iterator<Item = usize> {
    let bucket = number as usize % (TOPICS / BUCKET);
    (0..BUCKET).map(move |at| (bucket * BUCKET + at) * ENTRY_WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::memory::Memory;

    fn index() -> (Memory, Index) {
        let memory = Memory::new(WORDS).unwrap();
        let index = Index::of(memory.words);
        (memory, index)
    }

    #[test]
    fn a_topic_leads_from_its_last_message_to_the_one_before() {
        let (memory, index) = index();
        let held = memory.lock().unwrap();
        assert_eq!(index.last(&held, 5), Err(0));
        for (at, previous) in [(100, 0), (200, 100), (300, 200)] {
            assert_eq!(index.note(&held, 5, at), previous);
            index.is_noted(&held);
            assert_eq!(index.last(&held, 5), Ok(at));
        }
    }

    #[test]
    fn a_full_bucket_forgets_the_topic_that_is_longest_silent_and_says_so() {
        let (memory, index) = index();
        let held = memory.lock().unwrap();
        let numbers: Vec<u64> = (0..=BUCKET as u64).map(|n| 1 + n * (TOPICS / BUCKET) as u64).collect();
        for (number, at) in numbers.iter().zip(10..) {
            index.note(&held, *number, at);
            index.is_noted(&held);
        }
        assert_eq!(index.last(&held, numbers[0]), Err(10));
        assert_eq!(index.last(&held, numbers[1]), Ok(11));
        assert_eq!(index.note(&held, numbers[0], 50), 11, "what is older may have been forgotten");
    }

    #[test]
    fn what_a_dead_writer_has_noted_is_taken_back() {
        let (memory, index) = index();
        let held = memory.lock().unwrap();
        index.note(&held, 5, 100);
        index.is_noted(&held);
        index.note(&held, 5, 200); // and dies
        index.repair(&held, 200);
        assert_eq!(index.last(&held, 5), Ok(100));
        index.note(&held, 5, 200); // and dies after the message was there
        index.repair(&held, 300);
        assert_eq!(index.last(&held, 5), Ok(200));
        index.note(&held, 6, 300);
        index.repair(&held, 300);
        assert_eq!(index.last(&held, 6), Err(0));
    }
}
