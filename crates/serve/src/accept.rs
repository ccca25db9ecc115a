//! Listeners: accepting connections, and pausing when that is not possible.
//!
//! Must not know HTTP. Invariant: a listener that cannot be served (no room, no descriptors, and no connection to close
//! for it) is not registered, so the level-triggered event cannot spin; in that state, something is always set that
//! will register it again.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrAny, SocketFlags, acceptfrom_with, getpeername, sockopt};
use weft_rt::{MILLISECOND, Nanos};

use crate::address::{Endpoint, Peer};
use crate::admission::Admission;
use crate::connection::{Connection, Phase};
use crate::descriptor::out_of_selects_way;
use crate::keys::listener_key;
use crate::listeners::{Listener, Pause, Service};
use crate::parcel::{self, Parcel};
use crate::server::{Server, TurnStage};
use crate::transport::Transport;

/// How long to wait after running out of descriptors, memory or room.
const PAUSE: Nanos = 100 * MILLISECOND;
/// After a turn this long, others that accept from the same sockets are woken first.
const COMPUTED: Nanos = 2 * MILLISECOND;
/// How many connections are closed when accept4(2) finds no descriptor: requests need descriptors, too.
const DESCRIPTORS_FREED: usize = 8;

/// A connection that has come.
enum Arrival {
    New(OwnedFd, Option<Peer>),
    Parcel((OwnedFd, Parcel)),
}

fn peer_of(address: Option<SocketAddrAny>, endpoint: &Endpoint) -> Option<Peer> {
    match endpoint {
        Endpoint::Unix(_) => Some(Peer::Unix),
        Endpoint::Tcp(_) => SocketAddr::try_from(address?).ok().map(Peer::Tcp),
    }
}

impl Server {
    /// Serves a listening socket: HTTP/1.1. Other workers share it; the server only accepts from it.
    ///
    /// # Errors
    /// Those of fcntl(2), setsockopt(2) and epoll_ctl(2).
    pub fn listen(&self, fd: OwnedFd, endpoint: Endpoint) -> io::Result<()> {
        self.listen_for(fd, endpoint, 0)
    }

    /// Takes in the connections that other workers pass on, each for the service that it names.
    pub(crate) fn listen_at_relay(&self, fd: OwnedFd) -> io::Result<()> {
        self.open_listener(fd, None, 0, None)
    }

    /// Adds a service, and returns its number. Workers that pass connections on to each other MUST have the same ones, added in the
    /// same order.
    pub fn add_service(&self, service: Service) -> u32 {
        let services = &mut self.listeners.borrow_mut().services;
        services.push(service);
        services.len() as u32 - 1
    }

    /// The same as [`Server::listen`] for a service that was added.
    ///
    /// # Errors
    /// As for [`Server::listen`].
    pub fn listen_for(&self, fd: OwnedFd, endpoint: Endpoint, service: u32) -> io::Result<()> {
        self.open_listener(fd, Some(endpoint), service, None)
    }

    /// The same for a listening socket of another worker, identified by a number, until [`Server::stop_standing_in`].
    ///
    /// # Errors
    /// As for [`Server::listen`].
    pub fn stand_in(&self, fd: OwnedFd, endpoint: Endpoint, (service, whom): (u32, u64)) -> io::Result<()> {
        self.open_listener(fd, Some(endpoint), service, Some(whom))
    }

    /// Returns another worker's listening sockets to it, with the connections that wait in them. `None` means those of
    /// all other workers.
    pub fn stop_standing_in(&self, whom: Option<u64>) {
        let mut listeners = self.listeners.borrow_mut();
        let is_meant = |listener: &mut Listener| match whom {
            Some(_) => listener.stands_in_for == whom,
            None => listener.stands_in_for.is_some(),
        };
        for listener in listeners.open.extract_if(.., is_meant) {
            // A paused listener is not registered.
            let _ = self.runtime.with_reactor(|reactor| reactor.delete(listener.fd.as_raw_fd()));
        }
    }

