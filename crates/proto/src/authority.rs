//! `uri-host [":" port]` (RFC 9110 section 7.2, RFC 3986 section 3.2): the Host field and absolute-form targets.
//!
//! Must not know the request it belongs to. Invariant: user information is always refused (RFC 9110 4.2.4), so
//! the text between `//` and the next `/` cannot name two hosts.

use std::net::Ipv6Addr;

use memchr::memchr;

use crate::bytes::reg_name_bytes;

/// A host and its port, as sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authority<'a> {
    /// A name or an address; an IPv6 address keeps its brackets. Case and percent-encoding as sent. May be empty.
    pub host: &'a [u8],
    /// `None` when absent or empty (`host:` is allowed by RFC 3986 3.2.3).
    pub port: Option<u16>,
}

/// Splits and checks an authority without user information. `None` when it is malformed.
pub fn split_authority(bytes: &[u8]) -> Option<Authority<'_>> {
    let host_end = match bytes.first() {
        Some(b'[') => {
            let end = bytes.iter().position(|&b| b == b']')?;
            is_ip_literal(&bytes[1..end]).then_some(end + 1)?
        }
        // Anything else that is not a colon ends the name here and is refused below, as a port.
        _ => {
            let end = reg_name_bytes(bytes);
            is_well_encoded(&bytes[..end]).then_some(end)?
        }
    };
    let (host, rest) = bytes.split_at(host_end);
    let port = match rest {
        [] | [b':'] => None,
        [b':', digits @ ..] => Some(port(digits)?),
        _ => return None,
    };
    Some(Authority { host, port })
}

/// RFC 3986 2.1: each percent sign stands before two hexadecimal digits.
fn is_well_encoded(mut name: &[u8]) -> bool {
    while let Some(at) = memchr(b'%', name) {
        let Some([high, low, rest @ ..]) = name.get(at + 1..) else { return false };
        if !high.is_ascii_hexdigit() || !low.is_ascii_hexdigit() {
            return false;
        }
        name = rest;
    }
    true
}

/// Decimal digits, 0 to 65535.
pub(crate) fn port(digits: &[u8]) -> Option<u16> {
    crate::bytes::decimal(digits).and_then(|n| u16::try_from(n).ok())
}

/// An IPv6 address. Zone identifiers and future versions (`v1.x`) mean nothing to a server and are refused.
fn is_ip_literal(address: &[u8]) -> bool {
    str::from_utf8(address).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports() {
        let cases: [(&[u8], &[u8], Option<u16>); 8] = [
            (b"example.org", b"example.org", None),
            (b"example.org:8080", b"example.org", Some(8080)),
            (b"example.org:", b"example.org", None),
            (b"127.0.0.1:0", b"127.0.0.1", Some(0)),
            (b"[::1]:65535", b"[::1]", Some(65535)),
            (b"[2001:db8::1]", b"[2001:db8::1]", None),
            (b"a_b~c%20d", b"a_b~c%20d", None),
            (b"", b"", None),
        ];
        for (text, host, port) in cases {
            assert_eq!(split_authority(text), Some(Authority { host, port }), "{text:?}");
        }
    }

    #[test]
    fn malformed_authorities() {
        let cases: [&[u8]; 20] = [
            b"user@host",
            b"a:b",
            b"a:65536",
            b"a:+1",
            b"a:1:2",
            b"a b",
            b"a/b",
            b"a?b",
            b"a#b",
            b"[::1",
            b"[::1]x",
            b"[fe80::1%25eth0]",
            b"a\\b",
            b"h\xc3\xb6st",
            b"a%zz",
            b"a%",
            b"a%2",
            b"%2g.example",
            b"a%%20",
            b"[v1.a]",
        ];
        for text in cases {
            assert_eq!(split_authority(text), None, "{text:?}");
        }
    }
}
