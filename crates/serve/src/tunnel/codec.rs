//! What the bytes of a tunnel are: WebSocket frames, the messages of a stream, or events that only the server sends.
//!
//! Must not know what becomes of them. Invariant: both report what they find in the same words, so that nobody else asks
//! which one it is, except where RFC 6455 demands something of its own.

use std::rc::Rc;

use weft_proto::framing::{Framer, Framing, FramingError};
use weft_proto::websocket::{CloseCode, Decoder, Failure, Kind, Received};

use crate::tunnel::event_form::EventStream;

/// Decodes what one peer sends.
pub(crate) enum Codec {
    WebSocket(Decoder),
    Stream(Framer),
    Events(EventStream),
}

impl Codec {
    /// See [`Decoder::decode`].
    pub(crate) fn decode(&mut self, bytes: &[u8]) -> Result<(usize, Option<Received>), Failure> {
        match self {
            Codec::WebSocket(decoder) => decoder.decode(bytes),
            // The request was all that its peer had to say.
            Codec::Events(_) => Ok((bytes.len(), None)),
            Codec::Stream(framer) => match framer.decode(bytes) {
                Ok((used, message)) => {
                    Ok((used, message.map(|message| Received::Message(Kind::Binary, message))))
                }
                Err(error) => Err(Failure { code: code_of(error), reason: error.reason() }),
            },
        }
    }

    /// Whether a part of a message has arrived.
    pub(crate) fn is_within(&self) -> bool {
        match self {
            Codec::WebSocket(decoder) => decoder.is_within(),
            Codec::Stream(framer) => framer.is_within(),
            Codec::Events(_) => false,
        }
    }

    /// How a stream is framed.
    pub(crate) fn framing(&self) -> Option<&Rc<Framing>> {
        match self {
            Codec::WebSocket(_) | Codec::Events(_) => None,
            Codec::Stream(framer) => Some(framer.framing()),
        }
    }

    /// How a stream of events is sent.
    pub(crate) fn events(&self) -> Option<EventStream> {
        if let Codec::Events(events) = self { Some(*events) } else { None }
    }

    /// Whether both sides say that they close.
    pub(crate) fn has_closing_handshake(&self) -> bool {
        matches!(self, Codec::WebSocket(_))
    }
}

fn code_of(error: FramingError) -> CloseCode {
    match error {
        FramingError::TooBig => CloseCode::TOO_BIG,
        FramingError::Short => CloseCode::PROTOCOL_ERROR,
    }
}
