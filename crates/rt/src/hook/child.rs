//! A child that a coroutine has forked: no second server, and no second loop.
//!
//! It has a copy of the whole process and one thread. So it has no runtime: its calls are plain, and when its code comes back
//! to the loop it ends. It starts with a clean signal state, so that what it executes does too. What the server is made of is
//! still in its memory, with the numbers of the server's descriptors; what lies behind them is its parent's.
//!
//! It must not know what the server is. Invariants: from the moment fork returns, none of the server's numbers leads anywhere: each
//! stays taken, by a socket that is connected to nothing, so that nothing that the child opens can be mistaken for it. No lock
//! that a thread may have held at the fork is waited for here: that thread is not in the child, and will never free it.
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::c_int;

use super::sleep::children;
use super::{busy, gate, owner, raw};
use crate::Runtime;
use crate::family::Family;

/// Set in a child that was forked by code of a worker.
static FORKED_CHILD: AtomicBool = AtomicBool::new(false);

/// How such a child ends.
static FORKED_CHILD_END: OnceLock<fn() -> !> = OnceLock::new();

/// Says how a child ends that was forked inside a coroutine when its code comes back to the loop: with PHP's own shutdown
/// and exit status, for example. Without it, it ends with status 0 and runs no exit handler. The first call counts.
pub fn on_forked_child_end(end: fn() -> !) {
    let _ = FORKED_CHILD_END.set(end);
}

/// How such a child begins.
static FORKED_CHILD_BEGIN: OnceLock<Box<dyn Fn() -> Vec<c_int> + Send + Sync>> = OnceLock::new();

/// Says how a child begins that is forked inside a coroutine: what the server does to be none any more, and which descriptors are
/// its own. Those are taken from the child, so that a connection that its parent closes is closed, and nothing said here is
/// heard there. Called in the child, where it must wait for nobody. The first call counts.
pub fn on_forked_child_begin(begin: impl Fn() -> Vec<c_int> + Send + Sync + 'static) {
    let _ = FORKED_CHILD_BEGIN.set(Box::new(begin));
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

/// In a child of a worker: no runtime, nothing of the server's, every signal deliverable, those the worker ignores back at their
/// default.
pub fn begins(runtime: &Runtime, family: Family) {
    FORKED_CHILD.store(true, Ordering::Relaxed);
    let handles_signals = super::has_handlers() && !SIGNALS_ARE_OWN.load(Ordering::Relaxed);
    Runtime::forget();
    super::forget_signals();
    busy::forget();
    children::forget();
    gate::forget();
    let loops = runtime.with_reactor(|reactor| reactor.fd());
    let nothing = Nothing::in_place_of(loops);
    nothing.take(runtime.offload.fd());
    if owner::kept_apart() {
        owner::settle_child(family, &runtime.live_families(), &nothing);
    }
    for fd in FORKED_CHILD_BEGIN.get().map(|begin| begin()).unwrap_or_default() {
        nothing.take(fd);
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

/// What takes the place of descriptors that are not the child's: a socket that is not connected. Calls on it fail, and none of
/// them waits or sends a signal.
pub struct Nothing(c_int);

impl Nothing {
    /// It begins with a descriptor that is taken as well: so there is room in a table that is full (EMFILE).
    fn in_place_of(first: c_int) -> Nothing {
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
