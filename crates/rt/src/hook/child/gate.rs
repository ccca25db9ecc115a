//! Gates for children that were forked and have not run yet: until they run they hold copies of foreign descriptors.
//!
//! A file lock (flock(2)) is released when the last copy of its descriptor is closed. Closing a locked file therefore
//! waits until such children have closed their copies ([`owner::settle_child`](super::owner::settle_child)), so that the
//! lock is free when close returns. Usually they have done so by then.
//!
//! Invariant: a gate is a pipe whose writing end only the child has, so the end of the child opens it too.
#![allow(unsafe_code)]

use std::cell::RefCell;

use libc::{c_int, pollfd};

use crate::hook::errno::{errno, set_errno};
use crate::hook::raw;

thread_local! {
    /// Reading ends of the gates that were not open at the last check.
    static SHUT: RefCell<Vec<c_int>> = const { RefCell::new(Vec::new()) };
}

/// The gate that a child opens. Made before the fork.
pub struct Gate {
    parents: c_int,
    childs: c_int,
}

impl Gate {
    /// `None` if there are no descriptors left; then nothing is waited for.
    pub fn new() -> Option<Gate> {
        close_open_ones();
        let mut pipe = [0; 2];
        // SAFETY: room for two descriptors.
        let made = unsafe { raw::syscall!(SYS_pipe2, pipe.as_mut_ptr(), libc::O_CLOEXEC) } == 0;
        made.then_some(Gate { parents: pipe[0], childs: pipe[1] })
    }

    /// In the child: it has closed its copies.
    pub fn open(self) {
        raw::close(self.childs);
        raw::close(self.parents);
    }

    /// In the parent.
    pub fn keep(self) {
        raw::close(self.childs);
        SHUT.with_borrow_mut(|shut| shut.push(self.parents));
    }
}

fn close_open_ones() {
    SHUT.with_borrow_mut(|shut| {
        shut.retain(|&gate| {
            let is_shut = !raw::is_ready(gate, libc::POLLIN);
            if !is_shut {
                raw::close(gate);
            }
            is_shut
        });
    });
}

/// Waits until all are open.
#[cold]
pub fn wait_for_all() {
    let saved = errno();
    for gate in SHUT.take() {
        let mut entry = pollfd { fd: gate, events: libc::POLLIN, revents: 0 };
        // No writer is left: it is ready at its end. SAFETY: the entry is live for the call.
        while unsafe { raw::ppoll(&raw mut entry, 1, None, std::ptr::null()) } < 0 && errno() == libc::EINTR {
        }
        raw::close(gate);
    }
    set_errno(saved);
}

/// In a forked child: these gates are its parent's.
pub fn forget() {
    for gate in SHUT.take() {
        raw::close(gate);
    }
}
