//! What the server requires of the code that answers requests.
//!
//! Must not know how a request is answered, nor what a connection is.

use weft_proto::{Head, Reject};
use weft_rt::Nanos;

use crate::address::Peer;
use crate::keys::RequestKey;
use crate::keys::TunnelKey;
use crate::stream::request::Summary;

/// Answers requests. To the server, PHP is one of these.
pub trait Handler {
    /// A request's head is complete. The loop calls this with nothing borrowed. The handler answers before it returns,
    /// or lets a coroutine answer later. Every request MUST be ended: by a response, or by
    /// [`Server::abort`](crate::Server::abort).
    fn request(&self, key: RequestKey);

    /// How many more requests can begin now. Beyond that they wait unread, in order, within `queue_max` and
    /// `queue_timeout_ms` of [`ServerLimits`](crate::ServerLimits). By default there is always room. This MUST NOT call
    /// the server.
    fn room(&self) -> usize {
        usize::MAX
    }

    /// Like [`Handler::request`], for a request for which there was no room: the answer should be 503.
    fn turn_away(&self, key: RequestKey) {
        self.request(key);
    }

    /// How many bytes the body of a request with this head, which was parsed from these bytes, may have; more than
    /// [`ServerLimits`](crate::ServerLimits) allows is never taken. Beyond it 413. This MUST NOT call the server.
    fn body_bytes_max(&self, _head: &Head, _bytes: &[u8], _peer: Peer) -> u64 {
        u64::MAX
    }

    /// Whether the server should call [`Handler::finished`]. Asked once.
    fn wants_summaries(&self) -> bool {
        false
    }

    /// Whether so much of the resources that requests share is in use that none should begin before its whole body has
    /// arrived: a request that waits for a slow client could keep others out. This MUST NOT call the server.
    fn is_busy(&self) -> bool {
        false
    }

    /// Whether a streamed response may continue in a temporary file while its peer is slow, so that its writer finishes
    /// sooner. Otherwise the writer waits for the peer. Asked once.
    fn spools_streams(&self) -> bool {
        false
    }

    /// How many events of tunnels can be handled now; the others wait, and their peers with them. This MUST NOT call the
    /// server.
    fn event_room(&self) -> usize {
        self.room()
    }

    /// A tunnel has an event: [`Server::take_event`](crate::Server::take_event) returns it, here or on a coroutine, and
    /// [`Server::event_done`](crate::Server::event_done) MUST follow. Called from the loop with nothing borrowed, while
    /// there is [`Handler::event_room`].
    fn tunnel(&self, _key: TunnelKey) {}

    /// The mark of a request that was not [marked](crate::Server::mark) when it was needed, by its path as sent; 0: none. The
    /// server may remember it for other requests for the same path, unless it is [`UNKNOWN`](crate::UNKNOWN). Asked only
    /// where the server [counts by mark](crate::Server::count_by_mark). This MUST NOT call the server.
    fn mark(&self, _path: &[u8]) -> u16 {
        0
    }

    /// The mark under which a request is counted that has the mark [`UNKNOWN`](crate::UNKNOWN), now that its status is known.
    /// This MUST NOT call the server.
    fn mark_answered(&self, _path: &[u8], _status: u16) -> u16 {
        crate::UNKNOWN
    }

    /// A request was answered that is part of this trace, which its client records; it took so long. This MUST NOT call the
    /// server.
    fn traced(&self, _trace: u128, _duration: Nanos) {}

    /// A response has ended. The summary lends the request's bytes: this MUST NOT call the server.
    fn finished(&self, _summary: &Summary<'_>) {}

    /// The server has answered bytes that are not a valid request, or a request that it does not serve, or that
    /// came too late. Called with nothing borrowed.
    fn refused(&self, _refusal: &Refusal) {}

    /// A connection was closed because its peer should have sent a header of the PROXY protocol. This MUST NOT call the
    /// server.
    fn proxy_refused(&self, _peer: Peer, _reason: &str) {}

    /// Reports something to the operator. By default it goes to standard error.
    fn warn(&self, message: &str) {
        eprintln!("weft: {message}");
    }
}

/// A request that the server has answered by itself.
#[derive(Debug)]
pub struct Refusal {
    /// The sender.
    pub peer: Peer,
    /// The reason and the status.
    pub reject: Reject,
    /// The part of the request line that was received: at most [`Refusal::LINE_BYTES_MAX`] bytes.
    pub line: Vec<u8>,
    /// Bytes of the answer's content.
    pub body_bytes: u64,
    /// From the first byte to the answer.
    pub duration: Nanos,
}

impl Refusal {
    /// The part of a refused request line that is kept.
    pub const LINE_BYTES_MAX: usize = 1024;
}
