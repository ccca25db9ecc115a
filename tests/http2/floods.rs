//! What a peer may send without end: each flood ends its own connection, and nobody else notices.

use weft_tests::{Running, process};

use crate::frames::*;
use crate::server;

/// Sends these bytes again and again; returns the code of the GOAWAY that ends it.
fn flood(weft: &Running, first: &[u8], mut next: impl FnMut(u32) -> Vec<u8>) -> u32 {
    let before = process::private_bytes(weft.workers()[0]);
    let mut peer = Peer::begin(weft.address);
    peer.send(first);
    // Its answers are not read before the end.
    for number in 0..200_000 {
        if peer.try_send(&next(number)).is_err() {
            break;
        }
    }
    assert_eq!(weft.get("/hello").text(), "Hello World", "others are served");
    let grown = process::private_bytes(weft.workers()[0]).saturating_sub(before);
    assert!(grown < 8 << 20, "the worker grew by {grown} bytes");
    let code = peer.goaway();
    peer.expect_closed();
    code
}

#[test]
fn pings_settings_and_unknown_frames() {
    let weft = server().start();
    assert_eq!(weft.get("/hello").status, 200);
    for kind in [PING, SETTINGS, 0x2a] {
        let payload: &[u8] = if kind == SETTINGS { b"" } else { b"12345678" };
        let bytes = frame(kind, 0, 0, payload).repeat(20);
        // Its answers are read, or the server would stop to read its frames.
        let mut peer = Peer::begin(weft.address);
        let code = loop {
            let sent = (0..50).all(|_| peer.try_send(&bytes).is_ok());
            peer.send_or_ignore(&frame(PING, 0, 0, b"the last"));
            let code = loop {
                match peer.next() {
                    Some(frame) if frame.kind == GOAWAY => break Some(frame.code()),
                    Some(frame) if frame.payload == b"the last" => break None,
                    Some(_) => (),
                    None => panic!("closed without a GOAWAY (sent {sent})"),
                }
            };
            if let Some(code) = code {
                break code;
            }
        };
        assert_eq!(code, ENHANCE_YOUR_CALM, "frames of type {kind}");
        assert_eq!(weft.get("/hello").text(), "Hello World");
    }
}

#[test]
fn streams_that_are_given_up_at_once() {
    let weft = server().start();
    assert_eq!(weft.get("/hello").status, 200);
    let reset = |stream| frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes());
    let code = flood(&weft, b"", |number| {
        let stream = 2 * number + 1;
        [get(stream, "/sleep?ms=1"), reset(stream)].concat()
    });
    assert_eq!(code, ENHANCE_YOUR_CALM);
}

#[test]
fn streams_that_are_given_up_later() {
    let weft = server().start();
    let mut peer = Peer::begin(weft.address);
    for number in 0.. {
        let stream = 2 * number + 1;
        // The PING's answer proves that the request has begun.
        let ping = frame(PING, 0, 0, b"received");
        let reset = frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes());
        if peer.try_send(&[get(stream, "/sleep?ms=1000"), ping].concat()).is_err() {
            break;
        }
        let answer = loop {
            let frame = peer.next().expect("an answer, or a GOAWAY");
            if matches!(frame.kind, PING | GOAWAY) {
                break frame;
            }
        };
        if answer.kind == GOAWAY {
            assert_eq!(answer.code(), ENHANCE_YOUR_CALM);
            break;
        }
        peer.send_or_ignore(&reset);
        assert!(number < 2_000, "nobody ends it");
    }
    assert_eq!(weft.get("/hello").text(), "Hello World");
}

#[test]
fn a_head_that_never_ends() {
    let weft = server().start();
    assert_eq!(weft.get("/hello").status, 200);
    let first = frame(HEADERS, END_STREAM, 1, &block(&fields("GET", "/hello")));
    for payload in [Vec::new(), block(&[("x-a", "b")])] {
        let bytes = frame(CONTINUATION, 0, 1, &payload);
        let code = flood(&weft, &first, |_| bytes.clone());
        assert_eq!(code, ENHANCE_YOUR_CALM);
    }
}

#[test]
fn a_head_that_grows_when_it_is_unpacked() {
    let weft = server().start();
    assert_eq!(weft.get("/hello").status, 200);
    let before = process::private_bytes(weft.workers()[0]);
    // One field of 4,000 bytes in the table, and then 10,000 references to it.
    let mut bomb = block(&fields("GET", "/hello"));
    bomb.extend([0x40, 1, b'x', 0x7f]);
    bomb.extend([0xa1, 0x1e]);
    bomb.extend(vec![b'v'; 0x7f + 0x21 + (0x1e << 7)]);
    bomb.extend(vec![0xbe; 10_000]);
    let mut peer = Peer::begin(weft.address);
    peer.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &bomb));
    let answer = peer.news().expect("an answer");
    let refused = match answer.kind {
        HEADERS => answer.payload[0] != STATUS_200,
        RST_STREAM | GOAWAY => true,
        _ => false,
    };
    assert!(refused, "{answer:?}");
    let grown = process::private_bytes(weft.workers()[0]).saturating_sub(before);
    assert!(grown < 4 << 20, "the worker grew by {grown} bytes");
    assert_eq!(weft.get("/hello").text(), "Hello World");
}

#[test]
fn empty_pieces_of_a_body() {
    let weft = server().start();
    assert_eq!(weft.get("/hello").status, 200);
    let bytes = frame(DATA, 0, 1, b"");
    let code = flood(&weft, &post(1, "/wait-for-file?file=never", &[]), |_| bytes.clone());
    assert_eq!(code, ENHANCE_YOUR_CALM);
}
