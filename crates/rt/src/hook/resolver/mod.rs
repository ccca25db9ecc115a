//! Name resolution, on offload threads.
//!
//! Invariant: the thread only sees copies. What it works on belongs to it, what it returns is owned by the result, so that
//! a cancelled coroutine can go at any time and nothing writes to its stack afterwards.

pub mod address;
pub mod host_entry;
pub mod lookup;
pub mod search;
