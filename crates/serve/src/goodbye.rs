//! What a worker that fails says last: to peers whose connections cannot leave it, because only this process has their
//! state (TLS's keys, HTTP/2's compression, a WebSocket), and to the handler about each request that ends here.
//!
//! It follows `rescue.rs` in the same handler of signals, and does what that must not: it allocates and changes the table.
//! So it may fail in its turn or never return; its caller ends the process then. Must not know what has failed.
//! Invariants: nothing is done if the failure has interrupted code that has the table, because TLS must not encrypt two
//! records with one number; no request begins; an answer that is cut off gets no goodbye, so that its peer can tell.

use h2::Reason;
use weft_proto::Reject;
use weft_proto::websocket::CloseCode;

use crate::connection::{Connection, Phase};
use crate::handler::Refusal;
use crate::keys::RequestKey;
use crate::rescue::{has_begun, page};
use crate::server::Server;
use crate::stream::outgoing::Flush;
use crate::stream::request::Summary;
use crate::stream::{Fate, Stage, Stream};
use crate::table::Table;
use crate::transport::{Received, Transport};

/// Bytes that are dropped for one connection: what is unread when it is closed would destroy what was said last.
const DROPPED_BYTES_MAX: usize = 256 * 1024;

/// What became of the requests whose connections could not leave.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Goodbyes {
    /// Requests that had not begun, and whose clients were told that they may send them again.
    pub refused: u32,
    /// Requests that were answered with an error.
    pub failed: u32,
    /// Requests whose answer was cut off.
    pub cut_off: u32,
}

impl Server {
    /// Says goodbye to all that [`Server::rescue`] has left, `culprit` with 504 if `is_late`. For a handler of signals on
    /// the loop's thread; the process MUST end after it, and soon even if it does not return.
    pub fn say_goodbye(&self, culprit: Option<RequestKey>, is_late: bool) -> Goodbyes {
        let mut goodbyes = Goodbyes::default();
        // Whoever has one of them was interrupted, and what it has may be half changed.
        let is_free = self.table.try_borrow_mut().is_ok()
            && self.carriers.try_borrow_mut().is_ok()
            && self.tunnels.try_borrow_mut().is_ok()
            && self.scratch.try_borrow_mut().is_ok();
        if is_free {
            let table = &mut self.table.borrow_mut();
            self.answer_kept(table, culprit, is_late, &mut goodbyes);
            self.end_tunnels(table);
            self.end_carriers(table, &mut goodbyes);
            self.end_encrypted(table);
            self.report_all(table);
        }
        goodbyes
    }

    /// The requests of connections that could not leave.
    fn answer_kept(
        &self,
        table: &mut Table,
        culprit: Option<RequestKey>,
        is_late: bool,
        goodbyes: &mut Goodbyes,
    ) {
        let is_kept = |connection: &Connection| {
            !connection.transport.is_plain()
                && !connection.transport.broken
                && matches!(connection.phase, Phase::Idle | Phase::Head | Phase::Active | Phase::Ended)
        };
        let kept: Vec<u32> = table.occupied().filter(|kept| is_kept(kept.2)).map(|kept| kept.0).collect();
        for index in kept {
            let Some((connection, streams)) = table.parts(index) else { continue };
            if let (Phase::Idle | Phase::Head, Some(carried)) =
                (connection.phase, connection.transport.carried_mut())
            {
                carried.refuse();
                goodbyes.refused += 1;
                continue;
            }
            let stream = connection.stream.and_then(|number| streams.get_mut(number));
            let Some(stream) = stream else { continue };
            match connection.phase {
                Phase::Active if stream.stage == Stage::Waiting && stream.out.is_empty() => {
                    let begun = Some(stream.key) == culprit || has_begun(self, stream);
                    let status = match begun {
                        false => 503,
                        true if is_late && Some(stream.key) == culprit => 504,
                        true => 502,
                    };
                    answer(connection, stream, status, goodbyes);
                }
                Phase::Active => cut_off(connection, stream, goodbyes),
                Phase::Ended => self.finish_answer(connection, stream, goodbyes),
                // A part of a head.
                _ => (),
            }
        }
    }

    /// Sends as much of an answer that is complete as the peer takes.
    fn finish_answer(&self, connection: &mut Connection, stream: &mut Stream, goodbyes: &mut Goodbyes) {
        let mut is_whole = true;
        if let Some(carried) = connection.transport.carried_mut() {
            is_whole = stream.wire.keep_alive || stream.wire.refused;
            carried.end();
        }
        if !is_whole || self.flush(connection, stream) != Flush::Done {
            cut_off(connection, stream, goodbyes);
        }
    }

    /// WebSockets: a close frame, if it can be said before the process ends.
    fn end_tunnels(&self, table: &mut Table) {
        let mut tunnels = self.tunnels.borrow_mut();
        let all: Vec<u32> =
            table.occupied().filter(|entry| entry.2.tunnel.is_some()).map(|entry| entry.0).collect();
        for index in all {
            let Some(connection) = table.at(index) else { continue };
            let Some(tunnel) = connection.tunnel.and_then(|number| tunnels.at(number.get())) else {
                continue;
            };
            tunnel.out.drop_messages();
            tunnel.out.close(CloseCode::INTERNAL_ERROR, "the worker has failed");
            // If the peer takes no more, it learns it from the end of the connection.
            let _ = tunnel.out.flush(&mut connection.transport);
        }
    }

