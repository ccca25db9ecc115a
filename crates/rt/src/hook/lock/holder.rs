//! The process that holds the lock of shared memory, recorded in memory that survives its death.
//!
//! The kernel frees a process's locks when the process ends, even when it was killed in the middle of the work that the
//! lock protects. This file must not know what that work is. Invariant: the word holds the holder's pid from just after
//! it gets the lock until just before it frees it. A process that gets the lock and finds another pid there knows that
//! the other died.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use libc::c_int;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

/// The offset, in the lock's file, of the lock that this process holds.
static HELD: AtomicI64 = AtomicI64::new(-1);

/// In memory that all children share.
#[derive(Default)]
pub struct Holder {
    /// The holder's pid, or 0.
    pid: AtomicU32,
    /// Not 0 if a holder has died.
    died: AtomicU32,
}

impl Holder {
    /// A new one, which lives as long as the process; `None` if there is no memory.
    pub fn shared() -> Option<&'static Holder> {
        let (length, protection) = (size_of::<Holder>(), ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping, never unmapped, large enough and aligned for the value; all zero is two atomics.
        unsafe {
            let page = mmap_anonymous(std::ptr::null_mut(), length, protection, MapFlags::SHARED).ok()?;
            Some(&*page.cast::<Holder>())
        }
    }

    /// This process has got the lock; `lock` is what it asked for.
    pub fn locked(&self, lock: &libc::flock) {
        if c_int::from(lock.l_type) != libc::F_WRLCK {
            return;
        }
        HELD.store(lock.l_start, Ordering::Relaxed);
        self.begin(std::process::id());
    }

    /// This process is about to release a lock.
    pub fn frees(&self, lock: &libc::flock) {
        if c_int::from(lock.l_type) == libc::F_UNLCK && HELD.load(Ordering::Relaxed) == lock.l_start {
            HELD.store(-1, Ordering::Relaxed);
            self.pid.store(0, Ordering::Release);
        }
    }

    fn begin(&self, own: u32) {
        let before = self.pid.swap(own, Ordering::Acquire);
        if before != 0 && before != own {
            self.died.store(1, Ordering::Release);
        }
    }

    /// Whether `pid` has the lock or ended with it, or another holder died before.
    pub fn may_be_half_written(&self, pid: u32) -> bool {
        self.died.load(Ordering::Acquire) != 0 || self.pid.load(Ordering::Acquire) == pid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_ends_with_the_lock_is_known_also_when_others_have_had_it_since() {
        let holder = Holder::default();
        holder.begin(7);
        assert!(holder.may_be_half_written(7) && !holder.may_be_half_written(8), "who lives may hold it");
        holder.pid.store(0, Ordering::Relaxed);
        assert!(!holder.may_be_half_written(7), "it was freed before");
        holder.begin(7);
        holder.begin(8);
        holder.pid.store(0, Ordering::Relaxed);
        assert!(holder.may_be_half_written(7) && holder.may_be_half_written(9), "the next one has seen it");
    }

    #[test]
    fn only_what_is_held_for_writing_counts_and_only_its_own_end_ends_it() {
        let holder = Holder::shared().expect("memory");
        // SAFETY: all zero is a lock.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        let own = std::process::id();
        lock.l_type = libc::F_RDLCK as _;
        holder.locked(&lock);
        assert!(!holder.may_be_half_written(own));
        lock.l_type = libc::F_WRLCK as _;
        holder.locked(&lock);
        assert!(holder.may_be_half_written(own));
        (lock.l_type, lock.l_start) = (libc::F_UNLCK as _, 1);
        holder.frees(&lock);
        assert!(holder.may_be_half_written(own), "another lock of the same file");
        lock.l_start = 0;
        holder.frees(&lock);
        assert!(!holder.may_be_half_written(own));
    }
}
