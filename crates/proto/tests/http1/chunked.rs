//! Chunked bodies, accepted and refused. Every input is fed as a whole and under every split.

use crate::splits::body_outcome;
use weft_proto::{Reject, RequestLimits, write_chunk, write_last_chunk};

fn decoded(input: &str) -> (Vec<u8>, Vec<(String, String)>, usize, bool) {
    body_outcome(input.as_bytes(), &RequestLimits::default())
        .unwrap_or_else(|reject| panic!("{reject}: {input:?}"))
}

#[track_caller]
fn refused(input: impl AsRef<[u8]>, rule: Reject) {
    let input = input.as_ref();
    let outcome = body_outcome(input, &RequestLimits::default());
    assert_eq!(outcome, Err(rule), "{:?}", input.escape_ascii().to_string());
}

#[test]
fn bodies() {
    let cases = [
        ("0\r\n\r\n", ""),
        ("5\r\nhello\r\n0\r\n\r\n", "hello"),
        ("3\r\nabc\r\n00A\r\n0123456789\r\n000\r\n\r\n", "abc0123456789"),
        ("a;x=y\r\n0123456789\r\n0;z\r\n\r\n", "0123456789"),
        ("1 \t ; a = \"b;c\"\r\nx\r\n0\r\n\r\n", "x"),
        ("1;\u{e9}\t\r\nx\r\n0\r\n\r\n", "x"),
        ("6\r\n\r\n0\r\n\r\r\n0\r\n\r\n", "\r\n0\r\n\r"),
    ];
    for (input, body) in cases {
        assert_eq!(decoded(input), (body.as_bytes().to_vec(), vec![], input.len(), true), "{input:?}");
    }
}

#[test]
fn what_follows_a_body_is_left_alone() {
    assert_eq!(decoded("1\r\nx\r\n0\r\n\r\nGET / HTTP/1.1"), (b"x".to_vec(), vec![], 11, true));
    assert_eq!(decoded("0\r\nA: b\r\n\r\n\r\n"), (vec![], vec![("A".into(), "b".into())], 11, true));
}

#[test]
fn unfinished_bodies_are_not_done() {
    let input = "3\r\nabc\r\n0;e\r\nA: b\r\n\r\n";
    for len in 0..input.len() {
        assert!(!decoded(&input[..len]).3, "{len}");
    }
    assert!(decoded(input).3);
}

#[test]
fn trailers() {
    let (_, trailers, _, done) = decoded(
        "0\r\nX-Sum: 1 \r\nx-sum:2\r\nEmpty:\r\nSet-Cookie: a\r\nAuthorization: b\r\nX-Forwarded-For: c\r\n\r\n",
    );
    let wanted = [("X-Sum", "1"), ("x-sum", "2"), ("Empty", "")].map(|(n, v)| (n.to_string(), v.to_string()));
    assert_eq!((trailers, done), (wanted.to_vec(), true));
    for field in ["Content-Length: 1", "transfer-encoding: chunked", "HOST: a"] {
        refused(format!("0\r\n{field}\r\n\r\n"), Reject::TRAILER_FORBIDDEN);
    }
    for line in ["A", ": b", "A : b", " A: b", "A: b\r\n c", "A: \0", "A: b\rC: d", "A\u{e9}: b", "A: b\r"] {
        refused(format!("0\r\n{line}\r\n\r\n"), Reject::TRAILER);
    }
    refused("0\r\nA: b\n\r\n", Reject::BARE_LF);
    refused("0\r\nA: b\r\n\n", Reject::BARE_LF);
    refused("0\r\n\n", Reject::BARE_LF);
    refused(format!("0\r\n{}\r\n", "A: b\r\n".repeat(33)), Reject::TRAILER_TOO_LARGE);
}

