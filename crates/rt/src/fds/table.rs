//! The waiters of each descriptor, by descriptor number.
//!
//! It must not know how a wait ends. Invariant: an entry holds the waiters of the descriptor that is open now; closing
//! the descriptor empties it.

use std::os::fd::RawFd;

use super::drained::Drained;
use crate::reactor::Readiness;
use crate::wait::{CoroutineId, Wait};

/// A wait for a descriptor.
pub(super) struct Waiter {
    pub wait: Wait,
    /// What ends it.
    pub interest: Readiness,
}

/// The state of one descriptor.
#[derive(Default)]
pub(super) struct Entry {
    /// Whether the reactor watches it.
    pub registered: bool,
    pub waiters: Vec<Waiter>,
    pub drained: Drained,
    /// Whether the number may still get events of a file that it had before: another thread closed it, and the file is open
    /// elsewhere.
    pub haunted: bool,
}

/// Entries by descriptor number. The table grows to the highest descriptor waited for, which `RLIMIT_NOFILE`
/// limits.
#[derive(Default)]
pub struct FdTable {
    entries: Vec<Entry>,
}

impl FdTable {
    /// The entry of a descriptor, made if there is none.
    pub(super) fn entry(&mut self, fd: RawFd) -> &mut Entry {
        let index = fd as usize;
        if index >= self.entries.len() {
            self.entries.resize_with(index + 1, Entry::default);
        }
        &mut self.entries[index]
    }

    /// Whether any coroutine waits for a descriptor.
    pub fn has_waiters(&self) -> bool {
        self.entries.iter().any(|entry| !entry.waiters.is_empty())
    }

    /// The descriptors that a coroutine waits for.
    pub fn waited_for_by(&self, id: CoroutineId) -> impl Iterator<Item = RawFd> {
        let is_its = move |entry: &Entry| entry.waiters.iter().any(|waiter| waiter.wait.coroutine == id);
        self.entries.iter().enumerate().filter(move |(_, entry)| is_its(entry)).map(|(fd, _)| fd as RawFd)
    }

    /// The entry of a descriptor, if there has been a wait for it.
    pub(super) fn known(&mut self, fd: RawFd) -> Option<&mut Entry> {
        self.entries.get_mut(fd as usize)
    }

    /// [`FdTable::known`], to look at it.
    pub(super) fn get(&self, fd: RawFd) -> Option<&Entry> {
        self.entries.get(fd as usize)
    }

    pub(super) fn remove(&mut self, fd: RawFd, wait: Wait) {
        if let Some(entry) = self.known(fd) {
            entry.waiters.retain(|waiter| waiter.wait != wait);
        }
    }
}
