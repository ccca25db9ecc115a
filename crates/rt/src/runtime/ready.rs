//! What may run now, in order.
//!
//! Whoever holds up others comes first: the holder of a lock that they wait for, and the one to whom a lock has just
//! been left. It must not know why a wake comes first. Invariant: between [`IN_A_ROW`] of these, one of the others
//! runs, so that two coroutines which pass a lock to and fro keep nobody waiting.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use crate::Wait;
use crate::board::Board;
use crate::coroutine::Start;

/// Wakes that come first and run without one of the others in between.
const IN_A_ROW: usize = 8;

pub(crate) enum Ready {
    Wake(Wait),
    Start(Start),
    /// It was first in the queue, and the free place is kept for it.
    Queued(Start),
}

pub(crate) struct ReadyQueue {
    /// Where the ticker reads how many there are.
    board: &'static Board,
    first: VecDeque<Ready>,
    others: VecDeque<Ready>,
    in_a_row: usize,
}

impl ReadyQueue {
    pub fn new(board: &'static Board) -> ReadyQueue {
        ReadyQueue { board, first: VecDeque::new(), others: VecDeque::new(), in_a_row: 0 }
    }

    pub fn push_back(&mut self, ready: Ready) {
        self.others.push_back(ready);
        self.tell();
    }

    /// Adds one that runs before all others.
    pub fn push_first(&mut self, ready: Ready) {
        self.first.push_back(ready);
        self.tell();
    }

    fn tell(&self) {
        self.board.ready.store(self.len(), Ordering::Relaxed);
    }

    /// Whether one comes first.
    pub fn has_first(&self) -> bool {
        !self.first.is_empty()
    }

    pub fn len(&self) -> usize {
        self.first.len() + self.others.len()
    }

    pub fn is_empty(&self) -> bool {
        self.first.is_empty() && self.others.is_empty()
    }

    pub fn pop_front(&mut self) -> Option<Ready> {
        let next = if self.first.is_empty() || self.in_a_row >= IN_A_ROW && !self.others.is_empty() {
            self.in_a_row = 0;
            self.others.pop_front()
        } else {
            self.in_a_row += 1;
            self.first.pop_front()
        };
        self.tell();
        next
    }
}
