//! UTC time in the form of log lines.
//!
//! Must not know logs. Invariant: no call of libc's time zone code, which takes locks and reads files.

use std::time::{SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Time since the epoch, in seconds and milliseconds.
pub fn now() -> (u64, u32) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now.as_secs(), now.subsec_millis())
}

/// `2026-11-21T11:58:20.123Z` (RFC 3339).
pub fn rfc3339((seconds, milliseconds): (u64, u32)) -> String {
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = time(seconds);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

/// `21/Nov/2026:11:58:20 +0000`, the form of the common log format.
pub fn common(seconds: u64) -> String {
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = time(seconds);
    format!("{day:02}/{}/{year:04}:{hour:02}:{minute:02}:{second:02} +0000", MONTHS[month as usize - 1])
}

fn time(seconds: u64) -> (u64, u64, u64) {
    (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
}

/// Year, month and day of a day counted from 1970-01-01. Years begin in March, so that the leap day is the last of its
/// year; 146,097 days are 400 years.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_are_written_right() {
        // The pairs were made with date -u -d @N.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.007Z"),
            (951_782_400, "2000-02-29T00:00:00.007Z"),
            (1_000_000_000, "2001-09-09T01:46:40.007Z"),
            (4_107_542_399, "2100-02-28T23:59:59.007Z"),
            (4_107_542_400, "2100-03-01T00:00:00.007Z"),
        ] {
            assert_eq!(rfc3339((seconds, 7)), text);
        }
        assert_eq!(common(1_000_000_000), "09/Sep/2001:01:46:40 +0000");
    }
}
