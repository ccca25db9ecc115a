//! Finds the rule that a head broke after httparse has refused it: the cold path, which gives the error its
//! reason.
//!
//! Must never decide *whether* a head is refused. Invariant: always yields a 4xx or 5xx, whatever the bytes.

use httparse::Error;

use crate::bytes::{is_ows, is_tchar, is_token};
use crate::reject::Reject;

/// The first rule broken in `head`, which runs from the request line to the empty line and has CR before each LF.
pub(super) fn reject(head: &[u8], error: Error) -> Reject {
    let mut lines = head.split(|&b| b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let request_line = lines.next().unwrap_or_default();
    if let Some(reject) = request_line_reject(request_line) {
        return reject;
    }
    for (index, line) in lines.enumerate() {
        if let Some(reject) = field_line_reject(line, index == 0) {
            return reject;
        }
    }
    match error {
        Error::Version => Reject::VERSION_SYNTAX,
        Error::HeaderName => Reject::HEADER_NAME,
        Error::HeaderValue => Reject::HEADER_VALUE,
        Error::TooManyHeaders => Reject::HEADERS_TOO_MANY,
        Error::NewLine => Reject::BARE_CR,
        Error::Token | Error::Status => Reject::REQUEST_LINE,
    }
}

fn request_line_reject(line: &[u8]) -> Option<Reject> {
    if line.contains(&b'\r') {
        return Some(Reject::BARE_CR);
    }
    let mut parts = line.split(|&b| b == b' ');
    let (method, target, version) = (parts.next()?, parts.next(), parts.next());
    if !is_token(method) {
        return Some(Reject::METHOD);
    }
    let (Some(target @ [_, ..]), Some(version), None) = (target, version, parts.next()) else {
        return Some(Reject::REQUEST_LINE);
    };
    if target.iter().any(|b| b.is_ascii_control()) || str::from_utf8(target).is_err() {
        return Some(Reject::TARGET);
    }
    match version {
        b"HTTP/1.0" | b"HTTP/1.1" => None,
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            Some(Reject::VERSION)
        }
        _ => Some(Reject::VERSION_SYNTAX),
    }
}

fn field_line_reject(line: &[u8], first: bool) -> Option<Reject> {
    match line.first() {
        None => return None,
        Some(&b) if is_ows(b) && first => return Some(Reject::SPACE_BEFORE_FIRST_HEADER),
        Some(&b) if is_ows(b) => return Some(Reject::OBS_FOLD),
        Some(_) => {}
    }
    if line.contains(&b'\r') {
        return Some(Reject::BARE_CR);
    }
    let Some(colon) = line.iter().position(|&b| b == b':') else {
        return Some(Reject::HEADER_NO_COLON);
    };
    let (name, value) = line.split_at(colon);
    match name {
        [] => return Some(Reject::HEADER_NAME_EMPTY),
        [token @ .., last] if is_ows(*last) && token.iter().all(|&b| is_tchar(b) || is_ows(b)) => {
            return Some(Reject::SPACE_BEFORE_COLON);
        }
        name if !is_token(name) => return Some(Reject::HEADER_NAME),
        _ => {}
    }
    value.iter().any(|&b| b.is_ascii_control() && b != b'\t').then_some(Reject::HEADER_VALUE)
}
