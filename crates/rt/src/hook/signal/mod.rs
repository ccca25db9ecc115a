//! Signals: handlers that interrupt waits, and waiting for signals.
//!
//! - `handlers`: what is installed and what has arrived; `action` installs, `trampoline` is what the kernel calls.
//! - `interrupt`: the waits that a signal ends. `deferred`: handlers that wait for their coroutine.
//! - `mask`: masks of threads and calls; `masked`, `signalfd`: waiting with a mask. `wait`: sigtimedwait and its relatives.

pub mod action;
pub mod deferred;
pub mod handlers;
pub mod interrupt;
pub mod mask;
pub mod masked;
pub mod signalfd;
pub mod trampoline;
pub mod wait;

pub use deferred::defer_handlers;
pub(crate) use deferred::{leaves, runs};
pub use handlers::has_handlers;
pub(crate) use handlers::start as start_signals;
pub(crate) use interrupt::{before_idle, deliver};
pub use mask::with_signals_blocked;
