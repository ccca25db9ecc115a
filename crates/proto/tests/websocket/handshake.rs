//! Handshakes, accepted and refused.

use weft_proto::websocket::{Handshake, is_asked, is_of_host};
use weft_proto::{Head, Parse, Reject, RequestLimits};

const KEY: &str = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const VERSION: &str = "Sec-WebSocket-Version: 13\r\n";

fn request(line: &str, fields: &str) -> (Head, Vec<u8>) {
    let text = format!("{line}\r\nHost: example.com\r\n{fields}\r\n");
    let mut head = Head::new();
    let parsed = head.parse(text.as_bytes(), &RequestLimits::default());
    assert!(matches!(parsed, Ok(Parse::Complete { .. })), "{parsed:?}: {text}");
    (head, text.into_bytes())
}

fn upgrading(fields: &str) -> (Head, Vec<u8>) {
    request(
        "GET /chat HTTP/1.1",
        &format!("Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n{fields}"),
    )
}

#[track_caller]
fn refused(fields: &str, rule: Reject) {
    let (head, bytes) = upgrading(fields);
    assert_eq!(Handshake::read(&head, &bytes).unwrap_err(), rule, "{fields}");
}

#[test]
fn the_example_of_the_rfc() {
    let (head, bytes) = upgrading(&format!("{KEY}{VERSION}Sec-WebSocket-Protocol: chat, superchat\r\n"));
    assert!(is_asked(&head, &bytes));
    assert_eq!(Handshake::read(&head, &bytes).unwrap().accept(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_eq!(Handshake::protocols(&head, &bytes).collect::<Vec<_>>(), [&b"chat"[..], b"superchat"]);
}

#[test]
fn who_asks_for_a_websocket() {
    let asked = |line: &str, fields: &str| {
        let (head, bytes) = request(line, fields);
        is_asked(&head, &bytes)
    };
    assert!(asked("GET / HTTP/1.1", "Connection: upgrade\r\nUpgrade: h2c, WebSocket\r\n"));
    assert!(!asked("GET / HTTP/1.1", "Upgrade: websocket\r\n"), "Connection does not name Upgrade");
    assert!(!asked("GET / HTTP/1.1", "Connection: upgrade\r\nUpgrade: h2c\r\n"));
    assert!(!asked("GET / HTTP/1.0", "Connection: upgrade\r\nUpgrade: websocket\r\n"));
}

#[test]
fn the_version_is_13() {
    for version in ["", "Sec-WebSocket-Version: 8\r\n", "Sec-WebSocket-Version: 13, 8\r\n"] {
        refused(&format!("{KEY}{version}"), Handshake::VERSION);
    }
    refused(&format!("{KEY}{VERSION}{VERSION}"), Handshake::VERSION);
}

#[test]
fn the_key_is_one_nonce() {
    for key in [
        "",
        "Sec-WebSocket-Key: \r\n",
        "Sec-WebSocket-Key: dGhl\r\n",
        "Sec-WebSocket-Key: no base64 at all!!!!\r\n",
    ] {
        refused(&format!("{key}{VERSION}"), Handshake::KEY);
    }
    refused(&format!("{KEY}{KEY}{VERSION}"), Handshake::KEY);
}

#[test]
fn the_request_is_a_get_without_a_body() {
    let fields = format!("Upgrade: websocket\r\nConnection: Upgrade\r\n{KEY}{VERSION}");
    let (head, bytes) = request("POST /chat HTTP/1.1", &fields);
    assert_eq!(Handshake::read(&head, &bytes).unwrap_err(), Handshake::REQUEST);
    refused(&format!("{KEY}{VERSION}Content-Length: 3\r\n"), Handshake::REQUEST);
    refused(&format!("{KEY}{VERSION}Transfer-Encoding: chunked\r\n"), Handshake::REQUEST);
}

#[test]
fn subprotocols_in_several_fields_are_one_list() {
    let (head, bytes) =
        upgrading(&format!("{KEY}{VERSION}Sec-WebSocket-Protocol: a,,b\r\nSec-WebSocket-Protocol: c\r\n"));
    assert_eq!(Handshake::protocols(&head, &bytes).collect::<Vec<_>>(), [&b"a"[..], b"b", b"c"]);
}

#[test]
fn pages_of_the_host() {
    for (origin, authority) in [
        ("https://example.com", "example.com"),
        ("http://EXAMPLE.com:8080", "example.com:8080"),
        ("https://example.com", "example.com:443"),
        ("http://example.com:80", "example.com"),
        ("http://[::1]:8080", "[::1]:8080"),
    ] {
        assert!(is_of_host(origin.as_bytes(), authority.as_bytes()), "{origin} {authority}");
    }
    for (origin, authority) in [
        ("null", "null"),
        ("https://", ""),
        ("https://example.com", "example.com:8443"),
        ("http://example.com", "example.com:443"),
        ("https://example.com.evil.org", "example.com"),
        ("https://evil-example.com", "example.com"),
        ("file://example.com", "example.com"),
    ] {
        assert!(!is_of_host(origin.as_bytes(), authority.as_bytes()), "{origin} {authority}");
    }
}
