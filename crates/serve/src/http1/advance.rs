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

use weft_proto::{Parse, Reject, Traceparent};
use weft_rt::Nanos;

use crate::admission::Admission;
use crate::connection::{Connection, Phase};
use crate::handler::Refusal;
use crate::http2::{PREFACE, PREFACE_BYTES_MIN};
use crate::server::{Server, TurnStage};
use crate::step::{Next, Step};
use crate::stream::outgoing::Flush;
use crate::stream::{Stage, Stream};
use crate::table::Table;
use crate::transport::Received;

/// Bytes of finished responses that are collected before they are sent, while more requests are available.
const BATCH_BYTES: usize = 64 * 1024;
/// Bytes received at once while a head is expected: nearly all requests arrive as a whole.
const HEAD_RECEIVE_BYTES: usize = 16 * 1024;

impl Server {
    /// Moves a connection on until it waits, ends, or needs the handler.
    pub(crate) fn advance(&self, index: u32, table: &mut Table) -> Step {
        let Some((connection, streams)) = table.parts(index) else { return Step::Wait };
        loop {
            let Some(stream) = connection.stream.and_then(|number| streams.get_mut(number)) else {
                match self.alone(index, connection) {
                    Next::Take => self.take_stream(index, connection, streams),
                    Next::Again => (),
                    Next::Later => return Step::Later,
                    Next::Close => return Step::Close,
                    Next::Carry => return Step::Carry(Vec::new()),
                    _ => return Step::Wait,
                }
                continue;
            };
            let next = loop {
                let next = match connection.phase {
                    _ if connection.transport.broken => self.broken(connection, stream),
                    Phase::Head => self.head_phase(connection, stream),
                    Phase::Active => self.active_phase(connection, stream),
                    Phase::Ended => self.ended_phase(connection, stream),
                    Phase::Announced
                    | Phase::Opening
                    | Phase::Carrier
                    | Phase::Idle
                    | Phase::Linger
                    | Phase::Tunnel => Next::Close,
                };
                match next {
                    Next::Again => (),
                    Next::Begin => {
                        stream.key = stream.key.next();
                        let admission = std::mem::take(&mut connection.admission);
                        let is_late = admission == Admission::TurnedAway;
                        if self.begin(connection, stream, is_late) {
                            return if is_late {
                                Step::TurnAway(stream.key)
                            } else {
                                Step::Request(stream.key)
                            };
                        }
                    }
                    other => break other,
                }
            };
            match next {
                Next::Rest => {
                    self.give_unused_stream(connection, streams);
                    return Step::Wait;
                }
                Next::Linger => self.give_stream(connection, streams),
                Next::Tunnel => {
                    let first = self.begin_tunnel(connection, stream);
                    self.give_stream(connection, streams);
                    self.first_frames(connection, &first);
                }
                Next::Carry => {
                    let first = stream.input.split_off(stream.start);
                    self.give_stream(connection, streams);
                    self.begin_carrying(connection);
                    return Step::Carry(first);
                }
                Next::Whole => return Step::Request(stream.key),
                Next::Report => return Step::Report,
                Next::Later => return Step::Later,
                Next::Close => return Step::Close,
                Next::Wait | Next::Again | Next::Begin | Next::Take => return Step::Wait,
            }
        }
    }

    /// The phases without a stream.
    fn alone(&self, index: u32, connection: &mut Connection) -> Next {
        match connection.phase {
            // In the line it is closed when its turn comes.
            _ if connection.transport.broken && connection.admission == Admission::Waits => Next::Wait,
            _ if connection.transport.broken => Next::Close,
            Phase::Announced => self.announced_phase(connection),
            Phase::Opening => self.opening_phase(connection),
            Phase::Carrier => Next::Carry,
            Phase::Idle => self.idle_phase(index, connection),
            Phase::Linger => self.linger_phase(connection),
            Phase::Tunnel => self.tunnel_phase(connection),
            Phase::Head | Phase::Active | Phase::Ended => Next::Close,
        }
    }

