//! A ring of records in shared memory: the newest are there, the oldest are overwritten.
//!
//! Must not know what a record says, nor who reads it. Invariants: a record is there as a whole or not at all, whenever
//! its writer dies; positions only grow, so one names the same record for ever; who reads a record that is being
//! overwritten learns that it is gone.
//!
//! ```text
//!        floor                             head
//!   ───────┬──────────┬──────────┬──────────┬───────
//!          │ record   │ record   │ record   │              positions, in words; the place is position mod length
//!   ───────┴──────────┴──────────┴──────────┴───────
//! ```

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

use super::memory::Held;

/// Words before the ring: those that writers change lie apart from each other, for the processors' caches.
pub const HEAD_WORDS: usize = 16;
/// Words before a record's bytes: its length, its position, and where an earlier one that belongs to it is.
const RECORD_WORDS: u64 = 3;
/// The first position; 0 is none.
pub const FIRST: u64 = 8;

/// A ring.
#[derive(Debug)]
pub struct Ring {
    head: &'static AtomicU64,
    floor: &'static AtomicU64,
    words: &'static [AtomicU64],
}

/// What is at a position.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// A record, whose bytes were appended to the caller's.
    Record {
        /// The position of the next one.
        next: u64,
        /// Where an earlier record that belongs to it is, or was; 0 if there was none.
        previous: u64,
    },
    /// Nothing yet.
    Nothing,
    /// It was overwritten, or is not a record.
    Gone,
}

impl Ring {
    /// The ring in these words: [`HEAD_WORDS`], and then a power of two.
    pub fn of(words: &'static [AtomicU64]) -> Ring {
        let (first, words) = words.split_at(HEAD_WORDS);
        debug_assert!(words.len().is_power_of_two());
        let ring = Ring { head: &first[0], floor: &first[8], words };
        // Whoever comes second finds it done.
        let _ = ring.head.compare_exchange(0, FIRST, Relaxed, Relaxed);
        let _ = ring.floor.compare_exchange(0, FIRST, Relaxed, Relaxed);
        ring
    }

    /// Where the next record will be.
    pub fn head(&self) -> u64 {
        self.head.load(Acquire)
    }

    /// The words that it has.
    pub fn length(&self) -> u64 {
        self.words.len() as u64
    }

    /// The words that a record of so many bytes takes.
    pub fn words_of(bytes: usize) -> u64 {
        RECORD_WORDS + (bytes as u64).div_ceil(8)
    }

    /// Writes a record at the head, where nobody sees it before [`Ring::advance`]. What it overwrites is gone.
    pub fn write(&self, _: &Held<'_>, bytes: &[u8], previous: u64) {
        let (at, words) = (self.head.load(Relaxed), Ring::words_of(bytes.len()));
        let floor = (at + words).saturating_sub(self.length()).max(FIRST);
        self.floor.fetch_max(floor, Relaxed);
        // A reader that sees a word of this record sees the floor, too: see read().
        fence(Release);
        for (word, value) in (at..).zip([bytes.len() as u64, at, previous]) {
            self.word(word).store(value, Relaxed);
        }
        let (chunks, rest) = bytes.as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        for (word, chunk) in (at + RECORD_WORDS..at + words).zip(chunks.iter().chain([&last])) {
            self.word(word).store(u64::from_le_bytes(*chunk), Relaxed);
        }
    }

    /// Makes the record of so many bytes that was written at the head visible, and returns its position.
    pub fn advance(&self, _: &Held<'_>, bytes: usize) -> u64 {
        let at = self.head.load(Relaxed);
        self.head.store(at + Ring::words_of(bytes), Release);
        at
    }

    /// Appends the bytes of the record at a position to `into`.
    pub fn read(&self, at: u64, into: &mut Vec<u8>) -> Found {
        let head = self.head();
        if at == head {
            return Found::Nothing;
        }
        if at > head || at < self.floor.load(Relaxed) {
            return Found::Gone;
        }
        let [length, position, previous] = [0, 1, 2].map(|word| self.word(at + word).load(Relaxed));
        let words = length.div_ceil(8);
        if position != at || words > head - at - RECORD_WORDS.min(head - at) {
            return Found::Gone;
        }
        let start = into.len();
        into.reserve(words as usize * 8);
        for word in at + RECORD_WORDS..at + RECORD_WORDS + words {
            into.extend_from_slice(&self.word(word).load(Relaxed).to_le_bytes());
        }
        // What was read is older than the floor that is read now: if it is above, nothing was overwritten meanwhile.
        fence(Acquire);
        if self.floor.load(Relaxed) > at {
            into.truncate(start);
            return Found::Gone;
        }
        into.truncate(start + length as usize);
        Found::Record { next: at + RECORD_WORDS + words, previous }
    }

    fn word(&self, at: u64) -> &AtomicU64 {
        &self.words[at as usize & (self.words.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::memory::Memory;

    fn append(memory: &Memory, ring: &Ring, bytes: &[u8], previous: u64) -> u64 {
        let held = memory.lock().unwrap();
        ring.write(&held, bytes, previous);
        ring.advance(&held, bytes.len())
    }

    #[test]
    fn records_of_every_length_are_read_as_they_were_written_until_they_are_overwritten() {
        let memory = Memory::new(HEAD_WORDS + 256).unwrap();
        let ring = Ring::of(memory.words);
        let (mut at, mut before) = (ring.head(), 0);
        for round in 0..2_000usize {
            let bytes: Vec<u8> = (0..round % 100).map(|byte| (byte + round) as u8).collect();
            assert_eq!(append(&memory, &ring, &bytes, before), at);
            let mut read = b"x".to_vec();
            let next = ring.head();
            assert_eq!(ring.read(at, &mut read), Found::Record { next, previous: before });
            assert_eq!(read[1..], bytes);
            (before, at) = (at, next);
        }
        assert_eq!(ring.read(at, &mut Vec::new()), Found::Nothing);
        assert_eq!(ring.read(at + 1, &mut Vec::new()), Found::Gone);
        assert_eq!(ring.read(FIRST, &mut Vec::new()), Found::Gone);
        let floor = ring.floor.load(Relaxed);
        assert!(floor > FIRST && at - floor <= ring.length());
    }

    #[test]
    fn what_was_written_and_not_made_visible_is_not_there() {
        let memory = Memory::new(HEAD_WORDS + 256).unwrap();
        let ring = Ring::of(memory.words);
        ring.write(&memory.lock().unwrap(), b"its writer dies", 0);
        assert_eq!(ring.read(ring.head(), &mut Vec::new()), Found::Nothing);
        let at = append(&memory, &ring, b"another", 0);
        let mut read = Vec::new();
        assert!(matches!(ring.read(at, &mut read), Found::Record { .. }));
        assert_eq!(read, b"another");
    }

    #[test]
    fn nonsense_in_the_memory_is_no_record() {
        let memory = Memory::new(HEAD_WORDS + 256).unwrap();
        let ring = Ring::of(memory.words);
        let at = append(&memory, &ring, b"some bytes", 0);
        ring.word(at).store(u64::MAX, Relaxed);
        assert_eq!(ring.read(at, &mut Vec::new()), Found::Gone);
        ring.word(at).store(100_000, Relaxed);
        assert_eq!(ring.read(at, &mut Vec::new()), Found::Gone);
    }
}
