//! Binding: one SO_REUSEPORT socket per worker for TCP, one shared socket for a unix path.
//!
//! Must not know: processes, PHP, HTTP. Invariant: the master keeps every socket open as long as anything may wait in its
//! accept queue, and every socket has exactly one slot that accepts from it, so no queued connection is lost and the
//! kernel spreads new ones evenly.
//!
//! The number of TCP sockets is a multiple of the number of workers. When a reload changes the number of workers, sockets
//! are only added (up to the next multiple), never closed: closing one would reset what waits in it.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::config::ListenAddress;

/// Where a socket really listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoundAddress {
    /// TCP, with the port the kernel chose where 0 was asked for.
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

impl std::fmt::Display for BoundAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BoundAddress::Tcp(address) => write!(f, "http://{address}"),
            BoundAddress::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A listening socket given to a worker: non-blocking, closed on exec.
#[derive(Debug)]
pub struct BoundListener {
    /// The socket.
    pub fd: OwnedFd,
    /// Where it listens.
    pub address: BoundAddress,
}

/// The sockets of one configured address.
#[derive(Debug)]
pub struct Listener {
    /// As configured; a reload finds the sockets again by it.
    pub configured: ListenAddress,
    /// Where they listen.
    pub address: BoundAddress,
    /// All of them, in slot order.
    pub sockets: Vec<OwnedFd>,
}

impl Listener {
    /// Binds `configured` for `workers` slots.
    ///
    /// # Errors
    /// One line: which address, what is wrong, what to do.
    pub fn bind(configured: &ListenAddress, workers: usize, backlog: u32) -> Result<Self, String> {
        let bound = match configured {
            ListenAddress::Tcp(address) => bind_tcp(*address, backlog),
            ListenAddress::Unix { path, mode } => bind_unix(path, *mode, backlog),
        };
        let (socket, address) = bound.map_err(|errno| explain(configured, errno))?;
        let mut listener = Listener { configured: configured.clone(), address, sockets: vec![socket] };
        listener.spread(workers, backlog)?;
        Ok(listener)
    }

    /// Adds sockets until each of `workers` slots has equally many.
    ///
    /// # Errors
    /// As for [`Listener::bind`].
    pub fn spread(&mut self, workers: usize, backlog: u32) -> Result<(), String> {
        let BoundAddress::Tcp(address) = self.address else { return Ok(()) };
        while !self.sockets.len().is_multiple_of(workers) {
            let socket = tcp_socket(address)
                .and_then(|socket| sockopt::set_socket_reuseport(&socket, true).map(|()| socket))
                .and_then(|socket| net::bind(&socket, &address).map(|()| socket))
                .and_then(|socket| net::listen(&socket, backlog_of(backlog)).map(|()| socket))
                .map_err(|errno| explain(&self.configured, errno))?;
            self.sockets.push(socket);
        }
        Ok(())
    }

    /// Copies of the sockets that slot `slot` of `workers` accepts from.
    ///
    /// # Errors
    /// The kernel's, when no descriptor is left.
    pub fn for_slot(&self, slot: usize, workers: usize) -> io::Result<Vec<BoundListener>> {
        let shared = matches!(self.address, BoundAddress::Unix(_));
        let own = self.sockets.iter().enumerate().filter(|(i, _)| shared || i % workers == slot);
        own.map(|(_, socket)| Ok(BoundListener { fd: socket.try_clone()?, address: self.address.clone() })).collect()
    }

    /// Removes the file of a unix socket, once nobody will accept from it any more.
    pub fn unlink(&self) {
        if let BoundAddress::Unix(path) = &self.address {
            // Gone already is as good.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn backlog_of(backlog: u32) -> i32 {
    i32::try_from(backlog).unwrap_or(i32::MAX)
}

fn tcp_socket(address: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
    // Connections of an earlier run in TIME_WAIT do not keep the port.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        // [::]:80 beside 0.0.0.0:80 is two listeners, whatever net.ipv6.bindv6only says.
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    Ok(socket)
}

/// The first socket of a TCP address. It listens before it gets SO_REUSEPORT: until then it conflicts with every other
/// listener on the port, another weft's included, and the kernel decides a race between two starts. Later sockets with
/// the option join it, because the kernel looks at the option when they bind (`inet_csk_bind_conflict`) and makes the
/// group when the second one listens (`reuseport_add_sock`).
fn bind_tcp(address: SocketAddr, backlog: u32) -> Result<(OwnedFd, BoundAddress), Errno> {
    let socket = tcp_socket(address)?;
    net::bind(&socket, &address)?;
    net::listen(&socket, backlog_of(backlog))?;
    sockopt::set_socket_reuseport(&socket, true)?;
    let chosen = SocketAddr::try_from(net::getsockname(&socket)?).map_err(|_| Errno::AFNOSUPPORT)?;
    Ok((socket, BoundAddress::Tcp(chosen)))
}

fn bind_unix(path: &Path, mode: u32, backlog: u32) -> Result<(OwnedFd, BoundAddress), Errno> {
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let new = || net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let socket = new()?;
    match net::bind(&socket, &address) {
        // The file of a server that is gone refuses connections; one that answers belongs to somebody.
        Err(Errno::ADDRINUSE) if net::connect(&new()?, &address) == Err(Errno::CONNREFUSED) => {
            rustix::fs::unlink(path)?;
            net::bind(&socket, &address)?;
        }
        other => other?,
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    net::listen(&socket, backlog_of(backlog))?;
    Ok((socket, BoundAddress::Unix(path.into())))
}

fn explain(address: &ListenAddress, errno: Errno) -> String {
    let (what, todo) = match (address, errno) {
        (ListenAddress::Tcp(tcp), Errno::ADDRINUSE) => (
            "the port is taken",
            format!("stop its owner (ss -ltnp 'sport = :{}' shows it) or choose another port", tcp.port()),
        ),
        (ListenAddress::Tcp(_), Errno::ACCESS | Errno::PERM) => (
            "ports below 1024 need privileges",
            "start as root with --user, give the binary CAP_NET_BIND_SERVICE, or choose a port from 1024 up".into(),
        ),
        (ListenAddress::Tcp(_), Errno::ADDRNOTAVAIL) => {
            ("this machine has no such address", "ip -brief address lists those it has; :PORT listens on all".into())
        }
        (ListenAddress::Unix { .. }, Errno::ADDRINUSE) => {
            ("something already listens there, or a file is in the way", "stop it or choose another path".into())
        }
        (ListenAddress::Unix { path, .. }, Errno::NOENT | Errno::NOTDIR) => (
            "the directory does not exist",
            format!("create {}", path.parent().unwrap_or(Path::new("/")).display()),
        ),
        (ListenAddress::Unix { .. }, Errno::ACCESS | Errno::PERM | Errno::ROFS) => {
            ("the directory is not writable for this user", "choose another path or change its owner".into())
        }
        (_, Errno::MFILE | Errno::NFILE) => {
            ("no file descriptor is left", "raise the limit (ulimit -n) or use fewer workers".into())
        }
        (_, Errno::AFNOSUPPORT) => ("the kernel lacks this address family", "listen on another address".into()),
        _ => return format!("cannot listen on {address}: {}", io::Error::from(errno)),
    };
    format!("cannot listen on {address}: {what}; {todo}")
}
