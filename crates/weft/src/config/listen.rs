//! An address to listen on, as the operator writes it.
//!
//! Must not know sockets. Invariant: `Display` and `FromStr` are inverse, so an address survives a reload as text.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// TCP over IPv4 or IPv6; port 0 lets the kernel choose.
    Tcp(SocketAddr),
    /// The same with TLS.
    Https(SocketAddr),
    /// TCP, for the operator: what weft says of itself.
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
    /// A unix socket and the permission bits of its file.
    Unix {
        /// Path of the socket.
        path: PathBuf,
        /// Permission bits; a client needs write permission to connect (unix(7)).
        mode: u32,
        /// Whether it is for the operator.
        is_admin: bool,
    },
}

/// Every user of the machine may connect, as to a TCP port on loopback; `,mode=0660` restricts that. What is for the
/// operator is for the user who has started the server.
const fn unix_mode(is_admin: bool) -> u32 {
    if is_admin { 0o600 } else { 0o666 }
}

impl ListenAddress {
    /// Whether a socket bound for `other` can serve this address too; permission bits can be changed later. The workers
    /// share one for the operator, and have one each of the others.
    pub fn is_same_place(&self, other: &ListenAddress) -> bool {
        match (self, other) {
            _ if self.is_admin() != other.is_admin() => false,
            (ListenAddress::Unix { path: a, .. }, ListenAddress::Unix { path: b, .. }) => a == b,
            (ListenAddress::Datagrams { address: a, .. }, ListenAddress::Datagrams { address: b, .. }) => {
                a == b
            }
            _ => self.tcp().is_some() && self.tcp() == other.tcp(),
        }
    }

    /// The TCP address, with or without TLS.
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            ListenAddress::Tcp(address) | ListenAddress::Https(address) | ListenAddress::Admin(address) => {
                Some(*address)
            }
            ListenAddress::Stream { address, .. } => Some(*address),
            ListenAddress::Unix { .. } | ListenAddress::Datagrams { .. } => None,
        }
    }

    /// The UDP address.
    pub fn udp(&self) -> Option<SocketAddr> {
        match self {
            ListenAddress::Datagrams { address, .. } => Some(*address),
            _ => None,
        }
    }

    /// Whether its connections begin with TLS.
    pub fn is_tls(&self) -> bool {
        matches!(self, ListenAddress::Https(_) | ListenAddress::Stream { is_tls: true, .. })
    }

    /// The path of the service that its connections, or its datagrams, are for, in place of HTTP.
    pub fn service(&self) -> Option<&str> {
        match self {
            ListenAddress::Stream { service, .. } | ListenAddress::Datagrams { service, .. } => Some(service),
            _ => None,
        }
    }

    /// Whether it is for the operator.
    pub fn is_admin(&self) -> bool {
        matches!(self, ListenAddress::Admin(_) | ListenAddress::Unix { is_admin: true, .. })
    }

    /// Whether programs of other machines can reach it.
    pub fn is_remote(&self) -> bool {
        self.tcp().is_some_and(|address| !address.ip().to_canonical().is_loopback())
    }

    /// The requested TCP port, if it is a TCP address.
    pub fn port(&self) -> Option<u16> {
        self.tcp().map(|address| address.port()).filter(|port| *port != 0)
    }

    /// Whether each bind of this address gives another port.
    pub fn is_ephemeral(&self) -> bool {
        self.tcp().or(self.udp()).is_some_and(|address| address.port() == 0)
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenAddress::Tcp(address) => address.fmt(f),
            ListenAddress::Https(address) => write!(f, "https://{address}"),
            ListenAddress::Admin(address) => write!(f, "admin://{address}"),
            ListenAddress::Stream { address, is_tls, service } => {
                write!(f, "{}://{address}{service}", if *is_tls { "tls" } else { "tcp" })
            }
            ListenAddress::Datagrams { address, service } => write!(f, "udp://{address}{service}"),
            ListenAddress::Unix { path, mode, is_admin } => {
                let kind = if *is_admin { "admin+unix" } else { "unix" };
                write!(f, "{kind}:{}", path.display())?;
                if *mode == unix_mode(*is_admin) { Ok(()) } else { write!(f, ",mode={mode:04o}") }
            }
        }
    }
}

impl FromStr for ListenAddress {
    type Err = String;

