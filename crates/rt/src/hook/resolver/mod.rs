//! Name resolution, on offload threads.
//!
//! Invariant: the thread sees only copies. Its input belongs to it and its result is owned, so a cancelled coroutine can
//! end at any time and no thread writes to its stack afterwards.

pub mod address;
pub mod host_entry;
pub mod lookup;
pub mod search;
