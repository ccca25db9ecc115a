//! Pauses between attempts at calls that have no readiness.
//!
//! It must not know which call is repeated. Invariant: a pause never exceeds the maximum given at the start.

use crate::{MILLISECOND, Nanos};

/// Pauses between attempts at something that has no readiness (locks, other processes): they double up to a
/// maximum.
pub struct Backoff {
    pause: Nanos,
    max: Nanos,
}

impl Backoff {
    /// From 0.5 ms to `max`.
    pub fn up_to(max: Nanos) -> Backoff {
        Backoff { pause: MILLISECOND / 2, max }
    }

    /// The default maximum, 16 ms: a released lock is noticed within the time of a disk access.
    pub fn new() -> Backoff {
        Backoff::up_to(16 * MILLISECOND)
    }

    /// The next pause.
    pub(super) fn next(&mut self) -> Nanos {
        let pause = self.pause;
        self.pause = (pause * 2).min(self.max);
        pause
    }
}
