//! Bodies in both directions, and the windows that bound them.

use crate::frames::*;
use crate::server;

const INITIAL_WINDOW_SIZE: u16 = 4;

#[test]
fn an_answer_waits_for_small_windows() {
    let weft = server().start();
    for window in [1, 10, 1000] {
        let mut peer = Peer::connect(weft.address);
        peer.send(&begin(&[(INITIAL_WINDOW_SIZE, window)]));
        let size = window * 20;
        peer.send(&get(1, &format!("/large?size={size}")));
        let mut body: Vec<u8> = Vec::new();
        loop {
            let frame = peer.news().expect("a part of the answer");
            if frame.kind == DATA {
                assert!(frame.payload.len() <= window as usize);
                if !frame.payload.is_empty() {
                    peer.send(&window_update(1, frame.payload.len() as u32));
                }
                body.extend(&frame.payload);
            }
            if frame.ends() {
                break;
            }
        }
        assert_eq!(body, "0123456789".repeat(size as usize / 10).as_bytes());
    }
}

#[test]
fn a_large_answer_comes_whole_whatever_waits_for_it() {
    let weft = server().start();
    let mut peer = Peer::connect(weft.address);
    peer.send(&begin(&[(INITIAL_WINDOW_SIZE, 1 << 20)]));
    peer.send(&window_update(0, 1 << 30));
    let size = 20_000_000;
    for stream in [1, 3, 5] {
        peer.send(&get(stream, &format!("/large?size={size}")));
    }
    let mut received = [0_usize; 3];
    let mut ended = 0;
    while ended < 3 {
        let frame = peer.news().expect("a part of the answers");
        if frame.kind == DATA {
            received[frame.stream as usize / 2] += frame.payload.len();
            if !frame.payload.is_empty() && !frame.ends() {
                peer.send(&window_update(frame.stream, frame.payload.len() as u32));
            }
        }
        ended += usize::from(frame.ends());
    }
    assert_eq!(received, [size; 3]);
}

/// Sends a body as far as the windows allow until it has been sent or nothing allows more; returns how much was sent.
fn upload(peer: &mut Peer, size: usize, until_settled: impl Fn() -> bool) -> usize {
    let (mut stream, mut connection, mut sent) = (65_535_i64, 65_535_i64, 0);
    let mut settled = false;
    loop {
        while sent < size && stream.min(connection) > 0 {
            let count = (size - sent).min(stream.min(connection) as usize).min(16_384);
            let flags = if sent + count == size { END_STREAM } else { 0 };
            peer.send(&frame(DATA, flags, 1, &vec![b'x'; count]));
            sent += count;
            stream -= count as i64;
            connection -= count as i64;
        }
        if sent == size || settled && until_settled() {
            return sent;
        }
        // A PING's answer comes after everything that the server had to say before.
        peer.send(&frame(PING, 0, 0, b"still  ?"));
        let mut opened = false;
        loop {
            let frame = peer.next().expect("the server's side");
            let number = |at: usize| {
                i64::from(u32::from_be_bytes(frame.payload[at..at + 4].try_into().expect("four bytes")))
            };
            match frame.kind {
                PING if frame.flags & 1 != 0 => break,
                WINDOW_UPDATE if frame.stream == 0 => connection += number(0),
                WINDOW_UPDATE => (stream, opened) = (stream + number(0), true),
                SETTINGS => {
                    for at in (0..frame.payload.len()).step_by(6) {
                        if frame.payload[at..at + 2] == INITIAL_WINDOW_SIZE.to_be_bytes() {
                            stream += number(at + 2) - 65_535;
                        }
                    }
                    opened = true;
                }
                _ => panic!("{frame:?}"),
            }
        }
        settled = !opened;
    }
}

#[test]
fn a_body_that_nobody_reads_is_not_received() {
    let weft = server().start();
    let mut peer = Peer::begin(weft.address);
    peer.send(&post(1, "/wait-for-file?file=gate", &[]));
    let sent = upload(&mut peer, 8 << 20, || true);
    assert!(sent < 2 << 20, "{sent} bytes were taken for a handler that reads none");
    assert_eq!(weft.get("/hello").status, 200);
    weft.write("gate", "open");
    let (status, body) = peer.answer(1);
    assert_eq!((status, &body[..]), (STATUS_200, &b"found gate"[..]));
    // The rest of the body is not wanted; the connection goes on.
    peer.send(&get(3, "/hello"));
    let mut next = peer.news().expect("an answer");
    while next.stream == 1 {
        assert_eq!((next.kind, next.code()), (RST_STREAM, NO_ERROR));
        next = peer.news().expect("an answer");
    }
    assert_eq!((next.stream, next.payload[0]), (3, STATUS_200));
}

#[test]
fn a_large_body_is_received_as_it_is_read() {
    let weft = server().start();
    let mut peer = Peer::begin(weft.address);
    peer.send(&post(1, "/digest", &[]));
    let size = 6_000_000;
    assert_eq!(upload(&mut peer, size, || false), size);
    let (status, body) = peer.answer(1);
    let said: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!((status, said["length"].as_u64()), (STATUS_200, Some(size as u64)));
}

#[test]
fn a_body_beyond_the_limit_gets_413() {
    let weft = server().with("--body-bytes-max", "100000").start();
    let mut peer = Peer::begin(weft.address);
    peer.send(&post(1, "/digest", &[]));
    for _ in 0..8 {
        peer.send(&frame(DATA, 0, 1, &[b'x'; 16_000]));
    }
    let answer = peer.news().expect("an answer");
    assert_eq!((answer.kind, answer.stream), (HEADERS, 1));
    assert_ne!(answer.payload[0], STATUS_200);
}

#[test]
fn a_client_that_waits_for_100_gets_it() {
    let weft = server().start();
    let mut peer = Peer::begin(weft.address);
    peer.send(&post(1, "/digest", &[("expect", "100-continue"), ("content-length", "4")]));
    let interim = peer.news().expect("an interim answer");
    assert_eq!((interim.kind, interim.ends()), (HEADERS, false));
    assert_ne!(interim.payload[0], STATUS_200);
    peer.send(&frame(DATA, END_STREAM, 1, b"body"));
    assert_eq!(peer.answer(1).0, STATUS_200);
}
