//! A tunnel: a connection that has become a WebSocket, as data.
//!
//! ```text
//!            101 sent                close frame, either side              both said, or late
//!   request ─────────▶ Open ─────────────────────────────────▶ Closing ─────────────────────▶ ended
//! ```
//!
//! Between two messages it is this struct, its connection and nothing else: no buffer, no coroutine, no PHP value. Must not
//! know what carries its bytes, nor who takes its events. Invariants: events are taken in their order, one at a time, and
//! the last one is `Closed`; `inbox` and `out` are bounded, whatever the peer and the handler do.

pub(crate) mod attributes;
pub(crate) mod calls;
pub(crate) mod limits;
pub(crate) mod open;
pub(crate) mod outbox;
pub(crate) mod phase;
pub(crate) mod subscribe;
pub(crate) mod topics;
pub(crate) mod tunnels;

use std::collections::VecDeque;

use weft_proto::websocket::{CloseCode, Decoder, Kind};
use weft_rt::{MILLISECOND, Nanos};

use crate::keys::TunnelKey;
use attributes::Attributes;
use outbox::{Outbox, Overflow};
use topics::Membership;

/// Events that wait for the handler; with more, or as many bytes, the peer is not read.
const INBOX_EVENTS_MAX: usize = 32;
const INBOX_BYTES_MAX: usize = 64 * 1024;

/// What has happened on a tunnel.
#[derive(Debug, PartialEq, Eq)]
pub enum TunnelEvent {
    /// It is open: the first event.
    Opened,
    /// A whole message.
    Message(Kind, Vec<u8>),
    /// It has ended, by the close frame that came first; the last event. [`CloseCode::ABNORMAL`] if there was none.
    Closed(CloseCode, String),
}

/// Where a tunnel is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    Open,
    /// A close frame is on its way to the peer, and the peer's is expected until this time.
    Closing(Nanos),
    /// Both have said it, or the peer has broken the protocol: when everything is sent, the tunnel ends.
    Closed,
}

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// Nothing waits for the handler.
    Rests,
    /// It is in the line of those that have events.
    Due,
    /// The handler has been given an event.
    Runs,
}

/// A tunnel.
pub(crate) struct Tunnel {
    pub key: TunnelKey,
    /// The slot of its connection, until that has ended.
    pub connection: Option<u32>,
    /// What the handler calls the service that it belongs to.
    pub service: u32,
    pub overflow: Overflow,
    pub stage: Stage,
    pub turn: Turn,
    /// Whether a ping was sent since the peer was last heard.
    pub is_pinged: bool,
    pub decoder: Decoder,
    pub inbox: VecDeque<TunnelEvent>,
    pub inbox_bytes: usize,
    pub out: Outbox,
    /// When the peer was last heard, or when the ping was sent that it has not answered.
    pub since: Nanos,
    /// When the peer last took bytes, while some wait for it; 0 if none do.
    pub blocked_since: Nanos,
    /// When it is closed because the worker ends.
    pub leaves_at: Nanos,
    /// The close frame that came first.
    pub end: Option<Box<(CloseCode, String)>>,
    pub attributes: Attributes,
    pub topics: Vec<Membership>,
}

impl Tunnel {
    pub(crate) fn new(service: u32, overflow: Overflow, message_bytes_max: usize, now: Nanos) -> Tunnel {
        Tunnel {
            key: TunnelKey(0),
            connection: None,
            service,
            overflow,
            stage: Stage::Open,
            turn: Turn::Rests,
            is_pinged: false,
            decoder: Decoder::new(message_bytes_max),
            inbox: VecDeque::new(),
            inbox_bytes: 0,
            out: Outbox::default(),
            since: now,
            blocked_since: 0,
            leaves_at: Nanos::MAX,
            end: None,
            attributes: Attributes::default(),
            topics: Vec::new(),
        }
    }

    /// Whether the peer is read now. While PHP does not keep up, what it sends stays with the kernel.
    pub(crate) fn reads(&self) -> bool {
        match self.stage {
            Stage::Open => self.inbox.len() < INBOX_EVENTS_MAX && self.inbox_bytes < INBOX_BYTES_MAX,
            Stage::Closing(_) => true,
            Stage::Closed => false,
        }
    }

    pub(crate) fn push(&mut self, event: TunnelEvent) {
        if let TunnelEvent::Message(_, bytes) = &event {
            self.inbox_bytes += bytes.len();
        }
        self.inbox.push_back(event);
    }

    pub(crate) fn pop(&mut self) -> Option<TunnelEvent> {
        let event = self.inbox.pop_front()?;
        if let TunnelEvent::Message(_, bytes) = &event {
            self.inbox_bytes -= bytes.len();
        }
        if self.inbox.is_empty() {
            self.inbox = VecDeque::new(); // an idle one keeps no memory
        }
        Some(event)
    }

    /// Records the close frame that came first.
    pub(crate) fn note_end(&mut self, code: CloseCode, reason: &str) {
        if self.end.is_none() {
            self.end = Some(Box::new((code, reason.to_owned())));
        }
    }

    /// Says that it closes; nothing is sent after that.
    pub(crate) fn begin_closing(&mut self, code: CloseCode, reason: &str, until: Nanos) {
        self.note_end(code, reason);
        self.out.close(code, reason);
        self.stage = Stage::Closing(until);
    }
}

/// This many milliseconds after a time.
pub(crate) fn after(since: Nanos, span_ms: u64) -> Nanos {
    since.saturating_add(span_ms.saturating_mul(MILLISECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_tunnel_is_small() {
        assert!(size_of::<Tunnel>() <= 448, "{}", size_of::<Tunnel>());
    }
}
