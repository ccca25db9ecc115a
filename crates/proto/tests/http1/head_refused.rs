//! Refused heads, each with the rule it breaks. Every input is fed as a whole and under every split.

use crate::splits::head_outcome;
use weft_proto::{Reject, RequestLimits};

#[track_caller]
fn refused(input: impl AsRef<[u8]>, rule: Reject) {
    let input = input.as_ref();
    let outcome = head_outcome(input, &RequestLimits::default());
    assert_eq!(outcome, Err(rule), "{:?}", input.escape_ascii().to_string());
}

#[track_caller]
fn fields_refused(fields: &str, rule: Reject) {
    refused(format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n"), rule);
}

#[track_caller]
fn line_refused(line: &str, rule: Reject) {
    refused(format!("{line}\r\nHost: a\r\n\r\n"), rule);
}

#[test]
fn line_ends() {
    refused("GET / HTTP/1.1\nHost: a\r\n\r\n", Reject::BARE_LF);
    refused("GET / HTTP/1.1\r\nHost: a\n\r\n", Reject::BARE_LF);
    refused("GET / HTTP/1.1\r\nHost: a\r\n\n", Reject::BARE_LF);
    refused("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", Reject::BARE_LF);
    refused("GET / HTTP/1.1\r\nHost: a\r\nX: b\nY: c\r\n\r\n", Reject::BARE_LF);
    refused("GET / HTTP/1.1\rHost: a\r\n\r\n", Reject::BARE_CR);
    refused("GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", Reject::BARE_CR);
    refused("GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", Reject::BARE_CR);
    refused("GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", Reject::BARE_CR);
    refused("GET / HTTP/1.1\r\nHost: a\r\n\r\r\n\r\n", Reject::BARE_CR);
    refused("\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", Reject::BARE_CR);
    refused("GET / HTTP/1.1\r\nHost: a\r\nX\r: b\r\n\r\n", Reject::BARE_CR);
}

#[test]
fn before_the_request_line() {
    let lines = "\r\n".repeat(RequestLimits::LEADING_EMPTY_LINES_MAX + 1);
    refused(format!("{lines}GET / HTTP/1.1\r\nHost: a\r\n\r\n"), Reject::EMPTY_LINES);
    refused(b"\x16\x03\x01\x02\x00\x01\x00", Reject::NOT_HTTP);
    refused(b"\x00", Reject::NOT_HTTP);
    refused(" GET / HTTP/1.1\r\nHost: a\r\n\r\n", Reject::NOT_HTTP);
    refused("\r\n\tGET / HTTP/1.1\r\n", Reject::NOT_HTTP);
}

#[test]
fn request_lines() {
    line_refused("GET", Reject::REQUEST_LINE);
    line_refused("GET /", Reject::REQUEST_LINE);
    line_refused("GET  HTTP/1.1", Reject::REQUEST_LINE);
    line_refused("GET  / HTTP/1.1", Reject::REQUEST_LINE);
    line_refused("GET /  HTTP/1.1", Reject::REQUEST_LINE);
    line_refused("GET / HTTP/1.1 ", Reject::REQUEST_LINE);
    line_refused("GET / x HTTP/1.1", Reject::REQUEST_LINE);
    line_refused("GET\t/\tHTTP/1.1", Reject::METHOD);
    line_refused("G(T / HTTP/1.1", Reject::METHOD);
    line_refused("G\u{e9}T / HTTP/1.1", Reject::METHOD);
    line_refused("GET: / HTTP/1.1", Reject::METHOD);
    line_refused(&format!("{} / HTTP/1.1", "A".repeat(33)), Reject::METHOD_TOO_LONG);
    line_refused("CONNECT a:443 HTTP/1.1", Reject::CONNECT);
}

#[test]
fn versions() {
    for version in ["HTTP/2.0", "HTTP/0.9", "HTTP/1.2", "HTTP/3.0"] {
        line_refused(&format!("GET / {version}"), Reject::VERSION);
    }
    refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Reject::VERSION);
    for version in
        ["http/1.1", "HTTP/1", "HTTP/1.10", "HTTP/11", "HTTP/a.b", "HTTP", "X", "HTTPS/1.1", "HTTP/1,1"]
    {
        line_refused(&format!("GET / {version}"), Reject::VERSION_SYNTAX);
    }
}

