//! One request and its response, and the buffers that both need.
//!
//! An idle connection has none: an exchange comes from a [`Pool`] when bytes arrive and returns when everything is
//! answered. Invariant: `input` neither moves nor changes from a request's dispatch to the end of its response,
//! because the request's fields are slices of it; bytes that arrive meanwhile go elsewhere.

use weft_proto::{Head, Sent, SentBody};
use weft_rt::{Nanos, Readiness, Runtime, Wait};

use crate::outgoing::Outgoing;
use crate::store::Store;

/// Initial size of an input buffer; it grows to the size of a request. Each of thousands of requests in flight
/// has one.
const INPUT_BYTES: usize = 256;
/// Input buffers that grew beyond this are not kept.
const INPUT_KEPT_BYTES_MAX: usize = 4 * 1024;
/// Buffers that grew beyond this are not kept.
const KEPT_BYTES_MAX: usize = 64 * 1024;
/// Exchanges kept for the next requests.
const POOLED_MAX: usize = 128;

/// The progress of the response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// No byte of it has been queued.
    Waiting,
    /// Its head has been queued; this much is known of the body.
    Started(SentBody),
}

/// A request, its response, and their buffers.
pub(crate) struct Exchange {
    /// The bytes received; the request begins at `start`.
    pub input: Vec<u8>,
    pub start: usize,
    pub head: Head,
    /// The length of the head; 0 while it is incomplete.
    pub head_bytes: usize,
    /// Where the next request begins.
    pub next: usize,
    /// Bytes received beyond the body while `input` must not change.
    pub carry: Vec<u8>,
    pub body: Store,
    pub out: Outgoing,
    pub stage: Stage,
    pub status: u16,
    /// Whether the handler gets the request only when more of its body has arrived.
    pub held: bool,
    /// Whether another request may follow.
    pub keep_alive: bool,
    /// Whether the request was refused before its end was known: the rest of its bytes mean nothing.
    pub refused: bool,
    /// Whether the part of the response that does not fit in memory may wait for the peer in a temporary file.
    pub spools: bool,
    /// Bytes of it that are counted as waiting in memory.
    pub counted: usize,
    /// Bytes of the response's body so far, as the handler provided them.
    pub written: u64,
    /// Whether the handler wrote more than it announced and has been told so.
    pub overrun: bool,
    /// Whether the handler has had its summary.
    pub reported: bool,
    /// Coroutines that are parked on the body or on room for the response.
    pub waiters: Vec<Wait>,
    /// When the first byte of the request was seen.
    pub since: Nanos,
    /// Bytes of the body that had arrived when the server began to drop the rest.
    pub discard_from: u64,
    /// When the body last made progress.
    pub body_since: Nanos,
    /// When the measurement of its pace began, and how much of it had arrived then.
    pub pace_since: Nanos,
    pub pace_from: u64,
    /// When the peer last took bytes, while some wait for it; 0 if none do.
    pub blocked_since: Nanos,
}

impl Exchange {
    fn new() -> Exchange {
        Exchange {
            input: Vec::with_capacity(INPUT_BYTES),
            start: 0,
            head: Head::new(),
            head_bytes: 0,
            next: 0,
            carry: Vec::new(),
            body: Store::default(),
            out: Outgoing::default(),
            stage: Stage::Waiting,
            status: 0,
            held: false,
            keep_alive: true,
            refused: false,
            spools: false,
            counted: 0,
            written: 0,
            overrun: false,
            reported: false,
            waiters: Vec::new(),
            since: 0,
            discard_from: 0,
            body_since: 0,
            pace_since: 0,
            pace_from: 0,
            blocked_since: 0,
        }
    }

    /// The bytes to which [`Head`]'s offsets refer.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.input[self.start..]
    }

    /// The part of the request line that was received, without its end.
    pub(crate) fn request_line(&self) -> &[u8] {
        let bytes = self.bytes();
        // RFC 9112 2.2: empty lines before it are ignored.
        let start = bytes.iter().position(|byte| !b"\r\n".contains(byte)).unwrap_or(bytes.len());
        let line = &bytes[start..];
        &line[..line.iter().position(|byte| b"\r\n".contains(byte)).unwrap_or(line.len())]
    }

    /// Bytes of a request that were received but not parsed yet.
    pub(crate) fn unparsed(&self) -> usize {
        self.input.len() - self.start
    }

    /// Moves on from an answered request to the bytes after it.
    pub(crate) fn advance(&mut self, now: Nanos) {
        self.start = self.next;
        if !self.carry.is_empty() {
            self.compact();
            self.input.append(&mut self.carry);
        } else if self.start == self.input.len() {
            self.input.clear();
            self.start = 0;
        }
        self.head_bytes = 0;
        self.next = self.start;
        self.stage = Stage::Waiting;
        (self.status, self.written, self.reported) = (0, 0, false);
        (self.spools, self.overrun) = (false, false);
        self.keep_alive = true;
        self.since = now;
        self.body.clear();
    }

    /// Moves the unparsed bytes to the start of the buffer.
    pub(crate) fn compact(&mut self) {
        if self.start > 0 {
            self.input.drain(..self.start);
            (self.start, self.next) = (0, 0);
        }
    }

    /// Wakes all coroutines that are parked on this exchange; each checks again for itself.
    pub(crate) fn wake_all(&mut self, runtime: &Runtime) {
        for wait in self.waiters.drain(..) {
            runtime.wake(wait, Readiness::default());
        }
    }

    /// Records what the head promised.
    pub(crate) fn begin_response(&mut self, status: u16, sent: Sent) {
        self.status = status;
        self.stage = Stage::Started(sent.body);
        self.keep_alive = sent.keep_alive;
    }
}

/// Exchanges that wait for a request, the last used first.
#[derive(Default)]
#[allow(clippy::vec_box)] // an exchange is large; connections hold it boxed, so moving it moves a pointer
pub(crate) struct Pool {
    idle: Vec<Box<Exchange>>,
}

impl Pool {
    pub(crate) fn take(&mut self) -> Box<Exchange> {
        self.idle.pop().unwrap_or_else(|| Box::new(Exchange::new()))
    }

    /// Takes back an exchange, whatever happened to its request.
    pub(crate) fn give(&mut self, mut exchange: Box<Exchange>) {
        exchange.head.clear();
        exchange.waiters.clear();
        // Cleared before it moves on to the next request, which would take these bytes for its beginning.
        exchange.input.clear();
        exchange.carry.clear();
        (exchange.start, exchange.next) = (0, 0);
        (exchange.refused, exchange.blocked_since) = (false, 0);
        exchange.advance(0);
        self.give_unused(exchange);
    }

    /// Takes back an exchange that has moved on to the next request and has seen no byte of it.
    pub(crate) fn give_unused(&mut self, mut exchange: Box<Exchange>) {
        if self.idle.len() >= POOLED_MAX {
            return;
        }
        if exchange.input.capacity() > INPUT_KEPT_BYTES_MAX {
            exchange.input = Vec::with_capacity(INPUT_BYTES);
        }
        exchange.out.clear();
        if exchange.out.bytes.capacity() > KEPT_BYTES_MAX {
            exchange.out.bytes = Vec::new();
        }
        exchange.carry = Vec::new();
        self.idle.push(exchange);
    }
}
