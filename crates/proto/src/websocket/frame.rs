//! Frames as a server sends them: whole messages, unmasked (RFC 6455 sections 5.1 and 5.2).
//!
//! Must not know who receives them. Invariant: a control frame has at most 125 bytes.

use super::close::{CloseCode, REASON_BYTES_MAX};

const FINAL: u8 = 0x80;
/// RFC 7692 section 6.
const COMPRESSED: u8 = 0x40;
const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xA;
/// The most bytes of a control frame's payload.
pub(super) const CONTROL_BYTES_MAX: usize = 125;

/// What a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// Any bytes.
    Binary,
}

/// A whole message as one frame.
pub fn frame(kind: Kind, payload: &[u8]) -> Vec<u8> {
    encode(if kind == Kind::Text { TEXT } else { BINARY }, payload)
}

/// Appends it.
pub fn write_frame(kind: Kind, payload: &[u8], into: &mut Vec<u8>) {
    write(if kind == Kind::Text { TEXT } else { BINARY }, payload, into);
}

/// A whole message as one frame, whose payload is compressed.
pub fn compressed_frame(kind: Kind, payload: &[u8]) -> Vec<u8> {
    encode(COMPRESSED | if kind == Kind::Text { TEXT } else { BINARY }, payload)
}

/// A ping; of the payload at most 125 bytes.
pub fn ping_frame(payload: &[u8]) -> Vec<u8> {
    encode(PING, &payload[..payload.len().min(CONTROL_BYTES_MAX)])
}

/// The answer to a ping, with its payload; of that at most 125 bytes.
pub fn pong_frame(payload: &[u8]) -> Vec<u8> {
    encode(PONG, &payload[..payload.len().min(CONTROL_BYTES_MAX)])
}

/// A close frame; without a code if this one must not be sent. The reason is cut at 123 bytes, between two characters.
pub fn close_frame(code: CloseCode, reason: &str) -> Vec<u8> {
    if !code.is_sendable() {
        return encode(CLOSE, &[]);
    }
    let cut = (0..=reason.len().min(REASON_BYTES_MAX)).rev().find(|at| reason.is_char_boundary(*at));
    let mut payload = code.0.to_be_bytes().to_vec();
    payload.extend_from_slice(&reason.as_bytes()[..cut.unwrap_or(0)]);
    encode(CLOSE, &payload)
}

fn encode(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(payload.len() + 10);
    write(opcode, payload, &mut out);
    out
}

fn write(opcode: u8, payload: &[u8], out: &mut Vec<u8>) {
    out.push(FINAL | opcode);
    match payload.len() {
        length @ 0..=125 => out.push(length as u8),
        length @ 126..=0xFFFF => {
            out.push(126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            out.push(127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(payload);
}