    /// Accepts `HOST:PORT`, `[V6]:PORT`, `:PORT`, `PORT`, `*:PORT`, `localhost:PORT`, `unix:/path` and
    /// `unix:/path,mode=0660`; the TCP ones also with `http://`, `https://` or `admin://` before them, the others with
    /// `admin+`. For a service of the application: `tcp://HOST:PORT/service`, `tls://HOST:PORT/service` or
    /// `udp://HOST:PORT/service`.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix("https://") {
            return rest.trim_end_matches('/').parse().and_then(|address| match address {
                ListenAddress::Tcp(address) => Ok(ListenAddress::Https(address)),
                _ => Err(format!("\"{text}\": write https://HOST:PORT")),
            });
        }
        if let Some(rest) = text.strip_prefix("http://") {
            return rest.trim_end_matches('/').parse().and_then(|address| match address {
                ListenAddress::Tcp(_) => Ok(address),
                _ => Err(format!("\"{text}\": write http://HOST:PORT")),
            });
        }
        if let Some(rest) = text.strip_prefix("admin://") {
            return rest.trim_end_matches('/').parse().and_then(|address| match address {
                ListenAddress::Tcp(address) => Ok(ListenAddress::Admin(address)),
                _ => Err(format!("\"{text}\": write admin://HOST:PORT or admin+unix:/path")),
            });
        }
        for (scheme, is_tls) in [("tcp", false), ("tls", true)] {
            if let Some((address, service)) = service_at(text, scheme)? {
                return Ok(ListenAddress::Stream { address, is_tls, service });
            }
        }
        if let Some((address, service)) = service_at(text, "udp")? {
            return Ok(ListenAddress::Datagrams { address, service });
        }
        if let Some(rest) = text.strip_prefix("admin+unix:") {
            return unix(rest, true);
        }
        if let Some(rest) = text.strip_prefix("unix:") {
            return unix(rest, false);
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(ListenAddress::Tcp(address));
        }
        let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
        let Ok(port) = port.parse::<u16>() else {
            return Err(format!(
                "\"{text}\" is not an address to listen on: write HOST:PORT (127.0.0.1:8080, [::1]:8080, :8080 for all \
                 interfaces) or unix:/path"
            ));
        };
        let host = match host {
            "" | "*" => Ipv4Addr::UNSPECIFIED,
            "localhost" => Ipv4Addr::LOCALHOST,
            v6 if v6.contains(':') => {
                return Err(format!("\"{text}\": write an IPv6 address in brackets, as in [{v6}]:{port}"));
            }
            name => {
                return Err(format!(
                    "\"{text}\": \"{name}\" is not an IP address; weft listens on addresses, not names"
                ));
            }
        };
        Ok(ListenAddress::Tcp((host, port).into()))
    }
}

/// The address and the path of a service, if the text has this scheme.
fn service_at(text: &str, scheme: &str) -> Result<Option<(SocketAddr, String)>, String> {
    let Some(rest) = text.strip_prefix(scheme).and_then(|rest| rest.strip_prefix("://")) else {
        return Ok(None);
    };
    let wrong = || {
        format!("\"{text}\": write {scheme}://HOST:PORT/service, with the path of the application's service")
    };
    let (address, service) = rest.split_at(rest.find('/').ok_or_else(wrong)?);
    if service.len() < 2 || service.contains(char::is_whitespace) {
        return Err(wrong());
    }
    match address.parse().map_err(|_| wrong())? {
        ListenAddress::Tcp(address) => Ok(Some((address, service.into()))),
        _ => Err(wrong()),
    }
}

/// Longest path that fits `sockaddr_un` with its NUL (unix(7)).
const UNIX_PATH_BYTES_MAX: usize = 107;

fn unix(rest: &str, is_admin: bool) -> Result<ListenAddress, String> {
    let (path, mode) = match rest.rsplit_once(",mode=") {
        None => (rest, unix_mode(is_admin)),
        Some((path, digits)) => match u32::from_str_radix(digits, 8) {
            Ok(mode) if mode <= 0o777 => (path, mode),
            _ => {
                return Err(format!(
                    "mode \"{digits}\" is not permission bits: write them in octal, as in mode=0660"
                ));
            }
        },
    };
    if path.is_empty() {
        return Err("unix: needs a path, as in unix:/run/weft/weft.sock".into());
    }
    if path.len() > UNIX_PATH_BYTES_MAX {
        return Err(format!(
            "the unix socket path has {} bytes; the kernel allows {UNIX_PATH_BYTES_MAX}",
            path.len()
        ));
    }
    Ok(ListenAddress::Unix { path: path.into(), mode, is_admin })
}
