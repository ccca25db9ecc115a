//! Hooks of kind *note*: bookkeeping around a call that does not wait.
//!
//! Closing wakes whoever waits for the descriptor, before the number can be used again. What becomes of a forked child is in
//! [`child`].
#![allow(unsafe_code)]

use libc::{FILE, c_char, c_int, c_uint, c_void, pid_t};

use super::call::Call;
use super::gate::Gate;
use super::real::real;
use super::sleep::children;
use super::{child, descriptor, owner, raw};
use crate::Runtime;
use crate::family::NOBODY;

pub unsafe fn close(_: Option<Call>, fd: c_int) -> c_int {
    descriptor::closing(fd);
    raw::close(fd) as c_int
}

pub unsafe fn close_range(_: Option<Call>, first: c_uint, last: c_uint, flags: c_int) -> c_int {
    if flags as c_uint & libc::CLOSE_RANGE_CLOEXEC == 0 {
        descriptor::closing_range(first, last);
    }
    // SAFETY: it takes numbers.
    unsafe { raw::syscall!(SYS_close_range, first, last, flags) as c_int }
}

pub unsafe fn closefrom(_: Option<Call>, first: c_int) {
    let first = first.max(0) as c_uint;
    descriptor::closing_range(first, c_uint::MAX);
    // SAFETY: it takes numbers.
    unsafe { raw::syscall!(SYS_close_range, first, c_uint::MAX, 0) };
}

pub unsafe fn fclose(_: Option<Call>, file: *mut FILE) -> c_int {
    // SAFETY: an open stream by the caller's contract. fileno is not hooked; streams without a descriptor give -1.
    let fd = unsafe { keep_errno(|| libc::fileno(file)) };
    if fd >= 0 {
        descriptor::closing(fd);
    }
    let real = real!(c"fclose": fn(*mut FILE) -> c_int);
    // SAFETY: by the caller's contract.
    unsafe { real(file) }
}

fn keep_errno<T>(work: impl FnOnce() -> T) -> T {
    let saved = super::call::errno();
    let result = work();
    super::call::set_errno(saved);
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
    // A refused call must not disturb who waits for `to`.
    if from != to && keep_errno(|| raw::fcntl(from, libc::F_GETFD, 0)) >= 0 {
        descriptor::closing(to);
    }
    // SAFETY: it takes numbers.
    owner::opened_again(call, from, unsafe { raw::syscall!(SYS_dup3, from, to, flags) as c_int })
}

pub unsafe fn fork(call: Option<Call>) -> pid_t {
    let real = real!(c"fork": fn() -> pid_t);
    let family = call.and_then(|call| call.runtime.family()).unwrap_or(NOBODY);
    let gate = if owner::others_hold_locks(family) { Gate::new() } else { None };
    // SAFETY: fork(2) asks nothing of the caller.
    let pid = unsafe { real() };
    match (pid, Runtime::get()) {
        (0, Some(runtime)) => child::begins(runtime, family),
        (1.., Some(_)) => {
            children::started(call, pid);
            owner::inherited(family, true);
        }
        _ => (),
    }
    if let Some(gate) = gate {
        if pid > 0 { gate.keep() } else { gate.open() }
    }
    pid
}

/// PHP loads extensions with `RTLD_DEEPBIND`: they would bind libc before this executable and bypass every hook.
///
/// As the caller of libc's dlopen is now this executable, a name without a slash is not searched in the RUNPATH of the
/// library that asked.
pub unsafe fn dlopen(_: Option<Call>, name: *const c_char, flags: c_int) -> *mut c_void {
    let real = real!(c"dlopen": fn(*const c_char, c_int) -> *mut c_void);
    // SAFETY: by the caller's contract.
    unsafe { real(name, flags & !libc::RTLD_DEEPBIND) }
}
