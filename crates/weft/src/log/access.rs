//! The access log: one line per answered request.
//!
//! Must not know connections or PHP; it gets plain values. Invariant: what a client sent is escaped, so a line always
//! has its fields; lines are formatted into the queue's own memory, without an allocation.

use std::cell::RefCell;
use std::io::Write;
use std::time::Duration;

use super::clock;
use crate::config::Format;

/// One answered request.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// The request's id, the same as in the error log.
    pub request_id: &'a str,
    /// The client's address, after trusted proxies were considered.
    pub peer: &'a str,
    /// As sent.
    pub method: &'a [u8],
    /// As sent.
    pub target: &'a [u8],
    /// For example `HTTP/1.1`.
    pub protocol: &'a str,
    /// `http` or `https`; empty if it is not known.
    pub scheme: &'a str,
    /// Of the response.
    pub status: u16,
    /// Body bytes sent.
    pub bytes: u64,
    /// From the last byte of the head to the last byte of the response.
    pub duration: Duration,
    /// The number of its site, where there are sites.
    pub site: Option<usize>,
    /// The Referer header, as sent.
    pub referer: &'a [u8],
    /// The User-Agent header, as sent.
    pub user_agent: &'a [u8],
    /// The id of the trace that the client says it belongs to.
    pub trace: Option<u128>,
}

/// Method, target and protocol of a refused request line. If they cannot be told apart, the method has all of
/// it.
pub fn request_line(line: &[u8]) -> (&[u8], &[u8], &'static str) {
    let (rest, protocol) = ["HTTP/1.1", "HTTP/1.0"]
        .iter()
        .find_map(|protocol| Some((line.strip_suffix(protocol.as_bytes())?.strip_suffix(b" ")?, *protocol)))
        .unwrap_or((line, ""));
    match rest.iter().position(|&byte| byte == b' ') {
        Some(space) => (&rest[..space], &rest[space + 1..], protocol),
        None => (line, b"", ""),
    }
}

