//! A tunnel: a connection that has become a WebSocket, or another stream of messages, as data.
//!
//! ```text
//!            101 sent          our close frame                  the peer's
//!   request ─────────▶ Open ─────────────────────▶ Closing ────────────────▶ Closed ── all sent, or late ──▶ ended
//!                        │   the peer's close frame               events done   ▲
//!                        └───────────────────────▶ Answering ───────────────────┘
//! ```
//!
//! Between two messages it is this struct, its connection and nothing else: no buffer, no coroutine, no PHP value. Must not
//! know what carries its bytes, nor who takes its events. Invariants: events are taken in their order, one at a time, and
//! the last one is `Closed`; `inbox` and `out` are bounded, whatever the peer and the handler do.

pub(crate) mod attributes;
pub(crate) mod calls;
pub(crate) mod codec;
pub(crate) mod coders;
pub(crate) mod deliver;
pub(crate) mod deliveries;
pub(crate) mod event_form;
pub(crate) mod events;
pub(crate) mod few;
pub(crate) mod files;
pub(crate) mod leave;
pub(crate) mod limits;
pub(crate) mod newest;
pub(crate) mod open;
pub(crate) mod outbox;
pub(crate) mod owned;
pub(crate) mod owner;
pub(crate) mod phase;
pub(crate) mod publish;
pub(crate) mod send_file;
pub(crate) mod stream;
pub(crate) mod stream_service;
pub(crate) mod subscribe;
pub(crate) mod topics;
pub(crate) mod tunnels;

use weft_proto::websocket::{CloseCode, Decoder, Kind};
use weft_rt::{MILLISECOND, Nanos, Runtime};

use crate::keys::TunnelKey;
use attributes::Attributes;
use codec::Codec;
use few::Few;
use outbox::{Outbox, Overflow};
use owner::Owner;
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
    /// Nothing waits for the peer any more, after it had not taken something at once, or the handler was told that
    /// something waits.
    Drained,
    /// The peer of a stream that belongs to a coroutine sends no more, and may still receive.
    Ended,
    /// It has ended, by the close frame that came first; the last event. [`CloseCode::ABNORMAL`] if there was none.
    Closed(CloseCode, String),
}

/// Where a tunnel is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Its connection is not established yet: the handler knows nothing of it.
    Reserved,
    Open,
    /// The peer has closed. It is answered when the handler has had all of its messages, so that what they are answered
    /// with goes out first, but no later than at this time.
    Answering(Nanos),
    /// A close frame is on its way to the peer, and the peer's is expected until this time.
    Closing(Nanos),
    /// Both have said it, or the peer has broken the protocol: when everything is sent, but no later than at this time,
    /// the tunnel ends.
    Closed(Nanos),
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
    /// Whether the handler wants the events `Drained`.
    pub wants_drained: bool,
    /// Whether the next time that nothing waits for the peer is one.
    pub is_drain_due: bool,
    /// Whether nobody is told its events any more.
    pub is_mute: bool,
    /// Whether its end is noted for who asks: [`Server::take_ended_streams`].
    pub tells_end: bool,
    /// The coroutine that it belongs to, if it does.
    pub owner: Option<Box<Owner>>,
    pub stage: Stage,
    pub turn: Turn,
    /// Whether a ping was sent since the peer was last heard.
    pub is_pinged: bool,
    pub codec: Codec,
    /// What was received while the inbox was full.
    pub rest: Vec<u8>,
    /// The logarithm of the window with which the peer reads compressed messages; 0 if none are agreed on.
    pub window_bits: u8,
    pub inbox: Few<TunnelEvent>,
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
            wants_drained: false,
            is_drain_due: false,
            is_mute: false,
            tells_end: false,
            owner: None,
            stage: Stage::Open,
            turn: Turn::Rests,
            is_pinged: false,
            codec: Codec::WebSocket(Decoder::new(message_bytes_max)),
            rest: Vec::new(),
            window_bits: 0,
            inbox: Few::None,
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
            Stage::Reserved | Stage::Answering(_) | Stage::Closed(_) => false,
        }
    }

    /// Whether messages can be sent.
    pub(crate) fn takes(&self) -> bool {
        matches!(self.stage, Stage::Open | Stage::Answering(_)) && self.connection.is_some()
    }

    /// Whether the handler has had everything that has happened so far.
    pub(crate) fn is_handled(&self, runtime: &Runtime) -> bool {
        let owner = self.owner.as_deref();
        self.inbox.is_empty() && self.turn == Turn::Rests && owner.is_none_or(|owner| owner.waits(runtime))
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
        Some(event)
    }

    /// Records the close frame that came first.
    pub(crate) fn note_end(&mut self, code: CloseCode, reason: &str) {
        if self.end.is_none() {
            self.end = Some(Box::new((code, reason.to_owned())));
        }
    }

    /// Says that it closes; nothing is sent after that. The peer has until then to answer, if it has not closed itself.
    pub(crate) fn begin_closing(&mut self, code: CloseCode, reason: &str, until: Nanos) {
        self.note_end(code, reason);
        self.stage = match (&self.codec, self.stage) {
            (Codec::Stream(_) | Codec::Events(_), _) => Stage::Closed(until),
            (_, Stage::Answering(_)) => Stage::Closed(until),
            _ => Stage::Closing(until),
        };
        match &self.codec {
            Codec::WebSocket(_) => self.out.close(code, reason),
            Codec::Events(events) => self.out.end_with(events.last()),
            Codec::Stream(_) => (),
        }
    }

    /// Answers the peer's close frame, with the same code (RFC 6455 section 5.5.1).
    pub(crate) fn answer_close(&mut self, until: Nanos) {
        if matches!(self.stage, Stage::Answering(_)) {
            let code = self.end.as_ref().map_or(CloseCode::NO_STATUS, |end| end.0);
            self.begin_closing(code, "", until);
        }
    }

    /// Takes the messages out of the inbox; returns how many there were.
    pub(crate) fn drop_messages(&mut self) -> usize {
        let before = self.inbox.len();
        self.inbox.retain(|event| !matches!(event, TunnelEvent::Message(..) | TunnelEvent::Drained));
        self.inbox_bytes = 0;
        before - self.inbox.len()
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
        assert!(size_of::<Tunnel>() <= 408, "{}", size_of::<Tunnel>());
    }
}
