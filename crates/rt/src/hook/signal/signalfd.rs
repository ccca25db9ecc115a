//! A descriptor that is readable while one of some blocked signals is pending (signalfd(2)). It tells only when to look:
//! its user takes the signal with another call. Closed when dropped.
#![allow(unsafe_code)]

use libc::c_int;

use crate::hook::descriptor::close;
use crate::hook::raw;

/// See above.
pub struct SignalFd(c_int);

impl SignalFd {
    /// For the signals of `set`, bit `n - 1` for signal `n`. `None` if no descriptor is available (EMFILE).
    pub fn new(set: u64) -> Option<SignalFd> {
        let flags = libc::SFD_NONBLOCK | libc::SFD_CLOEXEC;
        // SAFETY: the set is live, and of the size told.
        let fd = unsafe { raw::syscall!(SYS_signalfd4, -1, &raw const set, raw::SIGSET_BYTES, flags) };
        (fd >= 0).then_some(SignalFd(fd as c_int))
    }

    /// The descriptor, to be watched for readability.
    pub fn fd(&self) -> c_int {
        self.0
    }
}

impl Drop for SignalFd {
    fn drop(&mut self) {
        // SAFETY: it was opened by `new`.
        unsafe { close::close(None, self.0) };
    }
}
