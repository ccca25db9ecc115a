//! The chunked transfer coding, decoded in place and incrementally (RFC 9112 section 7.1).
//!
//! The decoder returns data as ranges of the caller's input and copies only trailers. Must not know where the data
//! goes. Invariant: the data bytes, the end and the error depend on the input's bytes alone, not on how they are
//! split; the decoder never announces more than [`RequestLimits::body_bytes_max`] bytes.

mod trailers;

use std::ops::Range;

use crate::bytes::is_ows;
use crate::reject::Reject;
use crate::request_limits::RequestLimits;
use trailers::Trailers;

/// What one call of [`ChunkDecoder::decode`] did with its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// Bytes of the input that were consumed; the next call starts after them.
    pub consumed: usize,
    /// Body bytes, as a range of the input; may be empty.
    pub data: Range<usize>,
    /// Whether the body is complete. What follows `consumed` is then the next message.
    pub done: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first digit of a size.
    SizeStart,
    Size,
    /// Whitespace after a size; only an extension may follow it.
    ExtensionSpace,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    Trailer,
    Done,
}

/// An incremental decoder of one chunked body.
#[derive(Debug, Clone)]
pub struct ChunkDecoder {
    limits: RequestLimits,
    state: State,
    /// The size while it is being read, then the bytes left of the chunk.
    left: u64,
    /// Data bytes announced so far.
    total: u64,
    line_bytes: usize,
    extension_bytes: usize,
    trailers: Trailers,
}

impl ChunkDecoder {
    /// A decoder at the start of a body.
    pub fn new(limits: &RequestLimits) -> ChunkDecoder {
        ChunkDecoder {
            limits: *limits,
            state: State::SizeStart,
            left: 0,
            total: 0,
            line_bytes: 0,
            extension_bytes: 0,
            trailers: Trailers::default(),
        }
    }

    /// Decodes up to the end of the next run of data. Call in a loop, advancing by `consumed`, until the input is used
    /// up or `done`:
    ///
    /// ```
    /// # use weft_proto::{ChunkDecoder, RequestLimits};
    /// let (mut decoder, mut input, mut body) = (ChunkDecoder::new(&RequestLimits::default()), &b"3\r\nabc\r\n0\r\n\r\n"[..], vec![]);
    /// while !input.is_empty() {
    ///     let step = decoder.decode(input)?;
    ///     body.extend_from_slice(&input[step.data]);
    ///     input = &input[step.consumed..];
    ///     if step.done { break }
    /// }
    /// assert_eq!(body, b"abc");
    /// # Ok::<(), weft_proto::Reject>(())
    /// ```
    ///
    /// # Errors
    /// The first rule that the input breaks. The decoder cannot be used after an error.
    pub fn decode(&mut self, input: &[u8]) -> Result<Decoded, Reject> {
        let mut at = 0;
        while at < input.len() {
            match self.state {
                State::Data => {
                    let run = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.len() - at);
                    self.left -= run as u64;
                    if self.left == 0 {
                        self.state = State::DataCr;
                    }
                    return Ok(Decoded { consumed: at + run, data: at..at + run, done: false });
                }
                State::Trailer => {
                    let (used, ended) = self.trailers.read(&input[at..], &self.limits)?;
                    at += used;
                    if ended {
                        self.state = State::Done;
                    }
                }
                State::Done => break,
                _ => {
                    self.framing_byte(input[at])?;
                    at += 1;
                }
            }
        }
        Ok(Decoded { consumed: at, data: at..at, done: self.state == State::Done })
    }

    /// Whether the body is complete.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Data bytes of the chunks seen so far; the current chunk counts in full.
    pub fn body_bytes(&self) -> u64 {
        self.total
    }

    /// The trailer fields, once the body is complete. Content-Length, Transfer-Encoding and Host are refused.
    /// Fields that would change how the request is controlled, authenticated or understood are dropped (RFC 9110
    /// 6.5.1: a recipient may only merge fields it knows to be safe): see `trailers::DROPPED` in this crate's
    /// source.
    pub fn trailers(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.trailers.iter()
    }

    fn framing_byte(&mut self, byte: u8) -> Result<(), Reject> {
        match self.state {
            State::SizeStart | State::Size => self.size_byte(byte)?,
            State::ExtensionSpace => match byte {
                b';' => self.extension_byte(State::Extension)?,
                b if is_ows(b) => self.extension_byte(State::ExtensionSpace)?,
                _ => return Err(Reject::CHUNK_SIZE),
            },
            State::Extension => match byte {
                b'\r' => self.state = State::SizeLf,
                b'\n' => return Err(Reject::BARE_LF),
                b'\t' => self.extension_byte(State::Extension)?,
                b if b.is_ascii_control() => return Err(Reject::CHUNK_EXTENSION),
                _ => self.extension_byte(State::Extension)?,
            },
            State::SizeLf if byte == b'\n' => {
                self.line_bytes = 0;
                self.state = if self.left == 0 { State::Trailer } else { State::Data };
            }
            State::SizeLf => return Err(Reject::BARE_CR),
            State::DataCr if byte == b'\r' => self.state = State::DataLf,
            State::DataLf if byte == b'\n' => self.state = State::SizeStart,
            State::DataCr | State::DataLf => return Err(Reject::CHUNK_END),
            // `decode` handles these itself.
            State::Data | State::Trailer | State::Done => {}
        }
        Ok(())
    }

    fn size_byte(&mut self, byte: u8) -> Result<(), Reject> {
        if let Some(digit) = (byte as char).to_digit(16) {
            self.left = self.left.checked_mul(16).ok_or(Reject::CHUNK_SIZE)? + u64::from(digit);
            self.state = State::Size;
            return self.line_byte();
        }
        match byte {
            b'\n' if self.state == State::Size => Err(Reject::BARE_LF),
            _ if self.state == State::SizeStart => Err(Reject::CHUNK_SIZE),
            b'\r' | b';' | b' ' | b'\t' => {
                self.total = self
                    .total
                    .checked_add(self.left)
                    .filter(|&total| total <= self.limits.body_bytes_max)
                    .ok_or(Reject::BODY_TOO_LARGE)?;
                match byte {
                    b'\r' => self.state = State::SizeLf,
                    b';' => self.extension_byte(State::Extension)?,
                    _ => self.extension_byte(State::ExtensionSpace)?,
                }
                Ok(())
            }
            _ => Err(Reject::CHUNK_SIZE),
        }
    }

    fn extension_byte(&mut self, next: State) -> Result<(), Reject> {
        self.state = next;
        self.extension_bytes += 1;
        if self.extension_bytes > self.limits.chunk_extension_bytes_max {
            return Err(Reject::CHUNK_LINE_TOO_LONG);
        }
        self.line_byte()
    }

    fn line_byte(&mut self) -> Result<(), Reject> {
        self.line_bytes += 1;
        if self.line_bytes > self.limits.chunk_line_bytes_max {
            return Err(Reject::CHUNK_LINE_TOO_LONG);
        }
        Ok(())
    }
}
