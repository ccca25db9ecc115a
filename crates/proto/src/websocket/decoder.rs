//! Frames from a client to messages, as the bytes arrive (RFC 6455 section 5).
//!
//! Must not know where bytes come from, nor answer them. Invariants: after a [`Failure`] nothing more is decoded; text is
//! checked as far as it has arrived, so a message that cannot become UTF-8 fails at its first wrong byte.

use super::close::CloseCode;
use super::frame::{CONTROL_BYTES_MAX, Kind};

const FINAL: u8 = 0x80;
const RESERVED: u8 = 0x70;
/// The reserved bit that says that a message is compressed (RFC 7692 section 6).
const COMPRESSED: u8 = 0x40;
const MASKED: u8 = 0x80;
/// The longest header: two bytes, eight of length, four of mask.
const HEADER_BYTES_MAX: usize = 14;

/// What a client has sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Received {
    /// A whole message.
    Message(Kind, Vec<u8>),
    /// A whole message as it was compressed, for [`Inflater`](super::Inflater). Its text is not checked yet.
    Compressed(Kind, Vec<u8>),
    /// It wants a pong with these bytes.
    Ping(Vec<u8>),
    /// It has answered a ping, or is just alive.
    Pong(Vec<u8>),
    /// It closes: with a code, or [`CloseCode::NO_STATUS`], and a reason.
    Close(CloseCode, String),
}

/// A rule that the client has broken: close with this code and reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The code for the close frame.
    pub code: CloseCode,
    /// The reason, for the client and for logs.
    pub reason: &'static str,
}

impl Failure {
    const fn protocol(reason: &'static str) -> Failure {
        Failure { code: CloseCode::PROTOCOL_ERROR, reason }
    }

    const RESERVED_BIT: Failure = Failure::protocol("a reserved bit is set");
    const OPCODE: Failure = Failure::protocol("an opcode is unknown");
    const UNMASKED: Failure = Failure::protocol("a frame is not masked");
    const LENGTH: Failure = Failure::protocol("a length is not in its shortest form");
    const LONG_CONTROL: Failure = Failure::protocol("a control frame is longer than 125 bytes");
    const SPLIT_CONTROL: Failure = Failure::protocol("a control frame is fragmented");
    const NOTHING_TO_CONTINUE: Failure = Failure::protocol("there is no message to continue");
    const NOT_CONTINUED: Failure = Failure::protocol("a message begins within another");
    const CLOSE_PAYLOAD: Failure = Failure::protocol("a close frame has a code that must not be sent");
    const CLOSED: Failure = Failure::protocol("a frame follows the close frame");
    pub(super) const TEXT: Failure = Failure { code: CloseCode::INVALID_TEXT, reason: "a text is not UTF-8" };
    pub(super) const DEFLATE: Failure =
        Failure { code: CloseCode::INVALID_TEXT, reason: "a message is not compressed as it says" };
    pub(super) const TOO_BIG: Failure = Failure { code: CloseCode::TOO_BIG, reason: "a message is too big" };
}

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Opcode {
    Data,
    Close,
    Ping,
    Pong,
}

/// The frame whose payload is arriving.
#[derive(Clone, Copy, Debug)]
struct Frame {
    opcode: Opcode,
    is_final: bool,
    mask: [u8; 4],
    /// Bytes of its payload that have been decoded, and those that follow.
    done: u64,
    left: u64,
}

/// Decodes what one client sends. While nothing is on its way it owns no memory but itself.
#[derive(Debug)]
pub struct Decoder {
    message_bytes_max: usize,
    header: [u8; HEADER_BYTES_MAX],
    header_bytes: u8,
    frame: Option<Frame>,
    /// The kind of the message of which a part has arrived.
    kind: Option<Kind>,
    message: Vec<u8>,
    /// How much of a text is known to be UTF-8.
    checked: usize,
    control: Vec<u8>,
    is_closed: bool,
    /// Whether messages may be compressed.
    inflates: bool,
    /// Whether the one of which a part has arrived is.
    is_compressed: bool,
}

impl Decoder {
    /// One that takes messages of at most this many bytes.
    pub fn new(message_bytes_max: usize) -> Decoder {
        Decoder {
            message_bytes_max,
            header: [0; HEADER_BYTES_MAX],
            header_bytes: 0,
            frame: None,
            kind: None,
            message: Vec::new(),
            checked: 0,
            control: Vec::new(),
            is_closed: false,
            inflates: false,
            is_compressed: false,
        }
    }

