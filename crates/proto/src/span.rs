//! A part of a buffer that the caller owns, as offset and length.
//!
//! Must not know what it points to. Invariant: never panics, whatever buffer it is given.

/// Offset and length within the caller's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub(crate) at: u32,
    pub(crate) len: u32,
}

impl Span {
    /// The position of `part`, given the address of the buffer that contains it. Heads are shorter than 4 GiB.
    pub(crate) fn of(part: &[u8], base: usize) -> Span {
        Span { at: (part.as_ptr().addr() - base) as u32, len: part.len() as u32 }
    }

    /// The bytes, or nothing if `buf` is too short to be the buffer that was parsed.
    pub(crate) fn slice(self, buf: &[u8]) -> &[u8] {
        let at = self.at as usize;
        buf.get(at..at + self.len as usize).unwrap_or_default()
    }
}
