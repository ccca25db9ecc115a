//! The trailer section of a chunked body (RFC 9112 section 7.1.2, RFC 9110 section 6.5).
//!
//! Must not know chunks. Invariant: it keeps at most [`RequestLimits::trailer_bytes_max`] bytes, applies a head's rules
//! to lines, and never yields a field that changes framing or routing.

use memchr::memchr;

use crate::reject::Reject;
use crate::request_limits::RequestLimits;
use crate::span::Span;

/// Refused: a trailer with one of these is an attempt to make two recipients read the message differently.
const REFUSED: &[&str] = &["content-length", "transfer-encoding", "host"];

/// Dropped: framing, control, authentication and content fields (RFC 9110 6.5.1), and the fields that proxies
/// set about the client.
const DROPPED: &[&str] = &[
    "authorization",
    "cache-control",
    "connection",
    "content-encoding",
    "content-range",
    "content-type",
    "cookie",
    "expect",
    "forwarded",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "max-forwards",
    "pragma",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "set-cookie",
    "te",
    "trailer",
    "upgrade",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
];

/// Trailer lines: collected as they arrive, then read as fields.
#[derive(Debug, Clone, Default)]
pub(super) struct Trailers {
    bytes: Vec<u8>,
    fields: Vec<(Span, Span)>,
}

impl Trailers {
    /// Reads what `input` holds of the section. Returns the bytes used and whether the section's empty line was
    /// among them.
    pub(super) fn read(&mut self, input: &[u8], limits: &RequestLimits) -> Result<(usize, bool), Reject> {
        // Nearly every chunked body has no trailers, so there is nothing to copy.
        if self.bytes.is_empty() && input.starts_with(b"\r\n") {
            return Ok((2, true));
        }
        let mut used = 0;
        while used < input.len() {
            let lf = memchr(b'\n', &input[used..]);
            let piece = &input[used..lf.map_or(input.len(), |distance| used + distance + 1)];
            // The empty line that ends the section is not counted.
            if self.bytes.len() + piece.len() > limits.trailer_bytes_max.saturating_add(2) {
                return Err(Reject::TRAILER_TOO_LARGE);
            }
            self.bytes.extend_from_slice(piece);
            used += piece.len();
            if lf.is_none() {
                break;
            }
            if !self.bytes.ends_with(b"\r\n") {
                return Err(Reject::BARE_LF);
            }
            if self.bytes == b"\r\n" || self.bytes.ends_with(b"\n\r\n") {
                self.parse(limits)?;
                return Ok((used, true));
            }
        }
        Ok((used, false))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields.iter().map(|(name, value)| (name.slice(&self.bytes), value.slice(&self.bytes)))
    }

    fn parse(&mut self, limits: &RequestLimits) -> Result<(), Reject> {
        let mut table = [httparse::EMPTY_HEADER; RequestLimits::HEADER_COUNT_CAP];
        let table = &mut table[..limits.trailer_count_max.min(RequestLimits::HEADER_COUNT_CAP)];
        let fields = match httparse::parse_headers(&self.bytes, table) {
            Ok(httparse::Status::Complete((_, fields))) => fields,
            Err(httparse::Error::TooManyHeaders) => return Err(Reject::TRAILER_TOO_LARGE),
            Ok(httparse::Status::Partial) | Err(_) => return Err(Reject::TRAILER),
        };
        let base = self.bytes.as_ptr().addr();
        for field in fields {
            let is = |name: &&str| field.name.eq_ignore_ascii_case(name);
            if REFUSED.iter().any(is) {
                return Err(Reject::TRAILER_FORBIDDEN);
            }
            if !DROPPED.iter().any(is) {
                self.fields.push((Span::of(field.name.as_bytes(), base), Span::of(field.value, base)));
            }
        }
        Ok(())
    }
}