impl Access<'_> {
    /// Appends the line to `out`, newline included; `title` is what its site is called, where there are sites.
    pub fn write(&self, form: Format, (worker, title): (usize, Option<&str>), out: &mut Vec<u8>) {
        match form {
            Format::Text => self.write_text(worker, title, out),
            Format::Json => self.write_json(worker, title, out),
        }
    }

    /// The combined log format, then duration, worker, request id, site and trace.
    fn write_text(&self, worker: usize, title: Option<&str>, out: &mut Vec<u8>) {
        escape(Format::Text, self.peer.as_bytes(), out);
        out.extend_from_slice(b" - - [");
        STAMP.with_borrow_mut(|stamp| out.extend_from_slice(stamp.now().as_bytes()));
        out.extend_from_slice(b"] \"");
        escape(Format::Text, self.method, out);
        for part in [self.target, self.protocol.as_bytes()] {
            // A refused line may not have all of them.
            if !part.is_empty() {
                out.push(b' ');
                escape(Format::Text, part, out);
            }
        }
        put(out, format_args!("\" {} {} \"", self.status, self.bytes));
        escape(Format::Text, or_dash(self.referer), out);
        out.extend_from_slice(b"\" \"");
        escape(Format::Text, or_dash(self.user_agent), out);
        put(out, format_args!("\" {}us w{worker} {}", self.duration.as_micros(), self.request_id));
        if let Some(title) = title {
            put(out, format_args!(" {title}"));
        }
        if let Some(trace) = self.trace {
            put(out, format_args!(" trace={trace:032x}"));
        }
        out.push(b'\n');
    }

    fn write_json(&self, worker: usize, title: Option<&str>, out: &mut Vec<u8>) {
        put(out, format_args!(r#"{{"time":"{}""#, clock::rfc3339(clock::now())));
        for (name, value) in [
            ("request_id", self.request_id.as_bytes()),
            ("peer", self.peer.as_bytes()),
            ("method", self.method),
            ("target", self.target),
            ("protocol", self.protocol.as_bytes()),
            ("scheme", self.scheme.as_bytes()),
            ("referer", self.referer),
            ("user_agent", self.user_agent),
        ] {
            put(out, format_args!(r#","{name}":""#));
            escape(Format::Json, value, out);
            out.push(b'"');
        }
        let (status, bytes, duration_us) = (self.status, self.bytes, self.duration.as_micros());
        put(
            out,
            format_args!(
                r#","status":{status},"bytes":{bytes},"duration_us":{duration_us},"worker":{worker}"#
            ),
        );
        if let Some(title) = title {
            put(out, format_args!(r#","site":"{title}""#));
        }
        if let Some(trace) = self.trace {
            put(out, format_args!(r#","trace_id":"{trace:032x}""#));
        }
        out.extend_from_slice(b"}\n");
    }
}

fn or_dash(text: &[u8]) -> &[u8] {
    if text.is_empty() { b"-" } else { text }
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a Vec cannot fail.
    let _ = out.write_fmt(text);
}

/// Printable ASCII unchanged, everything else as its byte: `\xNN` in text, `\u00NN` in JSON.
fn escape(form: Format, text: &[u8], out: &mut Vec<u8>) {
    for byte in text {
        match (byte, form) {
            (b'"' | b'\\', Format::Json) => out.extend_from_slice(&[b'\\', *byte]),
            (b' '..=b'~', _) if !matches!(byte, b'"' | b'\\') => out.push(*byte),
            (_, Format::Text) => put(out, format_args!("\\x{byte:02x}")),
            (_, Format::Json) => put(out, format_args!("\\u{byte:04x}")),
        }
    }
}

/// The time in the common log format, formatted once per second.
struct Stamp {
    second: u64,
    text: String,
}

impl Stamp {
    fn now(&mut self) -> &str {
        let (second, _) = clock::now();
        if second != self.second {
            *self = Stamp { second, text: clock::common(second) };
        }
        &self.text
    }
}

thread_local! {
    static STAMP: RefCell<Stamp> = const { RefCell::new(Stamp { second: u64::MAX, text: String::new() }) };
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIL: Access<'_> = Access {
        request_id: "0-17",
        peer: "::1",
        method: b"GET",
        target: b"/a\"b\\c\n\xff?d e",
        protocol: "HTTP/1.1",
        scheme: "http",
        status: 200,
        bytes: 5,
        duration: Duration::from_micros(1234),
        site: None,
        referer: b"",
        user_agent: b"curl \"7\"",
        trace: None,
    };

    #[test]
    fn text_is_combined_like_and_escaped() {
        let mut out = Vec::new();
        EVIL.write(Format::Text, (3, None), &mut out);
        let line = String::from_utf8(out).unwrap();
        let (head, rest) = line.split_once("] ").unwrap();
        assert!(head.starts_with("::1 - - ["), "{head}");
        assert_eq!(
            rest,
            "\"GET /a\\x22b\\x5cc\\x0a\\xff?d e HTTP/1.1\" 200 5 \"-\" \"curl \\x227\\x22\" 1234us w3 0-17\n"
        );
        let mut out = Vec::new();
        Access { trace: Some(0xabc), ..EVIL }.write(Format::Text, (3, Some("a.example")), &mut out);
        assert!(out.ends_with(b" 0-17 a.example trace=00000000000000000000000000000abc\n"), "after the site");
    }

    #[test]
    fn refused_lines_are_told_as_far_as_they_go() {
        let cases: [[&[u8]; 4]; 6] = [
            [b"GET /a b HTTP/1.1", b"GET", b"/a b", b"HTTP/1.1"],
            [b"GET /a HTTP/2.0", b"GET", b"/a HTTP/2.0", b""],
            [b"GET /a", b"GET", b"/a", b""],
            [b"\x16\x03\x01", b"\x16\x03\x01", b"", b""],
            [b" HTTP/1.1", b" HTTP/1.1", b"", b""],
            [b"", b"", b"", b""],
        ];
        for [line, expected @ ..] in cases {
            let (method, target, protocol) = request_line(line);
            assert_eq!([method, target, protocol.as_bytes()], expected, "{line:?}");
        }
    }

    #[test]
    fn json_is_one_object_per_line() {
        let mut out = Vec::new();
        Access { trace: Some(0xabc), ..EVIL }.write(Format::Json, (3, Some("a.example")), &mut out);
        let line = String::from_utf8(out).unwrap();
        let (_, rest) = line.split_once("\"request_id\"").unwrap();
        assert_eq!(
            rest,
            ":\"0-17\",\"peer\":\"::1\",\"method\":\"GET\",\"target\":\"/a\\\"b\\\\c\\u000a\\u00ff?d e\",\
             \"protocol\":\"HTTP/1.1\",\"scheme\":\"http\",\"referer\":\"\",\"user_agent\":\"curl \\\"7\\\"\",\"status\":200,\"bytes\":5,\
             \"duration_us\":1234,\"worker\":3,\"site\":\"a.example\",\
             \"trace_id\":\"00000000000000000000000000000abc\"}\n"
        );
    }
}