    fn broken(&self, connection: &mut Connection, stream: &mut Stream) -> Next {
        if connection.admission == Admission::Waits {
            return Next::Wait; // the connection is closed when its turn comes
        }
        stream.out.clear();
        match connection.phase {
            Phase::Active if connection.is_gone => Next::Close,
            // Nobody has begun it, and nobody will.
            Phase::Active if stream.waits => {
                self.end_response(connection, stream);
                Next::Again
            }
            // The handler ends the response: until then its request stays readable.
            Phase::Active if !stream.held => {
                stream.wake_all(self.runtime);
                Next::Wait
            }
            Phase::Active => {
                self.stats.in_flight.set(self.stats.in_flight.get() - 1);
                Next::Close
            }
            Phase::Ended if self.wants_summaries && !stream.reported => Next::Report,
            _ => Next::Close,
        }
    }

    /// The handshake: until it is complete, a connection has nothing to say.
    fn opening_phase(&self, connection: &mut Connection) -> Next {
        match connection.transport.establish() {
            Received::Bytes(_) => {
                // The client has chosen it among what the server offered (RFC 7301).
                let protocol = connection.transport.session().and_then(|session| session.alpn_protocol());
                // It is for the handshake only (RFC 8737 section 4).
                if protocol == Some(b"acme-tls/1") {
                    return Next::Close;
                }
                let is_http2 = protocol == Some(b"h2");
                self.established(connection);
                if is_http2 && connection.phase == Phase::Idle {
                    self.begin_carrying(connection);
                }
                Next::Again
            }
            Received::Nothing => Next::Wait,
            Received::End | Received::Broken => Next::Close,
        }
    }

    fn idle_phase(&self, index: u32, connection: &mut Connection) -> Next {
        if !connection.transport.readable || self.waits_unread(index, connection) {
            return Next::Wait;
        }
        connection.phase = Phase::Head;
        Next::Take
    }

    fn head_phase(&self, connection: &mut Connection, stream: &mut Stream) -> Next {
        if connection.admission == Admission::Waits {
            return self.head_waits(connection, stream);
        }
        loop {
            if stream.unparsed() > 0 {
                match stream.head.parse(&stream.input[stream.start..], &self.limits.http) {
                    Ok(Parse::Complete { head_bytes }) => {
                        stream.head_bytes = head_bytes;
                        return Next::Begin;
                    }
                    Ok(Parse::Partial) => (),
                    Err(_) if self.speaks_http2(connection, stream) => return Next::Carry,
                    Err(reject) => {
                        self.refuse(connection, stream, reject);
                        return Next::Again;
                    }
                }
            }
            if !connection.transport.readable {
                return self.head_waits(connection, stream);
            }
            stream.compact();
            // Received through a buffer that all connections share, so that a request in flight keeps only as many
            // bytes as it has.
            let mut scratch = self.scratch.borrow_mut();
            match connection.transport.receive(&mut scratch[..HEAD_RECEIVE_BYTES]) {
                // The parser refuses a head at its limit, so this loop ends there.
                Received::Bytes(count) => stream.input.extend_from_slice(&scratch[..count]),
                Received::Nothing => (),
                Received::End => return self.input_ended(connection, stream),
                Received::Broken => return Next::Again,
            }
        }
    }

    /// Whether what was received is no head because the peer speaks HTTP/2 without having asked (RFC 9113 3.3).
    #[cold]
    fn speaks_http2(&self, connection: &Connection, stream: &Stream) -> bool {
        let bytes = stream.bytes();
        let count = bytes.len().min(PREFACE.len());
        self.limits.http2_streams_max > 0
            && connection.requests == 0
            && connection.transport.is_plain()
            && count >= PREFACE_BYTES_MIN
            && bytes[..count] == PREFACE[..count]
    }

    /// The head is incomplete: queued bytes are sent, and the buffers are returned if they are empty.
    fn head_waits(&self, connection: &mut Connection, stream: &mut Stream) -> Next {
        let empty = stream.unparsed() == 0;
        if self.stage.get() != TurnStage::Send && !stream.out.is_empty() {
            return Next::Later;
        }
        match self.flush(connection, stream) {
            Flush::Done if empty => {
                connection.phase = Phase::Idle;
                connection.since = self.runtime.turn_time();
                if connection.admission != Admission::Waits {
                    connection.admission = Admission::None;
                }
                Next::Rest
            }
            Flush::Done | Flush::Blocked { .. } => Next::Wait,
            Flush::Broken => Next::Again,
        }
    }

    /// The peer has closed its side between requests or within a head: only queued answers remain to be sent.
    fn input_ended(&self, connection: &mut Connection, stream: &mut Stream) -> Next {
        if stream.out.is_empty() {
            return Next::Close;
        }
        (stream.wire.keep_alive, stream.reported) = (false, true);
        stream.input.truncate(stream.start);
        connection.phase = Phase::Ended;
        Next::Again
    }

