//! Where a head ends, and what can be refused before its end arrives: size, line count and line ends.
//!
//! Must know lines, not fields. Invariant: each byte is searched once, however slowly the head arrives. A refusal
//! depends only on the bytes before it, so every split of the same bytes leads to the same refusal.

use memchr::memchr;

use crate::bytes::is_tchar;
use crate::reject::Reject;
use crate::request_limits::RequestLimits;

/// A resumable search for the empty line.
#[derive(Debug, Clone, Default)]
pub(super) struct Scan {
    /// Bytes before this offset hold no LF that is still to be checked.
    searched: usize,
    /// The request line's first byte.
    start: usize,
    /// The current line's first byte.
    line: usize,
    /// Lines ended since `start`: 0 while in the request line.
    lines: usize,
    /// Empty lines before `start`.
    empty_lines: usize,
}

impl Scan {
    /// Whether any part of the head has been searched.
    pub(super) fn has_begun(&self) -> bool {
        self.searched > 0
    }

    /// The request line's offset, after leading empty lines.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// The offset after the empty line that ends the head, or `None` if it has not arrived.
    pub(super) fn find_end(&mut self, buf: &[u8], limits: &RequestLimits) -> Result<Option<usize>, Reject> {
        let (head_max, header_max) = (limits.head_max(), limits.header_max());
        // The longest valid request line: method, target, version and two spaces.
        let line_max =
            limits.target_bytes_max.saturating_add(RequestLimits::METHOD_BYTES_MAX + "  HTTP/1.1".len());
        let window = &buf[..buf.len().min(head_max)];
        self.check_first_byte(window)?;
        while let Some(distance) = memchr(b'\n', window.get(self.searched..).unwrap_or_default()) {
            let lf = self.searched + distance;
            if self.lines == 0 && lf - self.start > line_max + 1 {
                return Err(Reject::TARGET_TOO_LONG);
            }
            if lf == self.line || window[lf - 1] != b'\r' {
                return Err(Reject::BARE_LF);
            }
            let empty = lf - 1 == self.line;
            self.searched = lf + 1;
            self.line = lf + 1;
            match (empty, self.lines) {
                (true, 0) => self.skip_empty_line(window)?,
                (true, _) => return Ok(Some(lf + 1)),
                // The request line counts as a line, too.
                (false, lines) if lines > header_max => return Err(Reject::HEADERS_TOO_MANY),
                (false, _) => self.lines += 1,
            }
        }
        self.searched = window.len();
        if self.lines == 0 && window.len().saturating_sub(self.start) > line_max + 1 {
            return Err(Reject::TARGET_TOO_LONG);
        }
        if buf.len() >= head_max { Err(Reject::HEAD_TOO_LARGE) } else { Ok(None) }
    }

    fn skip_empty_line(&mut self, window: &[u8]) -> Result<(), Reject> {
        self.start = self.line;
        self.empty_lines += 1;
        if self.empty_lines > RequestLimits::LEADING_EMPTY_LINES_MAX {
            return Err(Reject::EMPTY_LINES);
        }
        self.check_first_byte(window)
    }

    /// Refuses other protocols at their first byte, because their line might never end.
    fn check_first_byte(&self, window: &[u8]) -> Result<(), Reject> {
        match window.get(self.start) {
            Some(&first) if !is_tchar(first) && first != b'\r' && first != b'\n' => Err(Reject::NOT_HTTP),
            _ => Ok(()),
        }
    }
}
