//! Binding: one SO_REUSEPORT socket per worker for TCP, one shared socket for UDP, a unix path and the operator.
//!
//! Must not know processes, PHP or HTTP. Invariant: the master keeps every socket open as long as a connection may wait
//! in its accept queue, and every socket has exactly one slot that accepts from it, so no queued connection is lost and
//! the kernel spreads new ones evenly.
//!
//! The number of TCP sockets is a multiple of the number of workers. When a reload changes the number of workers,
//! sockets are only added (up to the next multiple), never closed: closing one would reset the connections that wait in
//! it. Added ones get no connections until the new workers are ready, so they can be closed if the reload fails.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};

use super::bound_address::BoundAddress;
use super::orphans::patiently;
use super::{steer, unix};
use crate::config::ListenAddress;

/// A listening socket for a worker: non-blocking, closed on exec.
#[derive(Debug)]
pub struct BoundListener {
    /// The socket.
    pub fd: OwnedFd,
    /// The address at which it listens.
    pub address: BoundAddress,
    /// The same, as configured.
    pub configured: ListenAddress,
}

/// The sockets of one configured address.
#[derive(Debug)]
pub struct Listener {
    /// As configured; a reload finds the sockets by this address.
    pub configured: ListenAddress,
    /// The address at which they listen.
    pub address: BoundAddress,
    /// All of them, in slot order.
    pub sockets: Vec<OwnedFd>,
    /// How many of them had a worker before the current reload; 0 for an address that is new with it.
    pub proven: usize,
}

impl Listener {
    /// Binds `configured` for `workers` slots. `shares_port`: this master already has listeners on the port, for
    /// another address of the machine.
    ///
    /// # Errors
    /// One line: which address, what is wrong, what to do.
    pub fn bind(
        configured: &ListenAddress,
        workers: usize,
        backlog: u32,
        shares_port: bool,
    ) -> Result<Self, String> {
        let bound = match configured {
            ListenAddress::Tcp(address)
            | ListenAddress::Https(address)
            | ListenAddress::Admin(address)
            | ListenAddress::Stream { address, .. } => patiently(|| bind_tcp(*address, backlog, shares_port)),
            ListenAddress::Datagrams { address, service } => patiently(|| bind_udp(*address, service)),
            ListenAddress::Unix { path, mode, .. } => {
                patiently(|| unix::bind(path, *mode, backlog_of(backlog)))
            }
        };
        let (socket, address) = bound.map_err(|errno| explain(configured, errno))?;
        let address = address.served_as(configured);
        let mut listener =
            Listener { configured: configured.clone(), address, sockets: vec![socket], proven: 0 };
        listener.spread(workers, backlog)?;
        Ok(listener)
    }

    /// Serves `configured` from now on, which is the same place.
    ///
    /// # Errors
    /// One line, if a unix socket's permission bits cannot be changed.
    pub fn rename(&mut self, configured: &ListenAddress) -> Result<(), String> {
        if let ListenAddress::Unix { path, mode, .. } = configured {
            unix::set_mode(path, *mode).map_err(|errno| explain(configured, errno))?;
        }
        self.configured = configured.clone();
        self.address = self.address.served_as(configured);
        Ok(())
    }

    /// Adds sockets until each of `workers` slots has the same number. There are at least two, because the kernel
    /// creates the group that can be steered when the second one joins.
    ///
    /// # Errors
    /// As for [`Listener::bind`].
    pub fn spread(&mut self, workers: usize, backlog: u32) -> Result<(), String> {
        let Some(address) = self.address.tcp().filter(|_| !self.is_shared()) else { return Ok(()) };
        let enough = |count: usize| count >= 2 && count.is_multiple_of(workers);
        if self.proven > 0 && !enough(self.sockets.len()) {
            // Otherwise connections to a new socket would wait until its worker is ready, and be lost if it never
            // is.
            steer::to_first(&self.sockets[0], self.proven)
                .unwrap_or_else(|e| tracing::warn!("cannot steer connections to the running workers: {e}"));
        }
        while !enough(self.sockets.len()) {
            let socket = tcp_socket(address)
                .and_then(|socket| sockopt::set_socket_reuseport(&socket, true).map(|()| socket))
                .and_then(|socket| net::bind(&socket, &address).map(|()| socket))
                .and_then(|socket| net::listen(&socket, backlog_of(backlog)).map(|()| socket))
                .map_err(|errno| explain(&self.configured, errno))?;
            self.sockets.push(socket);
        }
        Ok(())
    }

