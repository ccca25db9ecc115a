//! What a worker that fails does with its connections: it gives away what another worker can answer, and answers the rest.
//!
//! It runs in a handler of signals on the loop's thread, at any instruction of PHP's or of a library's code; the
//! process ends after it. Must not know what has failed. Invariants: nothing is allocated or freed, nobody is waited
//! for longer than [`PATIENCE`]; each request is given away or answered, never both; one that has begun is given away
//! only if its method is safe, nothing of its answer was sent and this has not happened to it before.

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::event::{Timespec, poll};
use rustix::net::{SendFlags, send};
use weft_rt::ledger::Offer;
use weft_rt::{MILLISECOND, Nanos, clock};

use crate::connection::{Connection, Phase};
use crate::keys::RequestKey;
use crate::parcel::{self, PARCEL_BYTES_MAX, RETRIED, SERVICES_MAX};
use crate::server::Server;
use crate::stream::request::RequestView;
use crate::stream::{Fate, Stage, Stream};
use crate::table::Table;

/// How long a failing worker waits for others to make room in the relay.
const PATIENCE: Nanos = 500 * MILLISECOND;

const BAD_GATEWAY: &str = "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 16\r\nConnection: close\r\n\r\n502 Bad Gateway\n";
const GATEWAY_TIMEOUT: &str = "HTTP/1.1 504 Gateway Timeout\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 20\r\nConnection: close\r\n\r\n504 Gateway Timeout\n";
const UNAVAILABLE: &str = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 24\r\nRetry-After: 1\r\nConnection: close\r\n\r\n503 Service Unavailable\n";

/// The head and the body of an answer with this status: 502, 503 or 504.
pub(crate) fn page(status: u16) -> (&'static str, &'static str) {
    let whole = match status {
        503 => UNAVAILABLE,
        504 => GATEWAY_TIMEOUT,
        _ => BAD_GATEWAY,
    };
    whole.split_at(whole.find("\r\n\r\n").map_or(whole.len(), |at| at + 4))
}

/// What became of the requests and connections of a worker that failed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Rescued {
    /// Requests that another worker answers.
    pub passed_on: u32,
    /// Requests that were answered with an error, the failing one included.
    pub failed: u32,
    /// Requests whose answer was cut off.
    pub cut_off: u32,
    /// Requests of connections that nobody else could go on with: TLS, HTTP/2.
    pub kept: u32,
    /// Idle connections that another worker has now.
    pub idle: u32,
}

/// The way out, and how long it is waited for.
struct Exit<'a> {
    relay: Option<&'a OwnedFd>,
    until: Nanos,
}

impl Exit<'_> {
    /// Passes a connection on; `offer` has what is known of it besides `bytes`.
    fn pass(&self, connection: BorrowedFd<'_>, offer: &Offer, bytes: &[u8], waits: bool) -> bool {
        let Some(relay) = self.relay.filter(|_| bytes.len() + offer.answer.len() <= PARCEL_BYTES_MAX) else {
            return false;
        };
        loop {
            if parcel::send_bytes(relay, connection, offer, bytes).is_ok() {
                return true;
            }
            if !waits || clock::now() >= self.until {
                return false;
            }
            pause(); // the relay is full, or too many descriptors are on their way
        }
    }
}

impl Server {
    /// Gives away what another worker can answer, and answers the rest: `culprit` with 504 if `is_late`, others with 502,
    /// or 503 if they had not begun. For a handler of signals on the loop's thread. The process MUST end after it without touching this
    /// server again.
    pub fn rescue(&self, culprit: Option<RequestKey>, is_late: bool) -> Rescued {
        let mut rescued = Rescued::default();
        let relay = self.ways_out.relay.try_borrow();
        let relay = relay.as_ref().ok().and_then(|relay| relay.as_ref());
        let exit = Exit { relay, until: clock::now() + PATIENCE };
        self.silence_deputy(&exit, &mut rescued);
        // If it is being changed, what it says of connections may be half true: only what was offered can leave.
        let table = self.table.try_borrow().ok();
        if let Some(table) = &table {
            let culprit = culprit.and_then(|key| table.active_ref(key));
            if let Some((connection, stream)) = culprit {
                rescued.fail(connection, stream, if is_late { 504 } else { 502 });
            }
        }
        self.leave_offered(table.as_deref(), &exit, true, &mut rescued);
        if let Some(table) = &table {
            self.leave_active(table, culprit, &exit, &mut rescued);
        }
        self.leave_offered(table.as_deref(), &exit, false, &mut rescued);
        for (_, _, connection, _) in table.iter().flat_map(|table| table.occupied()) {
            let is_idle = connection.phase == Phase::Idle && is_here(connection);
            let offer = Offer { word: connection.word(), ..Offer::default() };
            rescued.idle +=
                u32::from(is_idle && leaves(connection, |socket| exit.pass(socket, &offer, &[], false)));
        }
        rescued
    }

