//! Messages in the forms in which they are sent, and the two coders of a worker.
//!
//! A message to many is framed once for each form that somebody gets. Must not know who gets it. Invariant: an idle tunnel
//! owns no part of a coder; a worker has at most one of each, from the first message that needs it on.

use std::cell::RefCell;
use std::rc::Rc;

use weft_proto::framing::{Framing, Unframable};
use weft_proto::websocket::{
    Deflate, Deflater, Failure, Inflater, Kind, Received, compressed_frame, frame, write_frame,
};

use crate::tunnel::Tunnel;
use crate::tunnel::event_form::{EventStream, FORMS, message_event};
use crate::tunnel::outbox::Frame;

/// The coders of a worker.
#[derive(Default)]
pub(crate) struct Coders {
    deflater: RefCell<Option<Box<Deflater>>>,
    inflater: RefCell<Option<Box<Inflater>>>,
    /// Where frames are made before they are shared: a message costs one allocation, and not two.
    scratch: RefCell<Vec<u8>>,
}

impl Coders {
    /// What was received, with the message that was compressed in it.
    ///
    /// # Errors
    /// See [`Inflater::inflate`].
    pub(crate) fn restore(&self, received: Received, bytes_max: usize) -> Result<Received, Failure> {
        match received {
            Received::Compressed(kind, payload) => {
                let mut inflater = self.inflater.borrow_mut();
                let inflater = inflater.get_or_insert_default();
                Ok(Received::Message(kind, inflater.inflate(kind, &payload, bytes_max)?))
            }
            other => Ok(other),
        }
    }

    fn plain(&self, kind: Kind, payload: &[u8]) -> Frame {
        /// A larger buffer is not kept.
        const KEPT_BYTES: usize = 16 * 1024;
        if payload.len() > KEPT_BYTES {
            return frame(kind, payload).into();
        }
        let mut scratch = self.scratch.borrow_mut();
        scratch.clear();
        write_frame(kind, payload, &mut scratch);
        scratch.as_slice().into()
    }

    fn compressed(&self, kind: Kind, payload: &[u8]) -> Option<Frame> {
        let payload = self.deflater.borrow_mut().get_or_insert_default().deflate(payload)?;
        Some(compressed_frame(kind, &payload).into())
    }
}

/// A message that is sent.
pub(crate) struct Message<'m> {
    kind: Kind,
    payload: &'m [u8],
    coders: &'m Coders,
    plain: Option<Frame>,
    /// `Some(None)`: it would not be shorter.
    compressed: Option<Option<Frame>>,
    /// For the streams of one service.
    framed: Option<(Rc<Framing>, Frame)>,
    /// For streams of events.
    events: [Option<Frame>; FORMS],
}

impl<'m> Message<'m> {
    pub(crate) fn new(kind: Kind, payload: &'m [u8], coders: &'m Coders) -> Message<'m> {
        Message {
            kind,
            payload,
            coders,
            plain: None,
            compressed: None,
            framed: None,
            events: Default::default(),
        }
    }

    /// The frame for a tunnel.
    ///
    /// # Errors
    /// The messages of that tunnel cannot be like this one.
    pub(crate) fn for_tunnel(&mut self, tunnel: &Tunnel) -> Result<Frame, Unframable> {
        if let Some(events) = tunnel.codec.events() {
            return Ok(self.as_event(events, None, None));
        }
        let Some(framing) = tunnel.codec.framing() else { return Ok(self.for_window(tunnel.window_bits)) };
        if let Some((known, frame)) = &self.framed
            && Rc::ptr_eq(known, framing)
        {
            return Ok(Frame::clone(frame));
        }
        let frame: Frame = match **framing {
            Framing::Raw => self.payload.into(),
            _ => framing.encode(self.payload)?.into(),
        };
        self.framed = Some((Rc::clone(framing), Frame::clone(&frame)));
        Ok(frame)
    }

    /// The event for a stream of events; of one message all have the same id and topic.
    pub(crate) fn as_event(&mut self, stream: EventStream, id: Option<&[u8]>, topic: Option<&[u8]>) -> Frame {
        let (kind, payload) = (self.kind, self.payload);
        let make = || stream.frame(&message_event(id, topic, kind, payload));
        Frame::clone(self.events[stream.form(topic.is_some())].get_or_insert_with(make))
    }

    /// The frame for a WebSocket with this window; 0 for one without compression.
    fn for_window(&mut self, window_bits: u8) -> Frame {
        if window_bits > 0 && Deflate::is_for(window_bits, self.payload.len()) {
            let make = || self.coders.compressed(self.kind, self.payload);
            if let Some(frame) = self.compressed.get_or_insert_with(make) {
                return Frame::clone(frame);
            }
        }
        Frame::clone(self.plain.get_or_insert_with(|| self.coders.plain(self.kind, self.payload)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_to_many_is_framed_once_for_each_form() {
        let coders = Coders::default();
        let payload = b"the same again and again, ".repeat(40);
        let mut message = Message::new(Kind::Text, &payload, &coders);
        let (large, again, plain, small) =
            (message.for_window(15), message.for_window(12), message.for_window(0), message.for_window(8));
        assert!(Rc::ptr_eq(&large, &again) && large[0] == 0xC1 && large.len() < 100);
        // A window of 256 bytes does not hold it.
        assert!(Rc::ptr_eq(&plain, &small) && plain[0] == 0x81);
        let mut short = Message::new(Kind::Text, b"short", &coders);
        assert_eq!(short.for_window(15)[0], 0x81);
    }
}
