//! The header of the PROXY protocol, in which a proxy names its client before the first byte of a connection: versions 1
//! and 2 (HAProxy's proxy-protocol.txt, sections 2.1 and 2.2).
//!
//! Must not know whether the proxy is to be believed. Invariants: a prefix of a sound header is never refused; what is
//! refused or complete stays so, whatever follows.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// What the first bytes of a connection are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proxied {
    /// The begin of a header.
    Partial,
    /// A header.
    Complete {
        /// Its bytes.
        length: usize,
        /// The client; `None` if the proxy speaks for itself, or does not say.
        client: Option<SocketAddr>,
    },
}

/// The longest header of version 1, its line end included (section 2.1).
const LINE_BYTES_MAX: usize = 107;
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// Signature, command, family and length.
const FIXED_BYTES: usize = 16;

impl Proxied {
    /// The longest header that is read. Version 2 allows 64 KiB; real ones have a few hundred bytes.
    pub const BYTES_MAX: usize = 4096;

    /// Reads the first bytes of a connection.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn read(bytes: &[u8]) -> Result<Proxied, &'static str> {
        let is_begin = |start: &[u8]| {
            let count = bytes.len().min(start.len());
            bytes[..count] == start[..count]
        };
        if bytes.is_empty() {
            Ok(Proxied::Partial)
        } else if is_begin(b"PROXY ") {
            line(bytes)
        } else if is_begin(SIGNATURE) {
            binary(bytes)
        } else {
            Err("it does not begin with a header of the PROXY protocol")
        }
    }
}

fn line(bytes: &[u8]) -> Result<Proxied, &'static str> {
    let seen = &bytes[..bytes.len().min(LINE_BYTES_MAX)];
    let Some(end) = seen.windows(2).position(|pair| pair == b"\r\n") else {
        return if seen.len() < LINE_BYTES_MAX {
            Ok(Proxied::Partial)
        } else {
            Err("its PROXY line is too long")
        };
    };
    const WRONG: &str = "its PROXY line is malformed";
    let text = std::str::from_utf8(&seen[..end]).map_err(|_| WRONG)?;
    let words: Vec<&str> = text.split(' ').collect();
    let length = end + 2;
    let client = match words[..] {
        // The rest must be ignored.
        [_, "UNKNOWN", ..] => None,
        [_, family @ ("TCP4" | "TCP6"), source, destination, from, to] => {
            let address = |text: &str| -> Option<IpAddr> {
                if family == "TCP4" {
                    text.parse::<Ipv4Addr>().ok().map(IpAddr::V4)
                } else {
                    text.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
                }
            };
            let port = |text: &str| {
                let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
                let is_short = text == "0" || !text.starts_with('0');
                if is_plain && is_short { text.parse::<u16>().ok() } else { None }
            };
            let ends = (address(source), port(from), address(destination), port(to));
            let (Some(source), Some(from), Some(_), Some(_)) = ends else { return Err(WRONG) };
            Some(SocketAddr::new(source, from))
        }
        _ => return Err(WRONG),
    };
    Ok(Proxied::Complete { length, client })
}

fn binary(bytes: &[u8]) -> Result<Proxied, &'static str> {
    const LOCAL: u8 = 0x20;
    const PROXY: u8 = 0x21;
    if bytes.get(12).is_some_and(|command| !matches!(*command, LOCAL | PROXY)) {
        return Err("its PROXY header has an unknown version or command");
    }
    let Some(fixed) = bytes.get(..FIXED_BYTES) else { return Ok(Proxied::Partial) };
    let length = FIXED_BYTES + usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    // Of a local command family and addresses are ignored; an unspecified family has none.
    let needed = match (fixed[12], fixed[13]) {
        (LOCAL, _) | (_, 0x00) => 0,
        (_, 0x11) => 12,
        (_, 0x21) => 36,
        (_, 0x31) => 216,
        _ => return Err("its PROXY header is for a protocol that is not TCP"),
    };
    if length > Proxied::BYTES_MAX {
        return Err("its PROXY header is too long");
    }
    if length < FIXED_BYTES + needed {
        return Err("its PROXY header is too short for its addresses");
    }
    let Some(addresses) = bytes.get(FIXED_BYTES..length) else { return Ok(Proxied::Partial) };
    let port = |at: usize| u16::from_be_bytes([addresses[at], addresses[at + 1]]);
    let client = match needed {
        12 => {
            let octets = [addresses[0], addresses[1], addresses[2], addresses[3]];
            Some(SocketAddr::new(Ipv4Addr::from(octets).into(), port(8)))
        }
        36 => {
            let mut octets = [0; 16];
            octets.copy_from_slice(&addresses[..16]);
            Some(SocketAddr::new(Ipv6Addr::from(octets).into(), port(32)))
        }
        _ => None,
    };
    Ok(Proxied::Complete { length, client })
}

