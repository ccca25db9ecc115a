//! Connections that may leave: offered while the loop leaves them alone, claimed before it does anything with them.
//!
//! A connection is offered when it is idle, when part of a head was read, when its whole request was read and waits for
//! its turn, and when its answer is complete and waits to be sent: no handler depends on it then. Its bytes go with the
//! offer. Must not know who takes it. Invariant: an offered connection is neither read, written nor closed before it is
//! claimed; one that is gone is only forgotten: nothing is answered, counted or logged for it here.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use weft_rt::ledger::{Claim, Offer, Owner, ledger};

use crate::admission::Admission;
use crate::connection::{Connection, Phase};
use crate::deputy::{AcceptQueue, Deputy, Gate};
use crate::keys::RequestKey;
use crate::parcel::{self, PARCEL_BYTES_MAX, Relay, SERVICES_MAX};
use crate::server::Server;
use crate::stream::Stream;
use crate::table::Table;

impl Server {
    /// Lets connections leave through `relay`, and accepts those that other workers put there. The deputy acts when
    /// [`weft_rt::held::watch`] has it; it tells `tell` when the loop becomes held and when it is free again. To be
    /// called when the server listens.
    ///
    /// # Errors
    /// Those of fcntl(2) and epoll_ctl(2).
    pub fn hand_over(&self, relay: Relay, tell: Box<dyn FnMut(bool) + Send>) -> io::Result<Deputy> {
        let made = self.runtime.with_reactor(|reactor| ledger(self.limits.connections_max, reactor));
        let (owner, taker) = made?;
        let listeners = self.listeners.borrow();
        let named = listeners.open.iter().filter(|listener| listener.service < SERVICES_MAX);
        let own = named.map(|listener| AcceptQueue::of(&listener.fd, listener.service)).collect();
        drop(listeners);
        let queues: Vec<_> = io::Result::from(own)?;
        let second = relay.sending.try_clone()?;
        let fixed =
            queues.iter().map(|queue| &queue.fd).chain([&relay.sending, &second]).map(AsRawFd::as_raw_fd);
        self.ways_out.descriptors.replace(fixed.chain(taker.descriptors()).collect());
        self.ways_out.relay.replace(Some(second));
        let _ = self.ways_out.heir.set(taker.heir());
        let gate = Gate::open(relay.sending, queues);
        self.ways_out.gate.replace(Some(Arc::clone(&gate)));
        let _ = self.ways_out.owner.set(owner);
        self.listen_at_relay(relay.receiving)?;
        Ok(Deputy { taker, gate, tell })
    }

    /// The same for a server that lets connections leave only when it fails, and that has no deputy.
    ///
    /// # Errors
    /// Those of epoll_ctl(2).
    pub fn leave_at_failure(&self, relay: Relay) -> io::Result<()> {
        self.ways_out.descriptors.replace(vec![relay.sending.as_raw_fd()]);
        self.ways_out.relay.replace(Some(relay.sending));
        self.listen_at_relay(relay.receiving)
    }

    /// Connections that this worker has passed on.
    pub fn passed_on(&self) -> u64 {
        self.ways_out.passed_on.get()
    }

    /// The way to other workers, which [`Server::stop_accepting`] closes for this one; `None` if there is none.
    pub fn way_out(&self) -> Option<OwnedFd> {
        self.ways_out.relay.borrow().as_ref()?.try_clone().ok()
    }

    /// Passes on the connections that are idle, so that their next requests need not race with their ends. Others MUST go
    /// on reading the relay; [`Server::stop_accepting`] has been called, or this worker would take them back. What cannot
    /// leave stays.
    pub fn leave_idle(&self, way_out: &OwnedFd) {
        let idle: Vec<u32> = {
            let table = self.table.borrow();
            let is_idle = |connection: &Connection| connection.phase == Phase::Idle;
            table
                .occupied()
                .filter(|(_, _, connection, _)| is_idle(connection))
                .map(|(index, ..)| index)
                .collect()
        };
        for index in idle {
            if self.depart(index, way_out) {
                self.close(index);
            }
        }
    }