#[test]
fn malformed_framing() {
    for size in
        ["", " 1", "\t1", "x", "-1", "+1", "0x1", "1g", "1 x", "1\u{b}", ";x", "\u{e9}", "11111111111111111"]
    {
        refused(format!("{size}\r\nx\r\n0\r\n\r\n"), Reject::CHUNK_SIZE);
    }
    refused("1 \r\nx\r\n0\r\n\r\n", Reject::CHUNK_SIZE);
    refused("\n", Reject::CHUNK_SIZE);
    refused("1\nx\r\n0\r\n\r\n", Reject::BARE_LF);
    refused("1;a\nx\r\n0\r\n\r\n", Reject::BARE_LF);
    refused("1\rx", Reject::BARE_CR);
    refused("1;a\rb\r\nx\r\n", Reject::BARE_CR);
    refused("1;a\0\r\nx\r\n", Reject::CHUNK_EXTENSION);
    refused("1;a\u{7f}\r\nx\r\n", Reject::CHUNK_EXTENSION);
    for end in ["\n", "x", "\rx", "\n\r", "", "0"] {
        refused(format!("1\r\nx{end}0\r\n\r\n"), Reject::CHUNK_END);
    }
}

#[test]
fn limits() {
    let small = RequestLimits {
        body_bytes_max: 10,
        chunk_line_bytes_max: 6,
        chunk_extension_bytes_max: 8,
        trailer_bytes_max: 12,
        ..RequestLimits::default()
    };
    let cases: [(&str, Result<bool, Reject>); 11] = [
        ("a\r\n0123456789\r\n0\r\n\r\n", Ok(true)),
        ("b\r\n", Err(Reject::BODY_TOO_LARGE)),
        ("9\r\n012345678\r\n2\r\n", Err(Reject::BODY_TOO_LARGE)),
        ("ffff\r\n", Err(Reject::BODY_TOO_LARGE)),
        ("000001\r\nx\r\n0\r\n\r\n", Ok(true)),
        ("0000001\r\n", Err(Reject::CHUNK_LINE_TOO_LONG)),
        ("1;2345\r\nx\r\n0\r\n\r\n", Ok(true)),
        ("1;23456", Err(Reject::CHUNK_LINE_TOO_LONG)),
        ("1;234\r\nx\r\n1;234\r\nx\r\n0;", Err(Reject::CHUNK_LINE_TOO_LONG)),
        ("0\r\nA: b\r\nC: d\r\n\r\n", Ok(true)),
        ("0\r\nA: b\r\nC: de\r\n\r\n", Err(Reject::TRAILER_TOO_LARGE)),
    ];
    for (input, outcome) in cases {
        assert_eq!(body_outcome(input.as_bytes(), &small).map(|(.., done)| done), outcome, "{input:?}");
    }
    let endless = format!("0\r\nA: {}", "x".repeat(9000));
    let outcome = body_outcome(
        endless.as_bytes(),
        &RequestLimits { trailer_bytes_max: 100, ..RequestLimits::default() },
    );
    assert_eq!(outcome, Err(Reject::TRAILER_TOO_LARGE));
    let unbounded = RequestLimits { body_bytes_max: u64::MAX, ..RequestLimits::default() };
    assert_eq!(
        body_outcome(b"ffffffffffffffff\r\nab", &unbounded).map(|(body, ..)| body),
        Ok(b"ab".to_vec())
    );
}

/// A small deterministic generator: bodies of random pieces survive encoding, any split, and decoding.
#[test]
fn encoded_bodies_decode_to_themselves() {
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = move |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    for _ in 0..100 {
        let (mut body, mut wire) = (Vec::new(), Vec::new());
        for _ in 0..next(6) {
            let piece: Vec<u8> = (0..next(40)).map(|_| next(256) as u8).collect();
            body.extend_from_slice(&piece);
            write_chunk(&mut wire, &piece);
        }
        let trailer: [(&[u8], &[u8]); 1] = [(b"X-Sum", b"42")];
        let count = next(2) as usize;
        write_last_chunk(&mut wire, trailer.into_iter().take(count)).unwrap();
        let trailers = vec![("X-Sum".to_string(), "42".to_string()); count];
        assert_eq!(body_outcome(&wire, &RequestLimits::default()), Ok((body, trailers, wire.len(), true)));
    }
}
