//! A worker's part in the bus: who it is, and how far it has read.
//!
//! Must not know what it reads. Invariants: each record is read once, in order; what was missed because others did not wait
//! any more is reported once; publishers know to which topics it has subscribers, so it sleeps while others get messages.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use super::places::{LINK, RINGS};
use super::ring::Found;
use super::shared::Bus;

/// How often a worker that starts tries to get a place.
const TRIES: usize = 500;

/// A worker's part in the bus.
#[derive(Debug)]
pub struct Member {
    /// The bus.
    pub bus: &'static Bus,
    /// This worker: its process, and a random number.
    pub owner: u64,
    place: Option<usize>,
    read: [Cell<u64>; RINGS],
    /// Buckets with more than one topic that has subscribers here, and how many more ([`Bus::note_subscribers`]).
    crowded: RefCell<HashMap<u32, u32>>,
    scratch: RefCell<Vec<u8>>,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It was given.
    Given,
    /// Nothing.
    Nothing,
    /// This worker was left behind, and has missed records.
    Missed,
}

impl Member {
    /// This process becomes one.
    pub fn join(bus: &'static Bus) -> Member {
        Member::of_owner(bus, 0, None)
    }

    /// This process becomes the one that is the link to other hosts, and reads what was published from a position on.
    pub fn join_as_link(bus: &'static Bus, from: u64) -> Member {
        Member::of_owner(bus, LINK, Some(from))
    }

    fn of_owner(bus: &'static Bus, kind: u64, from: Option<u64>) -> Member {
        let mut random = [0u8; 4];
        // Without randomness the pid still distinguishes workers.
        let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::NONBLOCK);
        let owner = kind | u64::from(std::process::id()) << 32 | u64::from(u32::from_ne_bytes(random));
        let mut joined = bus.join(owner, from);
        for _ in 0..TRIES {
            if joined.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
            joined = bus.join(owner, from);
        }
        if joined.is_none() {
            tracing::error!("this worker gets no messages of topics: there is no place left on the bus");
        }
        let (place, read) = joined.unzip();
        Member {
            bus,
            owner,
            place,
            read: read.unwrap_or_default().map(Cell::new),
            crowded: RefCell::default(),
            scratch: RefCell::default(),
        }
    }

    /// Whether it is the link to other hosts.
    pub fn is_link(&self) -> bool {
        self.owner & LINK != 0
    }

    /// Whether it gets what others write.
    pub fn reads(&self) -> bool {
        self.place.is_some()
    }

    /// The bells that wake this worker; nobody MUST read them.
    pub fn bells(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.bus.bells.of_worker(self.place)
    }

    /// This worker has a first subscriber to a topic: what is published from now on wakes it.
    pub fn begin_topic(&self, topic: &[u8]) {
        let Some(place) = self.place else { return };
        if let (bucket, true) = self.bus.note_subscribers(place, topic) {
            *self.crowded.borrow_mut().entry(bucket).or_default() += 1;
        }
    }

    /// This worker has no subscribers to a topic any more.
    pub fn end_topic(&self, topic: &[u8]) {
        let Some(place) = self.place else { return };
        let is_last = |bucket| {
            let mut crowded = self.crowded.borrow_mut();
            let Some(more) = crowded.get_mut(&bucket) else { return true };
            *more -= 1;
            if *more == 0 {
                crowded.remove(&bucket);
            }
            false
        };
        self.bus.forget_subscribers(place, topic, is_last);
    }

    /// Whether there is something to read.
    pub fn has_news(&self) -> bool {
        self.reads() && (0..RINGS).any(|ring| self.bus.head(ring) != self.read[ring].get())
    }

    /// What was read of a ring: records from this position on are still to come.
    pub fn position(&self, ring: usize) -> u64 {
        self.read[ring].get()
    }

    /// Gives the next record of a ring, with its position.
    pub fn next(&self, ring: usize, take: impl FnOnce(u64, &[u8])) -> Next {
        let (Some(place), at) = (self.place, self.read[ring].get()) else { return Next::Nothing };
        let mut scratch = std::mem::take(&mut *self.scratch.borrow_mut());
        scratch.clear();
        let (next, to) = match self.bus.read(ring, at, &mut scratch) {
            Found::Nothing => return self.put_back(scratch, Next::Nothing),
            Found::Record { next, .. } => (Next::Given, next),
            // The newest is what counts for those who can do without the rest.
            Found::Gone => (Next::Missed, self.bus.head(ring)),
        };
        self.read[ring].set(to);
        self.bus.has_read(place, ring, to);
        if next == Next::Given {
            take(at, &scratch);
        }
        self.put_back(scratch, next)
    }

    /// Passes over the next record of a ring if `is_passed` says so; returns whether it did.
    pub fn pass(&self, ring: usize, is_passed: impl FnOnce(&[u8]) -> bool) -> bool {
        let (Some(place), at) = (self.place, self.read[ring].get()) else { return false };
        let mut scratch = std::mem::take(&mut *self.scratch.borrow_mut());
        scratch.clear();
        let to = match self.bus.read(ring, at, &mut scratch) {
            Found::Record { next, .. } if is_passed(&scratch) => Some(next),
            _ => None,
        };
        if let Some(to) = to {
            self.read[ring].set(to);
            self.bus.has_read(place, ring, to);
        }
        self.put_back(scratch, to.is_some())
    }

    fn put_back<T>(&self, scratch: Vec<u8>, next: T) -> T {
        /// A larger buffer is not kept.
        const KEPT_BYTES: usize = 64 * 1024;
        if scratch.capacity() <= KEPT_BYTES {
            *self.scratch.borrow_mut() = scratch;
        }
        next
    }

    /// This process ends.
    pub fn leave(&self) {
        self.bus.leave(std::process::id());
    }
}
