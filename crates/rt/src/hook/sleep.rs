//! Hooks of kind *sleep*: a timer ends the wait. Sleeping itself, and what can only be asked again after a pause: locks,
//! other processes, signals, System V queues.
//!
//! Deadlines are exact nanoseconds. Pauses between attempts double from 0.5 ms to 16 ms (20 ms for processes).

pub mod children;
pub mod condition;
pub mod contend;
mod held;
pub mod holder;
pub mod lock;
pub mod mutex;
pub mod process;
pub mod signal;
pub mod spawn;
pub mod sysv;
pub mod time;
