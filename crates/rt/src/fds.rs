//! Who waits for which descriptor. The server's own connections are not in here: the loop's [`Driver`](crate::Driver)
//! has them under keys of its own.
//!
//! Invariants: closing a descriptor wakes whoever waits for it, with `POLLNVAL`; a descriptor number that is used again
//! inherits neither waiters nor a registration.

use std::os::fd::RawFd;

use rustix::io::Errno;

use crate::park::{Wait, Wake};
use crate::{Nanos, Readiness, Runtime};

struct Waiter {
    wait: Wait,
    interest: Readiness,
}

#[derive(Default)]
struct Entry {
    registered: bool,
    waiters: Vec<Waiter>,
}

/// Waiters by descriptor number. It grows to the highest descriptor waited for, which `RLIMIT_NOFILE` bounds.
#[derive(Default)]
pub struct FdTable {
    entries: Vec<Entry>,
}

impl FdTable {
    fn entry(&mut self, fd: RawFd) -> &mut Entry {
        let index = fd as usize;
        if index >= self.entries.len() {
            self.entries.resize_with(index + 1, Entry::default);
        }
        &mut self.entries[index]
    }

    fn remove(&mut self, fd: RawFd, wait: Wait) {
        if let Some(entry) = self.entries.get_mut(fd as usize) {
            entry.waiters.retain(|waiter| waiter.wait != wait);
        }
    }
}

impl Runtime {
    /// Parks the running coroutine until one of `fds` is ready for its interest, or the deadline has passed.
    /// The caller has tried already and found none ready (the registrations are edge-triggered). Descriptors that epoll
    /// does not take (regular files) count as ready at once.
    pub fn wait_fds(&self, fds: &[(RawFd, Readiness)], deadline: Option<Nanos>) -> Wake {
        let wait = self.begin_wait();
        for (position, &(fd, interest)) in fds.iter().enumerate() {
            if fd < 0 {
                continue;
            }
            if let Err(readiness) = self.watch_fd(fd, interest, wait) {
                self.unwatch_fds(&fds[..position], wait);
                self.wake(wait, readiness);
                break;
            }
        }
        let wake = self.park(wait, deadline);
        self.unwatch_fds(fds, wait);
        wake
    }

    /// [`Runtime::wait_fds`] for one descriptor.
    pub fn wait_fd(&self, fd: RawFd, interest: Readiness, deadline: Option<Nanos>) -> Wake {
        self.wait_fds(&[(fd, interest)], deadline)
    }

    fn watch_fd(&self, fd: RawFd, interest: Readiness, wait: Wait) -> Result<(), Readiness> {
        let mut table = self.fds.borrow_mut();
        let entry = table.entry(fd);
        if !entry.registered {
            match self.reactor.borrow().add(fd, fd as u64) {
                Ok(()) | Err(Errno::EXIST) => entry.registered = true,
                Err(Errno::PERM) => return Err(interest),
                Err(_) => return Err(Readiness::CLOSED),
            }
        }
        entry.waiters.push(Waiter { wait, interest });
        Ok(())
    }

    fn unwatch_fds(&self, fds: &[(RawFd, Readiness)], wait: Wait) {
        let mut table = self.fds.borrow_mut();
        for &(fd, _) in fds {
            table.remove(fd, wait);
        }
    }

    /// Notes that a descriptor is about to be closed (or replaced by dup2): its registration goes, its waiters wake.
    pub fn close_fd(&self, fd: RawFd) {
        let woken = {
            let mut table = self.fds.borrow_mut();
            let Some(entry) = table.entries.get_mut(fd as usize) else { return };
            if !entry.registered {
                return;
            }
            entry.registered = false;
            // It fails only when the kernel has dropped the registration already.
            let _ = self.reactor.borrow().delete(fd);
            std::mem::take(&mut entry.waiters)
        };
        for waiter in woken {
            self.wake(waiter.wait, Readiness::CLOSED);
        }
    }

    /// An event of the reactor for a descriptor: wakes whose interest is met.
    pub(crate) fn fd_ready(&self, fd: RawFd, readiness: Readiness) {
        let mut index = 0;
        loop {
            let wait = {
                let mut table = self.fds.borrow_mut();
                let Some(entry) = table.entries.get_mut(fd as usize) else { return };
                let Some(waiter) = entry.waiters.get(index) else { return };
                if !readiness.any(Readiness(waiter.interest.0 | Readiness::BROKEN.0)) {
                    index += 1;
                    continue;
                }
                entry.waiters.swap_remove(index).wait
            };
            self.wake(wait, readiness);
        }
    }
}
