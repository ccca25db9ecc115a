//! A request body, however it is delimited, behind one shape of decoding.
//!
//! Must not know sockets or storage. Invariant: the decoder never consumes a byte of the next message.

use crate::chunked::{ChunkDecoder, Decoded};
use crate::head::Framing;
use crate::reject::Reject;
use crate::request_limits::RequestLimits;

/// An incremental decoder for the body that [`Framing`] announces.
#[derive(Debug, Clone)]
pub enum Body {
    /// This many bytes are still to come.
    Length(u64),
    /// Chunks are to come.
    Chunked(ChunkDecoder),
    /// Whatever comes until [`Body::end`].
    UntilEnd {
        /// Bytes that may still come.
        room: u64,
        /// Whether it has ended.
        ended: bool,
    },
}

impl Body {
    /// The body that follows a head. The head's parser has checked a length against the limits.
    pub fn new(framing: Framing, limits: &RequestLimits) -> Body {
        match framing {
            Framing::None => Body::Length(0),
            Framing::Length(length) => Body::Length(length),
            Framing::Chunked => Body::Chunked(ChunkDecoder::new(limits)),
            Framing::UntilEnd => Body::UntilEnd { room: limits.body_bytes_max, ended: false },
        }
    }

    /// Decodes what `input` holds of the body, up to the end of the next run of data: see
    /// [`ChunkDecoder::decode`]. With empty input it reports whether the body is complete.
    ///
    /// # Errors
    /// The first rule that the input breaks; a body of a given length breaks none.
    pub fn decode(&mut self, input: &[u8]) -> Result<Decoded, Reject> {
        match self {
            Body::Length(left) => {
                let run = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= run as u64;
                Ok(Decoded { consumed: run, data: 0..run, done: *left == 0 })
            }
            Body::Chunked(decoder) => decoder.decode(input),
            Body::UntilEnd { room, ended } => {
                *room = room.checked_sub(input.len() as u64).ok_or(Reject::BODY_TOO_LARGE)?;
                Ok(Decoded { consumed: input.len(), data: 0..input.len(), done: *ended })
            }
        }
    }

    /// What carries the body has ended. Returns whether the body is complete.
    pub fn end(&mut self) -> bool {
        if let Body::UntilEnd { ended, .. } = self {
            *ended = true;
        }
        self.is_done()
    }

    /// Whether the body is complete.
    pub fn is_done(&self) -> bool {
        match self {
            Body::Length(left) => *left == 0,
            Body::Chunked(decoder) => decoder.is_done(),
            Body::UntilEnd { ended, .. } => *ended,
        }
    }

    /// The trailer fields, once a chunked body is done: see [`ChunkDecoder::trailers`].
    pub fn trailers(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let decoder = match self {
            Body::Length(_) | Body::UntilEnd { .. } => None,
            Body::Chunked(decoder) => Some(decoder),
        };
        decoder.into_iter().flat_map(ChunkDecoder::trailers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_stop_at_the_next_message() {
        let mut body = Body::new(Framing::Length(5), &RequestLimits::default());
        assert_eq!(body.decode(b""), Ok(Decoded { consumed: 0, data: 0..0, done: false }));
        assert_eq!(body.decode(b"abc"), Ok(Decoded { consumed: 3, data: 0..3, done: false }));
        assert_eq!(body.decode(b"deGET"), Ok(Decoded { consumed: 2, data: 0..2, done: true }));
        assert!(body.is_done() && body.trailers().next().is_none());
        assert!(Body::new(Framing::None, &RequestLimits::default()).is_done());
    }

    #[test]
    fn a_body_without_a_length_ends_when_its_stream_does() {
        let limits = RequestLimits { body_bytes_max: 5, ..RequestLimits::default() };
        let mut body = Body::new(Framing::UntilEnd, &limits);
        assert_eq!(body.decode(b"abcde"), Ok(Decoded { consumed: 5, data: 0..5, done: false }));
        assert_eq!(body.clone().decode(b"f"), Err(Reject::BODY_TOO_LARGE));
        assert!(!body.is_done() && body.end() && body.is_done());
        assert!(!Body::new(Framing::Length(1), &limits).end());
    }

    #[test]
    fn chunks_pass_through() {
        let mut body = Body::new(Framing::Chunked, &RequestLimits::default());
        assert!(!body.is_done());
        assert_eq!(body.decode(b"1\r\nx\r\n"), Ok(Decoded { consumed: 4, data: 3..4, done: false }));
        assert_eq!(
            body.decode(b"\r\n0\r\nA: b\r\n\r\n"),
            Ok(Decoded { consumed: 13, data: 13..13, done: true })
        );
        assert!(body.is_done() && body.trailers().eq([(&b"A"[..], &b"b"[..])]));
    }
}
