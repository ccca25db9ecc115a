//! Request heads: the same outcome as a whole, split, and byte by byte; a head that is written out again is
//! parsed the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_proto::{Framing, Head, RequestLimits, Parse, Reject, split_authority};

/// Small enough for the fuzzer to reach every limit.
const LIMITS: RequestLimits = RequestLimits {
    head_bytes_max: 512,
    header_count_max: 8,
    target_bytes_max: 64,
    body_bytes_max: 1 << 20,
    chunk_line_bytes_max: 32,
    chunk_extension_bytes_max: 64,
    trailer_bytes_max: 64,
    trailer_count_max: 4,
};

fn feed(input: &[u8], steps: impl Iterator<Item = usize>) -> (Head, Result<Option<usize>, Reject>) {
    let mut head = Head::new();
    for len in steps {
        match head.parse(&input[..len], &LIMITS) {
            Ok(Parse::Partial) => {}
            Ok(Parse::Complete { head_bytes }) => return (head, Ok(Some(head_bytes))),
            Err(reject) => return (head, Err(reject)),
        }
    }
    (head, Ok(None))
}

fn describe(head: &Head, buf: &[u8]) -> String {
    format!(
        "{:?}",
        (
            (head.method(buf), head.target(buf), head.version(), head.form()),
            (head.path(buf), head.query(buf), head.authority(buf)),
            (head.framing(), head.keep_alive(), head.expect_continue()),
            (head.upgrade(buf).collect::<Vec<_>>(), head.headers(buf).collect::<Vec<_>>()),
        )
    )
}

fuzz_target!(|data: &[u8]| {
    let Some((&cut, input)) = data.split_first() else { return };
    let cut = usize::from(cut).min(input.len());
    let (head, whole) = feed(input, std::iter::once(input.len()));
    let (split_head, split) = feed(input, [cut, input.len()].into_iter());
    let (byte_head, bytes) = feed(input, 0..=input.len());
    assert_eq!(whole, split);
    assert_eq!(whole, bytes);
    let Ok(Some(head_bytes)) = whole else { return };
    let shown = describe(&head, input);
    assert_eq!(shown, describe(&split_head, input));
    assert_eq!(shown, describe(&byte_head, input));
    check_meaning(&head, input, head_bytes);

    let mut again = [head.method(input), b" ", head.target(input), b" "].concat();
    again.extend_from_slice(match head.version() {
        weft_proto::Version::Http10 => b"HTTP/1.0\r\n",
        weft_proto::Version::Http11 => b"HTTP/1.1\r\n",
        weft_proto::Version::Http2 => unreachable!("no text says that it is HTTP/2"),
    });
    for (name, value) in head.headers(input) {
        again.extend_from_slice(&[name, b":", value, b"\r\n"].concat());
    }
    again.extend_from_slice(b"\r\n");
    let (second, outcome) = feed(&again, std::iter::once(again.len()));
    assert_eq!(outcome, Ok(Some(again.len())));
    assert_eq!(shown, describe(&second, &again));
});

/// Properties of every accepted head, checked without the parser's own code.
fn check_meaning(head: &Head, input: &[u8], head_bytes: usize) {
    assert!(head_bytes <= input.len() && head_bytes <= LIMITS.head_bytes_max);
    let text = &input[..head_bytes];
    assert!(text.ends_with(b"\r\n\r\n"));
    for (at, &byte) in text.iter().enumerate() {
        assert!(byte != b'\n' || text[at - 1] == b'\r');
        assert!(byte != b'\r' || text[at + 1] == b'\n');
        assert!(byte != 0);
    }
    assert!(
        head.header_count() <= LIMITS.header_count_max && head.target(input).len() <= LIMITS.target_bytes_max
    );
    assert!(head.path(input) == b"*" || head.path(input).starts_with(b"/"));
    assert!(head.authority(input).is_none_or(|authority| split_authority(authority).is_some()));
    let lengths = head.get_all(input, "content-length").count();
    let codings = head.get_all(input, "transfer-encoding").count();
    match head.framing() {
        Framing::None => assert_eq!((lengths, codings), (0, 0)),
        Framing::Length(length) => {
            assert!(length <= LIMITS.body_bytes_max);
            assert_eq!((lengths, codings), (1, 0));
        }
        Framing::Chunked => {
            assert_eq!((lengths, codings), (0, 1));
            assert!(head.get(input, "transfer-encoding").is_some_and(|v| v.eq_ignore_ascii_case(b"chunked")));
        }
        Framing::UntilEnd => unreachable!("HTTP/1.1 says where a body ends"),
    }
}
