//! Response heads: what is written and what is promised, for each version, method, status and length.

use weft_proto::{
    BodyLength, DateCache, InvalidHeader, Part, Repeated, ResponseHead, Sent, SentBody, Version, write_chunk,
    write_interim, write_last_chunk,
};

type Fields<'a> = &'a [(&'a str, &'a str)];

const OK: ResponseHead = ResponseHead {
    status: 200,
    version: Version::Http11,
    head_request: false,
    keep_alive: true,
    body: BodyLength::Known(5),
    own_lines: b"",
};
const DATE: &str = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";

fn bytes<'a>(fields: Fields<'a>) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
    fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()))
}

/// Encodes at that time and appends to `out`. Encoding again, after the same head or after another one, makes no
/// difference.
fn encode_at(
    unix_secs: u64,
    head: ResponseHead,
    fields: Fields,
    out: &mut Vec<u8>,
) -> Result<Sent, InvalidHeader> {
    let (date, fields, before) = (DateCache::new(unix_secs), bytes(fields).collect::<Vec<_>>(), out.clone());
    let mut last = Repeated::default();
    let sent = head.encode(&fields, &date, &mut last, out);
    let other = ResponseHead { status: 404, ..OK };
    for (between, fields_between) in
        [(head, &fields[..]), (other, &fields[..]), (head, &[(&b"X"[..], &b"y"[..])])]
    {
        let mut again = before.clone();
        assert_eq!(head.encode(&fields, &date, &mut last, &mut again), sent);
        assert_eq!(again, *out);
        let _ = between.encode(fields_between, &date, &mut last, &mut Vec::new());
    }
    let mut later = Vec::new();
    if head.encode(&fields, &DateCache::new(unix_secs + 1), &mut last, &mut later).is_ok() {
        assert_eq!(later.len(), out.len() - before.len());
        assert!(
            later[..] != out[before.len()..]
                || fields.iter().any(|(name, _)| name.eq_ignore_ascii_case(b"date"))
        );
    }
    sent
}