#[cfg(test)]
mod tests {
    use super::{Proxied, SIGNATURE};

    fn binary(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let length = (rest.len() as u16).to_be_bytes();
        [&SIGNATURE[..], &[command, family], &length, rest].concat()
    }

    fn sound() -> Vec<(Vec<u8>, Option<&'static str>)> {
        let v4 = [1, 2, 3, 4, 5, 6, 7, 8, 0x30, 0x39, 0, 80];
        let mut v6 = [0u8; 36];
        (v6[0], v6[1], v6[15], v6[32], v6[33]) = (0x20, 0x01, 9, 1, 0);
        vec![
            (b"PROXY TCP4 1.2.3.4 5.6.7.8 12345 80\r\n".to_vec(), Some("1.2.3.4:12345")),
            (b"PROXY TCP6 2001::9 ::1 256 0\r\n".to_vec(), Some("[2001::9]:256")),
            (b"PROXY UNKNOWN\r\n".to_vec(), None),
            (b"PROXY UNKNOWN ffff::1 whatever\r\n".to_vec(), None),
            (binary(0x21, 0x11, &v4), Some("1.2.3.4:12345")),
            (binary(0x21, 0x11, &[&v4[..], &[3, 0, 4, 1, 2, 3, 4]].concat()), Some("1.2.3.4:12345")),
            (binary(0x21, 0x21, &v6), Some("[2001::9]:256")),
            (binary(0x21, 0x31, &[7; 216]), None),
            (binary(0x20, 0x00, &[]), None),
            (binary(0x20, 0x11, &v4), None),
            (binary(0x21, 0x00, &[1, 2]), None),
        ]
    }

    #[test]
    fn a_header_is_found_wherever_it_is_split() {
        for (header, client) in sound() {
            for count in 0..header.len() {
                assert_eq!(Proxied::read(&header[..count]), Ok(Proxied::Partial), "{count} of {header:?}");
            }
            let client = client.map(|client| client.parse().unwrap());
            let complete = Ok(Proxied::Complete { length: header.len(), client });
            assert_eq!(Proxied::read(&header), complete);
            assert_eq!(Proxied::read(&[&header[..], b"GET / HTTP/1.1\r\n"].concat()), complete);
        }
    }

    #[test]
    fn what_is_no_header_is_refused() {
        let long = [&b"PROXY UNKNOWN "[..], &[b'x'; 200]].concat();
        for wrong in [
            &b"GET / HTTP/1.1\r\n"[..],
            b"PROXX",
            b"\r\n\r\nG",
            b"\x16\x03\x01",
            b"PROXY \r\n",
            b"PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n",
            b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2 3\r\n",
            b"PROXY TCP4 ::1 ::2 1 2\r\n",
            b"PROXY TCP6 1.2.3.4 5.6.7.8 1 2\r\n",
            b"PROXY TCP4 1.2.3.4  5.6.7.8 1 2\r\n",
            b"PROXY TCP4 1.2.3.4 5.6.7.8 65536 2\r\n",
            b"PROXY TCP4 1.2.3.4 5.6.7.8 01 2\r\n",
            b"PROXY TCP4 1.2.3.4 5.6.7.8 +1 2\r\n",
            b"PROXY UDP4 1.2.3.4 5.6.7.8 1 2\r\n",
            &long,
            &binary(0x31, 0x11, &[0; 12]),
            &binary(0x22, 0x11, &[0; 12]),
            &binary(0x21, 0x12, &[0; 12]),
            &binary(0x21, 0x11, &[0; 11]),
            &binary(0x21, 0x21, &[0; 12]),
            &binary(0x21, 0x11, &[0; 4096]),
        ] {
            assert!(Proxied::read(wrong).is_err(), "{}", wrong.escape_ascii());
        }
    }
}
