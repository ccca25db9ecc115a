//! Messages in a stream of bytes: where one ends and the next begins.
//!
//! ```text
//!   bytes -> Framer::decode -> message, or a FramingError
//!   message -> Framing::encode -> bytes
//! ```
//!
//! Must not know what a message says, nor who sends it. Invariants: the outcome does not depend on how the bytes were split
//! over reads, except with `Raw`, where that is what makes a message; a framer keeps no more than a message that may be
//! received and its frame, whatever a prefix announces.

use std::fmt;
use std::rc::Rc;

use memchr::memmem;

/// How messages are told apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Framing {
    /// They are not: what has arrived at one time is a message.
    Raw,
    /// Each ends with these bytes, at least one, which are not part of it.
    Delimited(Box<[u8]>),
    /// Before each is its length.
    Prefixed(Prefix),
}

/// A length before a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prefix {
    /// Its bytes: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Whether its last byte is the most significant one.
    pub is_little_endian: bool,
    /// Whether it counts its own bytes, too.
    pub counts_itself: bool,
}

/// A message that cannot be received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FramingError {
    /// It is larger than allowed.
    TooBig,
    /// A prefix that counts itself announces less than its own bytes.
    Short,
}

/// A message that cannot be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unframable {
    /// It contains the delimiter, so its receiver would find two.
    Delimiter,
    /// The prefix has too few bytes for its length.
    Length,
}

impl FramingError {
    /// What is wrong.
    pub fn reason(self) -> &'static str {
        match self {
            FramingError::TooBig => "a message is larger than tcp_message_bytes_max",
            FramingError::Short => "the length before a message is less than its own bytes",
        }
    }
}

impl fmt::Display for Unframable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unframable::Delimiter => "a message contains the delimiter that ends it",
            Unframable::Length => "the length of a message does not fit its prefix",
        })
    }
}

impl Prefix {
    fn size(self) -> usize {
        usize::from(self.bytes)
    }

    /// The length of the message behind a whole prefix.
    fn read(self, prefix: &[u8]) -> Result<u64, FramingError> {
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        let number =
            if self.is_little_endian { prefix.iter().rev().fold(0, add) } else { prefix.iter().fold(0, add) };
        if self.counts_itself {
            number.checked_sub(u64::from(self.bytes)).ok_or(FramingError::Short)
        } else {
            Ok(number)
        }
    }

    fn write(self, length: u64, out: &mut Vec<u8>) -> Result<(), Unframable> {
        let number = length.saturating_add(if self.counts_itself { u64::from(self.bytes) } else { 0 });
        if self.bytes < 8 && number >> (8 * self.bytes) != 0 {
            return Err(Unframable::Length);
        }
        if self.is_little_endian {
            out.extend_from_slice(&number.to_le_bytes()[..self.size()]);
        } else {
            out.extend_from_slice(&number.to_be_bytes()[8 - self.size()..]);
        }
        Ok(())
    }
}

impl Framing {
    /// What announces so many bytes that are sent as they are: a prefix, or nothing.
    ///
    /// # Errors
    /// The prefix has too few bytes for that.
    pub fn head(&self, length: u64) -> Result<Vec<u8>, Unframable> {
        let mut head = Vec::new();
        if let Framing::Prefixed(prefix) = self {
            prefix.write(length, &mut head)?;
        }
        Ok(head)
    }

    /// A message as it is sent.
    ///
    /// # Errors
    /// It cannot be sent with this framing.
    pub fn encode(&self, message: &[u8]) -> Result<Vec<u8>, Unframable> {
        match self {
            Framing::Raw => Ok(message.to_vec()),
            Framing::Delimited(delimiter) => {
                let out = [message, delimiter].concat();
                // It may also begin within the message and end within itself.
                if memmem::find(&out, delimiter) == Some(message.len()) {
                    Ok(out)
                } else {
                    Err(Unframable::Delimiter)
                }
            }
            Framing::Prefixed(prefix) => {
                let mut out = Vec::with_capacity(prefix.size() + message.len());
                prefix.write(message.len() as u64, &mut out)?;
                out.extend_from_slice(message);
                Ok(out)
            }
        }
    }
}

/// Decodes what one peer sends. Between two messages it owns no memory but itself.
#[derive(Debug)]
pub struct Framer {
    framing: Rc<Framing>,
    message_bytes_max: usize,
    /// What has arrived of a message, its prefix included; with `Raw`, what was given back.
    buffer: Vec<u8>,
    /// With `Raw`: the least bytes of the next message.
    wanted: usize,
}

