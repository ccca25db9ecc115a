//! Whether a request may be read, and the line of those that may not yet.
//!
//! Must not know how a connection leaves the line: that is `unread.rs`. Invariant: a connection has one of these states.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use weft_rt::Nanos;

/// Whether a connection's next request may be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Admission {
    /// It must ask.
    #[default]
    None,
    /// It is in the line.
    Waits,
    /// It has waited in the line and may be read, with all its later bytes, even if there is no room at that
    /// time.
    Admitted,
    /// The line was full, or it has waited too long: it is read only to be refused.
    TurnedAway,
}

/// The connections that wait, and since when.
#[derive(Default)]
pub(crate) struct Line {
    /// Requests that may still be read in this turn without asking the handler; 0 while others wait. It may be wrong
    /// after the first answer of a turn: then the handler has a queue, or the line is checked again at once.
    pub room: Cell<usize>,
    pub waiting: RefCell<VecDeque<(u32, Nanos)>>,
}
