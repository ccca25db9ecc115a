//! Closing descriptors: close, close_range, closefrom, fclose, dup2, dup3.
//!
//! The calls themselves are plain. Invariant: before a number can be reused, all waiters of the descriptor are awake and
//! everything remembered of the number is forgotten.
#![allow(unsafe_code)]

use std::os::fd::RawFd;

use libc::{FILE, c_int, c_uint};

use super::state;
use crate::Runtime;
use crate::hook::call::Call;
use crate::hook::child::owner;
use crate::hook::disk::busy;
use crate::hook::errno::{errno, set_errno};
use crate::hook::lock::{contend, seen};
use crate::hook::raw;
use crate::hook::real::real;

/// Records that a descriptor is about to be closed or replaced. Waiters of this thread's runtime wake.
pub fn closing(fd: RawFd) {
    let runtime = Runtime::get();
    if runtime.is_some() {
        // Its locks are released with it.
        contend::file_freed(fd);
        seen::closing(fd);
    }
    busy::wait_until_free(fd);
    owner::closing(fd);
    state::next_generation(fd, runtime.is_some());
    if let Some(runtime) = runtime {
        runtime.close_fd(fd);
    }
}

/// Records that all descriptors from `first` to `last` are about to be closed.
pub fn closing_range(first: u32, last: u32) {
    for fd in first..=last.min(state::highest().max(owner::highest())) {
        closing(fd as RawFd);
    }
}

/// Closes the descriptors that the running coroutine's family has opened: for code that is gone and cannot do
/// it.
pub fn close_what_it_opened() {
    let Some(family) = Runtime::get().and_then(Runtime::family) else { return };
    for fd in owner::opened_by(family) {
        closing(fd);
        raw::close(fd);
    }
}

pub unsafe fn close(_: Option<Call>, fd: c_int) -> c_int {
    closing(fd);
    raw::close(fd) as c_int
}

pub unsafe fn close_range(_: Option<Call>, first: c_uint, last: c_uint, flags: c_int) -> c_int {
    if flags as c_uint & libc::CLOSE_RANGE_CLOEXEC == 0 {
        closing_range(first, last);
    }
    // SAFETY: it takes numbers.
    unsafe { raw::syscall!(SYS_close_range, first, last, flags) as c_int }
}

pub unsafe fn closefrom(_: Option<Call>, first: c_int) {
    let first = first.max(0) as c_uint;
    closing_range(first, c_uint::MAX);
    // SAFETY: it takes numbers.
    unsafe { raw::syscall!(SYS_close_range, first, c_uint::MAX, 0) };
}

pub unsafe fn fclose(_: Option<Call>, file: *mut FILE) -> c_int {
    // SAFETY: an open stream by the caller's contract. fileno is not hooked; streams without a descriptor give -1.
    let fd = unsafe { keep_errno(|| libc::fileno(file)) };
    if fd >= 0 {
        closing(fd);
    }
    let real = real!(c"fclose": fn(*mut FILE) -> c_int);
    // SAFETY: by the caller's contract.
    unsafe { real(file) }
}

fn keep_errno<T>(work: impl FnOnce() -> T) -> T {
    let saved = errno();
    let result = work();
    set_errno(saved);
    result
}

pub unsafe fn dup2(call: Option<Call>, from: c_int, to: c_int) -> c_int {
    if from == to {
        // dup3 refuses what dup2 allows: the same number twice, if it is open.
        let flags = raw::fcntl(from, libc::F_GETFD, 0);
        return if flags < 0 { -1 } else { to };
    }
    // SAFETY: it takes numbers.
    unsafe { dup3(call, from, to, 0) }
}

pub unsafe fn dup3(call: Option<Call>, from: c_int, to: c_int, flags: c_int) -> c_int {
    // A refused call must not disturb the waiters for `to`.
    if from != to && keep_errno(|| raw::fcntl(from, libc::F_GETFD, 0)) >= 0 {
        closing(to);
    }
    // SAFETY: it takes numbers.
    owner::opened_again(call, from, unsafe { raw::syscall!(SYS_dup3, from, to, flags) as c_int })
}