impl Framer {
    /// One for messages of at most this many bytes.
    pub fn new(framing: Rc<Framing>, message_bytes_max: usize) -> Framer {
        Framer { framing, message_bytes_max, buffer: Vec::new(), wanted: 0 }
    }

    /// How messages are told apart.
    pub fn framing(&self) -> &Rc<Framing> {
        &self.framing
    }

    /// Whether a part of a message has arrived.
    pub fn is_within(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Decodes `input` up to the end of the next message. Returns how many bytes it has taken, which are all if there is
    /// none: call it again with the rest. After an error nothing more can be decoded.
    ///
    /// # Errors
    /// See [`FramingError`].
    pub fn decode(&mut self, input: &[u8]) -> Result<(usize, Option<Vec<u8>>), FramingError> {
        match &*self.framing {
            Framing::Raw if input.is_empty() => Ok((0, None)),
            Framing::Raw => self.raw(input),
            Framing::Delimited(delimiter) => {
                delimited(&mut self.buffer, delimiter, input, self.message_bytes_max)
            }
            Framing::Prefixed(prefix) => prefixed(&mut self.buffer, *prefix, input, self.message_bytes_max),
        }
    }
}

/// Streams whose reader tells messages apart itself.
impl Framer {
    /// The reader could not use these bytes, with which the next message begins: it is complete for us when there are
    /// `wanted` of them. There must be room for more.
    pub fn give_back(&mut self, bytes: &[u8], wanted: usize) {
        debug_assert!(bytes.len() < self.message_bytes_max && wanted <= self.message_bytes_max);
        self.buffer = bytes.to_vec();
        self.wanted = wanted;
    }

    fn raw(&mut self, input: &[u8]) -> Decoded {
        let count = input.len().min(self.message_bytes_max.saturating_sub(self.buffer.len()));
        if count == 0 {
            return Err(FramingError::TooBig);
        }
        if self.buffer.is_empty() {
            return Ok((count, Some(input[..count].to_vec())));
        }
        self.buffer.extend_from_slice(&input[..count]);
        if self.buffer.len() < self.wanted {
            return Ok((count, None));
        }
        Ok((count, Some(std::mem::take(&mut self.buffer))))
    }
}

type Decoded = Result<(usize, Option<Vec<u8>>), FramingError>;

fn delimited(buffer: &mut Vec<u8>, delimiter: &[u8], input: &[u8], bytes_max: usize) -> Decoded {
    let before = buffer.len();
    // The delimiter may have begun in what is there already.
    let from = before.saturating_sub(delimiter.len() - 1);
    let room = bytes_max + delimiter.len() - before;
    let taken = input.len().min(room);
    if before == 0
        && let Some(at) = memmem::find(&input[..taken], delimiter)
    {
        return Ok((at + delimiter.len(), Some(input[..at].to_vec())));
    }
    buffer.extend_from_slice(&input[..taken]);
    if before > 0
        && let Some(at) = memmem::find(&buffer[from..], delimiter)
    {
        let end = from + at;
        let mut message = std::mem::take(buffer);
        message.truncate(end);
        return Ok((end + delimiter.len() - before, Some(message)));
    }
    if buffer.len() >= bytes_max + delimiter.len() {
        return Err(FramingError::TooBig);
    }
    Ok((taken, None))
}

fn prefixed(buffer: &mut Vec<u8>, prefix: Prefix, input: &[u8], bytes_max: usize) -> Decoded {
    let mut used = 0;
    if buffer.len() < prefix.size() {
        used = input.len().min(prefix.size() - buffer.len());
        buffer.extend_from_slice(&input[..used]);
        if buffer.len() < prefix.size() {
            return Ok((used, None));
        }
    }
    let length = prefix.read(&buffer[..prefix.size()])?;
    if length > bytes_max as u64 {
        return Err(FramingError::TooBig);
    }
    let whole = prefix.size() + length as usize;
    let count = (input.len() - used).min(whole - buffer.len());
    buffer.extend_from_slice(&input[used..used + count]);
    used += count;
    if buffer.len() < whole {
        return Ok((used, None));
    }
    let mut message = std::mem::take(buffer);
    message.drain(..prefix.size());
    Ok((used, Some(message)))
}
