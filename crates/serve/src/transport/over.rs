//! What may lie between the bytes of a connection and a socket.
//!
//! Must not know what is done with it: that is `layered.rs`. Invariant: a plain connection has none of it.

use crate::transport::carried::Carried;
use crate::transport::tls::Tls;

/// What lies between the bytes and the socket.
#[allow(
    clippy::large_enum_variant,
    reason = "it is boxed, and TLS has a box of its own: the larger one is the usual one"
)]
pub(crate) enum Over {
    /// Boxed, because a stream needs much less.
    Tls(Box<Tls>),
    Carried(Carried),
}

impl Over {
    /// Whether bytes that were taken wait to be sent.
    pub(crate) fn has_unsent(&self) -> bool {
        match self {
            Over::Tls(tls) => tls.has_unsent(),
            Over::Carried(carried) => carried.has_unsent(),
        }
    }
}
