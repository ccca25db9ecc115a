//! Hooks of kind *note*: bookkeeping around a call that does not wait.
//!
//! Closing wakes whoever waits for the descriptor, before the number can be used again. A forked child of a coroutine
//! never runs the loop: it has no runtime, and starts with a clean signal state so that what it executes does too.
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{FILE, c_char, c_int, c_uint, c_void, pid_t};

use super::call::Call;
use super::gate::{self, Gate};
use super::real::real;
use super::sleep::children;
use super::{descriptor, owner, raw};
use crate::Runtime;
use crate::family::{Family, NOBODY};

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
    owner::opened(call, unsafe { raw::syscall!(SYS_dup3, from, to, flags) as c_int })
}

pub unsafe fn fork(call: Option<Call>) -> pid_t {
    let real = real!(c"fork": fn() -> pid_t);
    let family = call.and_then(|call| call.runtime.family()).unwrap_or(NOBODY);
    let gate = if owner::others_hold_locks(family) { Gate::new() } else { None };
    // SAFETY: fork(2) asks nothing of the caller.
    let pid = unsafe { real() };
    match (pid, Runtime::get()) {
        (0, Some(runtime)) => become_plain_child(runtime, family),
        (1.., Some(_)) => children::started(call, pid),
        _ => (),
    }
    if let Some(gate) = gate {
        if pid > 0 { gate.keep() } else { gate.open() }
    }
    pid
}

/// Set in a child that was forked by code of a worker.
static FORKED_CHILD: AtomicBool = AtomicBool::new(false);

/// How such a child ends.
static FORKED_CHILD_END: OnceLock<fn() -> !> = OnceLock::new();

/// Says how a child ends that was forked inside a coroutine when its code comes back to the loop: with PHP's own shutdown
/// and exit status, for example. Without it, it ends with status 0 and runs no exit handler. The first call counts.
pub fn on_forked_child_end(end: fn() -> !) {
    let _ = FORKED_CHILD_END.set(end);
}

/// What such a child must not keep open.
static FORKED_CHILD_CLOSES: OnceLock<fn() -> Vec<c_int>> = OnceLock::new();

/// Says which descriptors a child closes that is forked inside a coroutine: the server's own, so that a connection that its parent
/// closes is closed. Asked in the child. The first call counts.
pub fn on_forked_child_begin(descriptors: fn() -> Vec<c_int>) {
    let _ = FORKED_CHILD_CLOSES.set(descriptors);
}

/// Ends a child that comes back to the loop: the loop, its descriptors and the other coroutines are the parent's.
pub(crate) fn end_forked_child() {
    if FORKED_CHILD.load(Ordering::Relaxed) && Runtime::get().is_none() {
        match FORKED_CHILD_END.get() {
            Some(end) => end(),
            // SAFETY: it ends the process.
            None => unsafe { libc::_exit(0) },
        }
    }
}

/// Whether the process takes SIGTERM and its kin for itself.
static SIGNALS_ARE_OWN: AtomicBool = AtomicBool::new(false);

/// Says that SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are this process's own: a handler for one of them is nobody's who forks,
/// and no child keeps it.
pub fn signals_are_own() {
    SIGNALS_ARE_OWN.store(true, Ordering::Relaxed);
}

/// In a child of a worker: no runtime, every signal deliverable, those the worker ignores back at their default.
fn become_plain_child(runtime: &Runtime, family: Family) {
    if owner::kept_apart() {
        owner::settle_child(family, &runtime.live_families());
    }
    let handles_signals = super::has_handlers() && !SIGNALS_ARE_OWN.load(Ordering::Relaxed);
    Runtime::forget();
    super::forget_signals();
    super::busy::forget();
    children::forget();
    gate::forget();
    FORKED_CHILD.store(true, Ordering::Relaxed);
    for fd in FORKED_CHILD_CLOSES.get().map(|descriptors| descriptors()).unwrap_or_default() {
        raw::close(fd);
    }
    let ignored = [libc::SIGPIPE, libc::SIGINT, libc::SIGXFSZ];
    // PHP catches these to do as their default says, which is too late when the child has been replaced by then; PHP code that
    // handles signals keeps its handlers.
    let caught = [libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];
    for signal in ignored.into_iter().chain(caught.into_iter().filter(|_| !handles_signals)) {
        // SAFETY: the default action is no function.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // Only now: what was sent meanwhile meets those actions.
    // SAFETY: the all-zero sigset_t is valid storage, and sigemptyset fills it before it is used.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
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
