//! A child forked by a coroutine: it must become neither a second server nor a second loop.
//!
//! The child has a copy of the process and one thread. It has no runtime: its calls are plain, and it ends when its code
//! returns to the loop. It starts with a clean signal state, which a program it executes inherits. The server's objects
//! are still in its memory, with the numbers of the server's descriptors; the files behind these belong to the parent.
//!
//! It must not know what the server consists of. Invariants: from the return of fork on, each of the server's descriptor
//! numbers refers to an unconnected socket, so that a file the child opens never gets one of these numbers; the child
//! waits for no lock that another thread may have held at the fork, because that thread does not exist here.
#![allow(unsafe_code)]

use std::os::fd::AsRawFd as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::c_int;

use super::nothing::Nothing;
use super::{apart, children, gate, owner, signals};
use crate::Runtime;
use crate::family::Family;
use crate::hook::disk::busy;
use crate::hook::signal::handlers;

/// Set in a child that code of a worker has forked.
static FORKED_CHILD: AtomicBool = AtomicBool::new(false);

/// How such a child ends.
static FORKED_CHILD_END: OnceLock<fn() -> !> = OnceLock::new();

/// Sets how a child that was forked inside a coroutine ends when its code returns to the loop: with PHP's own shutdown
/// and exit status, for example. Without it, the child ends with status 0 and runs no exit handler. The first call
/// counts.
pub fn on_forked_child_end(end: fn() -> !) {
    let _ = FORKED_CHILD_END.set(end);
}

/// How such a child begins.
static FORKED_CHILD_BEGIN: OnceLock<Box<dyn Fn() -> Vec<c_int> + Send + Sync>> = OnceLock::new();

/// Sets how a child that is forked inside a coroutine begins: the function makes the server harmless in the child and
/// returns the server's own descriptors. The child loses them, so that a connection closed by the parent is closed. It
/// is called in the child, and must not wait for another thread or process. The first call counts.
pub fn on_forked_child_begin(begin: impl Fn() -> Vec<c_int> + Send + Sync + 'static) {
    let _ = FORKED_CHILD_BEGIN.set(Box::new(begin));
}

/// Ends a child whose code returns to the loop: the loop, its descriptors and the other coroutines belong to the
/// parent.
pub(crate) fn end_forked_child() {
    if FORKED_CHILD.load(Ordering::Relaxed) && Runtime::get().is_none() {
        match FORKED_CHILD_END.get() {
            Some(end) => end(),
            // SAFETY: it ends the process.
            None => unsafe { libc::_exit(0) },
        }
    }
}

/// In a child of a worker: removes the runtime and everything of the server's, unblocks every signal, and resets those
/// that the worker ignores to their default.
pub fn begins(runtime: &Runtime, family: Family) {
    FORKED_CHILD.store(true, Ordering::Relaxed);
    let signals: Vec<c_int> = signals::of_fork().collect();
    Runtime::forget();
    handlers::forget();
    busy::forget();
    children::forget();
    gate::forget();
    let loops = runtime.with_reactor(|reactor| reactor.fd());
    let nothing = Nothing::in_place_of(loops);
    nothing.take(runtime.offload.fd());
    if let Some(bell) = runtime.slices.board.bell() {
        nothing.take(bell.as_raw_fd());
    }
    if apart::kept_apart() {
        owner::settle_child(family, &runtime.live_families(), &nothing);
    }
    for fd in FORKED_CHILD_BEGIN.get().map(|begin| begin()).unwrap_or_default() {
        nothing.take(fd);
    }
    for signal in signals {
        // SAFETY: the default action is not a function.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // Only now, so that signals sent meanwhile meet those actions. SAFETY: the all-zero sigset_t is valid
    // storage, and sigemptyset fills it before it is used.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}
