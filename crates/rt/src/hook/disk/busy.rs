//! The descriptors that an offload thread is using now. Closing one waits for the thread: otherwise the number could
//! refer to another file before the thread has used it.
//!
//! The thread must not use a duplicate instead: closing any descriptor of a file drops the process's record locks on
//! it (fcntl(2)), and SQLite relies on those.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::hook::errno::{errno, set_errno};
use crate::{MILLISECOND, Runtime, clock};

/// One entry per use. As each belongs to a waiting coroutine, `coroutines_max` limits them.
static USED: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn used() -> MutexGuard<'static, Vec<RawFd>> {
    USED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A descriptor in use, until it is dropped.
pub struct Busy(RawFd);

impl Busy {
    /// Records that a thread is about to use it.
    pub fn new(fd: RawFd) -> Busy {
        used().push(fd);
        COUNT.fetch_add(1, Ordering::Relaxed);
        Busy(fd)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut used = used();
        if let Some(index) = used.iter().position(|&fd| fd == self.0) {
            used.swap_remove(index);
        }
        COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits until no thread uses the descriptor.
#[inline]
pub fn wait_until_free(fd: RawFd) {
    if COUNT.load(Ordering::Relaxed) > 0 {
        wait(fd);
    }
}

#[cold]
fn wait(fd: RawFd) {
    while used().contains(&fd) {
        match Runtime::get().filter(|runtime| runtime.can_park()) {
            Some(runtime) => {
                let saved = errno();
                runtime.sleep_uncancelled(clock::now() + MILLISECOND / 4);
                set_errno(saved);
            }
            None => std::thread::yield_now(),
        }
    }
}

/// A forked child has no offload threads.
pub fn forget() {
    // A thread may have held the lock at the moment of the fork: then its entries remain, and the count is 0.
    COUNT.store(0, Ordering::Relaxed);
    if let Ok(mut used) = USED.try_lock() {
        used.clear();
    }
}
