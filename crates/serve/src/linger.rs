//! The end of a connection whose peer may still be sending: a response must arrive though its request was not read.
//!
//! Closing a socket with bytes unread, or before some that are under way, makes the kernel send a reset, which destroys
//! what the peer has not read yet (RFC 9112 9.6). So all is sent, the peer is told that nothing follows, and what it still
//! sends is dropped until it closes. Many clients, and proxies, read the response only when they have sent all of their
//! request: that is why dropping goes on for the time of an ordinary upload, and while the response cannot be sent yet.
//!
//! Must not know what the response was. Invariant: within `linger_timeout_ms`, `linger_silence_ms` and `linger_bytes_max` of
//! the last response the connection is closed; meanwhile it holds no buffers, and goes first when there is no room.

use weft_rt::{MILLISECOND, Nanos};

use crate::connection::{Connection, Next, Phase};
use crate::link::Received;
use crate::outgoing::Flush;
use crate::server::Server;

/// Bytes dropped for one connection before others have their turn.
const BYTES_PER_TURN: u64 = 1024 * 1024;

impl Server {
    /// The last response has ended: it is sent, and then the connection is closed or lingers.
    pub(crate) fn end_connection(&self, connection: &mut Connection) -> Next {
        let Some(exchange) = connection.exchange.as_deref_mut() else { return Next::Close };
        let more = exchange.next < exchange.input.len() || !exchange.carry.is_empty();
        let unread = more || exchange.refused || !exchange.body.is_complete() || connection.link.readable;
        match self.flush(connection) {
            Flush::Blocked { .. } if unread => return self.drop_meanwhile(connection),
            Flush::Blocked { .. } => return Next::Wait,
            Flush::Broken => return Next::Again,
            Flush::Done if !unread && connection.dropped == 0 => return Next::Close,
            Flush::Done => (),
        }
        connection.link.end_sending();
        self.give_exchange(connection);
        connection.phase = Phase::Linger;
        connection.since = self.runtime.turn_time();
        connection.heard = connection.since;
        Next::Again
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
        // Who never stops sending is not waited for, so no timer would see it.
        let late = self.linger_ends(connection) <= self.runtime.turn_time();
        if late || connection.dropped > self.limits.linger_bytes_max { Next::Close } else { next }
    }

    /// The response waits for a peer that may be waiting for its request to be read. Who sends and takes nothing meets
    /// `write_timeout_ms`.
    fn drop_meanwhile(&self, connection: &mut Connection) -> Next {
        if connection.dropped > self.limits.linger_bytes_max {
            return Next::Wait;
        }
        match self.drop_arrived(connection) {
            Received::Bytes(_) => Next::Later,
            // A peer that has ended its side can still read.
            Received::Nothing | Received::End => Next::Wait,
            Received::Broken => Next::Again,
        }
    }

    /// Drops what has arrived, but not more than is one connection's part of a turn: then it says `Bytes`.
    fn drop_arrived(&self, connection: &mut Connection) -> Received {
        let (from, mut scratch) = (connection.dropped, self.scratch.borrow_mut());
        while connection.link.readable {
            match connection.link.discard(&mut scratch[..]) {
                Received::Bytes(count) => connection.dropped += count as u64,
                other => return other,
            }
            if connection.dropped - from >= BYTES_PER_TURN {
                return Received::Bytes(BYTES_PER_TURN as usize);
            }
        }
        Received::Nothing
    }

    /// When a connection has lingered enough.
    pub(crate) fn linger_ends(&self, connection: &Connection) -> Nanos {
        let after = |since: Nanos, span_ms: u64| since.saturating_add(span_ms.saturating_mul(MILLISECOND));
        let silent = after(connection.heard, self.limits.linger_silence_ms);
        let span_ms = match self.draining.get() {
            // A server that goes away waits for an ordinary request, not for an upload.
            Some(_) => self.limits.linger_silence_ms,
            None => self.limits.linger_timeout_ms,
        };
        silent.min(after(connection.since, span_ms))
    }
}