    /// What the deputy is just passing on would be lost if the process ended meanwhile.
    fn silence_deputy(&self, exit: &Exit<'_>, rescued: &mut Rescued) {
        let gate = self.ways_out.gate.try_borrow();
        let Some(gate) = gate.as_ref().ok().and_then(|gate| gate.as_ref()) else { return };
        let mut pass = |connection: BorrowedFd<'_>, word: u32| {
            let offer = Offer { word, ..Offer::default() };
            rescued.idle += u32::from(exit.pass(connection, &offer, &[], false));
        };
        while !gate.silence(&mut pass) && clock::now() < exit.until {
            pause();
        }
    }

    /// Lends a request that the handler has to `work`, for a handler of signals: `None` also if it has interrupted a
    /// change of the table.
    pub fn peek_request<T>(&self, key: RequestKey, work: impl FnOnce(RequestView<'_>) -> T) -> Option<T> {
        let table = self.table.try_borrow().ok()?;
        let (connection, stream) = table.active_ref(key)?;
        Some(work(RequestView::of(connection, stream, table.carrier_of(connection))))
    }

    /// Passes on what was offered: whole requests and answers, or the others.
    fn leave_offered(&self, table: Option<&Table>, exit: &Exit<'_>, whole: bool, rescued: &mut Rescued) {
        let Some(heir) = self.ways_out.heir.get() else { return };
        for offered in heir.offered().filter(|offered| offered.is_whole == whole) {
            heir.take(offered, |connection, offer| {
                let bytes = &offer.bytes[offer.done..];
                let counts = offer.bytes.len() + offer.answer.len() > 0;
                let has_left = exit.pass(connection, offer, bytes, counts);
                match (has_left, counts) {
                    (true, true) => rescued.passed_on += 1,
                    (true, false) => rescued.idle += 1,
                    (false, true) => {
                        let stream = table.and_then(|table| table.peek(offered.place));
                        rescued.answer_offered(connection, offer, stream.map(|(_, stream)| stream));
                    }
                    (false, false) => (),
                }
                has_left
            });
        }
    }

    /// All connections with a request that the loop had, but `culprit`.
    fn leave_active(
        &self,
        table: &Table,
        culprit: Option<RequestKey>,
        exit: &Exit<'_>,
        rescued: &mut Rescued,
    ) {
        for (_, _, connection, stream) in table.occupied() {
            let Some(stream) = stream.filter(|stream| is_here(connection) && Some(stream.key) != culprit)
            else {
                continue;
            };
            let word = connection.word() | stream.retried_bit();
            let offer = Offer { since: stream.since, word, ..Offer::default() };
            let is_plain = stream.wire.carry.is_empty() && stream.out.is_empty();
            let passes = |offer: &Offer| {
                let has_left =
                    is_plain && leaves(connection, |socket| exit.pass(socket, offer, stream.bytes(), true));
                if has_left {
                    stream.fate.set(Fate::Left);
                }
                has_left
            };
            match connection.phase {
                Phase::Head if stream.unparsed() == 0 || stream.wire.refused => (),
                Phase::Head => rescued.passed_on += u32::from(passes(&offer)),
                Phase::Active if !connection.transport.is_plain() => rescued.kept += 1,
                Phase::Active if stream.stage != Stage::Waiting => rescued.note_cut_off(stream),
                Phase::Active => {
                    let has_begun = has_begun(self, stream);
                    let is_safe = matches!(stream.head.method(stream.bytes()), b"GET" | b"HEAD" | b"OPTIONS");
                    let may_leave = stream.is_in_input && (!has_begun || is_safe && !stream.is_retried);
                    // It counts where it is answered.
                    let begun = if has_begun { RETRIED } else { 0 };
                    let offer = Offer { word: offer.word.saturating_sub(1) | begun, ..offer };
                    if may_leave && passes(&offer) {
                        rescued.passed_on += 1;
                    } else {
                        rescued.fail(connection, stream, if has_begun { 502 } else { 503 });
                    }
                }
                Phase::Ended => {
                    // As much of it as the socket takes.
                    if let Some(bytes) = stream.out.all_in_memory().filter(|bytes| !bytes.is_empty()) {
                        answers(connection, |socket| say(socket, bytes));
                    }
                }
                Phase::Announced
                | Phase::Opening
                | Phase::Idle
                | Phase::Linger
                | Phase::Carrier
                | Phase::Tunnel => (),
            }
        }
    }
}

