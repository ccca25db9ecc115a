//! Content codings, and which of them a peer accepts (RFC 9110 sections 8.4.1 and 12.5.3).
//!
//! Must not know connections. Invariant: a coding that the peer has not named, or has given the weight 0, never counts
//! as accepted; a malformed member accepts nothing.

use crate::bytes::{list, trim_ows};

/// A content coding that weft can produce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Coding {
    /// RFC 7932.
    Brotli,
    /// RFC 8878.
    Zstd,
    /// RFC 1952.
    Gzip,
}

impl Coding {
    /// All of them; the one that compresses text best comes first.
    pub const ALL: [Coding; 3] = [Coding::Brotli, Coding::Zstd, Coding::Gzip];

    /// Its name in Content-Encoding.
    pub fn name(self) -> &'static str {
        match self {
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
            Coding::Gzip => "gzip",
        }
    }

    /// The extension of files that hold this coding.
    pub fn extension(self) -> &'static str {
        match self {
            Coding::Brotli => "br",
            Coding::Zstd => "zst",
            Coding::Gzip => "gz",
        }
    }

    /// The codings that Accept-Encoding accepts, the most preferred first. Equal weights keep the order of
    /// [`Coding::ALL`].
    pub fn accepted(accept_encoding: Option<&[u8]>) -> Vec<Coding> {
        let Some(text) = accept_encoding else { return Vec::new() };
        let mut weights: [Option<u16>; 3] = [None; 3];
        let mut others = None;
        for element in list(text) {
            let mut parts = element.split(|byte| *byte == b';').map(trim_ows);
            let name = parts.next().unwrap_or_default();
            let weight = parts.next().map_or(Some(1000), weight).unwrap_or(0);
            let known = Coding::ALL.iter().position(|coding| {
                name.eq_ignore_ascii_case(coding.name().as_bytes())
                    || *coding == Coding::Gzip && name.eq_ignore_ascii_case(b"x-gzip")
            });
            match known {
                Some(index) => weights[index] = Some(weight),
                None if name == b"*" => others = Some(weight),
                None => (),
            }
        }
        let weight = |coding: &Coding| weights[*coding as usize].or(others).unwrap_or(0);
        let mut accepted: Vec<Coding> = Coding::ALL.into_iter().filter(|coding| weight(coding) > 0).collect();
        accepted.sort_by_key(|coding| std::cmp::Reverse(weight(coding)));
        accepted
    }
}

/// `q=0.8` in thousandths (RFC 9110 section 12.4.2); `None` when it is malformed.
fn weight(parameter: &[u8]) -> Option<u16> {
    let value = parameter.strip_prefix(b"q=").or_else(|| parameter.strip_prefix(b"Q="))?;
    let (whole, fraction) = match value {
        [digit] => (*digit, &b""[..]),
        [digit, b'.', fraction @ ..] if fraction.len() <= 3 => (*digit, fraction),
        _ => return None,
    };
    if !matches!(whole, b'0' | b'1') || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = fraction.iter().chain(b"000").take(3);
    let thousandths = digits.fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    Some((u16::from(whole - b'0') * 1000 + thousandths).min(1000))
}

#[cfg(test)]
mod tests {
    use super::Coding::{self, Brotli, Gzip, Zstd};

    #[test]
    fn what_is_accepted_is_what_was_said() {
        for (text, expected) in [
            ("gzip, deflate, br, zstd", vec![Brotli, Zstd, Gzip]),
            ("gzip", vec![Gzip]),
            ("GZIP;q=0.5, br;q=0.4", vec![Gzip, Brotli]),
            ("gzip;q=0, *", vec![Brotli, Zstd]),
            ("*;q=0", vec![]),
            ("identity", vec![]),
            ("", vec![]),
            ("br;q=0.001", vec![Brotli]),
            ("br ; q=1.0 ,zstd;q=0.999", vec![Brotli, Zstd]),
            ("br;q=2, gzip;q=x, zstd;q=0.12345", vec![]),
            ("x-gzip", vec![Gzip]),
            ("gzipped, brr", vec![]),
        ] {
            assert_eq!(Coding::accepted(Some(text.as_bytes())), expected, "{text}");
        }
        assert_eq!(Coding::accepted(None), vec![]);
    }
}
