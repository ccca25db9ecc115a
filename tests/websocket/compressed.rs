//! Compressed messages (permessage-deflate), as clients see them.

use std::io::{Read, Write};

use flate2::{Decompress, FlushDecompress};

use crate::server;
use weft_tests::websocket::{Socket, frame};

const OFFER: &str = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n";

fn deflated(payload: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(payload).unwrap();
    encoder.flush().unwrap();
    let mut bytes = encoder.get_ref().clone();
    bytes.truncate(bytes.len() - 4);
    bytes
}

fn inflated(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(10 << 20);
    let payload = [payload, &[0, 0, 0xFF, 0xFF]].concat();
    Decompress::new(false).decompress_vec(&payload, &mut out, FlushDecompress::Sync).unwrap();
    out
}

fn open(weft: &weft_tests::Running, offer: &str) -> Socket {
    let mut socket = Socket::ask(weft, "/dialogue?user=ada", offer);
    assert!(socket.head.starts_with("HTTP/1.1 101 "), "{}", socket.head);
    assert_eq!(socket.text(), "hello ada");
    socket
}

#[test]
fn it_is_off_unless_the_operator_wants_it() {
    let weft = server().start();
    let mut socket = open(&weft, OFFER);
    assert!(!socket.head.contains("Extensions"), "{}", socket.head);
    socket.stream.write_all(&frame(0xC1, &deflated(b"x"))).unwrap();
    assert_eq!(socket.close().0, 1002);
}

#[test]
fn messages_are_compressed_in_both_directions() {
    let weft = server().with_flag("--compress-websockets").start();
    let mut socket = open(&weft, OFFER);
    let agreed = "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n";
    assert!(socket.head.contains(agreed), "{}", socket.head);
    let text = "again and again, ".repeat(1000);
    for _ in 0..3 {
        let whole = frame(0xC1, &deflated(text.as_bytes()));
        socket.stream.write_all(&whole).unwrap();
        let (first, payload) = socket.read();
        assert_eq!(first, 0xC1);
        assert!(payload.len() < 500);
        assert_eq!(inflated(&payload), text.as_bytes());
    }
    // Short ones, and those that are not compressed, go as they are.
    socket.send("short");
    assert_eq!(socket.text(), "short");
    socket.stream.write_all(&frame(0xC2, &deflated(b"\xff"))).unwrap();
    assert_eq!(socket.read(), (0x82, vec![0xFF]));
    // One that has not asked for it gets none.
    let mut plain = open(&weft, "");
    plain.send(&text);
    assert_eq!(plain.text(), text);
}

#[test]
fn each_split_of_a_compressed_message_is_the_same_message() {
    let weft = server().with_flag("--compress-websockets").start();
    let mut socket = open(&weft, OFFER);
    let payload = deflated(b"a message that repeats: a message that repeats");
    let (one, two) = payload.split_at(payload.len() / 2);
    let bytes = [frame(0x41, one), frame(0x89, b"?"), frame(0x80, two)].concat();
    for at in 0..bytes.len() {
        socket.stream.write_all(&bytes[..at]).unwrap();
        socket.stream.write_all(&bytes[at..]).unwrap();
        assert_eq!(socket.read(), (0x8A, b"?".to_vec()), "split at {at}");
        assert_eq!(socket.text(), "a message that repeats: a message that repeats", "split at {at}");
    }
}

#[test]
fn offers_that_cannot_be_kept_are_declined() {
    let weft = server().with_flag("--compress-websockets").start();
    let head = |offer: &str| open(&weft, &format!("Sec-WebSocket-Extensions: {offer}\r\n")).head;
    assert!(
        head("permessage-deflate; server_max_window_bits=10").contains("; server_max_window_bits=10\r\n")
    );
    for declined in
        ["permessage-deflate; server_max_window_bits=7", "permessage-deflate; x", "x-webkit-deflate-frame"]
    {
        assert!(!head(declined).contains("Extensions"), "{declined}");
    }
    // A reader with a window of 256 bytes: what is longer goes as it is.
    let mut socket =
        open(&weft, "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=8\r\n");
    for (length, first) in [(200, 0xC1), (256, 0xC1), (257, 0x81), (5000, 0x81)] {
        socket.send(&"x".repeat(length));
        assert_eq!(socket.read().0, first, "{length}");
    }
}

#[test]
fn limits_hold_for_what_a_message_inflates_to() {
    let server = server().with_flag("--compress-websockets").with("--websocket-message-bytes-max", "10000");
    let weft = server.start();
    for (payload, code) in [
        (deflated(&vec![b'x'; 10_001]), 1009),
        (deflated(&vec![b'x'; 100 << 20]), 1009),
        (vec![0xFF; 10], 1007),
        (deflated(b"\xff\xff"), 1007),
    ] {
        let mut socket = open(&weft, OFFER);
        socket.stream.write_all(&frame(0xC1, &payload)).unwrap();
        assert_eq!(socket.close().0, code);
        assert_eq!(socket.stream.read(&mut [0]).unwrap(), 0);
    }
    let mut socket = open(&weft, OFFER);
    socket.stream.write_all(&frame(0xC1, &deflated(&[b'x'; 10_000]))).unwrap();
    assert_eq!(inflated(&socket.read().1).len(), 10_000);
    weft.calls_until("ada text 10000");
}

#[test]
fn a_flood_of_small_messages_that_become_large_stays_within_bounds() {
    let weft = server().with_flag("--compress-websockets").start();
    let mut socket = open(&weft, OFFER);
    // Each is one kilobyte and becomes one megabyte; the service is busy, so they wait as they are.
    socket.send("wait 500");
    let bomb = frame(0xC2, &deflated(&vec![b'x'; 1 << 20]));
    let flood = bomb.repeat(200);
    socket.stream.write_all(&flood).unwrap();
    assert_eq!(socket.text(), "wait 500");
    for _ in 0..200 {
        let (first, payload) = socket.read();
        assert_eq!((first, inflated(&payload).len()), (0xC2, 1 << 20));
    }
}
