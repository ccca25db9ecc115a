//! The vocabulary of waits: the coroutine that waits, the number of its wait, and how the wait ended.
//!
//! It must not know how a coroutine waits: that is [`crate::park`]. Invariant: an outdated name matches nothing.

use crate::reactor::Readiness;

/// Identifies one run of one coroutine slot. A later run in the same slot has another generation, so a stale id
/// never reaches it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct CoroutineId {
    /// Slot in the scheduler's table.
    pub index: u32,
    /// The run of that slot, counted from 1.
    pub generation: u32,
}

/// Identifies one wait of one coroutine. Copies may be in every queue that can end the wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The coroutine that waits.
    pub coroutine: CoroutineId,
    /// Which of its waits.
    pub number: u32,
}

impl Wait {
    /// The wait as one word, never 0, for callers that can store no more (C).
    /// [`Runtime::wake_word`](crate::Runtime::wake_word) accepts it.
    pub fn word(self) -> u64 {
        (u64::from(self.coroutine.index) + 1) << 32 | u64::from(self.number)
    }
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// A call of [`Runtime::wake`](crate::Runtime::wake); for descriptors, with what is ready.
    Ready(Readiness),
    /// The deadline has passed.
    TimedOut,
    /// The coroutine was interrupted or cancelled. If cancelled, it should end soon, and every further wait ends at
    /// once the same way.
    Cancelled,
}
