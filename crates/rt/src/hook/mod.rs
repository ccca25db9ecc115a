//! The libc symbols this executable provides in place of libc's, so that stock extensions become cooperative.
//!
//! The executable is linked with `-Wl,--export-dynamic`: libphp, its extensions and the client libraries below them bind
//! to these symbols. So does Rust's std in this executable; a hook outside of a coroutine is the plain call.
//!
//! From the lowest layer up. A file may use those above it in this list, and its neighbours in a folder:
//!
//! - `names`: the symbols. `errno`, `raw`, `real`: errno, plain system calls, libc's own functions. `time`: libc's times,
//!   and sleeping.
//! - `descriptor`: what is remembered of a number; opening and closing. `signal`: handlers, and the waits they interrupt.
//! - `call`: a hooked call, and the waits from which all hooks are built. `caller`: which library makes it. `purpose`: what
//!   it waits for. `backoff`: pauses between attempts. `blocked`: how often a call blocked.
//! - `socket`, `ready`, `disk`, `resolver`, `lock`, `child`, `library`: the hooks, by subject.
//! - `symbols`: the table of all hooks, one row each; read it as [`SYMBOLS`]. `review`: what is known of other symbols.
//!
//! # Invariants
//!
//! - Outside a coroutine, and in threads without a runtime, each hook is exactly the plain call.
//! - In a coroutine that may not leave, the call really blocks the worker and is counted: [`blocked_calls`].
//! - A child forked by a coroutine has no runtime and plain calls; when it returns to the loop it ends.
//! - A cancelled coroutine's call fails with `ECANCELED`; one whose descriptor is closed meanwhile with `EBADF`.
//!
//! Not supported: a C signal handler that runs in a coroutine must not call a hooked function that may wait.
// The signatures are those of C.
#![allow(clippy::too_many_arguments)]

mod backoff;
mod blocked;
mod call;
mod caller;
mod child;
mod descriptor;
mod disk;
mod errno;
mod library;
mod lock;
mod names;
mod purpose;
mod raw;
mod ready;
mod real;
mod resolver;
mod review;
mod signal;
mod socket;
mod symbols;
mod time;

pub use blocked::{blocked_calls, function_name, offloaded_calls};
pub use call::yield_at_calls;
pub(crate) use child::{child_ended, end_forked_child};
pub use child::{keep_families_apart, on_forked_child_begin, on_forked_child_end, signals_are_own};
pub use descriptor::{close_what_it_opened, end_if_cut_short};
pub use lock::{RecordLock, may_be_half_written, on_brief_locks, on_record_lock};
pub(crate) use lock::{comes_first, somebody_holds_up};
pub use names::HookKind;
pub use purpose::{ServiceOf, on_connect};
pub use review::{NEVER_WAIT, NOT_HOOKED, Review, review};
pub(crate) use signal::{before_idle, deliver, leaves, runs, start_signals};
pub use signal::{defer_handlers, has_handlers, with_signals_blocked};
pub use symbols::{Row, SYMBOLS};

/// A coroutine's job has ended: what it leaves behind is seen to.
#[inline]
pub(crate) fn job_ended(runtime: &crate::Runtime) {
    child::job_ended(runtime);
    lock::job_ended(runtime);
}
