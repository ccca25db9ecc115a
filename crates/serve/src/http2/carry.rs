//! What the server does with a connection that carries streams: bytes in, requests out, bytes out.
//!
//! Must not know how a stream is answered. Invariant: nothing is borrowed while a stream is processed, and only the loop
//! processes one: from a coroutine, streams are put into the queue.

use std::cell::Cell;
use std::rc::Rc;

use h2::Reason;
use h2::ext::Protocol;
use weft_proto::http2;
use weft_rt::{MILLISECOND, Nanos};

use crate::admission::Admission;
use crate::connection::{Connection, Phase};
use crate::http2::bell::{bell, has_rung, rung};
use crate::http2::carrier::{Arrival, Carrier};
use crate::http2::priority::{Line, Priority};
use crate::server::Server;
use crate::step::Next;
use crate::stream::Stream;
use crate::stream::outgoing::Flush;
use crate::table::Table;
use crate::transport::{Carried, Link, Received, Transport};

/// Buffers full of bytes received for one connection before others get their turn.
const ROUNDS: usize = 4;
/// How often bells are answered in one turn.
const RINGS_PER_TURN: usize = 8;

/// What becomes of a connection.
enum Outcome {
    Wait,
    Later,
    /// Everything is said; the peer may not have read it yet.
    Linger,
    Close,
}

impl Server {
    /// Moves a connection on that carries streams. `first` are the bytes that it has received before; `is_loop` unless a
    /// coroutine runs.
    pub(crate) fn carry(&self, index: u32, first: &[u8], is_loop: bool) {
        let mut arrived = Vec::new();
        let outcome = self.drive(index, first, &mut arrived);
        for arrival in arrived {
            let Some(stream) = self.take_in_stream(index, arrival) else { continue };
            if is_loop {
                self.process(stream);
            } else {
                self.touch(stream);
            }
        }
        match outcome {
            Outcome::Wait => self.note_deadline(index),
            Outcome::Later => self.touch(index),
            Outcome::Linger => {
                self.forget_carrier(index);
                if let Some(connection) = self.table.borrow_mut().at(index) {
                    connection.transport.end_sending();
                    connection.phase = Phase::Linger;
                    connection.since = self.runtime.turn_time();
                    connection.heard = connection.since;
                }
                self.touch(index);
            }
            Outcome::Close => {
                if let Some(connection) = self.table.borrow_mut().at(index) {
                    connection.transport.broken = true;
                }
                self.touch(index);
            }
        }
    }

    /// Has the connection looked at when it may be late, with the streams that it has now.
    fn note_deadline(&self, index: u32) {
        let mut table = self.table.borrow_mut();
        let carriers = self.carriers.borrow();
        if let (Some(connection), Some(carrier)) = (table.at(index), carriers.get(&index)) {
            connection.heard = self.carrier_deadline(carrier);
            self.arm(index, &mut table);
        }
    }

    fn drive(&self, index: u32, first: &[u8], arrived: &mut Vec<Arrival>) -> Outcome {
        let now = self.runtime.turn_time();
        let (mut table, mut carriers) = (self.table.borrow_mut(), self.carriers.borrow_mut());
        let Some(slot) = table.slot(index) else { return Outcome::Wait };
        let generation = slot.generation;
        let Some(connection) = slot.connection.as_mut() else { return Outcome::Wait };
        let carrier = carriers.entry(index).or_insert_with(|| {
            self.stats.busy.set(self.stats.busy.get() + 1);
            let is_secure = connection.transport.session().is_some();
            let (streams, quiet_since) = (Cell::new(0), Cell::new(now));
            let line = Line::default();
            let link = Link { carrier: index, generation, is_secure, streams, quiet_since, line };
            Box::new(Carrier::new(link, bell(index, generation), &self.limits, now))
        });
        let mut passes = carrier.meter.pass(first, now);
        carrier.buffers.borrow_mut().push(first);
        let full = self.limits.requests_max > 0 && carrier.requests >= self.limits.requests_max;
        if full || self.draining.get().is_some() {
            carrier.tell();
        }
        let mut rounds = 0;
        let goes_on = loop {
            passes &= self.fill(connection, carrier, now);
            if !passes {
                carrier.is_flooded = true;
                carrier.end(Reason::ENHANCE_YOUR_CALM);
            }
            carrier.buffers.borrow_mut().waits = false;
            carrier.poll(arrived);
            if !carrier.send(&mut connection.transport, now) || connection.transport.broken {
                return Outcome::Close;
            }
            carrier.tell_priorities();
            if carrier.blocked_since == 0 && !carrier.buffers.borrow().waits {
                carrier.link.line.next_round();
            }
            rounds += 1;
            let goes_on = carrier.blocked_since == 0
                && (connection.transport.readable || carrier.buffers.borrow().waits);
            if carrier.is_over() || !goes_on || rounds == ROUNDS {
                break goes_on;
            }
        };
        match carrier.is_over() {
            true if carrier.blocked_since == 0 => {
                let floods = &self.stats.http2_floods;
                floods.set(floods.get() + u64::from(carrier.is_flooded));
                Outcome::Linger
            }
            false if goes_on => Outcome::Later,
            _ => {
                if carrier.link.streams.get() == 0 && arrived.is_empty() {
                    carrier.buffers.borrow_mut().shrink();
                }
                Outcome::Wait
            }
        }
    }

