//! What follows when a connection was moved on: for the loop, and from phase to phase.
//!
//! Must not know who acts on it. Invariant: a step carries no borrow.

use crate::keys::RequestKey;

/// The action that the loop must take for a connection, with nothing borrowed.
pub(crate) enum Step {
    /// Give the request to the handler.
    Request(RequestKey),
    /// The same, for a request for which there is no room.
    TurnAway(RequestKey),
    /// Give the handler a summary.
    Report,
    /// Nothing until something happens.
    Wait,
    /// Nothing in this turn, so that other connections get theirs.
    Later,
    Close,
    /// It carries streams: move it on, with these bytes first.
    Carry(Vec<u8>),
}

/// What follows a phase.
pub(crate) enum Next {
    Again,
    /// The connection needs a stream.
    Take,
    /// A head is complete.
    Begin,
    /// The body of a request that was held back has arrived.
    Whole,
    /// Everything is answered, and nothing of another request has arrived: the stream is given back.
    Rest,
    /// Nothing follows: the stream is given back, and what arrives is dropped.
    Linger,
    Report,
    Wait,
    Later,
    Close,
    /// The connection carries streams.
    Carry,
    /// The answer 101 has been sent: the stream is given back, and the connection is a tunnel.
    Tunnel,
}
