//! UDP services: datagrams come in batches, each is an event for the handler, and answers leave in batches.
//!
//! ```text
//!   kernel ── recvmmsg ──▶ queue ── one event each ──▶ handler ── answers ──▶ out ── sendmmsg, at the end of the turn ──▶ kernel
//! ```
//!
//! Must not know what a datagram says. Invariant: what has no room in a queue is lost, as UDP may lose it anywhere, and
//! counted.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use weft_rt::datagrams::{BATCH, Outgoing, overflowed, send, tell_own_addresses};
use weft_rt::{MILLISECOND, Nanos};

use crate::datagram_queue::{Datagram, Ends, Socket};
use crate::keys::{TunnelKey, listener_key};
use crate::server::Server;

/// Bytes of the largest datagram that can be sent (IPv4).
const DATAGRAM_BYTES_MAX: usize = 65_507;
/// How long the handler is told of none after one that it could not take.
const REST: Nanos = 100 * MILLISECOND;

impl Server {
    /// Serves a UDP socket, which other workers may share: each datagram is an event [`TunnelKey::DATAGRAM`] for the handler, which
    /// takes it by [`Server::take_datagram`].
    ///
    /// # Errors
    /// Those of epoll_ctl(2) and setsockopt(2).
    pub fn listen_for_datagrams(&self, fd: OwnedFd, service: u32) -> io::Result<()> {
        tell_own_addresses(fd.as_fd())?;
        let number = {
            let mut listeners = self.listeners.borrow_mut();
            listeners.numbers += 1;
            listeners.numbers - 1
        };
        self.runtime.with_reactor(|reactor| reactor.add_shared(fd.as_raw_fd(), listener_key(number)))?;
        self.datagrams.borrow_mut().sockets.push(Socket { number, fd, service, is_open: true });
        self.has_datagrams.set(true);
        Ok(())
    }

    /// Receives a batch, if this is the number of a UDP socket; what is left comes with the next event. Returns whether it is.
    pub(crate) fn receive_datagrams(&self, number: u32) -> bool {
        let datagrams = &mut *self.datagrams.borrow_mut();
        let is_meant = |socket: &Socket| socket.number == number && socket.is_open;
        let Some(place) = datagrams.sockets.iter().position(is_meant) else { return false };
        let batch = datagrams.batch.get_or_insert_default();
        // An error is one of an earlier answer, which its sender does not wait for: the next datagram follows it.
        let Ok(count) = batch.receive(datagrams.sockets[place].fd.as_fd()) else { return true };
        self.stats.datagrams_received.add(count as u64);
        for arrived in batch.iter() {
            let ends = Ends { place: place as u32, own: arrived.to, peer: arrived.from };
            if !datagrams.queue.push(ends, arrived.bytes.to_vec()) {
                self.stats.datagrams_dropped.add(1);
            }
        }
        true
    }

    /// Tells the handler of datagrams, as long as it has room.
    pub(crate) fn give_datagrams(&self) {
        while self.datagrams_due_at().is_some_and(|at| at <= self.runtime.turn_time()) {
            self.datagrams.borrow_mut().told += 1;
            self.handler.tunnel(TunnelKey::DATAGRAM);
        }
    }

    /// When the handler can be told of a datagram.
    fn datagrams_due_at(&self) -> Option<Nanos> {
        let datagrams = self.datagrams.borrow();
        let is_due = datagrams.queue.all.len() > datagrams.told && self.handler.event_room() > 0;
        is_due.then_some(datagrams.rests_until)
    }

    /// The next datagram for a handler that was told of one; `None` if it is not there any more.
    pub fn take_datagram(&self) -> Option<Datagram> {
        let datagrams = &mut *self.datagrams.borrow_mut();
        datagrams.told = datagrams.told.saturating_sub(1);
        let (ends, bytes) = datagrams.queue.pop()?;
        let service = datagrams.sockets.get(ends.place as usize)?.service;
        Some(Datagram { service, ends, bytes })
    }

    /// The handler was told of a datagram and could not take it now.
    pub(crate) fn postpone_datagram(&self) {
        let mut datagrams = self.datagrams.borrow_mut();
        datagrams.told = datagrams.told.saturating_sub(1);
        datagrams.rests_until = self.runtime.turn_time() + REST;
    }

    /// Sends a datagram from an address of this server. Returns false if it is lost: it is too large, there is no such address, or
    /// too many wait to be sent.
    pub fn send_datagram(&self, ends: Ends, bytes: &[u8]) -> bool {
        let mut datagrams = self.datagrams.borrow_mut();
        let is_possible = bytes.len() <= DATAGRAM_BYTES_MAX && datagrams.sockets.len() > ends.place as usize;
        let is_queued = is_possible && datagrams.out.push(ends, bytes.to_vec());
        if !is_queued {
            self.stats.datagrams_dropped.add(1);
        }
        is_queued
    }

    /// Sends what waits. What the kernel has no room for waits for the next turn.
    pub(crate) fn send_datagrams(&self) {
        let datagrams = &mut *self.datagrams.borrow_mut();
        while let Some((Ends { place, .. }, _)) = datagrams.out.all.front() {
            let Some(socket) = datagrams.sockets.get(*place as usize) else { return };
            // Those for one socket that follow each other leave in one call.
            let same = datagrams.out.all.iter().take(BATCH).take_while(|(ends, _)| ends.place == *place);
            let outgoing = same.map(|(ends, bytes)| Outgoing { from: ends.own, to: ends.peer, bytes });
            let sent = match send(socket.fd.as_fd(), outgoing) {
                Ok(sent) => {
                    self.stats.datagrams_sent.add(sent as u64);
                    sent
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                // Nobody can be reached there, say: that concerns only this one.
                Err(_) => {
                    self.stats.datagrams_dropped.add(1);
                    1
                }
            };
            for _ in 0..sent {
                datagrams.out.pop();
            }
        }
    }

    /// When something has to be done: a datagram can be taken, or there may be room in the kernel again for what waits.
    pub(crate) fn datagrams_deadline(&self) -> Option<Nanos> {
        let is_unsent = !self.datagrams.borrow().out.all.is_empty();
        let retry = is_unsent.then(|| self.runtime.turn_time() + MILLISECOND);
        [self.datagrams_due_at(), retry].into_iter().flatten().min()
    }

    /// Datagrams that wait for the handler, or to be sent.
    pub fn datagrams_waiting(&self) -> usize {
        let datagrams = self.datagrams.borrow();
        datagrams.queue.all.len() + datagrams.out.all.len()
    }

    /// Datagrams for which the kernel had no room: nobody took them as fast as they came. All workers have the same sockets, so each
    /// of them says the same.
    pub fn datagrams_overflowed(&self) -> u64 {
        let datagrams = self.datagrams.borrow();
        // A kernel that does not count them has none to tell of.
        datagrams.sockets.iter().map(|socket| u64::from(overflowed(socket.fd.as_fd()).unwrap_or(0))).sum()
    }

    /// Receives nothing any more: what arrives is for other workers. What has arrived can still be answered.
    pub(crate) fn stop_receiving_datagrams(&self) {
        for socket in &mut self.datagrams.borrow_mut().sockets {
            socket.is_open = false;
            let _ = self.runtime.with_reactor(|reactor| reactor.delete(socket.fd.as_raw_fd()));
        }
    }

    /// The worker's time is over: forgets the datagrams that wait for the handler, and returns how many they are.
    pub fn drop_datagrams(&self) -> usize {
        let queue = std::mem::take(&mut self.datagrams.borrow_mut().queue);
        self.stats.datagrams_dropped.add(queue.all.len() as u64);
        queue.all.len()
    }
}