    fn open_listener(
        &self,
        fd: OwnedFd,
        endpoint: Option<Endpoint>,
        service: u32,
        stands_in_for: Option<u64>,
    ) -> io::Result<()> {
        // The relay is so already.
        rustix::io::ioctl_fionbio(&fd, true)?;
        if let Some(Endpoint::Tcp(_)) = endpoint {
            // Linux: accepted sockets inherit it, which saves a call for each.
            sockopt::set_tcp_nodelay(&fd, true)?;
        }
        let mut listeners = self.listeners.borrow_mut();
        let number = listeners.numbers;
        let key = listener_key(number);
        if listeners.pause.is_none() {
            self.runtime.with_reactor(|reactor| reactor.add_shared(fd.as_raw_fd(), key))?;
        }
        listeners.numbers += 1;
        listeners.open.push(Listener { number, fd, endpoint, service, stands_in_for });
        Ok(())
    }

    /// The descriptors of all listeners and connections. A child of fork(2) MUST put other descriptors in their places:
    /// a connection that is closed in the parent would stay open for its client as long as the child has it, and a
    /// number that is free is soon reused.
    pub fn descriptors(&self) -> Vec<RawFd> {
        let listeners = self.listeners.borrow();
        let table = self.table.borrow();
        let connections = table.occupied().filter_map(|(_, _, connection, _)| connection.transport.number());
        let own = listeners.open.iter().map(|listener| listener.fd.as_raw_fd());
        let datagrams = self.datagrams.borrow();
        own.chain(connections).chain(datagrams.descriptors()).chain(self.hand_over_descriptors()).collect()
    }

    /// While others accept from the same sockets: takes one connection in a turn, and behind the requests that have come with it. The
    /// kernel has woken another worker for it, if one is free (EPOLLEXCLUSIVE), and what runs now may compute for long.
    pub fn accept_singly(&self, on: bool) {
        self.accepts_singly.set(on);
    }

    /// At the end of a turn that began then: accepts one connection of each listener at which some were seen to wait, and goes behind
    /// the other workers that wait for the same sockets. The kernel wakes the first that waits (EPOLLEXCLUSIVE), and would let one that
    /// has just run wait for the processor. After a long turn it does so before it accepts.
    pub(crate) fn accept_in_turns(&self, began: Nanos) {
        if weft_rt::clock::now().saturating_sub(began) >= COMPUTED {
            self.go_behind(began);
        }
        let seen = std::mem::take(&mut *self.seen_waiting.borrow_mut());
        if !seen.is_empty() {
            for index in seen {
                self.accept_one(index);
            }
            self.go_behind(began);
        }
    }

    fn go_behind(&self, now: Nanos) {
        if self.listeners.borrow().pause.is_some() {
            return;
        }
        let goes_behind = |listener: &Listener| {
            self.runtime.with_reactor(|reactor| {
                reactor.delete(listener.fd.as_raw_fd())?;
                reactor.add_shared(listener.fd.as_raw_fd(), listener_key(listener.number))
            })
        };
        if !self.listeners.borrow().open.iter().all(|listener| goes_behind(listener).is_ok()) {
            self.pause(Pause::Until(now + PAUSE)); // no memory: all are registered again then
        }
    }

    /// Accepts the connections that wait at a listener.
    pub(crate) fn accept(&self, index: u32) {
        if self.accepts_singly.get() {
            self.seen_waiting.borrow_mut().push(index);
            return;
        }
        for _ in 0..self.limits.accepts_per_turn {
            if !self.accept_one(index) {
                return;
            }
        }
    }

