//! The places of those who read the bus: who they are, and how far they have read.
//!
//! Must not know what they read. Invariants: a place has one owner at a time, and only that one moves its cursors forward;
//! a place without an owner delays nobody.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::memory::Held;

/// Workers that can read at once; more of them publish, but get nothing.
pub const PLACES: usize = 2048;
/// Rings that each of them reads.
pub const RINGS: usize = 2;
/// Words that all of it takes.
pub const WORDS: usize = 8 + PLACES * (1 + RINGS);

/// The cursor of one who is not waited for.
const NOT_WAITED_FOR: u64 = u64::MAX;

/// In an owner: it is the link to other hosts, which has no connections.
pub const LINK: u64 = 1 << 63;

/// The process of an owner.
pub fn pid_of(owner: u64) -> u32 {
    ((owner & !LINK) >> 32) as u32
}

/// The places.
#[derive(Debug)]
pub struct Places {
    /// How many of them were ever taken.
    used: &'static AtomicU64,
    /// Who has it: the process and a random number; 0 if it is free.
    owners: &'static [AtomicU64],
    cursors: &'static [AtomicU64],
}

impl Places {
    /// Those in these words.
    pub fn of(words: &'static [AtomicU64]) -> Places {
        let (first, rest) = words.split_at(8);
        let (owners, cursors) = rest.split_at(PLACES);
        Places { used: &first[0], owners, cursors }
    }

    /// Takes a free place, for a reader that begins at these positions.
    pub fn take(&self, _: &Held<'_>, owner: u64, from: [u64; RINGS]) -> Option<usize> {
        let place = self.owners.iter().position(|owner| owner.load(Acquire) == 0)?;
        for (ring, at) in from.into_iter().enumerate() {
            self.cursor(place, ring).store(at, Relaxed);
        }
        self.used.fetch_max(place as u64 + 1, Relaxed);
        self.owners[place].store(owner, Release);
        Some(place)
    }

    /// Frees the places of a process that has ended, or ends.
    pub fn free(&self, pid: u32) {
        for place in 0..self.used() {
            let owner = self.owners[place].load(Acquire);
            if pid_of(owner) != pid || owner == 0 {
                continue;
            }
            for ring in 0..RINGS {
                self.cursor(place, ring).store(NOT_WAITED_FOR, Release);
            }
            // It may have freed it itself just now, and another have taken it.
            let _ = self.owners[place].compare_exchange(owner, 0, AcqRel, Relaxed);
        }
    }

    /// Who has places.
    pub fn owners(&self) -> impl Iterator<Item = u64> {
        self.owners[..self.used()].iter().map(|owner| owner.load(Acquire)).filter(|owner| *owner != 0)
    }

    /// The place of an owner.
    pub fn of_owner(&self, owner: u64) -> Option<usize> {
        (0..self.used()).find(|place| owner != 0 && self.owners[*place].load(Acquire) == owner)
    }

    /// The reader in a place has read everything before this position.
    pub fn has_read(&self, place: usize, ring: usize, to: u64) {
        self.cursor(place, ring).store(to, Release);
    }

    /// The lowest position that a reader still has to read, and its place.
    pub fn slowest(&self, ring: usize) -> Option<(u64, usize)> {
        let taken = (0..self.used()).filter(|place| self.owners[*place].load(Acquire) != 0);
        let cursors = taken.map(|place| (self.cursor(place, ring).load(Acquire), place));
        cursors.filter(|(at, _)| *at != NOT_WAITED_FOR).min()
    }

    /// Nobody waits for the reader in this place any more, until it reads on. Returns its process.
    pub fn leave_behind(&self, place: usize, ring: usize, at: u64) -> Option<u32> {
        // It may be reading on right now.
        self.cursor(place, ring).compare_exchange(at, NOT_WAITED_FOR, AcqRel, Relaxed).ok()?;
        Some(pid_of(self.owners[place].load(Acquire)))
    }

    fn cursor(&self, place: usize, ring: usize) -> &AtomicU64 {
        &self.cursors[place * RINGS + ring]
    }

    /// How many of them were ever taken.
    pub fn used(&self) -> usize {
        (self.used.load(Acquire) as usize).min(PLACES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::memory::Memory;

    const OWNER: u64 = 7 << 32 | 1;

    #[test]
    fn the_slowest_is_waited_for_until_it_is_left_behind_or_ends() {
        let memory = Memory::new(WORDS).unwrap();
        let places = Places::of(memory.words);
        assert_eq!(places.slowest(0), None);
        let take = |owner, from| places.take(&memory.lock().unwrap(), owner, from).unwrap();
        let (first, second) = (take(OWNER, [10, 0]), take(8 << 32, [20, 0]));
        assert_eq!(places.slowest(0), Some((10, first)));
        places.has_read(first, 0, 30);
        assert_eq!(places.slowest(0), Some((20, second)));
        assert_eq!(places.leave_behind(second, 0, 19), None);
        assert_eq!(places.leave_behind(second, 0, 20), Some(8));
        assert_eq!(places.slowest(0), Some((30, first)));
        places.has_read(second, 0, 25);
        assert_eq!(places.slowest(0), Some((25, second)));
        places.free(8);
        places.free(8);
        assert_eq!(places.slowest(0), Some((30, first)));
        assert_eq!(places.owners().collect::<Vec<_>>(), [OWNER]);
        assert_eq!(take(9 << 32, [5, 5]), second);
    }

    #[test]
    fn full_is_full() {
        let memory = Memory::new(WORDS).unwrap();
        let places = Places::of(memory.words);
        let held = memory.lock().unwrap();
        for pid in 1..=PLACES as u64 {
            assert!(places.take(&held, pid << 32, [0, 0]).is_some());
        }
        assert_eq!(places.take(&held, OWNER, [0, 0]), None);
    }
}
