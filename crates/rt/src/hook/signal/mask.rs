//! The signal masks of threads and calls.
//!
//! It must not know handlers. Invariant: a signal that was blocked when the runtime started belongs to the server, and no
//! call's mask lets it through.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};

use libc::sigset_t;

use crate::hook::raw;

/// Signals that were blocked when the runtime started: they belong to the server.
static RESERVED: AtomicU64 = AtomicU64::new(0);

/// Records which signals belong to the server: those that are blocked now.
pub(super) fn reserve_blocked() {
    RESERVED.store(blocked_signals(), Ordering::Relaxed);
}

/// The signals this thread blocks.
pub fn blocked_signals() -> u64 {
    let mut set = 0u64;
    // SAFETY: the kernel's signal set is 64 bits; a null set only reads.
    unsafe { raw::syscall!(SYS_rt_sigprocmask, libc::SIG_BLOCK, 0, &raw mut set, raw::SIGSET_BYTES) };
    set
}

/// A call's signal mask, with the server's own signals added: they must not reach PHP's handlers.
///
/// # Safety
/// `mask` must be live.
pub unsafe fn mask_of(mask: *const sigset_t) -> u64 {
    // SAFETY: the kernel's signal set is the first 64 bits of glibc's.
    let mask = unsafe { mask.cast::<u64>().read_unaligned() };
    mask | RESERVED.load(Ordering::Relaxed)
}

/// Faults of the running instruction. The kernel ends a process that has one while it is blocked, and PHP instances
/// have them: the first write to a page that they share.
const FAULTS: [libc::c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];

/// Those that are resolved: the first write to a page, and PHP code that gives way. pcntl blocks all signals while it
/// calls PHP's handlers, and these must give way, too.
const RESOLVED: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGTRAP];

/// Takes the faults that are resolved out of a set to be blocked.
pub(super) fn keep_faults(set: &mut sigset_t) {
    for fault in RESOLVED {
        // SAFETY: the set is live, and the number is a signal's.
        unsafe { libc::sigdelset(set, fault) };
    }
}

/// Runs `work` with every signal but faults blocked on this thread, so that a thread started by it never takes one.
pub fn with_signals_blocked<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: the all-zero sigset_t is valid storage; sigfillset and pthread_sigmask write it before it is read.
    let mut old: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live, properly aligned sigset_t values.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        for fault in FAULTS {
            libc::sigdelset(&raw mut all, fault);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
    }
    let result = work();
    // SAFETY: `old` was filled in by the call above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, std::ptr::null_mut()) };
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_with_signals_blocked_may_fault() {
        let (fault, other) = with_signals_blocked(|| {
            // SAFETY: the all-zero sigset_t is valid storage, and pthread_sigmask writes it before it is read.
            unsafe {
                let mut now: libc::sigset_t = std::mem::zeroed();
                libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut now);
                let blocked = |signal| libc::sigismember(&raw const now, signal) == 1;
                (blocked(libc::SIGSEGV), blocked(libc::SIGALRM))
            }
        });
        assert_eq!((fault, other), (false, true));
    }
}
