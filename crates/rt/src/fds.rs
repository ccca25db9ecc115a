//! Waiting for descriptors. The server's own connections are not here: the loop's [`Driver`](crate::Driver) registers
//! them under keys of its own.
//!
//! The kernel may refuse to register a descriptor for lack of memory or watches (`ENOSPC`, `ENOMEM`). Its waiters then
//! wake without readiness after a pause, and try again.
//!
//! Invariants: closing a descriptor wakes its waiters with `POLLNVAL`; a reused descriptor number inherits neither
//! waiters nor a registration.

mod drained;
mod table;

use std::os::fd::RawFd;

use rustix::io::Errno;

use drained::Drained;
pub(crate) use drained::Stream;
pub use table::FdTable;
use table::Waiter;

use crate::{Nanos, Readiness, Runtime, Wait, Wake};

/// Pause before the next attempt at a descriptor that could not be registered.
const UNREGISTERED_PAUSE: Nanos = 10 * crate::MILLISECOND;

/// The result of watching one descriptor.
enum Watched {
    Registered,
    /// The kernel has no room for it.
    Unregistered,
    /// There is nothing to wait for.
    Ready(Readiness),
}

impl Runtime {
    /// Parks the running coroutine until one of `fds` is ready for its interest, or the deadline has passed. The caller
    /// has already tried and found none ready, because the registrations are edge-triggered. Descriptors that epoll
    /// refuses (regular files) count as ready at once. A wake with an empty readiness only means that the caller should
    /// try again.
    pub fn wait_fds(&self, fds: &[(RawFd, Readiness)], deadline: Option<Nanos>) -> Wake {
        self.wait_fds_on(self.begin_call_wait(), fds, deadline)
    }

    /// [`Runtime::wait_fds`] on a wait that is already open, so that other events may end it too.
    pub(crate) fn wait_fds_on(
        &self,
        wait: Wait,
        fds: &[(RawFd, Readiness)],
        deadline: Option<Nanos>,
    ) -> Wake {
        let mut until = deadline;
        for (position, &(fd, interest)) in fds.iter().enumerate() {
            if fd < 0 {
                continue;
            }
            match self.watch_fd(fd, interest, wait) {
                Watched::Registered => (),
                Watched::Unregistered => {
                    let look = crate::clock::now() + UNREGISTERED_PAUSE;
                    until = Some(deadline.map_or(look, |deadline| deadline.min(look)));
                }
                Watched::Ready(readiness) => {
                    self.unwatch_fds(&fds[..position], wait);
                    self.wake(wait, readiness);
                    break;
                }
            }
        }
        let wake = self.park(wait, until);
        self.unwatch_fds(fds, wait);
        if wake == Wake::TimedOut && until != deadline { Wake::Ready(Readiness::default()) } else { wake }
    }

    /// [`Runtime::wait_fds`] for one descriptor.
    pub fn wait_fd(&self, fd: RawFd, interest: Readiness, deadline: Option<Nanos>) -> Wake {
        self.wait_fds(&[(fd, interest)], deadline)
    }

    fn watch_fd(&self, fd: RawFd, interest: Readiness, wait: Wait) -> Watched {
        let mut table = self.fds.borrow_mut();
        let entry = table.entry(fd);
        if !entry.registered {
            match self.reactor.borrow().add(fd, fd as u64) {
                Ok(()) | Err(Errno::EXIST) => entry.registered = true,
                Err(Errno::PERM) => return Watched::Ready(interest),
                Err(Errno::BADF) => return Watched::Ready(Readiness::CLOSED),
                Err(_) => {
                    // No event will come, but a close can.
                    entry.waiters.push(Waiter { wait, interest });
                    return Watched::Unregistered;
                }
            }
        }
        entry.waiters.push(Waiter { wait, interest });
        Watched::Registered
    }

    fn unwatch_fds(&self, fds: &[(RawFd, Readiness)], wait: Wait) {
        let mut table = self.fds.borrow_mut();
        for &(fd, _) in fds {
            table.remove(fd, wait);
        }
    }