#[test]
fn targets() {
    for target in ["/\t", "/\u{0}", "/\u{1f}", "/\u{7f}"] {
        line_refused(&format!("GET {target} HTTP/1.1"), Reject::TARGET);
    }
    refused(b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n", Reject::TARGET);
    for target in ["/#", "/a#b", "/a?b#c", "http://a/#", "#"] {
        line_refused(&format!("GET {target} HTTP/1.1"), Reject::TARGET_FRAGMENT);
    }
    for target in ["a", "a:443", "ftp://a/", "ws://a/", "http:/a", "?q", "**", "*/", "*?q", "mailto:a@b"] {
        line_refused(&format!("OPTIONS {target} HTTP/1.1"), Reject::TARGET_FORM);
    }
    line_refused("GET * HTTP/1.1", Reject::TARGET_ASTERISK);
    for target in
        ["http://", "http:///p", "http://u@a/", "http://u:p@a/", "http://a:b/", "http://:80/", "http://[::1/"]
    {
        line_refused(&format!("GET {target} HTTP/1.1"), Reject::TARGET_AUTHORITY);
    }
}

#[test]
fn field_lines() {
    fields_refused("X: a\r\n b\r\n", Reject::OBS_FOLD);
    fields_refused("X: a\r\n\tb\r\n", Reject::OBS_FOLD);
    fields_refused("X: a\r\n \r\n", Reject::OBS_FOLD);
    refused("GET / HTTP/1.1\r\n Host: a\r\n\r\n", Reject::SPACE_BEFORE_FIRST_HEADER);
    refused("GET / HTTP/1.1\r\n\tX: b\r\nHost: a\r\n\r\n", Reject::SPACE_BEFORE_FIRST_HEADER);
    fields_refused("X : a\r\n", Reject::SPACE_BEFORE_COLON);
    fields_refused("X\t: a\r\n", Reject::SPACE_BEFORE_COLON);
    fields_refused("Content-Length : 5\r\n", Reject::SPACE_BEFORE_COLON);
    fields_refused("X\r\n", Reject::HEADER_NO_COLON);
    fields_refused(": a\r\n", Reject::HEADER_NAME_EMPTY);
    fields_refused("X Y: a\r\n", Reject::HEADER_NAME);
    fields_refused("X(: a\r\n", Reject::HEADER_NAME);
    fields_refused("X\u{e9}: a\r\n", Reject::HEADER_NAME);
    fields_refused("X\0: a\r\n", Reject::HEADER_NAME);
    fields_refused("X: a\0b\r\n", Reject::HEADER_VALUE);
    fields_refused("X:\0\r\n", Reject::HEADER_VALUE);
    fields_refused("X: \u{7f}\r\n", Reject::HEADER_VALUE);
}

/// Each byte in each position is accepted exactly where RFC 9110 allows it.
#[test]
fn every_byte_in_every_position() {
    let accepted = |before: &[u8], byte: u8, after: &[u8]| {
        let input = [before, &[byte], after].concat();
        head_outcome(&input, &RequestLimits::default()).is_ok_and(|head| head.is_some())
    };
    let tchar = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    for byte in 0..=255u8 {
        let in_method = accepted(b"G", byte, b"T / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(in_method, tchar(byte), "method {byte:#x}");
        let in_name = accepted(b"GET / HTTP/1.1\r\nHost: a\r\nX", byte, b"Y: a\r\n\r\n");
        assert_eq!(in_name, tchar(byte) || byte == b':', "name {byte:#x}");
        let in_value = accepted(
            b"GET / HTTP/1.1\r\nHost: a\r\nX: 0123456789abcdef0123456789abcdefv",
            byte,
            b"w\r\n\r\n",
        );
        assert_eq!(in_value, byte == b'\t' || (byte >= b' ' && byte != 0x7f), "value {byte:#x}");
        let in_target =
            accepted(b"GET /0123456789abcdef0123456789abcdef", byte, b"x HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(in_target, byte > b' ' && byte < 0x7f && byte != b'#', "target {byte:#x}");
        let host = |b: u8| b.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(&b);
        // A percent sign before two digits.
        let in_host = accepted(b"GET / HTTP/1.1\r\nHost: a", byte, b"bb\r\n\r\n");
        assert_eq!(in_host, host(byte), "host {byte:#x}");
        let in_length = accepted(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1", byte, b"1\r\n\r\n");
        assert_eq!(in_length, byte.is_ascii_digit(), "length {byte:#x}");
    }
}

#[test]
fn fields_that_come_once() {
    for name in ["Content-Type", "authorization"] {
        let head =
            format!("GET / HTTP/1.1\r\nHost: a\r\n{name}: a\r\n{}: a\r\n\r\n", name.to_ascii_uppercase());
        refused(&head, Reject::FIELD_REPEATED);
    }
}

#[test]
fn hosts() {
    refused("GET / HTTP/1.1\r\n\r\n", Reject::HOST_MISSING);
    refused("GET http://a/ HTTP/1.1\r\n\r\n", Reject::HOST_MISSING);
    refused("GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", Reject::HOST_REPEATED);
    refused("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", Reject::HOST_REPEATED);
    for host in [
        "a b", "a/b", "u@a", "a:b", ":80", "a:99999", "[::1", "a,b:c", "a?b", "\u{e9}", "a#b", "a\\b",
        "a%zz", "a%2",
    ] {
        refused(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"), Reject::HOST);
    }
    refused("GET http://a/ HTTP/1.1\r\nHost: u@b\r\n\r\n", Reject::HOST);
}

#[test]
fn content_lengths() {
    for value in
        ["", "+5", "-5", "5 5", "5,5", "5, 5", "0x5", "5.0", "five", "18446744073709551616", "5;", "\u{b2}"]
    {
        fields_refused(&format!("Content-Length: {value}\r\n"), Reject::CONTENT_LENGTH);
    }
    fields_refused("Content-Length: 5\r\nContent-Length: 5\r\n", Reject::CONTENT_LENGTH_REPEATED);
    fields_refused("Content-Length: 5\r\ncontent-length: 6\r\n", Reject::CONTENT_LENGTH_REPEATED);
    fields_refused("Content-Length: 8388609\r\n", Reject::BODY_TOO_LARGE);
    fields_refused("Content-Length: 18446744073709551615\r\n", Reject::BODY_TOO_LARGE);
}

#[test]
fn transfer_encodings() {
    fields_refused("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", Reject::LENGTH_AND_CODING);
    fields_refused("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", Reject::LENGTH_AND_CODING);
    fields_refused("Transfer-Encoding: gzip\r\nContent-Length: 0\r\n", Reject::LENGTH_AND_CODING);
    refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", Reject::CODING_IN_1_0);
    for value in ["gzip, chunked", "identity, chunked", "gzip;q=1, chunked"] {
        fields_refused(&format!("Transfer-Encoding: {value}\r\n"), Reject::CODING_UNKNOWN);
    }
    fields_refused("Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n", Reject::CODING_UNKNOWN);
    for value in
        ["gzip", "identity", "chunked, gzip", "xchunked", "chunked, identity", "chunk", "gzip, chunked, x"]
    {
        fields_refused(&format!("Transfer-Encoding: {value}\r\n"), Reject::CODING_NOT_FINAL);
    }
    fields_refused("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n", Reject::CODING_NOT_FINAL);
    fields_refused("Transfer-Encoding: chunked, gzip, chunked\r\n", Reject::CODING_TWICE);
    fields_refused("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", Reject::CODING_TWICE);
    for value in ["", ",chunked", "chunked,", "chunked;a=b", "chun ked", "\"chunked\"", "\u{b}chunked"] {
        let rule = if value.starts_with('\u{b}') { Reject::HEADER_VALUE } else { Reject::CODING_SYNTAX };
        fields_refused(&format!("Transfer-Encoding: {value}\r\n"), rule);
    }
}

#[test]
fn expectations() {
    fields_refused("Expect: magic\r\n", Reject::EXPECTATION);
    fields_refused("Expect: 100-continue, magic\r\n", Reject::EXPECTATION);
    fields_refused("Expect: 100-continue\r\nExpect: x\r\n", Reject::EXPECTATION);
}

#[test]
fn limits() {
    let small = RequestLimits {
        head_bytes_max: 64,
        header_count_max: 2,
        target_bytes_max: 8,
        ..RequestLimits::default()
    };
    let cases: [(&str, Reject); 8] = [
        ("GET /12345678 HTTP/1.1\r\nHost: a\r\n\r\n", Reject::TARGET_TOO_LONG),
        ("GET /12345678901234567890123456789012345678901234567", Reject::TARGET_TOO_LONG),
        ("GET /12345678901234567890123456789012345678901234567\n", Reject::TARGET_TOO_LONG),
        ("GET / HTTP/1.1\r\nHost: a\r\nB: b\r\nC: c\r\n\r\n", Reject::HEADERS_TOO_MANY),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nX: 01234567890123456789012345678901234567890\r\n\r\n",
            Reject::HEAD_TOO_LARGE,
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nX: 01234567890123456789012345678901234567890\n",
            Reject::HEAD_TOO_LARGE,
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nX: 0123456789012345678901234567890123\r\n\r\nGET",
            Reject::HEAD_TOO_LARGE,
        ),
        ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1\r\n", Reject::TARGET_TOO_LONG),
    ];
    for (input, rule) in cases {
        assert_eq!(head_outcome(input.as_bytes(), &small), Err(rule), "{input:?}");
    }
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(101));
    refused(many, Reject::HEADERS_TOO_MANY);
    let wide = RequestLimits {
        header_count_max: usize::MAX,
        head_bytes_max: usize::MAX,
        ..RequestLimits::default()
    };
    let over =
        format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "A: b\r\n".repeat(RequestLimits::HEADER_COUNT_CAP));
    assert_eq!(head_outcome(over.as_bytes(), &wide), Err(Reject::HEADERS_TOO_MANY));
}

#[test]
fn a_head_parses_again_after_a_refusal() {
    let (mut head, limits) = (weft_proto::Head::new(), RequestLimits::default());
    for bad in [&b"GET / HTTP/1.1\n"[..], b"GET / HTTP/1.1\r\n\r\n", b"\0"] {
        assert!(head.parse(bad, &limits).is_err());
        let good = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        assert_eq!(head.parse(good, &limits), Ok(weft_proto::Parse::Complete { head_bytes: good.len() }));
    }
}

#[test]
fn every_rule_has_a_status_the_peer_understands() {
    for rule in Reject::ALL {
        assert!(weft_proto::reason_phrase(rule.status).is_some() && rule.status >= 400, "{rule}");
        assert!(!rule.reason.is_empty() && rule.reason.is_ascii());
    }
}
