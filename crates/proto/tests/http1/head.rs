//! Accepted heads and what they mean. Every input is fed as a whole and under every split.

use crate::splits::{HeadView, head_outcome};
use weft_proto::{Framing, Head, Parse, RequestLimits, TargetForm, Version};

fn parsed(input: &str) -> (Head, HeadView) {
    let view = head_outcome(input.as_bytes(), &RequestLimits::default());
    let view = view.unwrap_or_else(|reject| panic!("{reject}: {input:?}")).expect("complete");
    let mut head = Head::new();
    head.parse(input.as_bytes(), &RequestLimits::default()).unwrap();
    (head, view)
}

fn with(fields: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n")
}

#[test]
fn a_typical_request() {
    let input = "GET /a/b?x=1&y=?2 HTTP/1.1\r\nHost: example.org:8080\r\nAccept: */*\r\nX-Two:\t one \t\r\nx-two: 2\r\n\r\n";
    let (head, view) = parsed(input);
    let buf = input.as_bytes();
    assert_eq!(view.head_bytes, input.len());
    assert_eq!((head.method(buf), head.target(buf)), (&b"GET"[..], &b"/a/b?x=1&y=?2"[..]));
    assert_eq!((head.path(buf), head.query(buf)), (&b"/a/b"[..], Some(&b"x=1&y=?2"[..])));
    assert_eq!(
        (head.version(), head.form(), head.framing()),
        (Version::Http11, TargetForm::Origin, Framing::None)
    );
    assert_eq!(head.authority(buf), Some(&b"example.org:8080"[..]));
    assert_eq!(head.header_count(), 4);
    assert_eq!(head.header(buf, 1), (&b"Accept"[..], &b"*/*"[..]));
    assert_eq!(head.header(buf, 4), (&b""[..], &b""[..]));
    assert_eq!(head.get(buf, "x-TWO"), Some(&b"one"[..]));
    assert_eq!(head.get_all(buf, "X-Two").collect::<Vec<_>>(), [&b"one"[..], b"2"]);
    assert_eq!(head.get(buf, "absent"), None);
    assert!(head.keep_alive() && !head.expect_continue());
}

#[test]
fn what_follows_a_head_is_left_alone() {
    let first = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n";
    let both = format!("{first}\r\nPOST /2 HTTP/1.1\r\nHost: b\r\nContent-Length: 3\r\n\r\nabc");
    let (mut head, limits) = (Head::new(), RequestLimits::default());
    assert_eq!(head.parse(both.as_bytes(), &limits), Ok(Parse::Complete { head_bytes: first.len() }));
    let rest = &both.as_bytes()[first.len()..];
    assert_eq!(head.parse(rest, &limits), Ok(Parse::Complete { head_bytes: rest.len() - 3 }));
    assert_eq!((head.method(rest), head.framing()), (&b"POST"[..], Framing::Length(3)));
    // A buffer that is not the parsed one yields nothing and does not panic.
    assert_eq!((head.method(b""), head.path(b"x"), head.get(b"", "host")), (&b""[..], &b"/"[..], None));
}

#[test]
fn clear_forgets_a_partial_head() {
    let (mut head, limits) = (Head::new(), RequestLimits::default());
    assert_eq!(head.parse(b"GET /long-one HTTP/1.1\r\nHost: a\r\n", &limits), Ok(Parse::Partial));
    head.clear();
    let input = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(head.parse(input, &limits), Ok(Parse::Complete { head_bytes: input.len() }));
}

#[test]
fn leading_empty_lines_are_ignored() {
    for count in 1..=RequestLimits::LEADING_EMPTY_LINES_MAX {
        let input = format!("{}GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\r\n".repeat(count));
        assert_eq!(parsed(&input).1.head_bytes, input.len());
    }
}

#[test]
fn target_forms() {
    let cases = [
        ("GET http://h.example:81/p?q HTTP/1.1", TargetForm::Absolute, "/p", Some("q"), "h.example:81"),
        ("GET HTTPS://h.example HTTP/1.1", TargetForm::Absolute, "/", None, "h.example"),
        ("GET http://h?q/x HTTP/1.1", TargetForm::Absolute, "/", Some("q/x"), "h"),
        ("GET http://[::1]:8/ HTTP/1.1", TargetForm::Absolute, "/", None, "[::1]:8"),
        ("OPTIONS * HTTP/1.1", TargetForm::Asterisk, "*", None, "a"),
        ("GET /? HTTP/1.1", TargetForm::Origin, "/", Some(""), "a"),
        ("GET //x/../y HTTP/1.1", TargetForm::Origin, "//x/../y", None, "a"),
        ("GET /%00|{}\"^`\\<> HTTP/1.1", TargetForm::Origin, "/%00|{}\"^`\\<>", None, "a"),
        ("GET /h\u{e9} HTTP/1.1", TargetForm::Origin, "/h\u{e9}", None, "a"),
        ("GET /http://x/ HTTP/1.1", TargetForm::Origin, "/http://x/", None, "a"),
    ];
    for (line, form, path, query, authority) in cases {
        let input = format!("{line}\r\nHost: a\r\n\r\n");
        let (head, _) = parsed(&input);
        let buf = input.as_bytes();
        assert_eq!((head.form(), head.path(buf)), (form, path.as_bytes()), "{line}");
        assert_eq!(head.query(buf), query.map(str::as_bytes), "{line}");
        assert_eq!(head.authority(buf), Some(authority.as_bytes()), "{line}");
    }
}

