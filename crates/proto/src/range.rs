//! Byte ranges of a representation (RFC 9110 section 14).
//!
//! Must not know files. Invariant: every range lies within the representation, their number does not exceed the
//! caller's maximum, and together they are not longer than the representation. So a range request never costs
//! more than the whole.

use crate::bytes::{list, trim_ows};

/// The first and the last byte of a range within a representation, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    /// Offset of the first byte.
    pub first: u64,
    /// Offset of the last byte; at least `first`.
    pub last: u64,
}

impl ByteRange {
    /// Number of bytes, at least 1.
    pub fn byte_count(self) -> u64 {
        self.last - self.first + 1
    }

    /// The Content-Range value of this range of `length` bytes.
    pub fn content_range(self, length: u64) -> String {
        format!("bytes {}-{}/{length}", self.first, self.last)
    }
}

/// How to answer a Range field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ranges {
    /// 200 with everything: the field is malformed, has another unit, or asks for too many ranges.
    Ignore,
    /// 416 with `Content-Range: bytes */length`.
    Unsatisfiable,
    /// 206 with these ranges, in the requested order: one as the body itself, several as multipart/byteranges.
    Satisfiable(Vec<ByteRange>),
}

/// The Content-Range value of a 416.
pub fn unsatisfied_range(length: u64) -> String {
    format!("bytes */{length}")
}

/// Reads a Range field for a representation of `length` bytes. More than `ranges_max` ranges are ignored, and
/// so are ranges that together exceed `length` (RFC 9110 14.2 on overlapping ranges).
pub fn parse_range(value: &[u8], length: u64, ranges_max: usize) -> Ranges {
    let Some((unit, set)) = value.iter().position(|&b| b == b'=').map(|at| value.split_at(at)) else {
        return Ranges::Ignore;
    };
    if !trim_ows(unit).eq_ignore_ascii_case(b"bytes") {
        return Ranges::Ignore;
    }
    let (mut ranges, mut members, mut total) = (Vec::new(), 0, 0u64);
    for member in list(&set[1..]).filter(|member| !member.is_empty()) {
        members += 1;
        if members > ranges_max {
            return Ranges::Ignore;
        }
        match parse_member(member, length) {
            Member::Invalid => return Ranges::Ignore,
            Member::Outside => {}
            Member::Range(range) => {
                total = match total.checked_add(range.byte_count()) {
                    Some(total) if total <= length => total,
                    _ => return Ranges::Ignore,
                };
                ranges.push(range);
            }
        }
    }
    match (members, ranges.is_empty()) {
        (0, _) => Ranges::Ignore,
        (_, true) => Ranges::Unsatisfiable,
        _ => Ranges::Satisfiable(ranges),
    }
}

enum Member {
    Invalid,
    Outside,
    Range(ByteRange),
}

/// `first-`, `first-last` or `-suffix` (RFC 9110 14.1.1 and 14.1.2).
fn parse_member(member: &[u8], length: u64) -> Member {
    let Some(dash) = member.iter().position(|&b| b == b'-') else {
        return Member::Invalid;
    };
    let (first, last) = (&member[..dash], &member[dash + 1..]);
    let end = length.saturating_sub(1);
    let (first, last) = match (first, last) {
        ([], suffix) => match position(suffix) {
            None => return Member::Invalid,
            Some(0) => return Member::Outside,
            // The RFC calls this satisfiable, but a Content-Range could not express it: the whole
            // representation is empty.
            Some(_) if length == 0 => return Member::Invalid,
            Some(count) => (length.saturating_sub(count), end),
        },
        (first, []) => match position(first) {
            None => return Member::Invalid,
            Some(first) => (first, end),
        },
        (first, last) => match (position(first), position(last)) {
            (Some(first), Some(last)) if first <= last => (first, last.min(end)),
            _ => return Member::Invalid,
        },
    };
    if first >= length { Member::Outside } else { Member::Range(ByteRange { first, last }) }
}

/// `1*DIGIT`; a number beyond 64 bits counts as beyond every representation, not as an error.
fn position(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(crate::bytes::decimal(digits).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(pairs: &[(u64, u64)]) -> Ranges {
        Ranges::Satisfiable(pairs.iter().map(|&(first, last)| ByteRange { first, last }).collect())
    }

    #[test]
    fn ranges_of_ten_thousand_bytes() {
        let cases: [(&str, Ranges); 30] = [
            ("bytes=0-499", some(&[(0, 499)])),
            ("bytes=500-999", some(&[(500, 999)])),
            ("bytes=-500", some(&[(9500, 9999)])),
            ("bytes=9500-", some(&[(9500, 9999)])),
            ("bytes=0-0,-1", some(&[(0, 0), (9999, 9999)])),
            ("bytes= 0-0 ,\t2-2", some(&[(0, 0), (2, 2)])),
            ("BYTES=0-0", some(&[(0, 0)])),
            ("bytes=0-0,,2-2,", some(&[(0, 0), (2, 2)])),
            ("bytes=-20000", some(&[(0, 9999)])),
            ("bytes=0-99999999999999999999999", some(&[(0, 9999)])),
            ("bytes=9999-9999", some(&[(9999, 9999)])),
            ("bytes=0-1,20000-", some(&[(0, 1)])),
            ("bytes=10000-", Ranges::Unsatisfiable),
            ("bytes=99999999999999999999999-", Ranges::Unsatisfiable),
            ("bytes=-0", Ranges::Unsatisfiable),
            ("bytes=0-,0-", Ranges::Ignore),
            ("bytes=5-4", Ranges::Ignore),
            ("bytes=", Ranges::Ignore),
            ("bytes=,", Ranges::Ignore),
            ("bytes", Ranges::Ignore),
            ("", Ranges::Ignore),
            ("bytes=-", Ranges::Ignore),
            ("bytes=a-b", Ranges::Ignore),
            ("bytes=+1-2", Ranges::Ignore),
            ("bytes=1-2-3", Ranges::Ignore),
            ("bytes=--1", Ranges::Ignore),
            ("bytes=1 - 2", Ranges::Ignore),
            ("lines=0-1", Ranges::Ignore),
            ("bytes=0-0,1-1,2-2,3-3", some(&[(0, 0), (1, 1), (2, 2), (3, 3)])),
            ("bytes=0-0,1-1,2-2,3-3,4-4", Ranges::Ignore),
        ];
        for (text, ranges) in cases {
            assert_eq!(parse_range(text.as_bytes(), 10_000, 4), ranges, "{text:?}");
        }
    }

    #[test]
    fn the_smallest_and_the_largest_representation() {
        for text in ["bytes=0-", "bytes=0-0", "bytes=-0"] {
            assert_eq!(parse_range(text.as_bytes(), 0, 4), Ranges::Unsatisfiable);
        }
        assert_eq!(parse_range(b"bytes=-1", 0, 4), Ranges::Ignore);
        assert_eq!(parse_range(b"bytes=0-", u64::MAX, 4), some(&[(0, u64::MAX - 1)]));
        assert_eq!(parse_range(b"bytes=5-,5-", u64::MAX, 4), Ranges::Ignore);
    }

    #[test]
    fn content_range_values() {
        assert_eq!(ByteRange { first: 0, last: 9 }.content_range(20), "bytes 0-9/20");
        assert_eq!(unsatisfied_range(20), "bytes */20");
    }
}
