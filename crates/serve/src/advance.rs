//! The life of a connection: [`Server::advance`] moves it on as far as its bytes allow.
//!
//! ```text
//!            bytes           head complete         response ended        keep-alive
//!     Idle ────────▶ Head ────────────────▶ Active ──────────────▶ Ended ───────────▶ Head
//!       ▲             │ nothing left                                 │ close
//!       └─────────────┘                                              └───▶ Linger ──▶ closed
//! ```
//!
//! Must not call the handler: it runs with the table borrowed and returns a [`Step`] instead. Invariant: at most one
//! request of a connection is with the handler. The next one is parsed when the response has ended, so answers keep
//! their order.

use weft_proto::{Parse, Reject};

use crate::admission::Admission;
use crate::connection::{Connection, Phase};
use crate::exchange::Stage;
use crate::handler::Refusal;
use crate::keys::RequestKey;
use crate::outgoing::Flush;
use crate::server::{Server, TurnStage};
use crate::step::{Next, Step};
use crate::table::ConnectionSlot;
use crate::transport::Received;

/// Bytes of finished responses that are collected before they are sent, while more requests are available.
const BATCH_BYTES: usize = 64 * 1024;
/// Bytes received at once while a head is expected: nearly all requests arrive as a whole.
const HEAD_RECEIVE_BYTES: usize = 16 * 1024;

impl Server {
    /// Moves a connection on until it waits, ends, or needs the handler.
    pub(crate) fn advance(&self, index: u32, slot: &mut ConnectionSlot) -> Step {
        let Some(connection) = &mut slot.connection else { return Step::Wait };
        loop {
            let next = match connection.phase {
                _ if connection.transport.broken => self.broken(connection),
                Phase::Idle => self.idle_phase(index, connection),
                Phase::Head => self.head_phase(connection),
                Phase::Active => self.active_phase(connection),
                Phase::Ended => self.ended_phase(index, connection),
                Phase::Linger => self.linger_phase(connection),
            };
            match next {
                Next::Again => (),
                Next::Begin => {
                    slot.request = slot.request.wrapping_add(1);
                    let key = RequestKey::new(index, slot.request);
                    let admission = std::mem::take(&mut connection.admission);
                    if !self.begin(connection, admission == Admission::TurnedAway) {
                        continue;
                    }
                    return if admission == Admission::TurnedAway {
                        Step::TurnAway(key)
                    } else {
                        Step::Request(key)
                    };
                }
                Next::Whole => return Step::Request(RequestKey::new(index, slot.request)),
                Next::Report => return Step::Report,
                Next::Wait => return Step::Wait,
                Next::Later => return Step::Later,
                Next::Close => return Step::Close,
            }
        }
    }

    fn broken(&self, connection: &mut Connection) -> Next {
        if connection.admission == Admission::Waits {
            return Next::Wait; // the connection is closed when its turn comes
        }
        let Some(exchange) = connection.exchange.as_deref_mut() else { return Next::Close };
        exchange.out.clear();
        match connection.phase {
            // The handler ends the response: until then its request stays readable.
            Phase::Active if !exchange.held => {
                exchange.wake_all(self.runtime);
                Next::Wait
            }
            Phase::Active => {
                self.stats.in_flight.set(self.stats.in_flight.get() - 1);
                Next::Close
            }
            Phase::Ended if self.wants_summaries && !exchange.reported => Next::Report,
            _ => Next::Close,
        }
    }

    fn idle_phase(&self, index: u32, connection: &mut Connection) -> Next {
        if !connection.transport.readable || self.waits_unread(index, connection) {
            return Next::Wait;
        }
        let mut exchange = self.take_exchange();
        let waited = connection.admission != Admission::None;
        exchange.since = if waited { connection.since } else { self.runtime.turn_time() };
        connection.exchange = Some(exchange);
        connection.phase = Phase::Head;
        Next::Again
    }

    fn head_phase(&self, connection: &mut Connection) -> Next {
        if connection.admission == Admission::Waits {
            return self.head_waits(connection);
        }
        loop {
            let Some(exchange) = connection.exchange.as_deref_mut() else { return Next::Close };
            if exchange.unparsed() > 0 {
                match exchange.head.parse(&exchange.input[exchange.start..], &self.limits.http) {
                    Ok(Parse::Complete { head_bytes }) => {
                        exchange.head_bytes = head_bytes;
                        return Next::Begin;
                    }
                    Ok(Parse::Partial) => (),
                    Err(reject) => {
                        self.refuse(connection, reject);
                        return Next::Again;
                    }
                }
            }
            if !connection.transport.readable {
                return self.head_waits(connection);
            }
            exchange.compact();
            // Received through a buffer that all connections share, so that a request in flight keeps only as many
            // bytes as it has.
            let mut scratch = self.scratch.borrow_mut();
            match connection.transport.receive(&mut scratch[..HEAD_RECEIVE_BYTES]) {
                // The parser refuses a head at its limit, so this loop ends there.
                Received::Bytes(count) => exchange.input.extend_from_slice(&scratch[..count]),
                Received::Nothing => (),
                Received::End => return self.input_ended(connection),
                Received::Broken => return Next::Again,
            }
        }
    }

