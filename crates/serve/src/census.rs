//! How many connections are in which state, for the operator: all are looked at, a part at a time.
//!
//! Must not know what a state is told from. Invariants: a request pays nothing for this; a look takes a bounded time, because the
//! loop waits for it; counts are told when all connections have been looked at.

use crate::server::Server;
use crate::states::{ConnectionState, Round};

/// Places of the table that one look counts: it takes less than a millisecond.
const PER_LOOK: usize = 32 * 1024;

impl Server {
    /// Counts a part of the connections by their states; to be called from the loop, once a second for instance.
    pub fn count_states(&self) {
        let mut round = self.round.get();
        let table = self.table.borrow();
        let places = table.places();
        let end = places.min(round.next + PER_LOOK);
        for (connection, stream) in table.occupied_in(round.next..end) {
            let is_stream = connection.transport.carried().is_some();
            let counts = if is_stream { &mut round.streams } else { &mut round.connections };
            counts[ConnectionState::of(connection, stream, self.draining()) as usize] += 1;
        }
        round.next = end;
        if end == places {
            self.stats.connection_states.tell(&round.connections);
            self.stats.stream_states.tell(&round.streams);
            round = Round::default();
        }
        self.round.set(round);
    }
}
