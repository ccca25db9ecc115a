//! A stream: one request and its answer, with the buffers that both need.
//!
//! It is what a [`RequestKey`] names. An idle connection has none: `streams.rs` lends it one when bytes
//! arrive and takes it back when everything is answered. Must not know how its connection frames it, nor how bytes
//! travel. Invariant: `input` neither moves nor changes from a request's dispatch to the end of its response, because the
//! request's fields are slices of it; bytes that arrive meanwhile go elsewhere.

pub(crate) mod body;
pub(crate) mod coded;
pub(crate) mod hold;
pub(crate) mod outgoing;
pub(crate) mod request;
pub(crate) mod respond;
pub(crate) mod store;
pub(crate) mod streams;
pub(crate) mod wait;
pub(crate) mod waiting;
pub(crate) mod write;

use std::cell::Cell;

use weft_proto::{Head, Sent, SentBody};
use weft_rt::{Nanos, Readiness, Runtime, Wait};

use crate::coder::Coder;
use crate::http1::wire::Wire;
use crate::keys::RequestKey;
use crate::parcel::RETRIED;
use crate::tally::Tally;
use outgoing::Outgoing;
use store::Store;

/// Initial size of an input buffer; it grows to the size of a request. Each of thousands of requests in flight
/// has one.
const INPUT_BYTES: usize = 256;
/// Input buffers that grew beyond this are not kept.
const INPUT_KEPT_BYTES_MAX: usize = 4 * 1024;
/// Buffers that grew beyond this are not kept.
const KEPT_BYTES_MAX: usize = 64 * 1024;

/// Names and values of header fields that requests share.
pub type Fields = std::rc::Rc<[(Vec<u8>, Vec<u8>)]>;

/// The progress of the response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// No byte of it has been queued.
    Waiting,
    /// Its head has been queued; this much is known of the body.
    Started(SentBody),
}

/// What became of a request when its worker failed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Fate {
    /// Nothing yet.
    #[default]
    Open,
    /// Another worker has it.
    Left,
    /// It was answered with this status, and a body of so many bytes.
    Failed(u16, u64),
    /// Its answer was cut off.
    CutOff,
}

/// A request, its response, and their buffers.
pub(crate) struct Stream {
    /// The slot of its connection.
    pub connection: u32,
    /// What names its present request, or its last one.
    pub key: RequestKey,
    /// Whether the request is complete enough to have a key, and its response has not ended.
    pub open: bool,
    /// The bytes received; the request begins at `start`.
    pub input: Vec<u8>,
    pub start: usize,
    pub head: Head,
    /// The length of the head; 0 while it is incomplete.
    pub head_bytes: usize,
    pub body: Store,
    pub out: Outgoing,
    pub stage: Stage,
    pub status: u16,
    /// Whether the handler gets the request only when more of its body has arrived.
    pub held: bool,
    /// Whether the request waits for its turn, and nothing depends on it yet.
    pub waits: bool,
    /// Whether it had begun in another worker, which has failed.
    pub is_retried: bool,
    /// What became of it when this worker failed.
    pub fate: Cell<Fate>,
    /// Whether all that was received of the request is in `input`.
    pub is_in_input: bool,
    /// Whether the part of the response that does not fit in memory may wait for the peer in a temporary file.
    pub spools: bool,
    /// Bytes of it that are counted as waiting in memory.
    pub counted: usize,
    /// What its body passes through if it is compressed piece by piece.
    pub coder: Option<Box<Coder>>,
    /// Field lines that its head gets unless the handler names such fields itself.
    pub fields: Option<Fields>,
    /// Bytes of the response's body so far, as the handler provided them.
    pub written: u64,
    /// Whether the handler wrote more than it announced and has been told so.
    pub overrun: bool,
    /// Whether the handler has had its summary.
    pub reported: bool,
    /// Whether its answer is in the counters.
    pub is_counted: bool,
    /// Where it is counted, if that is known.
    pub tally: Cell<Option<&'static Tally>>,
    /// Whether its mark was told or asked for; if it has no tally all the same, its mark is [`UNKNOWN`](crate::UNKNOWN).
    pub is_marked: Cell<bool>,
    /// Coroutines that are parked on the body or on room for the response.
    pub waiters: Vec<Wait>,
    /// When the first byte of the request was seen.
    pub since: Nanos,
    /// When the body last made progress.
    pub body_since: Nanos,
    /// When the measurement of its pace began, and how much of it had arrived then.
    pub pace_since: Nanos,
    pub pace_from: u64,
    /// When the peer last took bytes, while some wait for it; 0 if none do.
    pub blocked_since: Nanos,
    /// What HTTP/1.1 keeps beside it.
    pub wire: Wire,
}