    /// Records that a descriptor is about to be closed (or replaced by dup2): its registration is removed, and its
    /// waiters wake.
    pub fn close_fd(&self, fd: RawFd) {
        let woken = {
            let mut table = self.fds.borrow_mut();
            let Some(entry) = table.known(fd) else { return };
            if std::mem::take(&mut entry.registered) {
                // This fails only if the kernel has already dropped the registration.
                let _ = self.reactor.borrow().delete(fd);
            }
            entry.drained = Drained::default();
            std::mem::take(&mut entry.waiters)
        };
        for waiter in woken {
            self.wake(waiter.wait, Readiness::CLOSED);
        }
    }

    /// [`Runtime::close_fd`] for a descriptor that another thread has closed: the registration could not be removed.
    pub(crate) fn closed_elsewhere(&self, fd: RawFd) {
        if let Some(entry) = self.fds.borrow_mut().known(fd) {
            entry.haunted |= entry.registered;
        }
        self.close_fd(fd);
    }

    /// Whether an event that has reported something to receive is the answer to who waits for it: nothing was received
    /// since, and the event was not another file's.
    pub(crate) fn still_has(&self, fd: RawFd) -> bool {
        self.fds.borrow().get(fd).is_none_or(|entry| !entry.drained.is_drained() && !entry.haunted)
    }

    /// An event of the reactor for a descriptor: wakes the waiters whose interest is met. Where several wait to receive,
    /// the first may take everything: the others are not told that there is something, and ask.
    pub(crate) fn fd_ready(&self, fd: RawFd, readiness: Readiness) {
        let mut told = readiness;
        if let Some(entry) = self.fds.borrow_mut().known(fd) {
            entry.drained.event(readiness);
            let receivers = entry.waiters.iter().filter(|waiter| waiter.interest.any(Readiness::READ));
            if receivers.count() > 1 {
                told.0 &= !libc::POLLIN;
            }
        }
        let mut index = 0;
        loop {
            let wait = {
                let mut table = self.fds.borrow_mut();
                let Some(entry) = table.known(fd) else { return };
                let Some(waiter) = entry.waiters.get(index) else { return };
                if !readiness.any(Readiness(waiter.interest.0 | Readiness::BROKEN.0)) {
                    index += 1;
                    continue;
                }
                entry.waiters.swap_remove(index).wait
            };
            self.wake(wait, told);
        }
    }

    /// Whether nothing can be received from a descriptor until the reactor reports it.
    #[inline]
    pub(crate) fn is_drained(&self, fd: RawFd) -> bool {
        self.fds.borrow().get(fd).is_some_and(|entry| entry.drained.is_drained())
    }

    /// Records whether the last receive has left nothing.
    #[inline]
    pub(crate) fn received_all(&self, fd: RawFd, all: bool) {
        if let Some(entry) = self.fds.borrow_mut().known(fd) {
            entry.drained.received_all(all && entry.registered);
        }
    }

    /// How a receive from a descriptor is to be understood.
    #[inline]
    pub(crate) fn stream(&self, fd: RawFd) -> Stream {
        match self.fds.borrow().get(fd) {
            Some(entry) if entry.registered => entry.drained.stream(),
            _ => Stream::Other,
        }
    }

    /// Counts a receive from an open descriptor. True once: when its type is worth asking for.
    pub(crate) fn count_receive(&self, fd: RawFd) -> bool {
        self.fds.borrow_mut().entry(fd).drained.count_receive()
    }

    /// Records what a descriptor is, and has the reactor watch it, unless nothing can be learned from it.
    pub(crate) fn watch_stream(&self, fd: RawFd, stream: Stream) {
        let mut table = self.fds.borrow_mut();
        let entry = table.entry(fd);
        if stream != Stream::Other && !entry.registered {
            let added = self.reactor.borrow().add(fd, fd as u64);
            entry.registered = matches!(added, Ok(()) | Err(Errno::EXIST));
        }
        entry.drained.set_stream(stream);
    }
}
