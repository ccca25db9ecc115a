//! The bytes that a connection of HTTP/1.1 has sent, in a stream's input: where one request ends and the next begins.
//!
//! Must not know the socket. Invariant: bytes move only between two requests.

use weft_rt::Nanos;

use crate::stream::Stream;

impl Stream {
    /// The part of the request line that was received, without its end.
    pub(crate) fn request_line(&self) -> &[u8] {
        let bytes = self.bytes();
        // RFC 9112 2.2: empty lines before it are ignored.
        let start = bytes.iter().position(|byte| !b"\r\n".contains(byte)).unwrap_or(bytes.len());
        let line = &bytes[start..];
        &line[..line.iter().position(|byte| b"\r\n".contains(byte)).unwrap_or(line.len())]
    }

    /// Bytes of a request that were received but not parsed yet.
    pub(crate) fn unparsed(&self) -> usize {
        self.input.len() - self.start
    }

    /// Moves on from an answered request to the bytes after it.
    pub(crate) fn next_request(&mut self, now: Nanos) {
        self.start = self.wire.next;
        if !self.wire.carry.is_empty() {
            self.compact();
            self.input.append(&mut self.wire.carry);
        } else if self.start == self.input.len() {
            self.input.clear();
            self.start = 0;
        }
        self.wire.next = self.start;
        self.wire.keep_alive = true;
        self.renew(now);
    }

    /// Moves the unparsed bytes to the start of the buffer.
    pub(crate) fn compact(&mut self) {
        if self.start > 0 {
            self.input.drain(..self.start);
            (self.start, self.wire.next) = (0, 0);
        }
    }
}