impl Stream {
    /// A stream for a connection, in the slot whose last request had this key.
    pub(crate) fn new(key: RequestKey, connection: u32) -> Stream {
        Stream {
            connection,
            key,
            open: false,
            input: Vec::with_capacity(INPUT_BYTES),
            start: 0,
            head: Head::new(),
            head_bytes: 0,
            body: Store::default(),
            out: Outgoing::default(),
            stage: Stage::Waiting,
            status: 0,
            held: false,
            waits: false,
            is_retried: false,
            fate: Cell::default(),
            is_in_input: false,
            spools: false,
            counted: 0,
            coder: None,
            fields: None,
            written: 0,
            overrun: false,
            reported: false,
            is_counted: false,
            tally: Cell::new(None),
            is_marked: Cell::new(false),
            waiters: Vec::new(),
            since: 0,
            body_since: 0,
            pace_since: 0,
            pace_from: 0,
            blocked_since: 0,
            wire: Wire::default(),
        }
    }

    /// What is said of it to its next owner.
    pub(crate) fn retried_bit(&self) -> u32 {
        if self.is_retried { RETRIED } else { 0 }
    }

    /// The bytes to which [`Head`]'s offsets refer.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.input[self.start..]
    }

    /// What begins with the path of its target, as sent, and the length of that path.
    #[inline]
    pub(crate) fn path_on(&self) -> Option<(&[u8], usize)> {
        let (at, length) = self.head.path_place();
        Some((self.input.get(self.start + at..)?, length))
    }

    /// Wakes all coroutines that are parked on this stream; each checks again for itself.
    pub(crate) fn wake_all(&mut self, runtime: &Runtime) {
        for wait in self.waiters.drain(..) {
            runtime.wake(wait, Readiness::default());
        }
    }

    /// Records what the head promised.
    pub(crate) fn begin_response(&mut self, status: u16, sent: Sent) {
        self.status = status;
        self.stage = Stage::Started(sent.body);
        self.wire.keep_alive = sent.keep_alive;
    }

    /// Makes it ready for another request.
    pub(crate) fn renew(&mut self, now: Nanos) {
        self.head_bytes = 0;
        self.stage = Stage::Waiting;
        (self.status, self.written, self.reported, self.is_counted) = (0, 0, false, false);
        (self.spools, self.overrun, self.waits, self.is_retried) = (false, false, false, false);
        self.since = now;
        self.tally.set(None);
        self.is_marked.set(false);
        self.fields = None;
        self.coder = None;
        self.body.clear();
    }

    /// Forgets its request, whatever happened to it, and all bytes.
    pub(crate) fn forget(&mut self) {
        self.open = false;
        self.head.clear();
        self.waiters.clear();
        self.input.clear();
        self.start = 0;
        self.blocked_since = 0;
        self.wire = Wire::default();
        self.renew(0);
    }

    /// Gives back the memory that a usual request does not need.
    pub(crate) fn shrink(&mut self) {
        if self.input.capacity() > INPUT_KEPT_BYTES_MAX {
            self.input = Vec::with_capacity(INPUT_BYTES);
        }
        self.out.clear();
        if self.out.bytes.capacity() > KEPT_BYTES_MAX {
            self.out.bytes = Vec::new();
        }
        self.wire.carry = Vec::new();
    }
}
