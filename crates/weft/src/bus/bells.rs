//! The bells of the bus: how those who read it are woken.
//!
//! Must not know what there is to read. Invariants: a bell is an eventfd that is written to and never read: each write is an
//! edge for everybody who waits for it (epoll(7)); whoever reads the bus waits for all of them that are his.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};

/// Workers that have bells of their own: each is a descriptor in every process.
const OWN_MAX: usize = 256;
/// Workers beside those of a reload: such as are started because computations hold others.
const SPARE: usize = 2;
/// Bells that belong to no worker.
const OTHERS: usize = 2;

/// The bells.
#[derive(Debug)]
pub struct Bells {
    /// That of all workers.
    common: OwnedFd,
    /// That of the link to other hosts.
    link: OwnedFd,
    /// Those of single workers, by their places.
    own: Vec<OwnedFd>,
}

impl Bells {
    /// New ones for a server of so many workers, of which twice as many are there during a reload.
    ///
    /// # Errors
    /// Those of eventfd(2).
    pub fn new(workers: usize) -> io::Result<Bells> {
        let new = || Ok(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let own = Bells::count(workers) - OTHERS;
        Ok(Bells { common: new()?, link: new()?, own: (0..own).map(|_| new()).collect::<io::Result<_>>()? })
    }

    /// How many there are for so many workers: descriptors of each process.
    pub fn count(workers: usize) -> usize {
        workers.saturating_mul(2).saturating_add(SPARE).min(OWN_MAX) + OTHERS
    }

    /// Those of an earlier image, in the order of [`Bells::all`].
    pub fn of(all: Vec<OwnedFd>) -> Option<Bells> {
        let mut all = all.into_iter();
        Some(Bells { common: all.next()?, link: all.next()?, own: all.collect() })
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [&self.common, &self.link].into_iter().chain(&self.own).map(AsFd::as_fd)
    }

    /// How many workers have one of their own.
    pub fn own(&self) -> usize {
        self.own.len()
    }

    /// Those of the worker in this place; without one, that of all.
    pub fn of_worker(&self, place: Option<usize>) -> impl Iterator<Item = BorrowedFd<'_>> {
        let own = place.and_then(|place| self.own.get(place));
        std::iter::once(&self.common).chain(own).map(AsFd::as_fd)
    }

    /// That of the link.
    pub fn of_link(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }

    /// Wakes all workers.
    pub fn ring_common(&self) {
        ring(&self.common);
    }

    /// Wakes the link.
    pub fn ring_link(&self) {
        ring(&self.link);
    }

    /// Wakes the worker in a place, if it has a bell of its own.
    pub fn ring_own(&self, place: usize) {
        self.own.get(place).into_iter().for_each(ring);
    }
}

fn ring(bell: &OwnedFd) {
    let one = 1u64.to_ne_bytes();
    if rustix::io::write(bell, &one).is_err() {
        // Nobody reads it, so after 2^64 - 2 times it is full.
        let _ = rustix::io::read(bell, &mut [0; 8]);
        let _ = rustix::io::write(bell, &one);
    }
}