#[test]
fn hosts() {
    for host in ["a", "a.example:80", "[::1]", "127.0.0.1:8080", "a_b", "", "A-1.example.", "x:"] {
        let input = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(parsed(&input).0.authority(input.as_bytes()), Some(host.as_bytes()));
    }
    let old = "GET / HTTP/1.0\r\n\r\n";
    let (head, _) = parsed(old);
    assert_eq!((head.authority(old.as_bytes()), head.version()), (None, Version::Http10));
}

#[test]
fn framings() {
    let cases = [
        ("", Framing::None),
        ("Content-Length: 0\r\n", Framing::Length(0)),
        ("content-length:42\r\n", Framing::Length(42)),
        ("Content-Length: \t007 \r\n", Framing::Length(7)),
        ("Transfer-Encoding: chunked\r\n", Framing::Chunked),
        ("transfer-encoding:\tCHUNKED\t\r\n", Framing::Chunked),
    ];
    for (fields, framing) in cases {
        assert_eq!(parsed(&with(fields)).0.framing(), framing, "{fields:?}");
    }
}

#[test]
fn persistence() {
    let cases = [
        ("HTTP/1.1", "", true),
        ("HTTP/1.1", "Connection: close\r\n", false),
        ("HTTP/1.1", "Connection: keep-alive, CLOSE\r\n", false),
        ("HTTP/1.1", "Connection: closed\r\n", true),
        ("HTTP/1.1", "Connection: x\r\nConnection: close\r\n", false),
        ("HTTP/1.0", "", false),
        ("HTTP/1.0", "Connection: Keep-Alive\r\n", true),
        ("HTTP/1.0", "Connection: Keep-Alive, close\r\n", false),
    ];
    for (version, fields, keep_alive) in cases {
        let input = format!("GET / {version}\r\nHost: a\r\n{fields}\r\n");
        assert_eq!(parsed(&input).0.keep_alive(), keep_alive, "{version} {fields:?}");
    }
}

#[test]
fn expectations() {
    let cases = [
        ("HTTP/1.1", "Content-Length: 1\r\nExpect: 100-continue\r\n", true),
        ("HTTP/1.1", "Transfer-Encoding: chunked\r\nExpect: 100-Continue\r\n", true),
        ("HTTP/1.1", "Expect: 100-continue\r\n", false),
        ("HTTP/1.1", "Content-Length: 0\r\nExpect: 100-continue\r\n", false),
        ("HTTP/1.0", "Content-Length: 1\r\nExpect: 100-continue\r\n", false),
        ("HTTP/1.0", "Content-Length: 1\r\nExpect: magic\r\n", false),
    ];
    for (version, fields, expected) in cases {
        let input = format!("POST / {version}\r\nHost: a\r\n{fields}\r\n");
        assert_eq!(parsed(&input).0.expect_continue(), expected, "{version} {fields:?}");
    }
}

#[test]
fn upgrades_count_only_when_connection_names_them() {
    let protocols = |input: &str| {
        let (head, _) = parsed(input);
        head.upgrade(input.as_bytes()).map(|p| p.escape_ascii().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(protocols(&with("Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n")), ["websocket", "h2c"]);
    assert!(protocols(&with("Upgrade: websocket\r\n")).is_empty());
    assert!(protocols("GET / HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n").is_empty());
}

#[test]
fn methods_are_case_sensitive_tokens() {
    for method in ["GET", "get", "PROPFIND", "M-SEARCH", "!#$%&'*+.^_`|~", "UPDATEREDIRECTREF"] {
        let input = format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(parsed(&input).0.method(input.as_bytes()), method.as_bytes());
    }
}

#[test]
fn limits_are_inclusive() {
    let input = b"GET /234 HTTP/1.1\r\nHost: a\r\nB: c\r\n\r\n";
    let limits = RequestLimits {
        header_count_max: 2,
        target_bytes_max: 4,
        head_bytes_max: input.len() + 1,
        ..RequestLimits::default()
    };
    assert!(head_outcome(input, &limits).unwrap().is_some());
    let input = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n";
    let limits = RequestLimits { body_bytes_max: 10, ..RequestLimits::default() };
    assert!(head_outcome(input, &limits).unwrap().is_some());
}

#[test]
fn a_trickling_head_takes_its_last_byte_to_complete() {
    let input = with("Accept: */*\r\nCookie: a=b\r\n");
    let (mut head, limits) = (Head::new(), RequestLimits::default());
    for len in 0..input.len() {
        assert_eq!(head.parse(&input.as_bytes()[..len], &limits), Ok(Parse::Partial));
    }
    assert_eq!(head.parse(input.as_bytes(), &limits), Ok(Parse::Complete { head_bytes: input.len() }));
}