    /// Receives what h2 may read now. Returns false if the peer has sent too many frames.
    fn fill(&self, connection: &mut Connection, carrier: &mut Carrier, now: Nanos) -> bool {
        let mut buffers = carrier.buffers.borrow_mut();
        // A peer that takes no answers is not read, and neither is one of whom h2 has bytes to read.
        if !connection.transport.readable || !buffers.is_read() || carrier.blocked_since > 0 {
            return true;
        }
        let mut scratch = self.scratch.borrow_mut();
        match connection.transport.receive(&mut scratch[..]) {
            Received::Bytes(count) => {
                buffers.push(&scratch[..count]);
                return carrier.meter.pass(&scratch[..count], now);
            }
            Received::End => buffers.ended = true,
            Received::Nothing | Received::Broken => (),
        }
        true
    }

    /// When a connection is late, whatever its streams do.
    fn carrier_deadline(&self, carrier: &Carrier) -> Nanos {
        let limits = &self.limits;
        let after = |since: Nanos, span_ms: u64| since.saturating_add(span_ms.saturating_mul(MILLISECOND));
        let mut deadline = Nanos::MAX;
        if carrier.blocked_since > 0 {
            deadline = after(carrier.blocked_since, limits.write_timeout_ms);
        }
        if carrier.is_opening() {
            return deadline.min(after(carrier.since, limits.head_timeout_ms));
        }
        if carrier.link.streams.get() == 0 {
            let quiet = carrier.link.quiet_since.get();
            deadline = deadline.min(after(quiet, limits.idle_timeout_ms));
            if let Some(began) = self.draining.get() {
                // What is left of an answer may still be on its way.
                deadline = deadline.min(after(began.max(quiet).max(carrier.sent_at), limits.drain_idle_ms));
            }
        }
        deadline
    }

    /// Gives a request a place of its own. `None` if it has none: it was malformed, or is gone.
    fn take_in_stream(&self, carrier: u32, (request, mut answer): Arrival) -> Option<u32> {
        let (parts, body) = request.into_parts();
        let asked = parts.extensions.get::<Protocol>().map(Protocol::as_str);
        let Some(text) = http2::text(&parts, asked) else {
            answer.send_reset(Reason::PROTOCOL_ERROR);
            return None;
        };
        let (link, number) = {
            let carriers = self.carriers.borrow();
            let carrier = carriers.get(&carrier)?;
            (Rc::clone(&carrier.link), carrier.requests)
        };
        let mut table = self.table.borrow_mut();
        let peer = table.at(carrier)?.peer;
        let is_tunnel = http2::is_tunnel(&parts, asked);
        let priority =
            parts.headers.get("priority").map(|field| Priority::read(field.as_bytes())).unwrap_or_default();
        let transport =
            Transport::of_stream(Carried::new(Rc::clone(&link), (text, priority), is_tunnel, body, answer));
        let since = self.runtime.turn_time();
        let index = table.insert(Connection::new(transport, peer, Phase::Idle, since));
        link.streams.set(link.streams.get() + 1);
        let slot = table.slot(index)?;
        let generation = slot.generation;
        let connection = slot.connection.as_mut()?;
        connection.requests = number.saturating_sub(1);
        if let Some(carried) = connection.transport.carried_mut() {
            carried.ring(bell(index, generation));
        }
        connection.transport.look();
        Some(index)
    }