    /// The head is incomplete: queued bytes are sent, and the buffers are returned if they are empty.
    fn head_waits(&self, connection: &mut Connection) -> Next {
        let empty = connection.exchange.as_ref().is_none_or(|exchange| exchange.unparsed() == 0);
        if self.stage.get() != TurnStage::Send
            && connection.exchange.as_ref().is_some_and(|exchange| !exchange.out.is_empty())
        {
            return Next::Later;
        }
        match self.flush(connection) {
            Flush::Done if empty => {
                self.give_unused_exchange(connection);
                connection.phase = Phase::Idle;
                connection.since = self.runtime.turn_time();
                if connection.admission != Admission::Waits {
                    connection.admission = Admission::None;
                }
                Next::Wait
            }
            Flush::Done | Flush::Blocked { .. } => Next::Wait,
            Flush::Broken => Next::Again,
        }
    }

    /// The peer has closed its side between requests or within a head: only queued answers remain to be sent.
    fn input_ended(&self, connection: &mut Connection) -> Next {
        let Some(exchange) = connection.exchange.as_deref_mut() else { return Next::Close };
        if exchange.out.is_empty() {
            return Next::Close;
        }
        (exchange.keep_alive, exchange.reported) = (false, true);
        exchange.input.truncate(exchange.start);
        connection.phase = Phase::Ended;
        Next::Again
    }

    /// A head is complete, and its request starts: the handler gets it now, or when its body has arrived, or never.
    fn begin(&self, connection: &mut Connection, is_late: bool) -> bool {
        let Some(exchange) = connection.exchange.as_deref_mut() else { return false };
        connection.phase = Phase::Active;
        connection.requests = connection.requests.saturating_add(1);
        self.stats.requests.set(self.stats.requests.get() + 1);
        self.stats.in_flight.set(self.stats.in_flight.get() + 1);
        let body_start = exchange.start + exchange.head_bytes;
        let expects = exchange.head.expect_continue();
        exchange.body.begin(exchange.head.framing(), expects, &self.limits);
        exchange.next = body_start;
        if exchange.body.is_pending() {
            exchange.next += exchange.body.take(&exchange.input[body_start..], &self.limits, &self.spool);
            self.start_body_clock(exchange);
            // Bytes that have already arrived need no wait.
            self.receive_body(connection);
            if self.refuse_body(connection) {
                return false;
            }
            let held = self.hold_back(connection, is_late);
            if let Some(exchange) = connection.exchange.as_deref_mut() {
                exchange.held = held;
            }
            return !held;
        }
        exchange.held = false;
        true
    }

    fn active_phase(&self, connection: &mut Connection) -> Next {
        let arrived = self.receive_body(connection);
        let Some(exchange) = connection.exchange.as_deref_mut() else { return Next::Close };
        if arrived && !exchange.held {
            exchange.wake_all(self.runtime);
        }
        if exchange.held
            && let Some(next) = self.held_phase(connection)
        {
            return next;
        }
        self.more_body(connection)
    }

    /// Sends what is queued; returns whether more of the body is available than was received in this turn.
    fn more_body(&self, connection: &mut Connection) -> Next {
        let flushed = self.flush(connection);
        let Some(exchange) = connection.exchange.as_deref() else { return Next::Close };
        match flushed {
            Flush::Broken => Next::Again,
            _ if connection.transport.broken => Next::Again,
            _ if connection.transport.readable && exchange.body.is_wanted() => Next::Later,
            _ => Next::Wait,
        }
    }

    /// Receives the part of the body that is available and wanted. Returns whether the handler must be notified.
    pub(crate) fn receive_body(&self, connection: &mut Connection) -> bool {
        /// Bytes received for one connection before others get their turn.
        const BYTES_PER_TURN: usize = 256 * 1024;
        let Some(exchange) = connection.exchange.as_deref_mut() else { return false };
        let (mut taken, mut news) = (0, false);
        let mut scratch = self.scratch.borrow_mut();
        while connection.transport.readable && exchange.body.is_wanted() && taken < BYTES_PER_TURN {
            let wanted = exchange.body.wanted().min(scratch.len() as u64) as usize;
            match connection.transport.receive(&mut scratch[..wanted]) {
                Received::Bytes(count) => {
                    let used = exchange.body.take(&scratch[..count], &self.limits, &self.spool);
                    exchange.carry.extend_from_slice(&scratch[used..count]);
                    exchange.body_since = self.runtime.turn_time();
                    taken += count;
                }
                Received::Nothing => break,
                Received::End => exchange.body.fail(400),
                Received::Broken => return true,
            }
            news = true;
        }
        news
    }

