//! The connections that are closed next when there is no room.
//!
//! Must not know how they are chosen: that is `evict.rs`. Invariant: a candidate is named by slot and generation, so it
//! never stands for a later connection.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use weft_rt::Nanos;

/// What is lost by closing a connection: the smaller first, and among equals the one that has waited longest.
pub(crate) type Worth = (u8, Nanos);

/// A connection that may be closed as long as it has not moved since: its slot, its generation in the slot, its
/// worth.
pub(crate) type Candidate = (Worth, u32, u32);

/// The connections to close next.
#[derive(Default)]
pub(crate) struct Eviction {
    pub batch: RefCell<VecDeque<Candidate>>,
    /// The time before which there is no new search.
    pub look_at: Cell<Nanos>,
}