    /// Passes on a request that was handed over and waits for its turn. Whoever reads the relay takes it, so this worker must not
    /// ([`Server::leave_to_others`]). Returns whether it is gone; else it waits as before.
    pub fn pass_on(&self, key: RequestKey) -> bool {
        let Some(way_out) = self.way_out() else { return false };
        let index = self.table.borrow_mut().streams.open(key).map(|stream| stream.connection);
        let Some(index) = index else { return false };
        let is_gone = self.depart(index, &way_out);
        if is_gone {
            self.close(index);
        }
        is_gone
    }

    /// Passes a connection on, with what was read of it, if it may leave as it is. Returns whether it is gone; then it MUST be closed.
    /// Else it is offered again.
    pub(crate) fn depart(&self, index: u32, way_out: &OwnedFd) -> bool {
        let mut table = self.table.borrow_mut();
        self.claim(index, &mut table);
        let is_gone = self.leave(index, way_out, &mut table);
        if !is_gone {
            self.offer(index, &mut table);
        }
        is_gone
    }

    fn leave(&self, index: u32, way_out: &OwnedFd, table: &mut Table) -> bool {
        let Some((slot, mut stream)) = table.slot_and_stream(index) else { return false };
        let Some(connection) = &mut slot.connection else { return false };
        if connection.is_gone {
            return true;
        }
        let Some((_, offer)) = offer_of(connection, stream.as_deref_mut()) else { return false };
        let socket = connection.transport.to_pass_on();
        if socket.is_none_or(|socket| parcel::send(way_out, socket, &offer).is_err()) {
            put_back(stream, offer);
            return false;
        }
        if let Some(number) = connection.transport.number() {
            // The new owner has the same open file, so closing it here leaves it in this worker's epoll.
            let _ = self.runtime.with_reactor(|reactor| reactor.delete(number));
        }
        self.is_gone(connection);
        true
    }

    /// Nothing leaves any more; what the deputy has accepted and could not pass on is the loop's.
    pub(crate) fn keep_connections(&self) {
        self.ways_out.descriptors.borrow_mut().truncate(0);
        self.ways_out.relay.take();
        let Some(gate) = self.ways_out.gate.take() else { return };
        for accepted in gate.close() {
            self.take_in(accepted.fd, parcel::service_of(accepted.word));
        }
    }

    pub(crate) fn hand_over_descriptors(&self) -> Vec<RawFd> {
        self.ways_out.descriptors.borrow().clone()
    }

    /// Offers a connection that the loop leaves alone, if it may leave as it is.
    #[inline]
    pub(crate) fn offer(&self, index: u32, table: &mut Table) {
        let Some(owner) = self.ways_out.owner.get() else { return };
        let Some((slot, stream)) = table.slot_and_stream(index) else { return };
        let Some(connection) = &mut slot.connection else { return };
        offer_to(owner, index, connection, stream);
    }

    /// Makes a connection the loop's again before anything is done with it. If it is gone, nothing can be done with it.
    #[inline]
    pub(crate) fn claim(&self, index: u32, table: &mut Table) {
        let Some(owner) = self.ways_out.owner.get() else { return };
        let Some((slot, stream)) = table.slot_and_stream(index) else { return };
        let Some(connection) = slot.connection.as_mut().filter(|connection| connection.is_offered) else {
            return;
        };
        connection.is_offered = false;
        match owner.claim(index) {
            Claim::Own(offer) => put_back(stream, offer),
            Claim::Gone(offer) => {
                put_back(stream, offer);
                self.is_gone(connection);
            }
        }
    }

    /// A response has ended. It is sent at the end of the turn, but another coroutine may hold the loop before.
    #[inline]
    pub(crate) fn offer_answered(&self, connection: &mut Connection, stream: &mut Stream) {
        let Some(owner) = self.ways_out.owner.get() else { return };
        offer_to(owner, stream.connection, connection, Some(stream));
    }

    #[cold]
    fn is_gone(&self, connection: &mut Connection) {
        connection.transport.broken = true;
        connection.is_gone = true;
        self.ways_out.passed_on.set(self.ways_out.passed_on.get() + 1);
        if connection.phase == Phase::Active {
            // The request is its new owner's.
            self.stats.in_flight.set(self.stats.in_flight.get() - 1);
            self.stats.requests.set(self.stats.requests.get() - u64::from(!connection.is_admin));
        }
    }

