//! The keys that identify a connection or a request in a slot.
//!
//! Must not know what is in a slot. Invariant: keys of this crate are apart from those that others give the reactor.

use std::fmt;

use weft_rt::runtime::DRIVER_KEY;

/// The bit that marks this crate's reactor keys. A worker may use the other keys, from [`DRIVER_KEY`] up.
pub(crate) const SERVER_BIT: u64 = 1 << 63;
/// The bit that also marks the reactor keys of listeners.
const LISTENER_BIT: u64 = 1 << 62;
pub(crate) const GENERATION_MASK: u32 = (1 << 30) - 1;
const _: () = assert!(SERVER_BIT > DRIVER_KEY);

/// Identifies one request until its response has ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestKey(pub u64);

impl RequestKey {
    pub(crate) fn new(index: u32, request: u32) -> RequestKey {
        RequestKey(u64::from(request) << 32 | u64::from(index))
    }

    /// That of the next request in the same slot.
    pub(crate) fn next(self) -> RequestKey {
        RequestKey(self.0.wrapping_add(1 << 32))
    }

    pub(crate) fn index(self) -> u32 {
        self.0 as u32
    }

    pub(crate) fn request(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

impl fmt::Debug for RequestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request {} of slot {}", self.request(), self.index())
    }
}

/// Identifies one tunnel, for ever: after its end the key finds nothing. Never 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TunnelKey(pub u64);

impl TunnelKey {
    /// No tunnel: a datagram has arrived.
    pub const DATAGRAM: TunnelKey = TunnelKey(u64::MAX);
}

/// What a reactor key of this crate identifies.
pub(crate) enum Source {
    Listener(u32),
    Connection { index: u32, generation: u32 },
}

pub(crate) fn listener_key(index: u32) -> u64 {
    SERVER_BIT | LISTENER_BIT | u64::from(index)
}

pub(crate) fn source(key: u64) -> Source {
    let index = key as u32;
    if key & LISTENER_BIT != 0 {
        Source::Listener(index)
    } else {
        Source::Connection { index, generation: (key >> 32) as u32 & GENERATION_MASK }
    }
}
