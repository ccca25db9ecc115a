//! The libc symbols this executable provides in place of libc's, so that stock extensions become cooperative.
#![allow(unsafe_code)]

/// Runs `work` with every signal blocked on this thread, so that a thread started by it never takes one.
pub fn with_signals_blocked<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: the all-zero sigset_t is valid storage; sigfillset and pthread_sigmask write it before it is read.
    let mut old: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live, properly aligned sigset_t values.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
    }
    let result = work();
    // SAFETY: `old` was filled in by the call above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, std::ptr::null_mut()) };
    result
}
