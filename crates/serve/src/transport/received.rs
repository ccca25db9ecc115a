//! The result of a read from a transport.
//!
//! Must not know which kind of transport. Invariant: none.

/// What a read has brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Received {
    /// This many bytes, at least one.
    Bytes(usize),
    /// Nothing now; an event will come.
    Nothing,
    /// The peer will send no more.
    End,
    /// The connection is broken.
    Broken,
}
