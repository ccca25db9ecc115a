//! The forms in which a stream of events is sent.
//!
//! Must not know who gets them. Invariant: what one of these makes is whole blocks, so that something else may follow it.

use weft_proto::event_stream::{HEARTBEAT, binary_event, event};
use weft_proto::websocket::Kind;
use weft_proto::write_chunk;

use crate::tunnel::outbox::Frame;

/// How a stream of events is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EventStream {
    /// Whether it is in the chunks of HTTP/1.1.
    pub is_chunked: bool,
    /// Milliseconds without an event after which a comment is sent; 0 for never.
    pub heartbeat_ms: u32,
}

impl EventStream {
    /// Events as they are sent.
    pub(crate) fn frame(self, events: &[u8]) -> Frame {
        if !self.is_chunked {
            return events.into();
        }
        let mut chunk = Vec::new();
        write_chunk(&mut chunk, events);
        chunk.into()
    }

    pub(crate) fn heartbeat(self) -> Frame {
        self.frame(HEARTBEAT)
    }

    /// What says that nothing follows.
    pub(crate) fn last(self) -> Option<Frame> {
        self.is_chunked.then(|| b"0\r\n\r\n"[..].into())
    }

    /// Which of the forms of a message it gets.
    pub(crate) fn form(self, is_labelled: bool) -> usize {
        usize::from(self.is_chunked) | usize::from(is_labelled) << 1
    }
}

/// Forms of a message as an event.
pub(crate) const FORMS: usize = 4;

/// A message as an event, with its id if it has one; labelled, the event has its topic's name.
pub fn message_event(id: Option<&[u8]>, topic: Option<&[u8]>, kind: Kind, payload: &[u8]) -> Vec<u8> {
    match kind {
        Kind::Text => event(id, topic, payload),
        Kind::Binary => binary_event(id, topic, payload),
    }
}
