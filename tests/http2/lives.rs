//! Streams side by side, streams that are given up, and the end of a connection.

use rustix::process::Signal;
use weft_tests::{Server, until};

use crate::frames::*;
use crate::{frames, server};

#[test]
fn a_hundred_streams_wait_at_once() {
    // Nobody is answered before all have come.
    let weft = Server::new(
        "$here = 0;
        return function ($r) use (&$here) {
            for ($here++; $here < 100;) usleep(1000);
            return $r->query('n');
        };",
    );
    let weft = weft.start();
    let mut peer = Peer::begin(weft.address);
    let requests: Vec<u8> = (0..100).flat_map(|n| get(2 * n + 1, &format!("/?n={n}"))).collect();
    peer.send(&requests);
    let mut bodies: Vec<Vec<u8>> = vec![Vec::new(); 100];
    let mut ended = 0;
    while ended < 100 {
        let frame = peer.news().expect("an answer");
        if frame.kind == DATA {
            bodies[frame.stream as usize / 2].extend(&frame.payload);
        }
        ended += usize::from(frame.ends());
    }
    for (n, body) in bodies.iter().enumerate() {
        assert_eq!(*body, n.to_string().as_bytes());
    }
}

#[test]
fn a_stream_that_is_given_up_is_a_client_that_has_gone() {
    let weft = server().start();
    let mut peer = Peer::begin(weft.address);
    peer.send(&[get(1, "/until-aborted"), get(3, "/wait-for-file?file=gate")].concat());
    until("the handler to start", || (weft.read("started") == "yes").then_some(()));
    peer.send(&frame(RST_STREAM, 0, 1, &8_u32.to_be_bytes()));
    until("the handler to see it", || (weft.read("aborted") == "yes").then_some(()));
    // The other stream does not notice.
    weft.write("gate", "open");
    assert_eq!(peer.answer(3), (STATUS_200, b"found gate".to_vec()));
}

#[test]
fn a_connection_that_breaks_takes_all_its_streams_along() {
    let weft = server().start();
    let mut peer = Peer::begin(weft.address);
    peer.send(&get(1, "/until-aborted"));
    until("the handler to start", || (weft.read("started") == "yes").then_some(()));
    drop(peer);
    until("the handler to see it", || (weft.read("aborted") == "yes").then_some(()));
    assert_eq!(weft.get("/hello").text(), "Hello World");
}

#[test]
fn a_writer_waits_for_its_stream() {
    let weft = server().start();
    let mut peer = Peer::begin(weft.address);
    peer.send(&get(1, "/flood"));
    assert_eq!(peer.news().expect("a head").payload[0], STATUS_200);
    // Its window is used up; other streams have theirs.
    let mut seen = (String::new(), 0);
    until("the writer to wait", || {
        assert_eq!(weft.get("/hello").text(), "Hello World");
        let written = weft.read("written");
        seen = if written == seen.0 { (written, seen.1 + 1) } else { (written, 0) };
        (seen.1 == 200).then_some(())
    });
    let written: u64 = seen.0.parse().unwrap_or_default();
    assert!(written < 4 << 20, "{written} bytes were written for a stream that takes none");
    peer.send(&frame(RST_STREAM, 0, 1, &8_u32.to_be_bytes()));
    until("the writer to see it", || (weft.read("aborted") == "yes").then_some(()));
}

#[test]
fn an_answer_that_breaks_off_is_a_reset() {
    let weft = server().start();
    let mut peer = Peer::begin(weft.address);
    peer.send(&get(1, "/broken-writer"));
    let last = loop {
        let frame = peer.news().expect("its end");
        assert!(!frame.ends(), "{frame:?}");
        if frame.kind == RST_STREAM {
            break frame;
        }
    };
    assert_eq!((last.stream, last.code()), (1, INTERNAL_ERROR));
    peer.send(&get(3, "/hello"));
    assert_eq!(peer.answer(3).1, b"Hello World");
}