    /// The same for a client with which compression is agreed on.
    pub fn inflating(message_bytes_max: usize) -> Decoder {
        Decoder { inflates: true, ..Decoder::new(message_bytes_max) }
    }

    /// Decodes `input` up to the end of the next frame that completes something. Returns how many bytes it has taken, which
    /// are all if nothing is complete: call it again with the rest.
    ///
    /// # Errors
    /// The first rule that the client has broken.
    pub fn decode(&mut self, input: &[u8]) -> Result<(usize, Option<Received>), Failure> {
        let mut used = 0;
        while used < input.len() {
            if self.is_closed {
                return Err(Failure::CLOSED);
            }
            let Some(frame) = self.frame else {
                used += self.take_header(&input[used..])?;
                // A frame without a payload is complete with its header.
                if self.frame.is_some_and(|frame| frame.left == 0)
                    && let Some(received) = self.end_frame()?
                {
                    return Ok((used, Some(received)));
                }
                continue;
            };
            let count = frame.left.min((input.len() - used) as u64) as usize;
            self.take_payload(frame, &input[used..used + count])?;
            used += count;
            if frame.left == count as u64
                && let Some(received) = self.end_frame()?
            {
                return Ok((used, Some(received)));
            }
        }
        Ok((used, None))
    }

    /// Whether a part of a message or frame has arrived.
    pub fn is_within(&self) -> bool {
        self.header_bytes > 0 || self.frame.is_some() || self.kind.is_some()
    }

    /// Takes bytes of a header. Each rule is checked at its first byte.
    fn take_header(&mut self, input: &[u8]) -> Result<usize, Failure> {
        if self.header_bytes == 0
            && let Some(first) = input.first_chunk::<HEADER_BYTES_MAX>()
        {
            return self.take_whole_header(*first);
        }
        let mut used = 0;
        for byte in input {
            self.header[usize::from(self.header_bytes)] = *byte;
            self.header_bytes += 1;
            used += 1;
            match self.header_bytes {
                1 => self.check_first()?,
                2 => self.check_second()?,
                _ => (),
            }
            if usize::from(self.header_bytes) == self.header_length() {
                self.begin_frame()?;
                break;
            }
        }
        Ok(used)
    }

    /// Takes a header of which all bytes are there, with some that follow it.
    fn take_whole_header(&mut self, bytes: [u8; HEADER_BYTES_MAX]) -> Result<usize, Failure> {
        self.header = bytes;
        self.check_first()?;
        self.check_second()?;
        self.header_bytes = 2;
        let length = self.header_length();
        self.header_bytes = length as u8;
        self.begin_frame()?;
        Ok(length)
    }

    /// The length of the header, as far as its first two bytes say.
    fn header_length(&self) -> usize {
        match (self.header_bytes, self.header[1] & !MASKED) {
            (0 | 1, _) => HEADER_BYTES_MAX,
            (_, 126) => 8,
            (_, 127) => HEADER_BYTES_MAX,
            _ => 6,
        }
    }

    fn check_first(&self) -> Result<(), Failure> {
        let first = self.header[0];
        // Only the first frame of a message says it (RFC 7692 section 6.1).
        let allowed = if self.inflates && matches!(first & 0x0F, 0x1 | 0x2) { COMPRESSED } else { 0 };
        if first & RESERVED & !allowed != 0 {
            return Err(Failure::RESERVED_BIT);
        }
        match first & 0x0F {
            0x0 if self.kind.is_none() => Err(Failure::NOTHING_TO_CONTINUE),
            0x1 | 0x2 if self.kind.is_some() => Err(Failure::NOT_CONTINUED),
            0x0..=0x2 => Ok(()),
            0x8..=0xA if first & FINAL == 0 => Err(Failure::SPLIT_CONTROL),
            0x8..=0xA => Ok(()),
            _ => Err(Failure::OPCODE),
        }
    }

    fn check_second(&self) -> Result<(), Failure> {
        let second = self.header[1];
        if second & MASKED == 0 {
            return Err(Failure::UNMASKED);
        }
        let is_control = self.header[0] & 0x08 != 0;
        if is_control && usize::from(second & !MASKED) > CONTROL_BYTES_MAX {
            return Err(Failure::LONG_CONTROL);
        }
        Ok(())
    }

