//! What many get, a message of a topic, is sent to one after the other.
//!
//! All of them at the end of one turn would keep everybody else waiting meanwhile, for tens of milliseconds if they are many
//! thousand. Must not know what is sent. Invariants: a turn sends for a bounded time, unless more is published than is sent: what
//! waits for a connection is what two turns have published at most; a connection that has something of its own to send does not
//! wait in the line.

use weft_rt::{MILLISECOND, Nanos, clock};

use crate::server::Server;

/// So many are sent to at once, as what one client gets is: a line would only make them later.
const FEW: usize = 32;
/// For how long a turn sends. To ask the kernel for events in between costs a hundredth of this.
const SPAN: Nanos = MILLISECOND / 5;
/// Connections between two looks at the clock.
const PER_LOOK: usize = 4;

impl Server {
    /// Has these connections processed: in this turn, or as soon as it is their turn.
    pub(crate) fn deliver(&self, connections: &[u32]) {
        if connections.len() <= FEW {
            return connections.iter().for_each(|index| self.touch(*index));
        }
        self.deliveries.are_late.set(self.deliveries.are_left.get());
        let mut table = self.table.borrow_mut();
        for index in connections {
            if let Some(connection) = table.at(*index)
                && !connection.queued
                && !connection.is_delivered_to
            {
                connection.is_delivered_to = true;
                self.deliveries.add(*index);
            }
        }
    }

    /// Processes the first of the line, or all.
    pub(crate) fn send_deliveries(&self) {
        let until = if self.deliveries.are_late.take() { Nanos::MAX } else { clock::now() + SPAN };
        while self.send_some() && clock::now() < until {}
        self.deliveries.are_left.set(self.deliveries.are_due());
    }

    /// Returns whether there were as many as that.
    fn send_some(&self) -> bool {
        for _ in 0..PER_LOOK {
            let Some(index) = self.deliveries.take() else { return false };
            if self.takes_delivery(index) {
                self.process(index);
            }
        }
        true
    }

    /// Whether the connection in this place is one that was put into the line.
    fn takes_delivery(&self, index: u32) -> bool {
        let mut table = self.table.borrow_mut();
        table.at(index).is_some_and(|connection| std::mem::take(&mut connection.is_delivered_to))
    }
}
