//! The replacement for descriptors that a forked child must not have.
//!
//! Invariant: the number stays in use, so a file that the child opens cannot be mistaken for the descriptor it replaces.
#![allow(unsafe_code)]

use libc::c_int;

use crate::hook::raw;

/// Replaces descriptors that are not the child's with a socket that is not connected. Calls on it fail, and none of
/// them waits or sends a signal.
pub struct Nothing(c_int);

impl Nothing {
    /// Replaces `first` right away: this makes room in a full table (EMFILE).
    pub fn in_place_of(first: c_int) -> Nothing {
        raw::close(first);
        // SAFETY: it takes numbers.
        let socket = unsafe {
            raw::syscall!(SYS_socket, libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) as c_int
        };
        let nothing = Nothing(socket);
        if socket != first {
            nothing.take(first);
        }
        nothing
    }

    /// Replaces a descriptor.
    pub fn take(&self, fd: c_int) {
        // SAFETY: it takes numbers.
        let taken = fd == self.0 || unsafe { raw::syscall!(SYS_dup3, self.0, fd, libc::O_CLOEXEC) } >= 0;
        if !taken {
            // The kernel has no memory for a socket (ENFILE, ENOMEM). A free number is better than another family's
            // connection.
            raw::close(fd);
        }
    }
}
