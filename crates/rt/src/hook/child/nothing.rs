//! The replacement for descriptors that a forked child must not have.
//!
//! Invariant: the number stays in use, so a file that the child opens cannot be mistaken for the descriptor it replaces.
#![allow(unsafe_code)]

use libc::c_int;

use crate::hook::raw;

/// What takes the place of descriptors that are not the child's: a socket that is not connected. Calls on it fail, and none of
/// them waits or sends a signal.
pub struct Nothing(c_int);

impl Nothing {
    /// It begins with a descriptor that is taken as well: so there is room in a table that is full (EMFILE).
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

    /// Takes a descriptor's place.
    pub fn take(&self, fd: c_int) {
        // SAFETY: it takes numbers.
        let taken = fd == self.0 || unsafe { raw::syscall!(SYS_dup3, self.0, fd, libc::O_CLOEXEC) } >= 0;
        if !taken {
            // The kernel has no memory for a socket (ENFILE, ENOMEM): better a number that is free than another's connection.
            raw::close(fd);
        }
    }
}
