//! Where a socket really listens.
//!
//! Must not know how it came to. Invariant: a TCP address has the port that the kernel chose.

use std::net::SocketAddr;
use std::path::PathBuf;

/// The address at which a socket really listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoundAddress {
    /// TCP, with the port that the kernel chose if 0 was requested.
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

impl BoundAddress {
    /// The address in the server's own type.
    pub fn endpoint(&self) -> weft_serve::Endpoint {
        match self {
            BoundAddress::Tcp(address) => weft_serve::Endpoint::Tcp(*address),
            BoundAddress::Unix(path) => weft_serve::Endpoint::Unix(path.clone()),
        }
    }
}

impl std::fmt::Display for BoundAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BoundAddress::Tcp(address) => write!(f, "http://{address}"),
            BoundAddress::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}
