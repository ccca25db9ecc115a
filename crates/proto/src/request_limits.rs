//! The limits on a request, each with its default and the status that answers a violation.
//!
//! Must not know connections or time: the server keeps deadlines. Invariant: nothing in this crate grows with a
//! peer's input beyond one of these numbers.

/// Limits on the parts of a request. `Default` gives the numbers stated at each field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLimits {
    /// Bytes from the first byte (leading empty lines included) to the end of the head: 16 KiB; 431 above.
    /// Values above 1 GiB count as 1 GiB.
    pub head_bytes_max: usize,
    /// Header lines: 100; 431 above. Values above [`RequestLimits::HEADER_COUNT_CAP`] count as that.
    pub header_count_max: usize,
    /// Bytes of the request target: 8 KiB (RFC 9112 section 3 asks for 8000 octets at least); 414 above.
    pub target_bytes_max: usize,
    /// Bytes of content, after chunked decoding: 8 MiB; 413 above.
    pub body_bytes_max: u64,
    /// Bytes of one chunk-size line, extensions included, its CRLF not: 256; 400 above.
    pub chunk_line_bytes_max: usize,
    /// Bytes of all chunk extensions of one body: 16 KiB; 400 above. Stops a body that consists of extensions.
    pub chunk_extension_bytes_max: usize,
    /// Bytes of the trailer section, line ends included: 8 KiB; 431 above.
    pub trailer_bytes_max: usize,
    /// Trailer lines: 32; 431 above. Values above [`RequestLimits::HEADER_COUNT_CAP`] count as that.
    pub trailer_count_max: usize,
}

impl RequestLimits {
    /// The most header lines that any configuration allows: the parser's table of them lives on the stack.
    pub const HEADER_COUNT_CAP: usize = 256;
    /// The longest method, in bytes; longer ones get 501 (RFC 9112 section 3). The longest registered method,
    /// `UPDATEREDIRECTREF`, has 17.
    pub const METHOD_BYTES_MAX: usize = 32;
    /// Empty lines ignored before a request line (RFC 9112 section 2.2); one more is refused with 400.
    pub const LEADING_EMPTY_LINES_MAX: usize = 4;
    /// Offsets are kept as `u32`.
    const HEAD_BYTES_CAP: usize = 1 << 30;

    /// The effective value of `head_bytes_max`.
    pub(crate) fn head_max(&self) -> usize {
        self.head_bytes_max.min(RequestLimits::HEAD_BYTES_CAP)
    }

    /// The effective value of `header_count_max`.
    pub(crate) fn header_max(&self) -> usize {
        self.header_count_max.min(RequestLimits::HEADER_COUNT_CAP)
    }
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            head_bytes_max: 16 * 1024,
            header_count_max: 100,
            target_bytes_max: 8 * 1024,
            body_bytes_max: 8 * 1024 * 1024,
            chunk_line_bytes_max: 256,
            chunk_extension_bytes_max: 16 * 1024,
            trailer_bytes_max: 8 * 1024,
            trailer_count_max: 32,
        }
    }
}