/// The encoded head without its Date, and the promise.
fn encode(head: ResponseHead, fields: Fields) -> (String, Sent) {
    let mut out = b"before".to_vec();
    let sent = encode_at(784_111_777, head, fields, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    (text.strip_prefix("before").unwrap().replace(DATE, ""), sent)
}

fn sent(body: SentBody, keep_alive: bool) -> Sent {
    Sent { body, keep_alive }
}

#[test]
fn hello() {
    let mut out = Vec::new();
    encode_at(784_111_777, OK, &[("Content-Type", "text/plain")], &mut out).unwrap();
    let wanted = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n{DATE}Content-Length: 5\r\n\r\n");
    assert_eq!(String::from_utf8(out).unwrap(), wanted);
}

#[test]
fn framing_by_version_and_length() {
    let unknown = ResponseHead { body: BodyLength::Unknown, ..OK };
    let old = ResponseHead { version: Version::Http10, ..OK };
    let cases: [(ResponseHead, &str, Sent); 7] = [
        (OK, "Content-Length: 5\r\n", sent(SentBody::Length(5), true)),
        (
            ResponseHead { keep_alive: false, ..OK },
            "Content-Length: 5\r\nConnection: close\r\n",
            sent(SentBody::Length(5), false),
        ),
        (unknown, "Transfer-Encoding: chunked\r\n", sent(SentBody::Chunked, true)),
        (
            ResponseHead { keep_alive: false, ..unknown },
            "Transfer-Encoding: chunked\r\nConnection: close\r\n",
            sent(SentBody::Chunked, false),
        ),
        (old, "Content-Length: 5\r\nConnection: keep-alive\r\n", sent(SentBody::Length(5), true)),
        (
            ResponseHead { keep_alive: false, ..old },
            "Content-Length: 5\r\nConnection: close\r\n",
            sent(SentBody::Length(5), false),
        ),
        (
            ResponseHead { body: BodyLength::Unknown, ..old },
            "Connection: close\r\n",
            sent(SentBody::UntilClose, false),
        ),
    ];
    for (head, lines, promise) in cases {
        assert_eq!(encode(head, &[]), (format!("HTTP/1.1 200 OK\r\n{lines}\r\n"), promise), "{head:?}");
    }
}

#[test]
fn responses_without_a_body() {
    let none = sent(SentBody::None, true);
    let declared: Fields = &[("Content-Length", "99")];
    let status = |status| ResponseHead { status, ..OK };
    let head_request = ResponseHead { head_request: true, ..OK };
    let unknown = ResponseHead { body: BodyLength::Unknown, ..head_request };
    let cases: [(ResponseHead, Fields, &str, Sent); 9] = [
        (status(204), declared, "HTTP/1.1 204 No Content\r\n\r\n", none),
        (status(304), &[], "HTTP/1.1 304 Not Modified\r\n\r\n", none),
        (status(304), declared, "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n", none),
        (status(205), declared, "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n", none),
        (head_request, &[], "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", none),
        (head_request, declared, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", none),
        (unknown, &[], "HTTP/1.1 200 OK\r\n\r\n", none),
        (unknown, declared, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", none),
        (
            ResponseHead { version: Version::Http10, ..unknown },
            &[],
            "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\n",
            none,
        ),
    ];
    for (head, fields, text, promise) in cases {
        assert_eq!(encode(head, fields), (text.to_string(), promise), "{head:?}");
    }
}

#[test]
fn fields_the_server_owns() {
    let unknown = ResponseHead { body: BodyLength::Unknown, ..OK };
    let ok = |lines: &str| format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
    let dropped: Fields = &[
        ("Transfer-Encoding", "gzip"),
        ("keep-alive", "timeout=5"),
        ("Proxy-Connection", "x"),
        ("connection", "x"),
    ];
    assert_eq!(encode(OK, dropped), (ok("Content-Length: 5\r\n"), sent(SentBody::Length(5), true)));
    let length: Fields = &[("content-length", "7")];
    assert_eq!(encode(OK, length), (ok("Content-Length: 5\r\n"), sent(SentBody::Length(5), true)));
    assert_eq!(encode(unknown, length), (ok("Content-Length: 7\r\n"), sent(SentBody::Length(7), true)));
    let close: Fields = &[("Connection", "x, Close")];
    assert_eq!(
        encode(OK, close),
        (ok("Content-Length: 5\r\nConnection: close\r\n"), sent(SentBody::Length(5), false))
    );
    let mut out = Vec::new();
    encode_at(0, OK, &[("date", "mine")], &mut out).unwrap();
    assert_eq!(out, b"HTTP/1.1 200 OK\r\ndate: mine\r\nContent-Length: 5\r\n\r\n");
}

#[test]
fn a_response_cannot_be_split() {
    let cases: [(&str, &str, Part); 13] = [
        ("X", "a\r\nSet-Cookie: b", Part::Value),
        ("X", "a\nb", Part::Value),
        ("X", "a\rb", Part::Value),
        ("X", "a\0b", Part::Value),
        ("X", "0123456789012345678901234567890123456789\n", Part::Value),
        ("X\r\nY", "a", Part::Name),
        ("X: Y", "a", Part::Name),
        ("", "a", Part::Name),
        ("X ", "a", Part::Name),
        ("\u{e9}", "a", Part::Name),
        ("Content-Length", "5, 5", Part::Value),
        ("Content-Length", "", Part::Value),
        ("Date", "a\r\n", Part::Value),
    ];
    for (name, value, part) in cases {
        let fields: Fields = &[("Good", "1"), (name, value)];
        let mut out = b"before".to_vec();
        let invalid = encode_at(0, OK, fields, &mut out).unwrap_err();
        assert_eq!((invalid.part, &out[..]), (part, &b"before"[..]), "{name:?}: {value:?}");
        assert!(!invalid.to_string().contains(['\r', '\n', '\0']), "{invalid}");
        if !name.to_ascii_lowercase().starts_with("content-") {
            assert_eq!(write_interim(&mut out, Version::Http11, 103, bytes(fields)).unwrap_err().part, part);
            assert_eq!(write_last_chunk(&mut out, bytes(fields)).unwrap_err().part, part);
            assert_eq!(out, b"before");
        }
    }
    let twice: Fields = &[("Content-Length", "5"), ("Content-Length", "5")];
    assert_eq!(encode_at(0, OK, twice, &mut Vec::new()).unwrap_err().part, Part::Value);
    for status in [0, 99, 100, 199, 1000, u16::MAX] {
        let head = ResponseHead { status, ..OK };
        assert_eq!(encode_at(0, head, &[], &mut Vec::new()).unwrap_err().part, Part::Status);
    }
    let invalid = encode_at(0, OK, &[("X-Color", "a\n")], &mut Vec::new()).unwrap_err();
    assert!(invalid.to_string().contains("X-Color"));
}

#[test]
fn interim_responses() {
    let written = |version, status, fields| {
        let mut out = Vec::new();
        let wrote = write_interim(&mut out, version, status, bytes(fields)).unwrap();
        (wrote, String::from_utf8(out).unwrap())
    };
    assert_eq!(written(Version::Http11, 100, &[]), (true, "HTTP/1.1 100 Continue\r\n\r\n".into()));
    let link: Fields = &[("Link", "</a.css>; rel=preload"), ("Content-Length", "5"), ("Connection", "close")];
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";
    assert_eq!(written(Version::Http11, 103, link), (true, hints.into()));
    let switch = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n";
    assert_eq!(written(Version::Http11, 101, &[("Upgrade", "websocket")]), (true, switch.into()));
    assert_eq!(written(Version::Http10, 100, &[]), (false, String::new()));
    assert_eq!(
        write_interim(&mut Vec::new(), Version::Http11, 200, bytes(&[])).unwrap_err().part,
        Part::Status
    );
}

#[test]
fn chunks() {
    let mut out = Vec::new();
    write_chunk(&mut out, b"");
    write_chunk(&mut out, &[b'x'; 26]);
    write_last_chunk(&mut out, bytes(&[("X-Sum", "1")])).unwrap();
    assert_eq!(out, b"1a\r\nxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n0\r\nX-Sum: 1\r\n\r\n");
    for name in ["Content-Length", "transfer-encoding", "Host", "Trailer"] {
        assert_eq!(write_last_chunk(&mut Vec::new(), bytes(&[(name, "1")])).unwrap_err().part, Part::Name);
    }
}

#[test]
fn the_servers_own_lines_stand_first_and_as_they_are() {
    let head = ResponseHead { own_lines: b"Server: weft\r\n", ..OK };
    let mut out = Vec::new();
    encode_at(0, head, &[("X-A", "b")], &mut out).unwrap();
    assert!(out.starts_with(b"HTTP/1.1 200 OK\r\nServer: weft\r\nX-A: b\r\n"));
}
