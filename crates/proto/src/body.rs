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
}

impl Body {
    /// The body that follows a head. The head's parser has checked a length against the limits.
    pub fn new(framing: Framing, limits: &RequestLimits) -> Body {
        match framing {
            Framing::None => Body::Length(0),
            Framing::Length(length) => Body::Length(length),
            Framing::Chunked => Body::Chunked(ChunkDecoder::new(limits)),
        }
    }

    /// Decodes what `input` holds of the body, up to the end of the next run of data: see
    /// [`ChunkDecoder::decode`]. With empty input it reports whether the body is complete.
    ///
    /// # Errors
    /// The first rule that the input breaks, in chunked framing only.
    pub fn decode(&mut self, input: &[u8]) -> Result<Decoded, Reject> {
        match self {
            Body::Length(left) => {
                let run = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= run as u64;
                Ok(Decoded { consumed: run, data: 0..run, done: *left == 0 })
            }
            Body::Chunked(decoder) => decoder.decode(input),
        }
    }

    /// Whether the body is complete.
    pub fn is_done(&self) -> bool {
        match self {
            Body::Length(left) => *left == 0,
            Body::Chunked(decoder) => decoder.is_done(),
        }
    }

    /// The trailer fields, once a chunked body is done: see [`ChunkDecoder::trailers`].
    pub fn trailers(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let decoder = match self {
            Body::Length(_) => None,
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
