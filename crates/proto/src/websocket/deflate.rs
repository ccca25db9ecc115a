//! Messages that are compressed one by one (RFC 7692): what is agreed on, and both coders.
//!
//! No context is taken over from one message to the next, in neither direction: the server says so in each answer, which
//! section 7.1.1 allows whatever was offered. So a connection owns no coder and no window, one of each serves all
//! connections, and a message to many is compressed once. What that costs is ratio: short messages that repeat each other
//! are not matched with each other.
//!
//! Must not know frames, nor who talks. Invariants: an agreement holds: where the peer's window is smaller than deflate's
//! own, only messages that fit it are compressed, so that no distance exceeds it; a message never inflates to more than it
//! may, whatever it says.

use std::fmt;

use flate2::{Compress, Compression, FlushCompress};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_HAS_MORE_INPUT, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use super::decoder::Failure;
use super::frame::Kind;
use crate::Head;
use crate::bytes::{list, trim_ows};

/// What a Z_SYNC_FLUSH ends with, and a message does not (section 7.2.1).
const TAIL: [u8; 4] = [0, 0, 0xFF, 0xFF];
/// Shorter messages are sent as they are: the gain would be smaller than the work.
const BYTES_MIN: usize = 128;
/// The logarithm of the window of the coders.
const WINDOW_BITS: u8 = 15;
const FLAGS: u32 = TINFL_FLAG_HAS_MORE_INPUT | TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
/// The least that is allocated for what a message inflates to.
const INFLATED_BYTES_MIN: usize = 256;

/// What a server and a client have agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deflate {
    /// The logarithm of the window with which the client reads: 8 to 15.
    pub window_bits: u8,
    /// Whether the client has named it.
    is_named: bool,
}

impl Deflate {
    /// The first offer of a request that the server can keep to, or none.
    pub fn negotiate(head: &Head, bytes: &[u8]) -> Option<Deflate> {
        head.get_all(bytes, "sec-websocket-extensions").flat_map(list).find_map(Deflate::of_offer)
    }

    /// Reads one offer. A parameter that is unknown, wrong or there twice makes it one to decline (section 7.1).
    fn of_offer(offer: &[u8]) -> Option<Deflate> {
        let mut parts = offer.split(|byte| *byte == b';').map(trim_ows);
        if parts.next() != Some(b"permessage-deflate") {
            return None;
        }
        let mut agreed = Deflate { window_bits: WINDOW_BITS, is_named: false };
        let mut seen: Vec<&[u8]> = Vec::new();
        for part in parts {
            let at = part.iter().position(|byte| *byte == b'=');
            let (name, value) = match at {
                Some(at) => (trim_ows(&part[..at]), Some(unquoted(trim_ows(&part[at + 1..])))),
                None => (part, None),
            };
            if seen.contains(&name) {
                return None;
            }
            seen.push(name);
            match (name, value) {
                (b"server_no_context_takeover" | b"client_no_context_takeover", None) => (),
                // A hint of what the client could keep to; it is not asked to.
                (b"client_max_window_bits", None) => (),
                (b"client_max_window_bits", Some(value)) => {
                    window_bits(value)?;
                }
                (b"server_max_window_bits", Some(value)) => {
                    (agreed.window_bits, agreed.is_named) = (window_bits(value)?, true);
                }
                _ => return None,
            }
        }
        Some(agreed)
    }

    /// The value of Sec-WebSocket-Extensions that says so.
    pub fn answer(&self) -> String {
        let mut answer =
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover".to_owned();
        if self.is_named {
            answer.push_str(&format!("; server_max_window_bits={}", self.window_bits));
        }
        answer
    }

    /// Whether a message of this length is compressed for a client with this window. In a message that is no longer than
    /// the window, no distance can be.
    pub fn is_for(window_bits: u8, length: usize) -> bool {
        length >= BYTES_MIN && (window_bits >= WINDOW_BITS || length <= 1 << window_bits)
    }
}

/// 8 to 15, without leading zeros (section 7.1.2).
fn window_bits(value: &[u8]) -> Option<u8> {
    match value {
        [digit @ b'8'..=b'9'] => Some(digit - b'0'),
        [b'1', digit @ b'0'..=b'5'] => Some(10 + digit - b'0'),
        _ => None,
    }
}

/// A value may be a quoted-string (RFC 6455 section 9.1).
fn unquoted(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(value)
}

/// Compresses messages.
#[derive(Debug)]
pub struct Deflater(Compress);

impl Default for Deflater {
    fn default() -> Deflater {
        Deflater(Compress::new(Compression::fast(), false))
    }
}

impl Deflater {
    /// The payload of a compressed message; `None` if it would not be shorter.
    pub fn deflate(&mut self, payload: &[u8]) -> Option<Vec<u8>> {
        self.0.reset();
        let mut out = Vec::with_capacity(payload.len());
        self.0.compress_vec(payload, &mut out, FlushCompress::Sync).ok()?;
        // With room left, everything is in it.
        if self.0.total_in() != payload.len() as u64 || out.len() == out.capacity() || !out.ends_with(&TAIL) {
            return None;
        }
        out.truncate(out.len() - TAIL.len());
        Some(out)
    }
}

/// Restores messages. The message itself is the window, so it cannot refer to anything else: a reference beyond its beginning
/// is an error, where an inflater with a window of its own would read what another message has left there.
#[derive(Default)]
pub struct Inflater(DecompressorOxide);

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inflater")
    }
}

impl Inflater {
    /// The message behind the payload of a compressed one, of at most `bytes_max` bytes.
    ///
    /// # Errors
    /// It is too big, or no deflate data, or a text that is not UTF-8.
    pub fn inflate(&mut self, kind: Kind, payload: &[u8], bytes_max: usize) -> Result<Vec<u8>, Failure> {
        self.0.init();
        let (mut out, mut length) = (Vec::new(), 0);
        for part in [payload, &TAIL] {
            self.take(part, &mut out, &mut length, payload.len(), bytes_max)?;
        }
        out.truncate(length);
        if kind == Kind::Text && std::str::from_utf8(&out).is_err() {
            return Err(Failure::TEXT);
        }
        Ok(out)
    }

    /// Restores what a part of the payload stands for. `length` bytes of `out` are there.
    fn take(
        &mut self,
        mut part: &[u8],
        out: &mut Vec<u8>,
        length: &mut usize,
        hint: usize,
        bytes_max: usize,
    ) -> Result<(), Failure> {
        loop {
            if *length == out.len() {
                // One more than allowed, so that it is noticed.
                let larger = (out.len() * 2).max(hint * 2).max(INFLATED_BYTES_MIN);
                out.resize(larger.min(bytes_max.saturating_add(1)), 0);
            }
            let (status, used, written) = decompress(&mut self.0, part, out, *length, FLAGS);
            *length += written;
            part = &part[used..];
            if *length > bytes_max {
                return Err(Failure::TOO_BIG);
            }
            match status {
                // A block that says it is the last one may be followed by others (section 7.2.3.5).
                TINFLStatus::Done => self.0.init(),
                TINFLStatus::NeedsMoreInput | TINFLStatus::HasMoreOutput => (),
                _ => return Err(Failure::DEFLATE),
            }
            if part.is_empty() && status != TINFLStatus::HasMoreOutput {
                return Ok(());
            }
        }
    }
}