#[test]
fn a_reload_finishes_the_streams_that_run() {
    let mut weft = server().start();
    let mut peer = Peer::begin(weft.address);
    let requests: Vec<u8> = (0..20).flat_map(|n| get(2 * n + 1, "/wait-for-file?file=gate")).collect();
    peer.send(&requests);
    peer.send(&frame(PING, 0, 0, b"received"));
    while !peer.next().is_some_and(|frame| frame.kind == PING && frame.flags & 1 != 0) {}
    weft.signal(Signal::HUP);
    weft.wait_for_log("reload: generation 2 is ready");
    assert_eq!(peer.goaway(), NO_ERROR);
    weft.write("gate", "open");
    let mut answered = 0;
    while let Some(frame) = peer.next() {
        if frame.kind == PING && frame.flags & 1 == 0 {
            peer.send(&frames::frame(PING, 1, 0, &frame.payload));
        }
        assert_ne!(frame.kind, RST_STREAM);
        answered += usize::from(frame.ends());
    }
    assert_eq!(answered, 20, "{}", weft.log());
    weft.wait_for_log("has drained");
}

#[test]
fn an_idle_connection_is_closed_in_time() {
    let weft = server().with("--idle-timeout-ms", "200").start();
    let mut peer = Peer::begin(weft.address);
    peer.send(&get(1, "/sleep?ms=600&name=a"));
    assert_eq!(peer.answer(1).1, b"slept a", "it is not idle meanwhile");
    assert_eq!(peer.goaway(), NO_ERROR);
    peer.expect_closed();
}

#[test]
fn a_peer_that_only_begins_is_closed_in_time() {
    let weft = server().with("--head-timeout-ms", "200").start();
    let mut peer = Peer::connect(weft.address);
    peer.send(&PREFACE[..20]);
    peer.expect_closed();
    let weft = server().with("--idle-timeout-ms", "200").start();
    let mut peer = Peer::begin(weft.address);
    // A head that never ends is no request.
    peer.send(&frame(HEADERS, END_STREAM, 1, &block(&fields("GET", "/hello"))));
    peer.expect_closed();
}

#[test]
fn a_body_that_stalls_gets_408() {
    let weft = server().with("--body-timeout-ms", "200").start();
    let mut peer = Peer::begin(weft.address);
    peer.send(&post(1, "/digest", &[]));
    peer.send(&frame(DATA, 0, 1, b"some"));
    let answer = peer.news().expect("an answer");
    assert_eq!((answer.kind, answer.stream), (HEADERS, 1));
    assert_ne!(answer.payload[0], STATUS_200);
    while !peer.news().expect("its end").ends() {}
    peer.send(&get(3, "/hello"));
    let mut next = peer.news().expect("an answer");
    while next.stream == 1 {
        next = peer.news().expect("an answer");
    }
    assert_eq!(next.payload[0], STATUS_200);
}

#[test]
fn a_window_that_never_opens_ends_its_stream() {
    let weft = server().with("--write-timeout-ms", "200").start();
    let mut peer = Peer::connect(weft.address);
    peer.send(&begin(&[(4, 0)]));
    peer.send(&get(1, "/large?size=100000"));
    let mut next = peer.news().expect("a head");
    assert_eq!(next.payload[0], STATUS_200);
    while next.kind != RST_STREAM {
        next = peer.news().expect("a reset");
    }
    assert_eq!(next.stream, 1);
}

#[test]
fn a_stream_that_waits_for_its_share_delays_no_other_and_can_be_given_up() {
    let weft = server().with("--shares", "path /wait-for-file 1").start();
    let mut peer = Peer::begin(weft.address);
    peer.send(&[get(1, "/wait-for-file?file=one"), get(3, "/wait-for-file?file=two")].concat());
    peer.send(&[get(5, "/wait-for-file?file=three"), get(7, "/hello")].concat());
    assert_eq!(peer.answer(7), (STATUS_200, b"Hello World".to_vec()));
    // Who is given up does not have its turn.
    peer.send(&[frame(RST_STREAM, 0, 3, &8_u32.to_be_bytes()), get(9, "/hello")].concat());
    assert_eq!(peer.answer(9), (STATUS_200, b"Hello World".to_vec()));
    weft.write("three", "open");
    peer.send(&get(11, "/hello"));
    assert_eq!(peer.answer(11), (STATUS_200, b"Hello World".to_vec()), "the third waits for the first");
    weft.write("one", "open");
    assert_eq!(peer.answer(1), (STATUS_200, b"found one".to_vec()));
    assert_eq!(peer.answer(5), (STATUS_200, b"found three".to_vec()));
}