    fn ended_phase(&self, index: u32, connection: &mut Connection) -> Next {
        let Some(exchange) = connection.exchange.as_deref_mut() else { return Next::Close };
        if self.wants_summaries && !exchange.reported {
            return Next::Report;
        }
        if exchange.keep_alive && exchange.body.is_pending() {
            return self.discard_body(connection);
        }
        if exchange.keep_alive && exchange.body.is_complete() {
            // A small response may wait for the next one, because `Head` sends it if there is no next request yet.
            let small = exchange.out.is_in_memory() && exchange.out.pending() < BATCH_BYTES;
            if small || exchange.out.is_empty() {
                exchange.advance(self.runtime.turn_time());
                connection.phase = Phase::Head;
                if exchange.unparsed() > 0 || connection.transport.readable {
                    self.waits_unread(index, connection);
                }
                return Next::Again;
            }
            return match self.flush(connection) {
                Flush::Done | Flush::Broken => Next::Again,
                Flush::Blocked { .. } => Next::Wait,
            };
        }
        self.end_connection(connection)
    }

    /// The response has ended before the body: the rest is dropped, unless it is too much.
    fn discard_body(&self, connection: &mut Connection) -> Next {
        if let Some(exchange) = connection.exchange.as_deref_mut()
            && !exchange.body.discarding
        {
            exchange.body.discarding = true;
            exchange.discard_from = exchange.body.received();
        }
        self.receive_body(connection);
        let Some(exchange) = connection.exchange.as_deref_mut() else { return Next::Close };
        if exchange.body.received() - exchange.discard_from > self.limits.discard_bytes_max {
            exchange.keep_alive = false;
        }
        if !exchange.keep_alive || !exchange.body.is_pending() || connection.transport.broken {
            exchange.keep_alive &= exchange.body.is_complete();
            return Next::Again;
        }
        self.more_body(connection)
    }

    /// Sends what is queued, and wakes writers if there is room again.
    pub(crate) fn flush(&self, connection: &mut Connection) -> Flush {
        let Some(exchange) = connection.exchange.as_deref_mut() else { return Flush::Done };
        if exchange.out.is_empty() {
            return Flush::Done;
        }
        let flushed = exchange.out.flush(&mut connection.transport);
        self.flushed(connection, flushed);
        flushed
    }

    /// Handles the outcome of a flush.
    pub(crate) fn flushed(&self, connection: &mut Connection, flushed: Flush) {
        let Some(exchange) = connection.exchange.as_deref_mut() else { return };
        match flushed {
            Flush::Done => exchange.blocked_since = 0,
            Flush::Blocked { sent } => {
                if sent > 0 || exchange.blocked_since == 0 {
                    exchange.blocked_since = self.runtime.turn_time();
                }
            }
            Flush::Broken => connection.transport.broken = true,
        }
        self.note_waiting(connection);
        let low = self.buffer_bytes_max() / 2;
        let Some(exchange) = connection.exchange.as_deref_mut() else { return };
        if exchange.out.pending() <= low || connection.transport.broken {
            exchange.wake_all(self.runtime);
        }
    }

    /// Answers bytes that are not a valid request, or an incomplete request that is too late.
    pub(crate) fn refuse(&self, connection: &mut Connection, reject: Reject) {
        let Some(exchange) = connection.exchange.as_deref_mut() else { return };
        self.stats.refused.set(self.stats.refused.get() + 1);
        self.encode_error(exchange, reject.status, reject.reason, None);
        let line = exchange.request_line();
        self.refusal.set(Some(Refusal {
            peer: connection.peer,
            reject,
            line: line[..line.len().min(Refusal::LINE_BYTES_MAX)].to_vec(),
            body_bytes: exchange.written,
            duration: weft_rt::clock::now().saturating_sub(exchange.since),
        }));
        exchange.refused = true;
        exchange.keep_alive = false;
        exchange.reported = true;
        connection.phase = Phase::Ended;
    }

    /// The handler has completed the response.
    pub(crate) fn end_response(&self, connection: &mut Connection) {
        connection.phase = Phase::Ended;
        self.stats.in_flight.set(self.stats.in_flight.get() - 1);
        if let Some(exchange) = connection.exchange.as_deref_mut() {
            if let Stage::Waiting = exchange.stage {
                exchange.keep_alive = false;
            }
            exchange.wake_all(self.runtime);
        }
    }
}
