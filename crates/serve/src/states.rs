//! The states of connections, for the operator.
//!
//! Must not know who counts them. Invariant: a connection is in one state, and its streams, if it carries several, in one each.

use weft_rt::counter::Gauge;

use crate::admission::Admission;
use crate::connection::{Connection, Phase};
use crate::stream::Stream;

/// What a connection, or a stream of one that carries several, is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionState {
    /// The header of the PROXY protocol is expected.
    ProxyHeader,
    /// TLS's handshake.
    TlsHandshake,
    /// Nothing of a request has arrived.
    Idle,
    /// The same in a worker that drains: it is closed soon.
    Draining,
    /// Its request waits, unread, for a place.
    Waiting,
    /// A part of a head has arrived.
    ReadingHead,
    /// The body of a request is expected that begins when it has arrived; or that has been answered.
    ReadingBody,
    /// Its request was read, and waits for a place.
    Queued,
    /// The handler has its request.
    Handling,
    /// The peer has not taken what is to be sent.
    Writing,
    /// It speaks HTTP/2: what it does is told of its streams.
    Http2,
    /// It is a WebSocket, a stream of events, or of a TCP service.
    Tunnel,
    /// All is sent, and the peer has been told so.
    Closing,
}

impl ConnectionState {
    /// Every state, in order, with its name.
    pub const ALL: [(ConnectionState, &str); 13] = [
        (ConnectionState::ProxyHeader, "proxy_header"),
        (ConnectionState::TlsHandshake, "tls_handshake"),
        (ConnectionState::Idle, "idle"),
        (ConnectionState::Draining, "draining"),
        (ConnectionState::Waiting, "waiting"),
        (ConnectionState::ReadingHead, "reading_head"),
        (ConnectionState::ReadingBody, "reading_body"),
        (ConnectionState::Queued, "queued"),
        (ConnectionState::Handling, "handling"),
        (ConnectionState::Writing, "writing"),
        (ConnectionState::Http2, "http2"),
        (ConnectionState::Tunnel, "tunnel"),
        (ConnectionState::Closing, "closing"),
    ];

    pub(crate) fn of(connection: &Connection, stream: Option<&Stream>, is_draining: bool) -> ConnectionState {
        let writes = stream.is_some_and(|stream| stream.blocked_since > 0);
        match connection.phase {
            Phase::Announced => ConnectionState::ProxyHeader,
            Phase::Opening => ConnectionState::TlsHandshake,
            Phase::Carrier => ConnectionState::Http2,
            Phase::Tunnel => ConnectionState::Tunnel,
            Phase::Linger => ConnectionState::Closing,
            _ if writes => ConnectionState::Writing,
            _ if connection.admission == Admission::Waits => ConnectionState::Waiting,
            Phase::Idle if is_draining => ConnectionState::Draining,
            Phase::Idle => ConnectionState::Idle,
            Phase::Head => ConnectionState::ReadingHead,
            Phase::Active if stream.is_some_and(|stream| stream.held) => ConnectionState::ReadingBody,
            Phase::Active if stream.is_some_and(|stream| stream.waits) => ConnectionState::Queued,
            Phase::Active => ConnectionState::Handling,
            Phase::Ended if stream.is_some_and(|stream| stream.body.discarding) => {
                ConnectionState::ReadingBody
            }
            Phase::Ended => ConnectionState::Writing,
        }
    }
}

/// How many are in each state.
#[derive(Default, Debug)]
#[repr(C)]
pub struct States([Gauge; ConnectionState::ALL.len()]);

impl States {
    /// The count of each, in the order of [`ConnectionState::ALL`].
    pub fn all(&self) -> [usize; ConnectionState::ALL.len()] {
        self.0.each_ref().map(Gauge::get)
    }

    /// Every number of it.
    pub fn gauges(&self) -> impl Iterator<Item = &Gauge> {
        self.0.iter()
    }

    pub(crate) fn tell(&self, counts: &Counts) {
        self.0.iter().zip(counts).for_each(|(gauge, count)| gauge.set(*count));
    }
}

type Counts = [usize; ConnectionState::ALL.len()];

/// How far a round over all connections has come.
#[derive(Default, Clone, Copy)]
pub(crate) struct Round {
    pub next: usize,
    pub connections: Counts,
    pub streams: Counts,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_is_at_its_place() {
        for (place, (state, name)) in ConnectionState::ALL.into_iter().enumerate() {
            assert_eq!(state as usize, place, "{name}");
        }
    }
}