    /// Every socket has a ready worker: all get connections.
    pub fn settle(&mut self) {
        if self.proven > 0 && !self.is_shared() {
            // If the group was not steered, nothing needs to be done.
            let _ = steer::to_all(&self.sockets[0]);
        }
        self.proven = self.sockets.len();
    }

    /// The new workers will not come: closes the sockets that were added for them. Steering remains: sockets that dying
    /// workers still have open must not get connections.
    pub fn retreat(&mut self) {
        self.sockets.truncate(self.proven);
    }

    /// Copies of the sockets that slot `slot` of `workers` accepts from.
    ///
    /// # Errors
    /// The kernel's error, if no descriptor is left.
    pub fn for_slot(&self, slot: usize, workers: usize) -> io::Result<Vec<BoundListener>> {
        let shared = self.is_shared();
        let own = self.sockets.iter().enumerate().filter(|(i, _)| shared || i % workers == slot);
        own.map(|(_, socket)| {
            let (address, configured) = (self.address.clone(), self.configured.clone());
            Ok(BoundListener { fd: socket.try_clone()?, address, configured })
        })
        .collect()
    }

    /// Its port, if HTTPS is spoken there.
    pub fn https_port(&self) -> Option<u16> {
        let address = self.address.tcp().filter(|_| matches!(self.address, BoundAddress::Https(_)));
        address.map(|address| address.port())
    }

    /// Whether all workers accept, or receive, from one socket: any of them answers the operator, even if others are held. One of
    /// UDP keeps what has arrived while workers are replaced.
    pub fn is_shared(&self) -> bool {
        matches!(
            self.address,
            BoundAddress::Unix(_) | BoundAddress::Admin(_) | BoundAddress::Datagrams { .. }
        )
    }

