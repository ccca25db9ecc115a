//! How many bytes of all responses wait in memory for peers that do not read them.
//!
//! Must not know how responses are made. Invariant: together they have about `waiting_bytes_max`. Once that is reached,
//! a further response gets [`CROWDED_BYTES_MAX`]; the excess goes to a temporary file, or its writer waits.

use crate::connection::{Connection, Phase};
use crate::exchange::Exchange;
use crate::server::Server;

/// What one response may keep in memory while little is left.
const CROWDED_BYTES_MAX: usize = 16 * 1024;

impl Server {
    /// Bytes of responses in memory that peers could have read but have not.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting.get()
    }

    /// Responses of which a part waits for the peer, in memory or in a file.
    pub fn untaken(&self) -> usize {
        let mut table = self.table.borrow_mut();
        let waits = |connection: &Connection| {
            connection.exchange.as_deref().is_some_and(|exchange| exchange.blocked_since > 0)
        };
        table.occupied().filter(|(_, slot)| slot.connection.as_ref().is_some_and(waits)).count()
    }

    fn crowded(&self) -> bool {
        self.waiting.get() >= self.limits.waiting_bytes_max
    }

    /// Bytes that one response may have in memory now.
    pub(crate) fn buffer_bytes_max(&self) -> usize {
        let max = self.limits.write_buffer_bytes_max;
        if self.crowded() { max.min(CROWDED_BYTES_MAX) } else { max }
    }

    fn count(&self, exchange: &mut Exchange, waits: usize) {
        self.waiting.set(self.waiting.get() - exchange.counted + waits);
        exchange.counted = waits;
    }

    /// Records that a response waits for its peer, or no longer does.
    pub(crate) fn note_waiting(&self, connection: &mut Connection) {
        let ended = connection.phase == Phase::Ended;
        let Some(exchange) = connection.exchange.as_deref_mut() else { return };
        let waits = if exchange.blocked_since > 0 { exchange.out.pending() } else { 0 };
        if waits == 0 && exchange.counted == 0 {
            return;
        }
        self.count(exchange, waits);
        let large = waits > CROWDED_BYTES_MAX && self.crowded() && (ended || exchange.spools);
        if large && self.spool.takes(exchange.out.spilled(), waits) && exchange.out.spill(&self.spool) {
            self.count(exchange, 0);
        }
    }

    /// The buffers of a connection are released: nothing of it waits any longer.
    pub(crate) fn forget_waiting(&self, exchange: &mut Exchange) {
        if exchange.counted > 0 {
            self.count(exchange, 0);
        }
    }
}
