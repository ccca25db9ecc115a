//! How many bytes of all responses wait in memory for peers that do not read them.
//!
//! Must not know how responses are made. Invariant: together they have about `waiting_bytes_max`. Once that is reached,
//! a further response gets [`CROWDED_BYTES_MAX`]; the excess goes to a temporary file, or its writer waits.

use crate::connection::{Connection, Phase};
use crate::server::Server;
use crate::stream::Stream;

/// What one response may keep in memory while little is left.
const CROWDED_BYTES_MAX: usize = 16 * 1024;

impl Server {
    /// Bytes of responses in memory that peers could have read but have not.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting.get()
    }

    /// Responses of which a part waits for the peer, in memory or in a file.
    pub fn untaken(&self) -> usize {
        let waits = |stream: Option<&Stream>| stream.is_some_and(|stream| stream.blocked_since > 0);
        self.table.borrow().occupied().filter(|(.., stream)| waits(*stream)).count()
    }

    fn crowded(&self) -> bool {
        self.waiting.get() >= self.limits.waiting_bytes_max
    }

    /// Bytes that one response may have in memory now.
    pub(crate) fn buffer_bytes_max(&self) -> usize {
        let max = self.limits.write_buffer_bytes_max;
        if self.crowded() { max.min(CROWDED_BYTES_MAX) } else { max }
    }

    fn count(&self, stream: &mut Stream, waits: usize) {
        self.waiting.set(self.waiting.get() - stream.counted + waits);
        stream.counted = waits;
    }

    /// Records that a response waits for its peer, or no longer does.
    pub(crate) fn note_waiting(&self, connection: &Connection, stream: &mut Stream) {
        let ended = connection.phase == Phase::Ended;
        let waits = if stream.blocked_since > 0 { stream.out.pending() } else { 0 };
        if waits == 0 && stream.counted == 0 {
            return;
        }
        self.count(stream, waits);
        let large = waits > CROWDED_BYTES_MAX && self.crowded() && (ended || stream.spools);
        if large && self.spool.takes(stream.out.spilled(), waits) && stream.out.spill(&self.spool) {
            self.count(stream, 0);
        }
    }

    /// The buffers of a connection are released: nothing of it waits any longer.
    pub(crate) fn forget_waiting(&self, stream: &mut Stream) {
        if stream.counted > 0 {
            self.count(stream, 0);
        }
    }
}