    /// The header is complete.
    fn begin_frame(&mut self) -> Result<(), Failure> {
        let length = usize::from(std::mem::take(&mut self.header_bytes));
        let header = self.header;
        let (bytes, mask) = header[2..length].split_at(length - 6);
        let number = bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        let left = match (header[1] & !MASKED, number) {
            (126, 0..=125) | (127, 0..=0xFFFF | 0x8000_0000_0000_0000..) => return Err(Failure::LENGTH),
            (126 | 127, number) => number,
            (short, _) => u64::from(short),
        };
        let opcode = match header[0] & 0x0F {
            0x8 => Opcode::Close,
            0x9 => Opcode::Ping,
            0xA => Opcode::Pong,
            code => {
                if code != 0x0 {
                    self.kind = Some(if code == 0x1 { Kind::Text } else { Kind::Binary });
                    self.is_compressed = header[0] & COMPRESSED != 0;
                }
                if left > (self.payload_bytes_max() - self.message.len()) as u64 {
                    return Err(Failure::TOO_BIG);
                }
                Opcode::Data
            }
        };
        let mask = [mask[0], mask[1], mask[2], mask[3]];
        self.frame = Some(Frame { opcode, is_final: header[0] & FINAL != 0, mask, done: 0, left });
        Ok(())
    }

    /// The most bytes of a message as it arrives: what cannot be compressed becomes a little longer by it.
    fn payload_bytes_max(&self) -> usize {
        let extra = if self.is_compressed { self.message_bytes_max / 64 + 64 } else { 0 };
        self.message_bytes_max.saturating_add(extra)
    }

    fn take_payload(&mut self, frame: Frame, bytes: &[u8]) -> Result<(), Failure> {
        let place = if frame.opcode == Opcode::Data { &mut self.message } else { &mut self.control };
        let from = place.len();
        place.extend_from_slice(bytes);
        unmask(&mut place[from..], frame.mask, frame.done);
        if frame.opcode == Opcode::Data && self.kind == Some(Kind::Text) && !self.is_compressed {
            self.check_text()?;
        }
        let count = bytes.len() as u64;
        self.frame = Some(Frame { done: frame.done + count, left: frame.left - count, ..frame });
        Ok(())
    }

    /// Checks what has arrived of a text. The last bytes may be the beginning of a character.
    fn check_text(&mut self) -> Result<(), Failure> {
        match std::str::from_utf8(&self.message[self.checked..]) {
            Ok(_) => self.checked = self.message.len(),
            Err(error) if error.error_len().is_none() => self.checked += error.valid_up_to(),
            Err(_) => return Err(Failure::TEXT),
        }
        Ok(())
    }

    /// The frame's payload is complete.
    fn end_frame(&mut self) -> Result<Option<Received>, Failure> {
        let Some(frame) = self.frame.take() else { return Ok(None) };
        match frame.opcode {
            Opcode::Data if !frame.is_final => Ok(None),
            Opcode::Data => {
                let kind = self.kind.take().unwrap_or(Kind::Binary);
                let (message, checked) =
                    (std::mem::take(&mut self.message), std::mem::take(&mut self.checked));
                if std::mem::take(&mut self.is_compressed) {
                    return Ok(Some(Received::Compressed(kind, message)));
                }
                if kind == Kind::Text && checked < message.len() {
                    return Err(Failure::TEXT);
                }
                Ok(Some(Received::Message(kind, message)))
            }
            Opcode::Ping => Ok(Some(Received::Ping(std::mem::take(&mut self.control)))),
            Opcode::Pong => Ok(Some(Received::Pong(std::mem::take(&mut self.control)))),
            Opcode::Close => {
                self.is_closed = true;
                closed(&std::mem::take(&mut self.control)).map(Some)
            }
        }
    }
}

/// What a close frame says.
fn closed(payload: &[u8]) -> Result<Received, Failure> {
    let (code, reason) = match payload {
        [] => (CloseCode::NO_STATUS, &b""[..]),
        [high, low, reason @ ..] => (CloseCode(u16::from_be_bytes([*high, *low])), reason),
        [_] => return Err(Failure::CLOSE_PAYLOAD),
    };
    if !payload.is_empty() && !code.is_sendable() {
        return Err(Failure::CLOSE_PAYLOAD);
    }
    let reason = std::str::from_utf8(reason).map_err(|_| Failure::TEXT)?;
    Ok(Received::Close(code, reason.to_owned()))
}

/// Takes the mask off bytes that begin this far into their payload (RFC 6455 section 5.3).
fn unmask(bytes: &mut [u8], mut mask: [u8; 4], offset: u64) {
    mask.rotate_left((offset % 4) as usize);
    let word = u64::from_ne_bytes([mask[0], mask[1], mask[2], mask[3], mask[0], mask[1], mask[2], mask[3]]);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for chunk in words {
        *chunk = (u64::from_ne_bytes(*chunk) ^ word).to_ne_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= mask;
    }
}