    /// A head is complete, and its request starts: the handler gets it now, or when its body has arrived, or never.
    fn begin(&self, connection: &mut Connection, stream: &mut Stream, is_late: bool) -> bool {
        connection.phase = Phase::Active;
        stream.open = true;
        connection.requests = connection.requests.saturating_add(1);
        self.stats.requests.add(u64::from(!connection.is_admin));
        self.stats.in_flight.set(self.stats.in_flight.get() + 1);
        if let Some(carried) = connection.transport.carried() {
            carried.describe(&mut stream.head);
        }
        let body_start = stream.start + stream.head_bytes;
        let expects = stream.head.expect_continue();
        stream.body.begin(stream.head.framing(), expects, &self.limits);
        stream.wire.next = body_start;
        if stream.body.is_pending() {
            let bytes_max = self.handler.body_bytes_max(&stream.head, stream.bytes(), connection.peer);
            stream.body.restrict(stream.head.framing(), &self.limits, bytes_max);
            stream.wire.next += stream.body.take(&stream.input[body_start..], &self.limits, &self.spool);
            stream.is_in_input = !stream.body.is_pending();
            self.start_body_clock(stream);
            // Bytes that have already arrived need no wait.
            self.receive_body(connection, stream);
            if self.refuse_body(connection, stream) {
                return false;
            }
            stream.held = self.hold_back(connection, stream, is_late);
            return !stream.held;
        }
        stream.held = false;
        stream.is_in_input = true;
        true
    }

    fn active_phase(&self, connection: &mut Connection, stream: &mut Stream) -> Next {
        let arrived = self.receive_body(connection, stream);
        if arrived && !stream.held {
            stream.wake_all(self.runtime);
        }
        if stream.held
            && let Some(next) = self.held_phase(connection, stream)
        {
            return next;
        }
        self.more_body(connection, stream)
    }

    /// Sends what is queued; returns whether more of the body is available than was received in this turn.
    fn more_body(&self, connection: &mut Connection, stream: &mut Stream) -> Next {
        let flushed = self.flush(connection, stream);
        match flushed {
            Flush::Broken => Next::Again,
            _ if connection.transport.broken => Next::Again,
            _ if connection.transport.readable && stream.body.is_wanted() => Next::Later,
            _ => Next::Wait,
        }
    }

    /// Receives the part of the body that is available and wanted. Returns whether the handler must be notified.
    pub(crate) fn receive_body(&self, connection: &mut Connection, stream: &mut Stream) -> bool {
        /// Bytes received for one connection before others get their turn.
        const BYTES_PER_TURN: usize = 256 * 1024;
        let (mut taken, mut news) = (0, false);
        let mut scratch = self.scratch.borrow_mut();
        while connection.transport.readable && stream.body.is_wanted() && taken < BYTES_PER_TURN {
            let wanted = stream.body.wanted().min(scratch.len() as u64) as usize;
            match connection.transport.receive(&mut scratch[..wanted]) {
                Received::Bytes(count) => {
                    let used = stream.body.take(&scratch[..count], &self.limits, &self.spool);
                    stream.wire.carry.extend_from_slice(&scratch[used..count]);
                    stream.body_since = self.runtime.turn_time();
                    taken += count;
                }
                Received::Nothing => break,
                Received::End => stream.body.end(),
                Received::Broken => return true,
            }
            news = true;
        }
        news
    }

    /// An answer is complete, and about to be sent with the others of this turn.
    fn count_answer(&self, stream: &mut Stream) {
        stream.is_counted = true;
        let (turn, mut at) = self.answered.get();
        if turn != self.runtime.turn_time() {
            at = weft_rt::clock::now();
            self.answered.set((self.runtime.turn_time(), at));
        }
        let took = at.saturating_sub(stream.since);
        self.answers_like(stream).add(stream.status, took);
        if stream.head.is_traced() {
            self.tell_trace(stream, took);
        }
    }

    #[cold]
    fn tell_trace(&self, stream: &Stream, took: Nanos) {
        // Of bytes that are no head nothing can be told.
        let received = (stream.head_bytes > 0).then(|| Traceparent::of_head(&stream.head, stream.bytes()));
        if let Some(received) = received.flatten().filter(|received| received.sampled) {
            self.handler.traced(received.trace, took);
        }
    }

