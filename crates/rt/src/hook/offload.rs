//! Hooks of kind *offload*: calls that wait inside libc run on an offload thread while the coroutine is parked.
//!
//! Invariant: the thread only sees copies. What it works on belongs to it, what it returns is owned by the result, so that
//! a cancelled coroutine can go at any time and nothing writes to its stack afterwards.
//! Calls on files (`disk`) are waited for in any case.

pub mod address;
pub mod disk;
pub mod fifo;
pub mod host_entry;
pub mod lookup;
pub mod search;