    /// Connections of HTTP/2: what their streams have said, and GOAWAY (RFC 9113 6.8).
    fn end_carriers(&self, table: &mut Table, goodbyes: &mut Goodbyes) {
        for (index, carrier) in self.carriers.borrow_mut().iter_mut() {
            let Some(connection) = table.at(*index) else { continue };
            let mut arrived = Vec::new();
            carrier.poll(&mut arrived);
            for (_, mut answer) in arrived.drain(..) {
                answer.send_reset(Reason::REFUSED_STREAM);
                goodbyes.refused += 1;
            }
            carrier.poll(&mut arrived);
            let is_sent = carrier.send(&mut connection.transport, 0);
            carrier.end(Reason::NO_ERROR);
            if is_sent && carrier.send(&mut connection.transport, 0) && connection.transport.is_plain() {
                self.part(&mut connection.transport);
            }
        }
    }

    /// TLS: close_notify (RFC 8446 6.1), so that the end is known for one.
    fn end_encrypted(&self, table: &mut Table) {
        let all: Vec<u32> = table
            .occupied()
            .filter(|(_, _, connection, _)| connection.transport.session().is_some())
            .map(|(index, ..)| index)
            .collect();
        for index in all {
            let Some((connection, streams)) = table.parts(index) else { continue };
            let stream = connection.stream.and_then(|number| streams.get_mut(number));
            if stream.is_none_or(|stream| stream.fate.get() != Fate::CutOff) {
                self.part(&mut connection.transport);
            }
        }
    }

    /// Ends a connection of which everything has been said.
    fn part(&self, transport: &mut Transport) {
        transport.end_sending();
        let mut scratch = self.scratch.borrow_mut();
        let mut dropped = 0;
        while dropped < DROPPED_BYTES_MAX {
            match transport.discard(&mut scratch[..]) {
                Received::Bytes(count) => dropped += count,
                Received::Nothing | Received::End | Received::Broken => return,
            }
        }
    }

    /// The requests that have ended here and that the handler has not had.
    fn report_all(&self, table: &mut Table) {
        if !self.wants_summaries {
            return;
        }
        // Those that were offered have their bytes elsewhere.
        let offered: Vec<u32> =
            table.occupied().filter(|entry| entry.2.is_offered).map(|entry| entry.0).collect();
        offered.into_iter().for_each(|index| self.claim(index, table));
        for (_, _, connection, stream) in table.occupied() {
            let Some(stream) = stream.filter(|stream| !stream.reported) else { continue };
            let (status, body_bytes) = match stream.fate.get() {
                Fate::Failed(status, bytes) if connection.phase == Phase::Head => {
                    self.handler.refused(&unread(connection, stream, status, bytes));
                    continue;
                }
                Fate::Failed(status, bytes) => (status, bytes),
                Fate::CutOff if connection.phase != Phase::Head => (stream.status, stream.written),
                Fate::Open if connection.phase == Phase::Ended => (stream.status, stream.written),
                Fate::Open | Fate::Left | Fate::CutOff => continue,
            };
            let summary = self.summary(connection, stream, table.carrier_of(connection));
            self.handler.finished(&Summary { status, body_bytes, ..summary });
        }
    }
}

/// A request that was answered before its head was parsed.
fn unread(connection: &Connection, stream: &Stream, status: u16, body_bytes: u64) -> Refusal {
    let line = stream.request_line();
    Refusal {
        peer: connection.peer,
        reject: Reject { status, reason: "its worker has failed before it could begin" },
        line: line[..line.len().min(Refusal::LINE_BYTES_MAX)].to_vec(),
        body_bytes,
        duration: weft_rt::clock::now().saturating_sub(stream.since),
    }
}

/// Answers a request of which nothing was sent.
fn answer(connection: &mut Connection, stream: &mut Stream, status: u16, goodbyes: &mut Goodbyes) {
    let is_head = stream.head.method(stream.bytes()) == b"HEAD";
    let (head, body) = page(status);
    let body = if is_head { "" } else { body };
    let is_said = match connection.transport.carried_mut() {
        // RFC 9113 8.7: a client may send it again, whatever its method.
        Some(carried) if status == 503 => {
            carried.refuse();
            true
        }
        Some(carried) => carried.answer(status, body.as_bytes()),
        None => {
            let whole = [head, body].concat();
            connection.transport.send(whole.as_bytes(), false).is_ok_and(|count| count == whole.len())
        }
    };
    if !is_said {
        return cut_off(connection, stream, goodbyes);
    }
    stream.fate.set(Fate::Failed(status, body.len() as u64));
    *(if status == 503 { &mut goodbyes.refused } else { &mut goodbyes.failed }) += 1;
}

/// Lets the peer see that the answer is not whole.
fn cut_off(connection: &mut Connection, stream: &mut Stream, goodbyes: &mut Goodbyes) {
    if let Some(carried) = connection.transport.carried_mut() {
        carried.cut_off();
    }
    stream.fate.set(Fate::CutOff);
    goodbyes.cut_off += 1;
}
