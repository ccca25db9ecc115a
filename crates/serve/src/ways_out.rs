//! What the loop keeps of the ways out of this worker: its side of the ledger, and the gate.
//!
//! Must not know when a connection leaves: that is `hand_over.rs`. Invariant: without an owner nothing is offered.

use std::cell::{Cell, OnceCell, RefCell};
use std::os::fd::{OwnedFd, RawFd};
use std::sync::Arc;

use weft_rt::ledger::{Heir, Owner};

use crate::deputy::Gate;

/// What the loop has of it all; nothing in a server that passes nothing on.
#[derive(Default)]
pub(crate) struct WaysOut {
    pub owner: OnceCell<Owner>,
    pub gate: RefCell<Option<Arc<Gate>>>,
    /// For a worker that fails: its own way into the relay, until it drains, and its side of the ledger.
    pub relay: RefCell<Option<OwnedFd>>,
    pub heir: OnceCell<Heir>,
    /// Descriptors that a child of fork(2) must not keep.
    pub descriptors: RefCell<Vec<RawFd>>,
    /// Connections that have left.
    pub passed_on: Cell<u64>,
}
