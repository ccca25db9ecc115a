//! HTTP dates (RFC 9110 section 5.6.7): formats the Date field once per second, and reads dates of requests.
//!
//! Reads no clock: the caller says what time it is. Invariant: the cached line is always 37 valid bytes.

use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

const PREFIX: &[u8; 6] = b"Date: ";
/// 9999-12-31T23:59:59Z, the last second with a four-digit year.
const LAST_SECOND: u64 = 253_402_300_799;

/// A formatted Date field.
#[derive(Debug, Clone)]
pub struct DateCache {
    unix_secs: u64,
    line: [u8; 37],
}

impl DateCache {
    /// The field for `unix_secs`, in seconds since 1970 without leap seconds. Times after the year 9999 become its
    /// last second.
    pub fn new(unix_secs: u64) -> DateCache {
        let mut cache = DateCache { unix_secs: 0, line: *b"Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n" };
        cache.set(unix_secs);
        cache
    }

    /// Moves to `unix_secs`; does nothing if the field already shows that second.
    pub fn set(&mut self, unix_secs: u64) {
        if self.unix_secs == unix_secs {
            return;
        }
        let date = httpdate::HttpDate::from(UNIX_EPOCH + Duration::from_secs(unix_secs.min(LAST_SECOND)));
        let mut text = &mut self.line[PREFIX.len()..];
        // An IMF-fixdate has exactly 29 bytes, so it always fits.
        if write!(text, "{date}").is_ok() {
            self.unix_secs = unix_secs;
        }
    }

    /// The second that the field shows.
    pub fn unix_secs(&self) -> u64 {
        self.unix_secs
    }

    /// The IMF-fixdate, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    pub fn bytes(&self) -> &[u8] {
        &self.line[PREFIX.len()..self.line.len() - 2]
    }

    /// The whole line, `Date: …` CRLF.
    pub(crate) fn line(&self) -> &[u8; 37] {
        &self.line
    }
}

/// Reads a date in any of the three formats that a recipient must accept, as seconds since 1970. `None` for
/// anything else and for years before 1970.
pub fn parse_date(bytes: &[u8]) -> Option<u64> {
    let time = httpdate::parse_http_date(str::from_utf8(bytes).ok()?).ok()?;
    time.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// Formats seconds since 1970 as an IMF-fixdate, for Last-Modified and Expires.
pub fn format_date(unix_secs: u64) -> [u8; 29] {
    let mut date = [0; 29];
    date.copy_from_slice(DateCache::new(unix_secs).bytes());
    date
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_formatted_per_second_and_clamped() {
        let mut cache = DateCache::new(784_111_777);
        assert_eq!(cache.line(), b"Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
        cache.set(784_111_778);
        assert_eq!(cache.bytes(), b"Sun, 06 Nov 1994 08:49:38 GMT");
        assert_eq!(cache.unix_secs(), 784_111_778);
        cache.set(u64::MAX);
        assert_eq!(cache.bytes(), b"Fri, 31 Dec 9999 23:59:59 GMT");
        cache.set(0);
        assert_eq!(cache.bytes(), b"Thu, 01 Jan 1970 00:00:00 GMT");
    }

    #[test]
    fn the_three_formats_are_read_and_nothing_else() {
        for text in
            ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        {
            assert_eq!(parse_date(text.as_bytes()), Some(784_111_777), "{text}");
        }
        for text in
            ["", "now", "Sun, 06 Nov 1994 08:49:37", "Sun, 31 Feb 1994 08:49:37 GMT", "\u{e9}", "1994-11-06"]
        {
            assert_eq!(parse_date(text.as_bytes()), None, "{text}");
        }
        for secs in [0, 1, 951_782_400, 1_709_164_800, 4_102_444_799, LAST_SECOND] {
            assert_eq!(parse_date(&format_date(secs)), Some(secs));
        }
    }
}
