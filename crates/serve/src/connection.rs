//! A connection as data: a struct without a stack. What happens to it is in `advance.rs`.
//!
//! Must not know the server. Invariant: an idle connection is no more than this; buffers are there from its first byte on.

use std::num::NonZeroU32;

use weft_rt::Nanos;

use crate::address::Peer;
use crate::admission::Admission;
use crate::parcel::word;
use crate::transport::Transport;

/// The phase of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// The header of the PROXY protocol is expected.
    Announced,
    /// TLS's handshake.
    Opening,
    /// It carries streams, each with a place of its own.
    Carrier,
    /// Between requests: no buffers.
    Idle,
    /// Bytes of a head are being collected.
    Head,
    /// The handler has a request.
    Active,
    /// The response has ended; part of it may still wait for the peer, and part of the request's body may be
    /// unread.
    Ended,
    /// Everything is sent, and the peer has been told so; what it still sends is dropped until it closes.
    Linger,
    /// It is a WebSocket.
    Tunnel,
}

/// One connection. An idle one consists of nothing else.
pub(crate) struct Connection {
    pub transport: Transport,
    pub peer: Peer,
    pub phase: Phase,
    /// Whether it is in the list of connections to be processed in this turn.
    pub queued: bool,
    /// Whether it is in the line of those that have got what many get.
    pub is_delivered_to: bool,
    /// Whether its next request may be read.
    pub admission: Admission,
    /// Requests dispatched.
    pub requests: u32,
    /// Bytes dropped since its last response has ended.
    pub dropped: u64,
    /// When the peer last sent something, while the connection lingers; when it is late, while it
    /// carries streams or is a tunnel.
    pub heard: Nanos,
    /// When the current phase began, for `Announced`, `Opening`, `Idle` and `Linger`; when it joined the line, if it waits there.
    pub since: Nanos,
    /// The tick of its entry in the wheel; `u64::MAX` if it has none.
    pub tick: u64,
    /// Whether it is offered to other workers, and must be claimed before anything is done with it.
    pub is_offered: bool,
    /// The number of its service; 255 if it is higher.
    pub service: u8,
    /// Whether its service is for the operator.
    pub is_admin: bool,
    /// Whether another worker has it: only its place is left here.
    pub is_gone: bool,
    /// Its stream, from the first byte of a request to the last of its answer.
    pub stream: Option<u32>,
    /// Its tunnel, from the answer 101 on.
    pub tunnel: Option<NonZeroU32>,
}

impl Connection {
    /// One of which nothing is known yet.
    pub(crate) fn new(transport: Transport, peer: Peer, phase: Phase, since: Nanos) -> Connection {
        Connection {
            transport,
            peer,
            phase,
            queued: false,
            is_delivered_to: false,
            admission: Admission::None,
            requests: 0,
            dropped: 0,
            heard: 0,
            since,
            tick: u64::MAX,
            is_offered: false,
            service: 0,
            is_admin: false,
            is_gone: false,
            stream: None,
            tunnel: None,
        }
    }

    /// What its next owner is told of it ([`Offer::word`](weft_rt::ledger::Offer::word)).
    #[inline]
    pub(crate) fn word(&self) -> u32 {
        word(self.requests, self.service.into())
    }
}
