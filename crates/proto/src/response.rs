//! A response's head: which body it announces and whether the connection persists (RFC 9112 sections 6 and 9).
//!
//! Must not know sockets or the time. Invariant: the head announces exactly what [`Sent`] tells the caller to
//! write, so if the caller follows `Sent`, a response is never longer or shorter than its reader expects.

use crate::bytes::push_decimal;
use crate::date::DateCache;
use crate::declared::Declared;
use crate::encode::{InvalidHeader, Part};
use crate::head::Version;
use crate::repeated::{Repeated, Source};
use crate::status::push_status_line;

/// What the server knows about a body's length before it writes the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyLength {
    /// All bytes are available (0 for an empty body).
    Known(u64),
    /// The body is produced while it is sent.
    Unknown,
}

/// How the body must be written after this head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentBody {
    /// No bytes, whatever the application produced: HEAD, 204, 205, 304.
    None,
    /// Exactly this many bytes, unencoded.
    Length(u64),
    /// In chunks: [`write_chunk`](crate::write_chunk), then [`write_last_chunk`](crate::write_last_chunk).
    Chunked,
    /// Unencoded, then close; in HTTP/2 until the stream ends.
    UntilClose,
}

/// What an encoded head promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// How to write the body.
    pub body: SentBody,
    /// Whether the connection can serve another request after the body.
    pub keep_alive: bool,
}

/// A final response, before its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseHead {
    /// 200 to 999; [`write_interim`](crate::write_interim) writes interim responses.
    pub status: u16,
    /// The request's version.
    pub version: Version,
    /// Whether the request's method is HEAD.
    pub head_request: bool,
    /// Whether both the request and the server want the connection to persist.
    pub keep_alive: bool,
    /// What is known about the body's length.
    pub body: BodyLength,
    /// Whole field lines that the server adds, CRLF included, written verbatim: `b"Server: weft\r\n"`, or none.
    pub own_lines: &'static [u8],
}

impl ResponseHead {
    /// Appends the head to `out`: status line, `fields` in order, Date unless the application set it, framing.
    ///
    /// Some of the application's fields are treated specially. Transfer-Encoding, Keep-Alive and Proxy-Connection
    /// are left out. Connection is left out, and `close` in it is obeyed. Content-Length counts only if the server
    /// does not know better: if the length is [`Unknown`](BodyLength::Unknown), it becomes the framing (the caller
    /// must then write exactly that many bytes or close), and for HEAD and 304 it describes the body that is not
    /// sent. `last` speeds up a head that equals the previous one; it does not change a byte.
    ///
    /// # Errors
    /// A status out of range, a name or value that could split the response, or a Content-Length that is not one
    /// number. `out` is then unchanged.
    pub fn encode(
        &self,
        fields: &[(&[u8], &[u8])],
        date: &DateCache,
        last: &mut Repeated,
        out: &mut Vec<u8>,
    ) -> Result<Sent, InvalidHeader> {
        let (status, own_lines, unix_secs) = (self.status, self.own_lines, date.unix_secs());
        let source = Source { status, own_lines, unix_secs, fields };
        if let Some((lines, declared)) = last.find(source) {
            out.extend_from_slice(lines);
            return Ok(self.finish(declared, out));
        }
        let start = out.len();
        let declared = self.push_lines(fields, date, out)?;
        last.keep(source, declared, &out[start..]);
        Ok(self.finish(declared, out))
    }

    /// Writes what does not depend on the body: status line, fields, Date.
    fn push_lines(
        &self,
        fields: &[(&[u8], &[u8])],
        date: &DateCache,
        out: &mut Vec<u8>,
    ) -> Result<Declared, InvalidHeader> {
        if !(200..=999).contains(&self.status) {
            return Err(InvalidHeader::new(Part::Status, self.status.to_string().as_bytes()));
        }
        let start = out.len();
        push_status_line(out, self.status);
        out.extend_from_slice(self.own_lines);
        let mut declared = Declared::default();
        for &(name, value) in fields {
            if let Err(invalid) = declared.take(name, value, out) {
                out.truncate(start);
                return Err(invalid);
            }
        }
        if !declared.date {
            out.extend_from_slice(date.line());
        }
        Ok(declared)
    }

    /// Writes what depends on the body and the connection, and the empty line.
    fn finish(&self, declared: Declared, out: &mut Vec<u8>) -> Sent {
        let body = self.push_framing(declared.length, out);
        let keep_alive = self.keep_alive && !declared.close && body != SentBody::UntilClose;
        match (keep_alive, self.version) {
            (_, Version::Http2) | (true, Version::Http11) => {}
            (true, Version::Http10) => out.extend_from_slice(b"Connection: keep-alive\r\n"),
            (false, _) => out.extend_from_slice(b"Connection: close\r\n"),
        }
        out.extend_from_slice(b"\r\n");
        Sent { body, keep_alive }
    }

    /// RFC 9112 6.3 from the sender's side; RFC 9110 6.4.1 and 8.6 for responses without a body.
    fn push_framing(&self, declared: Option<u64>, out: &mut Vec<u8>) -> SentBody {
        let known = match self.body {
            BodyLength::Known(length) => Some(length),
            BodyLength::Unknown => None,
        };
        match self.status {
            // RFC 9110 8.6: no Content-Length in a 204.
            204 => SentBody::None,
            // RFC 9110 15.4.5 and 8.6: only the length that a 200 would have had, which only the application
            // knows.
            304 => {
                push_length(declared, out);
                SentBody::None
            }
            // RFC 9110 15.3.6: no content.
            205 => {
                push_length(Some(0), out);
                SentBody::None
            }
            _ if self.head_request => {
                push_length(declared.or(known), out);
                SentBody::None
            }
            _ => match known.or(declared) {
                Some(length) => {
                    push_length(Some(length), out);
                    SentBody::Length(length)
                }
                None if self.version == Version::Http11 => {
                    out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
                    SentBody::Chunked
                }
                None => SentBody::UntilClose,
            },
        }
    }
}

fn push_length(length: Option<u64>, out: &mut Vec<u8>) {
    if let Some(length) = length {
        out.extend_from_slice(b"Content-Length: ");
        push_decimal(out, length);
        out.extend_from_slice(b"\r\n");
    }
}