    /// A connection or a stream has been closed.
    pub(crate) fn end_carrying(&self, index: u32, connection: &mut Connection, table: &mut Table) {
        if connection.phase == Phase::Carrier {
            if let Some(mut carrier) = self.forget_carrier(index) {
                carrier.end(Reason::NO_ERROR);
                // If it cannot be sent, nobody is there to read it.
                let _ = carrier.send(&mut connection.transport, 0);
            }
            return;
        }
        let Some(link) = connection.transport.carried().map(|carried| Rc::clone(&carried.link)) else {
            return;
        };
        link.streams.set(link.streams.get() - 1);
        link.quiet_since.set(self.runtime.turn_time());
        let slot = table.slot(link.carrier).filter(|slot| slot.generation == link.generation);
        if let Some(carrier) = slot.and_then(|slot| slot.connection.as_mut()) {
            self.enqueue(link.carrier, carrier);
        }
    }

    fn forget_carrier(&self, index: u32) -> Option<Box<Carrier>> {
        let carrier = self.carriers.borrow_mut().remove(&index)?;
        self.stats.busy.set(self.stats.busy.get() - 1);
        Some(carrier)
    }

    /// Moves those on whose bells were rung: streams first, so that what they send leaves with their connection.
    pub(crate) fn answer_bells(&self) {
        for _ in 0..RINGS_PER_TURN {
            let rung = rung();
            if rung.is_empty() {
                return;
            }
            let (mut carriers, mut streams) = (Vec::new(), Vec::new());
            for (index, generation) in rung {
                let mut table = self.table.borrow_mut();
                let slot = table.slot(index).filter(|slot| slot.generation == generation);
                let Some(connection) = slot.and_then(|slot| slot.connection.as_mut()) else { continue };
                connection.transport.look();
                match connection.transport.carried().map(Carried::key) {
                    _ if connection.phase == Phase::Carrier => carriers.push(index),
                    key => streams.push((key, index, generation)),
                }
            }
            // The urgent take what there is of windows.
            streams.sort_unstable();
            for (_, index, generation) in streams {
                let is_there =
                    self.table.borrow_mut().slot(index).is_some_and(|slot| slot.generation == generation);
                if is_there {
                    self.process(index);
                }
            }
            carriers.into_iter().for_each(|index| self.process(index));
        }
    }

    /// Whether a bell waits for an answer.
    pub(crate) fn is_called(&self) -> bool {
        has_rung()
    }

    /// The answer to a stream's request has ended.
    pub(crate) fn ended_stream(&self, connection: &mut Connection, stream: &mut Stream) -> Next {
        let is_cut_off = !stream.wire.keep_alive && !stream.wire.refused;
        let Some(carried) = connection.transport.carried_mut() else { return Next::Close };
        if is_cut_off {
            carried.cut_off();
            return Next::Close;
        }
        carried.end();
        match self.flush(connection, stream) {
            Flush::Done => Next::Close,
            Flush::Blocked { .. } => Next::Wait,
            Flush::Broken => Next::Again,
        }
    }

    /// The connection that carries a stream.
    pub(crate) fn carrier_of(connection: &Connection) -> Option<u32> {
        connection.transport.carried().map(|carried| carried.link.carrier)
    }

    /// Has the connections that carry streams told to end.
    pub(crate) fn drain_carriers(&self, table: &mut Table) {
        for index in self.carriers.borrow().keys() {
            if let Some(connection) = table.at(*index) {
                self.enqueue(*index, connection);
            }
        }
    }

    /// Since when a connection that carries streams has none; `None` while it has some.
    pub(crate) fn quiet_since(&self, index: u32) -> Option<Nanos> {
        let carriers = self.carriers.borrow();
        let carrier = carriers.get(&index)?;
        (carrier.link.streams.get() == 0).then(|| carrier.link.quiet_since.get())
    }

    /// Moves a stream's connection on while a coroutine runs.
    pub(crate) fn carry_now(&self, carrier: u32) {
        self.carry(carrier, &[], false);
    }

    /// Blocks the worker on the connection that carries a stream. Returns false if the time is up.
    pub(crate) fn block_carrier(&self, carrier: u32, span: Nanos) -> bool {
        self.carry_now(carrier);
        let sends = self.carriers.borrow().get(&carrier).is_some_and(|carrier| carrier.blocked_since > 0);
        let ready = {
            let mut table = self.table.borrow_mut();
            let Some(connection) = table.at(carrier) else { return true };
            connection.transport.readable || connection.transport.block(!sends, sends, span)
        };
        self.carry_now(carrier);
        ready
    }

    /// A connection has shown that it speaks HTTP/2.
    pub(crate) fn begin_carrying(&self, connection: &mut Connection) {
        connection.phase = Phase::Carrier;
        connection.admission = Admission::None;
    }
}
