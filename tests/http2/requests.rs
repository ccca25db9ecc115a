//! What a request is, and what refuses one.

use weft_tests::{Running, Server, command};

use crate::frames::*;
use crate::server;

fn described(weft: &Running, bytes: &[u8]) -> serde_json::Value {
    let mut peer = Peer::begin(weft.address);
    peer.send(bytes);
    let (status, body) = peer.answer(1);
    assert_eq!(status, STATUS_200, "{}", weft.log());
    serde_json::from_slice(&body).expect("JSON")
}

#[test]
fn a_request_means_what_it_says() {
    let weft = server().start();
    let more = [("cookie", "a=1"), ("x-one", "2"), ("cookie", "b=2")];
    let request = [post(1, "/describe?x=y", &more), frame(DATA, END_STREAM, 1, b"hello")].concat();
    let said = described(&weft, &request);
    for (name, expected) in [
        ("method", "POST"),
        ("target", "/describe?x=y"),
        ("query", "x=y"),
        ("version", "2.0"),
        ("scheme", "http"),
        ("host", "a.example"),
        ("body", "hello"),
    ] {
        assert_eq!(said[name], expected, "{name} of {said}");
    }
    assert!(said.to_string().contains("a=1; b=2"), "{said}");
    let trailers = frame(HEADERS, END_HEADERS | END_STREAM, 1, &block(&[("x-last", "z")]));
    let request = [post(1, "/describe", &[]), frame(DATA, 0, 1, b"hello"), trailers].concat();
    let said = described(&weft, &request);
    assert!(said["trailers"].to_string().contains("x-last"), "{said}");
}

#[test]
fn every_split_means_the_same() {
    let weft = server().start();
    let trailers = frame(HEADERS, END_HEADERS | END_STREAM, 3, &block(&[("x-last", "z")]));
    let bytes = [
        begin(&[(3, 100)]),
        get(1, "/describe"),
        post(3, "/describe", &[("content-length", "5")]),
        frame(PING, 0, 0, b"12345678"),
        frame(DATA, 0, 3, b"he"),
        frame(DATA, 0, 3, b"llo"),
        trailers,
    ]
    .concat();
    let essence = |peer: &mut Peer| {
        let mut answers = [Vec::new(), Vec::new()];
        let mut ended = 0;
        while ended < 2 {
            let frame = peer.news().expect("two answers");
            ended += usize::from(frame.ends());
            if frame.kind == DATA {
                answers[usize::from(frame.stream == 3)].extend(frame.payload);
            }
        }
        answers
    };
    let mut peer = Peer::connect(weft.address);
    peer.send(&bytes);
    let whole = essence(&mut peer);
    assert!(whole[1].windows(5).any(|five| five == b"hello"));
    for at in 1..bytes.len() {
        let mut peer = Peer::connect(weft.address);
        peer.send(&bytes[..at]);
        // Another client's answer proves that the server has seen only the first part.
        assert_eq!(weft.get("/hello").status, 200);
        peer.send(&bytes[at..]);
        assert_eq!(essence(&mut peer), whole, "split at {at}");
    }
    let mut peer = Peer::connect(weft.address);
    bytes.iter().for_each(|byte| peer.send(&[*byte]));
    assert_eq!(essence(&mut peer), whole, "byte by byte");
}

#[test]
fn what_contradicts_itself_is_refused_and_nothing_else() {
    let weft = server().start();
    let mut peer = Peer::begin(weft.address);
    let request = |stream, more: &[(&str, &str)]| {
        let fields = [&fields("GET", "/hello"), more].concat();
        frame(HEADERS, END_HEADERS | END_STREAM, stream, &block(&fields))
    };
    for (stream, more) in [
        (1, [("host", "other.example")]),
        (3, [("connection", "close")]),
        (5, [("te", "gzip")]),
        (7, [("content-length", "3")]),
    ] {
        peer.send(&request(stream, &more));
        let refused = peer.news().expect("a reset");
        assert_eq!((refused.kind, refused.stream, refused.code()), (RST_STREAM, stream, PROTOCOL_ERROR));
    }
    peer.send(&frame(HEADERS, END_HEADERS | END_STREAM, 11, &block(&fields("GET", "/a b"))));
    let refused = peer.news().expect("an answer");
    assert!(refused.kind == RST_STREAM || refused.payload[0] == STATUS_400, "{refused:?}");
    while refused.kind == HEADERS && !peer.news().expect("its end").ends() {}
    peer.send(&get(13, "/hello"));
    assert_eq!(peer.answer(13), (STATUS_200, b"Hello World".to_vec()));
}

#[test]
fn a_head_that_is_too_large_gets_431() {
    let weft = server().start();
    let mut peer = Peer::begin(weft.address);
    let value = "v".repeat(100);
    let names: Vec<String> = (0..400).map(|number| format!("x-{number}")).collect();
    let more: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), value.as_str())).collect();
    let whole = block(&[&fields("GET", "/hello")[..], &more].concat());
    let (first, rest) = whole.split_at(16_384);
    peer.send(&frame(HEADERS, END_STREAM, 1, first));
    let pieces: Vec<&[u8]> = rest.chunks(16_384).collect();
    for (index, piece) in pieces.iter().enumerate() {
        let flags = if index + 1 == pieces.len() { END_HEADERS } else { 0 };
        peer.send(&frame(CONTINUATION, flags, 1, piece));
    }
    let answer = peer.news().expect("an answer");
    assert_eq!((answer.kind, answer.stream), (HEADERS, 1), "{answer:?}");
    assert_ne!(answer.payload[0], STATUS_200);
    peer.send(&get(3, "/hello"));
    let mut next = peer.news().expect("an answer");
    while next.stream == 1 {
        next = peer.news().expect("an answer");
    }
    assert_eq!((next.kind, next.payload[0]), (HEADERS, STATUS_200));
}

#[test]
fn answers_have_no_fields_of_a_connection() {
    let weft = Server::new(
        "return fn ($r) => new Weft\\Http\\Response('x', 200, ['Connection' => 'close', 'Keep-Alive' => 'a',
            'Upgrade' => 'h2c', 'X-Mixed' => 'Case']);",
    );
    let weft = weft.start();
    let mut curl = std::process::Command::new("curl");
    curl.args(["-sSi", "--http2-prior-knowledge"]).arg(format!("http://{}/", weft.address));
    let said = command::finish(&mut curl).stdout;
    assert!(said.starts_with("HTTP/2 200") && said.contains("x-mixed: Case"), "{said}");
    for name in ["connection", "keep-alive", "upgrade", "transfer-encoding"] {
        assert!(!said.to_lowercase().contains(name), "{said}");
    }
}

#[test]
fn it_can_be_turned_off() {
    let weft = server().with("--http2", "false").start();
    let mut client = weft.connect();
    client.send(begin(&[]));
    assert_eq!(client.read().status, 505);
}