    /// Offers all but the first of the requests that are about to be handed over: that one may hold the loop.
    pub(crate) fn offer_arrived(&self) {
        let arrived = self.arrived.borrow();
        if arrived.len() < 2 || self.ways_out.owner.get().is_none() {
            return;
        }
        for key in arrived.iter().skip(1) {
            self.offer_waiting(*key);
        }
    }

    /// Offers a request that was handed over and waits for its turn. It MUST be reclaimed before it begins.
    pub fn offer_waiting(&self, key: RequestKey) {
        let mut table = self.table.borrow_mut();
        if let Some(stream) = table.streams.open(key) {
            stream.waits = true;
            let index = stream.connection;
            self.offer(index, &mut table);
        }
    }

    /// Whether a request has not ended, in this worker or another that has taken it.
    pub fn is_open(&self, key: RequestKey) -> bool {
        self.table.borrow().streams.open_ref(key).is_some()
    }

    /// The turn of a request has come that may have been offered. Returns false if it is not here any more.
    pub fn reclaim(&self, key: RequestKey) -> bool {
        let (index, is_gone) = {
            let mut table = self.table.borrow_mut();
            let Some(index) = table.streams.open(key).map(|stream| stream.connection) else { return false };
            self.claim(index, &mut table);
            let Some((connection, stream)) = table.active(key) else { return false };
            stream.waits = false;
            (index, connection.is_gone)
        };
        if is_gone {
            self.close(index);
        }
        !is_gone
    }
}

fn offer_to(owner: &Owner, index: u32, connection: &mut Connection, mut stream: Option<&mut Stream>) {
    if connection.transport.broken || connection.is_offered {
        return;
    }
    let Some((is_whole, offer)) = offer_of(connection, stream.as_deref_mut()) else { return };
    let Some(socket) = connection.transport.to_pass_on() else { return };
    match owner.offer(index, socket, is_whole, offer) {
        Ok(()) => connection.is_offered = true,
        Err(offer) => put_back(stream, offer),
    }
}

/// What a connection may leave with, and whether it may do so before more arrives. `None` if it must stay.
fn offer_of(connection: &Connection, stream: Option<&mut Stream>) -> Option<(bool, Offer)> {
    // What TLS, HTTP/2 or a proxy's header says of it is known in this process only, and some services have no name elsewhere.
    let may_leave = connection.tunnel.is_none() && u32::from(connection.service) < SERVICES_MAX;
    connection.transport.to_pass_on().filter(|_| may_leave)?;
    let word = connection.word();
    let Some(stream) = stream else {
        let is_idle = connection.phase == Phase::Idle;
        return is_idle.then_some((false, Offer { word, ..Offer::default() }));
    };
    let fits = stream.input.len() + stream.out.pending() <= PARCEL_BYTES_MAX;
    if !fits || !stream.wire.carry.is_empty() || stream.wire.refused {
        return None;
    }
    let offer = Offer { since: stream.since, word: word | stream.retried_bit(), ..Offer::default() };
    match connection.phase {
        Phase::Head | Phase::Active if stream.start > 0 || !stream.out.is_empty() => None,
        Phase::Head if stream.unparsed() > 0 => {
            // In the line it may be a whole one.
            let is_whole = connection.admission == Admission::Waits;
            Some((is_whole, Offer { bytes: std::mem::take(&mut stream.input), ..offer }))
        }
        Phase::Active if stream.waits && stream.is_in_input => {
            // It counts where it is answered.
            Some((true, Offer { bytes: std::mem::take(&mut stream.input), word: offer.word - 1, ..offer }))
        }
        Phase::Ended if stream.body.is_complete() && !stream.out.is_empty() => {
            let answer = stream.out.take_unsent()?;
            let (bytes, done) = (std::mem::take(&mut stream.input), stream.wire.next);
            Some((true, Offer { bytes, done, answer, ends: !stream.wire.keep_alive, since: 0, word }))
        }
        _ => None,
    }
}

fn put_back(stream: Option<&mut Stream>, offer: Offer) {
    if let Some(stream) = stream {
        debug_assert!(stream.input.is_empty() && stream.out.is_empty());
        stream.input = offer.bytes;
        if !offer.answer.is_empty() {
            stream.out.bytes = offer.answer;
        }
    }
}