    fn ended_phase(&self, connection: &mut Connection, stream: &mut Stream) -> Next {
        if !stream.is_counted && !connection.is_admin {
            self.count_answer(stream);
        }
        if self.wants_summaries && !stream.reported {
            return Next::Report;
        }
        if connection.tunnel.is_some() {
            return match self.flush(connection, stream) {
                Flush::Done => Next::Tunnel,
                Flush::Broken => Next::Again,
                Flush::Blocked { .. } => Next::Wait,
            };
        }
        if connection.transport.carried().is_some() {
            return self.ended_stream(connection, stream);
        }
        if stream.wire.keep_alive && stream.body.is_pending() {
            return self.discard_body(connection, stream);
        }
        if stream.wire.keep_alive && stream.body.is_complete() {
            // A small response may wait for the next one, because `Head` sends it if there is no next request yet.
            let small = stream.out.is_in_memory() && stream.out.pending() < BATCH_BYTES;
            if small || stream.out.is_empty() {
                stream.next_request(self.runtime.turn_time());
                connection.phase = Phase::Head;
                if stream.unparsed() > 0 || connection.transport.readable {
                    self.waits_unread(stream.connection, connection);
                }
                return Next::Again;
            }
            return match self.flush(connection, stream) {
                Flush::Done | Flush::Broken => Next::Again,
                Flush::Blocked { .. } => Next::Wait,
            };
        }
        self.end_connection(connection, stream)
    }

    /// The response has ended before the body: the rest is dropped, unless it is too much.
    fn discard_body(&self, connection: &mut Connection, stream: &mut Stream) -> Next {
        if !stream.body.discarding {
            stream.body.discarding = true;
            stream.wire.discard_from = stream.body.received();
        }
        self.receive_body(connection, stream);
        if stream.body.received() - stream.wire.discard_from > self.limits.discard_bytes_max {
            stream.wire.keep_alive = false;
        }
        if !stream.wire.keep_alive || !stream.body.is_pending() || connection.transport.broken {
            stream.wire.keep_alive &= stream.body.is_complete();
            return Next::Again;
        }
        self.more_body(connection, stream)
    }

    /// Sends what is queued, and wakes writers if there is room again.
    pub(crate) fn flush(&self, connection: &mut Connection, stream: &mut Stream) -> Flush {
        if stream.out.is_empty() && !connection.transport.has_unsent() {
            return Flush::Done;
        }
        let flushed = stream.out.flush(&mut connection.transport);
        self.flushed(connection, stream, flushed);
        flushed
    }

    /// Handles the outcome of a flush.
    pub(crate) fn flushed(&self, connection: &mut Connection, stream: &mut Stream, flushed: Flush) {
        match flushed {
            Flush::Done => stream.blocked_since = 0,
            Flush::Blocked { sent } => {
                if sent > 0 || stream.blocked_since == 0 {
                    stream.blocked_since = self.runtime.turn_time();
                }
            }
            Flush::Broken => connection.transport.broken = true,
        }
        self.note_waiting(connection, stream);
        let low = self.buffer_bytes_max() / 2;
        if stream.out.pending() <= low || connection.transport.broken {
            stream.wake_all(self.runtime);
        }
    }

    /// Answers bytes that are not a valid request, or an incomplete request that is too late.
    pub(crate) fn refuse(&self, connection: &mut Connection, stream: &mut Stream, reject: Reject) {
        self.stats.refused.set(self.stats.refused.get() + 1);
        self.encode_error(connection, stream, reject.status, reject.reason, None);
        let line = stream.request_line();
        self.refusal.set(Some(Refusal {
            peer: connection.peer,
            reject,
            line: line[..line.len().min(Refusal::LINE_BYTES_MAX)].to_vec(),
            body_bytes: stream.written,
            duration: weft_rt::clock::now().saturating_sub(stream.since),
        }));
        stream.wire.refused = true;
        stream.wire.keep_alive = false;
        stream.reported = true;
        stream.open = false;
        connection.phase = Phase::Ended;
    }

    /// The handler has completed the response.
    pub(crate) fn end_response(&self, connection: &mut Connection, stream: &mut Stream) {
        stream.open = false;
        connection.phase = Phase::Ended;
        self.stats.in_flight.set(self.stats.in_flight.get() - 1);
        if let Stage::Waiting = stream.stage {
            stream.wire.keep_alive = false;
        }
        stream.wake_all(self.runtime);
        self.offer_answered(connection, stream);
    }
}
