//! Where a socket really listens.
//!
//! Must not know how it came to. Invariant: a TCP address has the port that the kernel chose.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::config::ListenAddress;

/// The address at which a socket really listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoundAddress {
    /// TCP, with the port that the kernel chose if 0 was requested.
    Tcp(SocketAddr),
    /// The same with TLS.
    Https(SocketAddr),
    /// TCP, for the operator.
    Admin(SocketAddr),
    /// TCP, for a service of the application.
    Stream {
        /// Where.
        address: SocketAddr,
        /// Whether TLS is below it.
        is_tls: bool,
        /// The path under which the application has the service.
        service: String,
    },
    /// UDP, for a service of the application.
    Datagrams {
        /// Where.
        address: SocketAddr,
        /// The path under which the application has the service.
        service: String,
    },
    /// A unix socket.
    Unix(PathBuf),
}

impl BoundAddress {
    /// The address in the server's own type.
    pub fn endpoint(&self) -> weft_serve::Endpoint {
        match self {
            BoundAddress::Tcp(address)
            | BoundAddress::Https(address)
            | BoundAddress::Admin(address)
            | BoundAddress::Datagrams { address, .. }
            | BoundAddress::Stream { address, .. } => weft_serve::Endpoint::Tcp(*address),
            BoundAddress::Unix(path) => weft_serve::Endpoint::Unix(path.clone()),
        }
    }

    /// The TCP address, with or without TLS.
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            BoundAddress::Tcp(address)
            | BoundAddress::Https(address)
            | BoundAddress::Admin(address)
            | BoundAddress::Stream { address, .. } => Some(*address),
            BoundAddress::Unix(_) | BoundAddress::Datagrams { .. } => None,
        }
    }

    /// The UDP address.
    pub fn udp(&self) -> Option<SocketAddr> {
        match self {
            BoundAddress::Datagrams { address, .. } => Some(*address),
            _ => None,
        }
    }

    /// The same place as `configured` wants it: with TLS or without, or for the operator.
    pub fn served_as(&self, configured: &ListenAddress) -> BoundAddress {
        if let (BoundAddress::Datagrams { address, .. }, ListenAddress::Datagrams { service, .. }) =
            (self, configured)
        {
            return BoundAddress::Datagrams { address: *address, service: service.clone() };
        }
        if let (Some(address), ListenAddress::Stream { is_tls, service, .. }) = (self.tcp(), configured) {
            return BoundAddress::Stream { address, is_tls: *is_tls, service: service.clone() };
        }
        match self.tcp() {
            Some(address) if configured.is_tls() => BoundAddress::Https(address),
            Some(address) if configured.is_admin() => BoundAddress::Admin(address),
            Some(address) => BoundAddress::Tcp(address),
            None => self.clone(),
        }
    }
}

impl std::fmt::Display for BoundAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BoundAddress::Tcp(address) => write!(f, "http://{address}"),
            BoundAddress::Https(address) => write!(f, "https://{address}"),
            BoundAddress::Admin(address) => write!(f, "admin://{address}"),
            BoundAddress::Stream { address, is_tls, service } => {
                write!(f, "{}://{address}{service}", if *is_tls { "tls" } else { "tcp" })
            }
            BoundAddress::Datagrams { address, service } => write!(f, "udp://{address}{service}"),
            BoundAddress::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}
