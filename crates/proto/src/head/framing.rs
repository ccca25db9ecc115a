//! The version of a request, and how its body is delimited.
//!
//! Must not know the fields that say so.

/// The HTTP version of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    #[default]
    Http11,
    /// HTTP/2: never parsed from text, see [`Head::arrived_by`](crate::Head::arrived_by).
    Http2,
}

/// How a request's body is delimited (RFC 9112 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Framing {
    /// No body.
    #[default]
    None,
    /// Exactly this many bytes, at most [`RequestLimits::body_bytes_max`](crate::RequestLimits::body_bytes_max); may be 0.
    Length(u64),
    /// Chunked: give the bytes to a [`ChunkDecoder`](crate::ChunkDecoder).
    Chunked,
    /// Until the stream that carries the request ends, which its protocol says.
    UntilEnd,
}
