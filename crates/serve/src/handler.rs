//! What the server asks of whoever answers, and what it counts.
//!
//! Must not know how a request is answered, nor what a connection is.

use std::cell::Cell;

use weft_proto::Reject;
use weft_rt::Nanos;

use crate::address::Peer;
use crate::request::Summary;
use crate::table::RequestKey;

/// Answers requests. PHP is one of these to the server.
pub trait Handler {
    /// A request's head is complete. Called from the loop with nothing borrowed; the handler answers before it returns,
    /// or lets a coroutine answer later. Every request MUST be ended: by a response, or by
    /// [`Server::abort`](crate::Server::abort).
    fn request(&self, key: RequestKey);

    /// How many more requests can be begun now. Beyond that they wait unread, in order, within `queue_max` and
    /// `queue_timeout_ms` of [`ServerLimits`](crate::ServerLimits). By default there is always room. This MUST NOT call the server.
    fn room(&self) -> usize {
        usize::MAX
    }

    /// As [`Handler::request`], for one that there was no room for: the answer should be 503.
    fn turn_away(&self, key: RequestKey) {
        self.request(key);
    }

    /// Whether [`Handler::finished`] is to be called. Asked once.
    fn wants_summaries(&self) -> bool {
        false
    }

    /// Whether so much is taken of what requests share that none should begin before its whole body is there, as one that waits
    /// for a slow client could keep others out. This MUST NOT call the server.
    fn is_busy(&self) -> bool {
        false
    }

    /// Whether a streamed response may go on in a temporary file while its peer is slow, so that whoever writes it is done
    /// sooner. Else it waits for the peer. Asked once.
    fn spools_streams(&self) -> bool {
        false
    }

    /// A response has ended. The summary lends the request's bytes: this MUST NOT call the server.
    fn finished(&self, _summary: &Summary<'_>) {}

    /// The server has answered bytes that are no request, none that it serves, or none in time. Called with nothing
    /// borrowed.
    fn refused(&self, _refusal: &Refusal) {}

    /// The operator should know this. By default it goes to standard error.
    fn warn(&self, message: &str) {
        eprintln!("weft: {message}");
    }
}

/// Bytes that the server has answered by itself.
#[derive(Debug)]
pub struct Refusal {
    /// Who sent them.
    pub peer: Peer,
    /// Why, and with which status.
    pub reject: Reject,
    /// The request line as far as it was received: at most [`Refusal::LINE_BYTES_MAX`] bytes.
    pub line: Vec<u8>,
    /// Bytes of the answer's content.
    pub body_bytes: u64,
    /// From the first byte to the answer.
    pub duration: Nanos,
}

impl Refusal {
    /// More of a request line that was refused is not kept.
    pub const LINE_BYTES_MAX: usize = 1024;
}

/// Counters since start; gauges where said so.
#[derive(Default, Debug)]
pub struct Stats {
    /// Connections accepted.
    pub accepted: Cell<u64>,
    /// Requests dispatched.
    pub requests: Cell<u64>,
    /// Heads answered with an error by the server itself.
    pub refused: Cell<u64>,
    /// Connections that met one of the deadlines of [`ServerLimits`](crate::ServerLimits), idle ones included.
    pub timed_out: Cell<u64>,
    /// Connections closed to make room for new ones.
    pub evicted: Cell<u64>,
    /// Gauge: connections.
    pub connections: Cell<usize>,
    /// Gauge: connections that hold buffers.
    pub busy: Cell<usize>,
    /// Gauge: requests whose response has not ended.
    pub in_flight: Cell<usize>,
}
