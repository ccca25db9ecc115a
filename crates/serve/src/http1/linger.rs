//! The end of a connection whose peer may still be sending: the response must arrive although the request was not read.
//!
//! If a socket is closed with bytes unread, or before bytes on their way arrive, the kernel sends a reset, which
//! destroys what the peer has not read yet (RFC 9112 9.6). So the server sends everything, tells the peer that nothing
//! follows, and drops what the peer still sends until it closes. Many clients and proxies read the response only after
//! they have sent their whole request. That is why dropping lasts for the time of an ordinary upload, and also happens
//! while the response cannot be sent yet.
//!
//! Must not know what the response was. Invariant: the connection is closed within `linger_timeout_ms`,
//! `linger_silence_ms` and `linger_bytes_max` of the last response. Until then it holds no buffers, and it is closed
//! first when there is no room.

use weft_rt::{MILLISECOND, Nanos};

use crate::connection::{Connection, Phase};
use crate::server::Server;
use crate::step::Next;
use crate::stream::Stream;
use crate::stream::outgoing::Flush;
use crate::transport::Received;

/// Bytes dropped for one connection before others get their turn.
const BYTES_PER_TURN: u64 = 1024 * 1024;

impl Server {
    /// The last response has ended: sends it, then closes the connection or lets it linger.
    pub(crate) fn end_connection(&self, connection: &mut Connection, stream: &mut Stream) -> Next {
        let more = stream.wire.next < stream.input.len() || !stream.wire.carry.is_empty();
        let unread =
            more || stream.wire.refused || !stream.body.is_complete() || connection.transport.readable;
        match self.flush(connection, stream) {
            Flush::Blocked { .. } if unread => return self.drop_meanwhile(connection),
            Flush::Blocked { .. } => return Next::Wait,
            Flush::Broken => return Next::Again,
            Flush::Done if !unread && connection.dropped == 0 => return Next::Close,
            Flush::Done => (),
        }
        connection.transport.end_sending();
        connection.phase = Phase::Linger;
        connection.since = self.runtime.turn_time();
        connection.heard = connection.since;
        Next::Linger
    }

    pub(crate) fn linger_phase(&self, connection: &mut Connection) -> Next {
        let before = connection.dropped;
        let next = match self.drop_arrived(connection) {
            Received::Bytes(_) => Next::Later,
            Received::Nothing => Next::Wait,
            Received::End | Received::Broken => Next::Close,
        };
        if connection.dropped > before {
            connection.heard = self.runtime.turn_time();
        }
        // A peer that never stops sending does not make the connection wait, so no timer would notice it.
        let late = self.linger_ends(connection) <= self.runtime.turn_time();
        if late || connection.dropped > self.limits.linger_bytes_max { Next::Close } else { next }
    }

    /// The response waits for a peer that may itself be waiting for its request to be read. A peer that sends and does
    /// not read runs into `write_timeout_ms`.
    fn drop_meanwhile(&self, connection: &mut Connection) -> Next {
        if connection.dropped > self.limits.linger_bytes_max {
            return Next::Wait;
        }
        match self.drop_arrived(connection) {
            Received::Bytes(_) => Next::Later,
            // A peer that has closed its side can still read.
            Received::Nothing | Received::End => Next::Wait,
            Received::Broken => Next::Again,
        }
    }

    /// Drops the bytes that have arrived, up to one connection's share of a turn; at that limit it returns
    /// `Bytes`.
    fn drop_arrived(&self, connection: &mut Connection) -> Received {
        let (from, mut scratch) = (connection.dropped, self.scratch.borrow_mut());
        while connection.transport.readable {
            match connection.transport.discard(&mut scratch[..]) {
                Received::Bytes(count) => connection.dropped += count as u64,
                other => return other,
            }
            if connection.dropped - from >= BYTES_PER_TURN {
                return Received::Bytes(BYTES_PER_TURN as usize);
            }
        }
        Received::Nothing
    }

    /// When a connection has lingered long enough.
    pub(crate) fn linger_ends(&self, connection: &Connection) -> Nanos {
        let after = |since: Nanos, span_ms: u64| since.saturating_add(span_ms.saturating_mul(MILLISECOND));
        let silent = after(connection.heard, self.limits.linger_silence_ms);
        let span_ms = match self.draining.get() {
            // A server that is stopping waits for an ordinary request, not for an upload.
            Some(_) => self.limits.linger_silence_ms,
            None => self.limits.linger_timeout_ms,
        };
        silent.min(after(connection.since, span_ms))
    }
}
