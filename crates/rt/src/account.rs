//! What some jobs are charged together: for how long they had the loop, and for how long they waited, by kind.
//!
//! Must not know what jobs are, nor who reads it. Invariant: only the loop's thread writes; the memory may be shared with other
//! processes.

use crate::counter::Counter;
use crate::{Nanos, WaitKind};

/// An account.
#[derive(Default, Debug)]
#[repr(C)]
pub struct Account {
    /// For how long its jobs had the loop, in nanoseconds.
    pub ran: Counter,
    /// How long their waits took that have ended, in nanoseconds, by [`WaitKind::place`].
    pub waited: [Counter; WaitKind::COUNT],
}

impl Account {
    /// A wait has ended.
    #[inline]
    pub(crate) fn waited(&self, kind: WaitKind, took: Nanos) {
        self.waited[kind.place()].add(took);
    }
}