impl Rescued {
    /// Sends the answer of what was offered and cannot leave, or that it has not begun.
    fn answer_offered(&mut self, connection: BorrowedFd<'_>, offer: &Offer, stream: Option<&Stream>) {
        let (head, body) = page(503);
        let body = if offer.bytes[offer.done..].starts_with(b"HEAD ") { "" } else { body };
        let has_answer = !offer.answer.is_empty();
        let is_said = if has_answer {
            say(connection, &offer.answer)
        } else {
            say(connection, head.as_bytes()) && say(connection, body.as_bytes())
        };
        let fate = match (is_said, has_answer) {
            (true, true) => Fate::Open,
            (true, false) => Fate::Failed(503, body.len() as u64),
            (false, _) => Fate::CutOff,
        };
        self.failed += u32::from(matches!(fate, Fate::Failed(..)));
        self.cut_off += u32::from(fate == Fate::CutOff);
        if let Some(stream) = stream {
            stream.fate.set(fate);
        }
    }

    /// Answers a request with an error, if its answer has not begun.
    fn fail(&mut self, connection: &Connection, stream: &Stream, status: u16) {
        if !connection.transport.is_plain() && is_here(connection) {
            self.kept += 1;
            return;
        }
        let (head, body) = page(status);
        let is_head = stream.head.method(stream.bytes()) == b"HEAD";
        let body = if is_head { "" } else { body };
        let can_answer = is_here(connection) && stream.stage == Stage::Waiting && stream.out.is_empty();
        let says = |socket: BorrowedFd<'_>| say(socket, head.as_bytes()) && say(socket, body.as_bytes());
        if can_answer && answers(connection, says) {
            stream.fate.set(Fate::Failed(status, body.len() as u64));
            self.failed += 1;
        } else {
            self.note_cut_off(stream);
        }
    }

    fn note_cut_off(&mut self, stream: &Stream) {
        stream.fate.set(Fate::CutOff);
        self.cut_off += 1;
    }
}

/// Whether a coroutine has a request.
pub(crate) fn has_begun(server: &Server, stream: &Stream) -> bool {
    let arrived_now = || server.arrived.try_borrow().is_ok_and(|arrived| arrived.contains(&stream.key));
    !stream.waits && !stream.held && !arrived_now()
}

/// Whether it is this worker's.
fn is_here(connection: &Connection) -> bool {
    !connection.is_offered && !connection.is_gone && !connection.transport.broken
}

/// Whether `work` succeeds with the socket, which others can use only where it has no other protocol's state.
fn leaves(connection: &Connection, work: impl FnOnce(BorrowedFd<'_>) -> bool) -> bool {
    let is_named = u32::from(connection.service) < SERVICES_MAX;
    connection.transport.to_pass_on().filter(|_| is_named).is_some_and(work)
}

/// Whether `work` succeeds with the socket, on which plain bytes are understood.
fn answers(connection: &Connection, work: impl FnOnce(BorrowedFd<'_>) -> bool) -> bool {
    connection.transport.plain_socket().is_some_and(work)
}

/// No hook sees it.
fn pause() {
    // Any end of it is an end.
    let _ = poll(&mut [], Some(&Timespec { tv_sec: 0, tv_nsec: MILLISECOND as _ }));
}

/// Whether a socket takes all of it: if the peer does not read, it gets no more.
fn say(connection: BorrowedFd<'_>, bytes: &[u8]) -> bool {
    let sent = send(connection, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    sent.is_ok_and(|count| count == bytes.len())
}