    /// Accepts one connection; returns whether there may be more.
    fn accept_one(&self, index: u32) -> bool {
        if self.stats.connections.get() >= self.limits.connections_max {
            if !self.somebody_waits(index) {
                return false;
            }
            self.report_full();
            if self.evict(1) == 0 {
                self.crowded.set(true);
                self.pause(Pause::Full(self.runtime.turn_time() + PAUSE));
                return false;
            }
        }
        let (accepted, service) = {
            let listeners = self.listeners.borrow();
            let Some(listener) = listeners.find(index) else { return false };
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let accepted = match &listener.endpoint {
                None => parcel::receive(&listener.fd).map(Arrival::Parcel),
                Some(endpoint) => acceptfrom_with(&listener.fd, flags)
                    .map(|(fd, address)| Arrival::New(fd, peer_of(address, endpoint))),
            };
            (accepted, listener.service)
        };
        match accepted {
            // Without a peer, it has disconnected in the meantime.
            Ok(Arrival::New(_, None)) => (),
            Ok(Arrival::New(fd, Some(peer))) => {
                if let Some(index) = self.accepted(fd, peer, service) {
                    self.offer(index, &mut self.table.borrow_mut());
                }
            }
            Ok(Arrival::Parcel((fd, parcel))) => self.unpack(fd, parcel),
            Err(Errno::AGAIN) => return false,
            Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS)) => {
                // The kernel allocates a descriptor before it looks at the queue.
                if !self.somebody_waits(index) {
                    return false;
                }
                self.report_exhausted(error);
                if self.evict(DESCRIPTORS_FREED) == 0 {
                    self.pause(Pause::Until(self.runtime.turn_time() + PAUSE));
                    return false;
                }
            }
            // ECONNABORTED and network errors concern only that one connection (accept(2)).
            Err(_) => (),
        }
        true
    }

    /// Takes in a connection that was accepted elsewhere; `None` if its peer has disconnected meanwhile.
    pub(crate) fn take_in(&self, fd: OwnedFd, service: u32) -> Option<u32> {
        let address = getpeername(&fd).ok()??;
        let is_unix = address.address_family() == AddressFamily::UNIX;
        let peer = if is_unix { Some(Peer::Unix) } else { SocketAddr::try_from(address).ok().map(Peer::Tcp) };
        self.accepted(fd, peer?, service)
    }

    /// Takes in a connection of another worker, where that one left it.
    fn unpack(&self, fd: OwnedFd, parcel: Parcel) {
        let Some(index) = self.take_in(fd, parcel.service) else { return };
        if let Some((connection, streams)) = self.table.borrow_mut().parts(index) {
            connection.requests = parcel.requests;
            if !parcel.bytes.is_empty() {
                // Its bytes were read, so it waits like others that were read.
                connection.admission = Admission::Admitted;
            }
            if !parcel.bytes.is_empty() || !parcel.answer.is_empty() {
                connection.phase = if parcel.ends { Phase::Ended } else { Phase::Head };
                self.take_stream(index, connection, streams);
                if let Some(stream) = connection.stream.and_then(|number| streams.get_mut(number)) {
                    (stream.input, stream.out.bytes) = (parcel.bytes, parcel.answer);
                    stream.since = if parcel.since > 0 { parcel.since } else { self.runtime.turn_time() };
                    (stream.wire.keep_alive, stream.reported) = (!parcel.ends, parcel.ends);
                    stream.is_retried = parcel.is_retried;
                }
            }
        }
        self.stage.set(TurnStage::Receive);
        self.process(index);
    }

    /// Begins a connection; `None` if it may not, or cannot.
    fn accepted(&self, low: OwnedFd, peer: Peer, number: u32) -> Option<u32> {
        let service = &self.listeners.borrow().services.get(number as usize)?.clone();
        if !self.may_open(peer, service) {
            return None;
        }
        let fd = out_of_selects_way(low);
        let descriptor = fd.as_raw_fd();
        let mut transport = Transport::new(fd);
        if service.tls.as_ref().is_some_and(|config| !transport.secure(config)) {
            return None; // no memory, or a configuration that rustls refuses
        }
        let mut table = self.table.borrow_mut();
        transport.is_announced = service.proxied.is_some();
        let phase = match service {
            Service { tls: None, proxied: None, .. } => Phase::Idle,
            Service { proxied: None, .. } => Phase::Opening,
            Service { .. } => Phase::Announced,
        };
        let mut connection = Connection::new(transport, peer, phase, self.runtime.turn_time());
        connection.is_admin = service.is_admin;
        self.admins.set(self.admins.get() + usize::from(service.is_admin));
        connection.service = u8::try_from(number).unwrap_or(u8::MAX);
        let index = table.insert(connection);
        let slot = table.slot(index)?;
        let key = slot.reactor_key(index);
        if self.runtime.with_reactor(|reactor| reactor.add(descriptor, key)).is_err() {
            // The limit fs.epoll.max_user_watches is reached.
            table.remove(index);
            drop(table);
            self.pause(Pause::Until(self.runtime.turn_time() + PAUSE));
            return None;
        }
        if let (Some(stream), Some(connection)) = (&service.stream, table.at(index)) {
            connection.tunnel = self.reserve_stream(stream, index);
            if connection.phase == Phase::Idle {
                self.established(connection);
            }
        }
        self.arm(index, &mut table);
        self.stats.accepted.set(self.stats.accepted.get() + 1);
        self.stats.connections.set(self.stats.connections.get() + 1);
        Some(index)
    }

    /// Whether a peer may connect to a service; where a header of the PROXY protocol is expected, only proxies may.
    fn may_open(&self, peer: Peer, service: &Service) -> bool {
        let (Some(trusts), Peer::Tcp(address)) = (&service.proxied, peer) else { return true };
        let is_proxy = trusts(address.ip().to_canonical());
        if !is_proxy {
            self.handler.proxy_refused(peer, "it is not one of the trusted proxies");
        }
        is_proxy
    }

    /// Whether a connection is in a listener's queue. Without this check, a connection might be closed although
    /// another worker has already accepted the new one.
    fn somebody_waits(&self, index: u32) -> bool {
        let listeners = self.listeners.borrow();
        let Some(listener) = listeners.find(index) else { return false };
        let mut fds = [PollFd::new(&listener.fd, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }

    fn pause(&self, why: Pause) {
        let mut listeners = self.listeners.borrow_mut();
        if listeners.pause.replace(why).is_none() {
            for listener in &listeners.open {
                // If it is not registered, nothing is left to do.
                let _ = self.runtime.with_reactor(|reactor| reactor.delete(listener.fd.as_raw_fd()));
            }
        }
    }

    /// Reported once: from then on, closing connections is this server's normal operation.
    fn report_full(&self) {
        if !std::mem::replace(&mut self.listeners.borrow_mut().full_reported, true) {
            let max = self.limits.connections_max;
            self.handler.warn(&format!(
                "connections_max ({max}) is reached: for each new connection the one that has been idle longest is closed, \
                 and without an idle one it waits; raise it, or add workers"
            ));
        }
    }

    fn report_exhausted(&self, error: Errno) {
        if !std::mem::replace(&mut self.listeners.borrow_mut().exhausted_reported, true) {
            let error = io::Error::from(error);
            self.handler.warn(&format!(
                "a new connection found no descriptor or memory ({error}): the connections that have been idle longest are \
                 closed; raise LimitNOFILE (ulimit -n), or lower connections_max"
            ));
        }
    }

    /// Until then, other workers accept what comes and take what is passed on.
    pub fn leave_to_others(&self, until: Nanos) {
        if !matches!(self.listeners.borrow().pause, Some(Pause::Full(_) | Pause::Until(_))) {
            self.pause(Pause::Others(until));
        }
    }

    /// The end of [`Server::leave_to_others`], if it has not come yet.
    pub fn accept_again(&self) {
        if matches!(self.listeners.borrow().pause, Some(Pause::Others(_))) {
            self.resume();
        }
    }

    fn resume(&self) {
        let mut listeners = self.listeners.borrow_mut();
        listeners.pause = None;
        self.crowded.set(false);
        for listener in &listeners.open {
            let key = listener_key(listener.number);
            let number = listener.fd.as_raw_fd();
            if self.runtime.with_reactor(|reactor| reactor.add_shared(number, key)).is_err() {
                listeners.pause = Some(Pause::Until(self.runtime.turn_time() + PAUSE));
                return;
            }
        }
    }

    /// A connection has closed, so there is room for another.
    pub(crate) fn connection_left(&self) {
        if matches!(self.listeners.borrow().pause, Some(Pause::Full(_))) {
            self.resume();
        }
    }

    pub(crate) fn resume_accepting(&self, now: Nanos) {
        if self.listeners.borrow().resume_at().is_some_and(|at| at <= now) {
            self.resume();
        }
    }

    /// Accepts the connections that the kernel has already established (up to `connections_max`), then closes
    /// the listeners.
    pub fn stop_accepting(&self) {
        self.keep_connections();
        self.stop_receiving_datagrams();
        let numbers: Vec<u32> = self.listeners.borrow().open.iter().map(|listener| listener.number).collect();
        for number in numbers {
            while self.accept_one(number) {}
        }
        let mut listeners = self.listeners.borrow_mut();
        for listener in listeners.open.drain(..) {
            // A paused listener is not registered.
            let _ = self.runtime.with_reactor(|reactor| reactor.delete(listener.fd.as_raw_fd()));
        }
        listeners.pause = None;
    }
}