    /// Removes the file of a unix socket, once no process will accept from it any more.
    pub fn unlink(&self) {
        if let BoundAddress::Unix(path) = &self.address {
            unix::unlink(path);
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
    // Connections of an earlier run in TIME_WAIT do not block the port.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        // [::]:80 beside 0.0.0.0:80 is two listeners, whatever net.ipv6.bindv6only says.
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    Ok(socket)
}

/// The first socket of a TCP address. It listens before it gets SO_REUSEPORT: until then it conflicts with every other
/// listener on the port, including another weft's, and the kernel decides a race between two starts. Later sockets
/// with the option join it, because the kernel checks the option when they bind (`inet_csk_bind_conflict`) and creates
/// the group when the second one listens (`reuseport_add_sock`).
fn bind_tcp(address: SocketAddr, backlog: u32, shares_port: bool) -> Result<(OwnedFd, BoundAddress), Errno> {
    let socket = tcp_socket(address)?;
    if shares_port {
        // 127.0.0.1:80 beside our own 0.0.0.0:80 from before the reload.
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    net::bind(&socket, &address)?;
    net::listen(&socket, backlog_of(backlog))?;
    sockopt::set_socket_reuseport(&socket, true)?;
    let chosen = SocketAddr::try_from(net::getsockname(&socket)?).map_err(|_| Errno::AFNOSUPPORT)?;
    Ok((socket, BoundAddress::Tcp(chosen)))
}

/// A socket for datagrams, which all workers share. Nobody else can have the port.
fn bind_udp(address: SocketAddr, service: &str) -> Result<(OwnedFd, BoundAddress), Errno> {
    /// What the kernel may keep for workers that are busy, in bytes; net.core.rmem_max bounds it.
    const KEPT_BYTES: usize = 4 << 20;
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = net::socket_with(family, SocketType::DGRAM, flags, None)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    // With less it works, too.
    let _ = sockopt::set_socket_recv_buffer_size(&socket, KEPT_BYTES);
    net::bind(&socket, &address)?;
    let chosen = SocketAddr::try_from(net::getsockname(&socket)?).map_err(|_| Errno::AFNOSUPPORT)?;
    Ok((socket, BoundAddress::Datagrams { address: chosen, service: service.to_owned() }))
}

fn explain(address: &ListenAddress, errno: Errno) -> String {
    let (what, todo) = match (address, errno) {
        (
            ListenAddress::Tcp(tcp)
            | ListenAddress::Https(tcp)
            | ListenAddress::Admin(tcp)
            | ListenAddress::Stream { address: tcp, .. },
            Errno::ADDRINUSE,
        ) => (
            "the port is taken",
            format!("stop its owner (ss -ltnp 'sport = :{}' shows it) or choose another port", tcp.port()),
        ),
        (ListenAddress::Datagrams { address: udp, .. }, Errno::ADDRINUSE) => (
            "the port is taken",
            format!("stop its owner (ss -lunp 'sport = :{}' shows it) or choose another port", udp.port()),
        ),
        (_, Errno::ACCESS | Errno::PERM) if address.tcp().or(address.udp()).is_some() => (
            "ports below 1024 need privileges",
            "start as root with --user, give the binary CAP_NET_BIND_SERVICE, or choose a port from 1024 up"
                .into(),
        ),
        (_, Errno::ADDRNOTAVAIL) if address.tcp().or(address.udp()).is_some() => (
            "this machine has no such address",
            "ip -brief address lists those it has; :PORT listens on all".into(),
        ),
        (ListenAddress::Unix { .. }, Errno::ADDRINUSE) => (
            "something already listens there, or a file is in the way",
            "stop it or choose another path".into(),
        ),
        (ListenAddress::Unix { path, .. }, Errno::NOENT | Errno::NOTDIR) => (
            "the directory does not exist",
            format!("create {}", path.parent().unwrap_or(Path::new("/")).display()),
        ),
        (ListenAddress::Unix { .. }, Errno::ACCESS | Errno::PERM | Errno::ROFS) => {
            ("the directory is not writable for this user", "choose another path or change its owner".into())
        }
        (ListenAddress::Unix { .. }, Errno::LOOP) => (
            "the path leads over a symbolic link that the workers' user may have created",
            "choose a directory that only root can write to".into(),
        ),
        (_, Errno::MFILE | Errno::NFILE) => {
            ("no file descriptor is left", "raise the limit (ulimit -n) or use fewer workers".into())
        }
        (_, Errno::AFNOSUPPORT) => {
            ("the kernel lacks this address family", "listen on another address".into())
        }
        _ => return format!("cannot listen on {address}: {}", io::Error::from(errno)),
    };
    format!("cannot listen on {address}: {what}; {todo}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::master::testing::Directory;
    use std::io::Read;
    use std::net::TcpStream;
    use std::os::unix::fs::PermissionsExt;

    fn bind(address: &str, workers: usize) -> Result<Listener, String> {
        Listener::bind(&address.parse().unwrap(), workers, 128, false)
    }

    fn tcp_address(listener: &Listener) -> SocketAddr {
        match listener.address {
            BoundAddress::Tcp(address) => address,
            _ => panic!("not plain TCP"),
        }
    }

    #[test]
    fn all_slots_share_the_port_the_kernel_chose() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = bind(address, 4).unwrap();
            assert_ne!(tcp_address(&listener).port(), 0);
            assert_eq!(listener.sockets.len(), 4);
            for socket in &listener.sockets {
                let own = SocketAddr::try_from(net::getsockname(socket).unwrap()).unwrap();
                assert_eq!(own, tcp_address(&listener));
            }
        }
    }

    #[test]
    fn connections_reach_every_socket_and_none_is_lost() {
        let listener = bind("127.0.0.1:0", 2).unwrap();
        let connections: Vec<_> =
            (0..64).map(|_| TcpStream::connect(tcp_address(&listener)).unwrap()).collect();
        let accepted: Vec<usize> = listener
            .sockets
            .iter()
            .map(|socket| std::iter::from_fn(|| net::accept(socket).ok()).count())
            .collect();
        assert_eq!(accepted.iter().sum::<usize>(), connections.len());
        // 64 of 64 on one of two sockets happens once in 2^63 runs.
        assert!(accepted.iter().all(|count| *count > 0), "{accepted:?}");
    }

    #[test]
    fn a_second_server_on_the_port_is_refused_with_what_to_do() {
        let listener = bind("127.0.0.1:0", 2).unwrap();
        let address = tcp_address(&listener);
        let refusal = bind(&address.to_string(), 2).unwrap_err();
        assert_eq!(
            refusal,
            format!(
                "cannot listen on {address}: the port is taken; stop its owner (ss -ltnp 'sport = :{}' shows it) or \
                 choose another port",
                address.port()
            )
        );
    }

    #[test]
    fn more_or_fewer_workers_never_close_a_socket() {
        let mut listener = bind("127.0.0.1:0", 4).unwrap();
        for (workers, sockets) in [(4, 4), (2, 4), (3, 6), (1, 6), (6, 6), (5, 10)] {
            listener.spread(workers, 128).unwrap();
            assert_eq!(listener.sockets.len(), sockets, "{workers} workers");
            let each: Vec<usize> =
                (0..workers).map(|slot| listener.for_slot(slot, workers).unwrap().len()).collect();
            assert_eq!(each, vec![sockets / workers; workers]);
        }
    }

    #[test]
    fn sockets_added_by_a_reload_get_nothing_until_it_succeeds() {
        let mut listener = bind("127.0.0.1:0", 1).unwrap();
        assert_eq!(listener.sockets.len(), 2);
        listener.settle();
        let accepted_of_64 = |listener: &Listener| -> Vec<usize> {
            let all: Vec<_> = (0..64).map(|_| TcpStream::connect(tcp_address(listener)).unwrap()).collect();
            let count = |socket| std::iter::from_fn(|| net::accept(socket).ok()).count();
            let counts: Vec<usize> = listener.sockets.iter().map(count).collect();
            assert_eq!(counts.iter().sum::<usize>(), all.len());
            counts
        };
        // A reload that fails ...
        listener.spread(4, 128).unwrap();
        let counts = accepted_of_64(&listener);
        assert!(counts[0] > 0 && counts[1] > 0 && counts[2..] == [0, 0], "{counts:?}");
        listener.retreat();
        assert_eq!(accepted_of_64(&listener).len(), 2);
        // ... and one that succeeds.
        listener.spread(3, 128).unwrap();
        listener.settle();
        let counts = accepted_of_64(&listener);
        assert!(counts.len() == 3 && counts.iter().all(|count| *count > 0), "{counts:?}");
    }

    #[test]
    fn a_strange_address_is_refused_with_what_to_do() {
        // TEST-NET-1 of RFC 5737 belongs to no machine.
        assert_eq!(
            bind("192.0.2.1:8080", 1).unwrap_err(),
            "cannot listen on 192.0.2.1:8080: this machine has no such address; ip -brief address lists those it has; \
             :PORT listens on all"
        );
    }

    #[test]
    fn a_unix_socket_has_its_mode_and_is_shared_by_all() {
        let directory = Directory::new();
        let path = directory.path().join("s");
        let listener = bind(&format!("unix:{},mode=0640", path.display()), 4).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!((listener.sockets.len(), listener.for_slot(3, 4).unwrap().len()), (1, 1));
        let refusal = bind(&format!("unix:{}", path.display()), 4).unwrap_err();
        assert_eq!(
            refusal,
            format!(
                "cannot listen on unix:{}: something already listens there, or a file is in the way; stop it or choose \
                 another path",
                path.display()
            )
        );
        listener.unlink();
        assert!(!path.exists());
    }

    #[test]
    fn a_dead_servers_unix_socket_is_replaced_but_a_file_is_not() {
        let directory = Directory::new();
        let (socket, file) = (directory.path().join("s"), directory.path().join("f"));
        drop(bind(&format!("unix:{}", socket.display()), 1).unwrap());
        assert!(socket.exists());
        let listener = bind(&format!("unix:{}", socket.display()), 1).unwrap();
        let mut client = std::os::unix::net::UnixStream::connect(&socket).unwrap();
        drop(net::accept(&listener.sockets[0]).unwrap());
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
        std::fs::write(&file, "precious").unwrap();
        assert!(bind(&format!("unix:{}", file.display()), 1).is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    }

    #[test]
    fn a_missing_directory_is_named() {
        assert_eq!(
            bind("unix:/nonexistent/s", 1).unwrap_err(),
            "cannot listen on unix:/nonexistent/s: the directory does not exist; create /nonexistent"
        );
    }
}
