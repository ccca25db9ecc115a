//! Parts of a response as bytes: checked fields, chunks, interim responses.
//!
//! Must not know connections. Invariant: a field written here cannot end its own line. Names are tokens, and values
//! hold no control character except the tab (RFC 9110 section 5.5), so input that reaches a response header cannot
//! split the response.

use std::fmt;

use crate::bytes::is_token;
use crate::head::Version;
use crate::status::push_status_line;

/// How many bytes of a name an error shows.
const NAME_BYTES_SHOWN_MAX: usize = 100;

/// Which part of a response an application got wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The status code is out of range.
    Status,
    /// The field name is not a token.
    Name,
    /// The field value holds a control character, or is a Content-Length that is repeated or not a number.
    Value,
}

/// A response that must not be written. Nothing was appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidHeader {
    /// What is wrong.
    pub part: Part,
    /// The field's name (its first 100 bytes, control characters escaped), or the status code, for the log.
    pub name: String,
}

impl InvalidHeader {
    pub(crate) fn new(part: Part, name: &[u8]) -> InvalidHeader {
        let name = &name[..name.len().min(NAME_BYTES_SHOWN_MAX)];
        InvalidHeader { part, name: String::from_utf8_lossy(name).escape_debug().collect() }
    }
}

impl fmt::Display for InvalidHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match self.part {
            Part::Status => write!(f, "the response status {name} is out of range"),
            Part::Name => write!(f, "the response header name \"{name}\" is not a token"),
            Part::Value => {
                write!(f, "the value of the response header \"{name}\" is invalid: remove control characters")
            }
        }
    }
}

impl std::error::Error for InvalidHeader {}

/// Appends `name: value` and CRLF after checking both.
pub(crate) fn push_field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) -> Result<(), InvalidHeader> {
    // Nearly every response has this field.
    if name != b"Content-Type" && !is_token(name) {
        return Err(InvalidHeader::new(Part::Name, name));
    }
    if has_controls(value) {
        return Err(InvalidHeader::new(Part::Value, name));
    }
    out.reserve(name.len() + value.len() + 4);
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
    Ok(())
}

/// Whether the value holds a control character other than the tab. There is no early exit, so the loop checks
/// many bytes at a time.
fn has_controls(value: &[u8]) -> bool {
    let control = |byte: u8| ((byte < b' ') & (byte != b'\t')) | (byte == 0x7f);
    value.iter().fold(false, |found, byte| found | control(*byte))
}

/// A chunk's size line, for a caller that writes the data in place: prefix, data, CRLF.
#[derive(Debug, Clone, Copy)]
pub struct ChunkPrefix {
    line: [u8; 18],
    at: usize,
}

impl ChunkPrefix {
    /// The size line for `len` bytes of data. A `len` of 0 would end the body: see [`write_last_chunk`].
    pub fn new(len: usize) -> ChunkPrefix {
        let mut line = *b"................\r\n";
        let (mut at, mut left) = (16, len);
        loop {
            at -= 1;
            line[at] = b"0123456789abcdef"[left % 16];
            left /= 16;
            if left == 0 {
                return ChunkPrefix { line, at };
            }
        }
    }

    /// The hexadecimal size and CRLF.
    pub fn as_bytes(&self) -> &[u8] {
        &self.line[self.at..]
    }
}

/// Appends one chunk (RFC 9112 7.1). Appends nothing if `data` is empty, because an empty chunk ends the body.
pub fn write_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    out.reserve(data.len() + 20);
    out.extend_from_slice(ChunkPrefix::new(data.len()).as_bytes());
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

/// Appends the last chunk with `trailers`, which may be empty.
///
/// # Errors
/// A malformed trailer, or one of Content-Length, Transfer-Encoding, Host and Trailer (RFC 9110 6.5.1). `out`
/// is then unchanged.
pub fn write_last_chunk<'f, I>(out: &mut Vec<u8>, trailers: I) -> Result<(), InvalidHeader>
where
    I: IntoIterator<Item = (&'f [u8], &'f [u8])>,
{
    let start = out.len();
    out.extend_from_slice(b"0\r\n");
    for (name, value) in trailers {
        let forbidden =
            is_framing(name) || name.eq_ignore_ascii_case(b"host") || name.eq_ignore_ascii_case(b"trailer");
        let pushed =
            if forbidden { Err(InvalidHeader::new(Part::Name, name)) } else { push_field(out, name, value) };
        if let Err(invalid) = pushed {
            out.truncate(start);
            return Err(invalid);
        }
    }
    out.extend_from_slice(b"\r\n");
    Ok(())
}

/// Appends an interim response (RFC 9110 15.2) to a request of `version`: 100, 102, 103 with its Link fields, or
/// 101 with its Upgrade field, to which it adds `Connection: upgrade`. Framing and connection fields are left out.
/// Writes nothing and returns false for HTTP/1.0, which has no interim responses.
///
/// # Errors
/// A malformed field, or a status outside 100 to 199. `out` is then unchanged.
pub fn write_interim<'f, I>(
    out: &mut Vec<u8>,
    version: Version,
    status: u16,
    fields: I,
) -> Result<bool, InvalidHeader>
where
    I: IntoIterator<Item = (&'f [u8], &'f [u8])>,
{
    if !(100..200).contains(&status) {
        return Err(InvalidHeader::new(Part::Status, status.to_string().as_bytes()));
    }
    if version == Version::Http10 {
        return Ok(false);
    }
    let start = out.len();
    push_status_line(out, status);
    for (name, value) in fields {
        if is_framing(name) || name.eq_ignore_ascii_case(b"connection") {
            continue;
        }
        if let Err(invalid) = push_field(out, name, value) {
            out.truncate(start);
            return Err(invalid);
        }
    }
    if status == 101 {
        out.extend_from_slice(b"Connection: upgrade\r\n");
    }
    out.extend_from_slice(b"\r\n");
    Ok(true)
}

fn is_framing(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"content-length") || name.eq_ignore_ascii_case(b"transfer-encoding")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals() {
        for number in [0, 9, 10, 1234567890, u64::MAX] {
            let mut out = Vec::new();
            crate::bytes::push_decimal(&mut out, number);
            assert_eq!(out, number.to_string().as_bytes());
        }
    }

    #[test]
    fn chunk_prefixes() {
        for len in [1, 15, 16, 255, 65536, usize::MAX] {
            assert_eq!(ChunkPrefix::new(len).as_bytes(), format!("{len:x}\r\n").as_bytes());
        }
    }
}
