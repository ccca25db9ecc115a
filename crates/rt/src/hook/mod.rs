//! The libc symbols this executable provides in place of libc's, so that stock extensions become cooperative.
//!
//! The executable is linked with `-Wl,--export-dynamic`: libphp, its extensions and the client libraries below them bind
//! to these symbols. So does Rust's std in this executable; a hook outside of a coroutine is the plain call.
//!
//! - `symbols`: the table of all of them, one row each; read it as [`SYMBOLS`].
//! - `call`: what a hooked call is; the waits.
//! - `ready`, `sleep`, `offload`, `note`: the code behind the rows, by what they wait for.
//! - `raw`, `real`: plain system calls, and libc's own functions.
//! - `interrupt`: signal handlers, and the waits they interrupt. `deferred`: those that must wait for their coroutine.
//! - `descriptor`: what is remembered of a descriptor number. `busy`: those a thread works on. `owner`: whose it is, by what `open` notes. `gate`: children
//!   that have yet to let go of others'. `child`: what a forked process is from its first moment on.
//!
//! # Invariants
//!
//! - Outside a coroutine, and in threads without a runtime, each hook is exactly the plain call.
//! - In a coroutine that may not leave, the call blocks the worker for real and is counted: [`blocked_calls`].
//! - A child forked by a coroutine has no runtime and plain calls; when it comes back to the loop it ends.
//! - A cancelled coroutine's call fails with `ECANCELED`; one whose descriptor is closed meanwhile with `EBADF`.
//!
//! Not done: a signal handler (of C) that runs in a coroutine must not call a hooked function that may wait.
#![allow(unsafe_code)]
// The signatures are those of C.
#![allow(clippy::too_many_arguments)]

mod blocked;
mod busy;
mod call;
mod child;
mod deferred;
mod descriptor;
mod gate;
mod interrupt;
mod note;
mod offload;
mod open;
mod owner;
mod raw;
mod ready;
mod real;
mod review;
mod signalfd;
mod sleep;
mod symbols;

pub use blocked::{blocked_calls, offloaded_calls};
pub use call::yield_at_calls;
pub(crate) use child::end_forked_child;
pub use child::{on_forked_child_begin, on_forked_child_end, signals_are_own};
pub use deferred::defer_handlers;
pub(crate) use deferred::{leaves, runs};
pub use descriptor::end_if_cut_short;
pub use interrupt::has_handlers;
pub(crate) use interrupt::{before_idle, deliver, forget as forget_signals, start as start_signals};
pub use owner::{close_what_it_opened, keep_families_apart};
pub use review::{NEVER_WAIT, NOT_HOOKED, Review, review};
pub(crate) use sleep::children::{ended as child_ended, job_ended};
pub use sleep::lock::{RecordLock, died_with_a_brief_lock, on_brief_locks, on_record_lock};
pub use symbols::{HookKind, Row, SYMBOLS};

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
