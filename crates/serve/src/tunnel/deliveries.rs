//! The line of connections that have got what many get: a message of a topic.
//!
//! Must not know what becomes of them. Invariant: those that came first are the first to be taken.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// The places of connections.
#[derive(Default)]
pub(crate) struct Deliveries {
    line: RefCell<VecDeque<u32>>,
    /// Whether the last turn has left some.
    pub are_left: Cell<bool>,
    /// Whether more came before those were sent to.
    pub are_late: Cell<bool>,
}

impl Deliveries {
    pub(crate) fn are_due(&self) -> bool {
        !self.line.borrow().is_empty()
    }

    pub(crate) fn add(&self, index: u32) {
        self.line.borrow_mut().push_back(index);
    }

    pub(crate) fn take(&self) -> Option<u32> {
        self.line.borrow_mut().pop_front()
    }
}
