//! Which of several answers comes first (RFC 9218).

use weft_tests::{Running, Server};

use crate::frames::*;

const BYTES: usize = 1_000_000;
const PRIORITY_UPDATE: u8 = 0x10;

fn weft() -> Running {
    Server::new(&format!("return fn ($r) => str_repeat($r->query('n'), {BYTES});")).start()
}

/// A peer whose streams may send everything, once the connection may.
fn peer(weft: &Running) -> Peer {
    // SETTINGS_INITIAL_WINDOW_SIZE.
    Peer::begin_with(weft.address, &[(4, 1 << 30)])
}

/// A request with a priority.
fn ask(stream: u32, priority: &str) -> Vec<u8> {
    let path = format!("/?n={}", stream % 10);
    let mut fields = fields("GET", &path);
    fields.push(("priority", priority));
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &block(&fields))
}

/// Waits for the heads of these streams: what they send then waits for the connection's window.
fn heads(peer: &mut Peer, streams: &[u32], sent: &mut Vec<u32>) {
    let mut left = streams.to_vec();
    while !left.is_empty() {
        let frame = peer.news().expect("a head");
        match frame.kind {
            HEADERS => left.retain(|stream| *stream != frame.stream),
            DATA => sent.extend(std::iter::repeat_n(frame.stream, frame.payload.len())),
            _ => (),
        }
    }
}

/// The streams in the order in which they end, and how many bytes of others came before the end of the first.
fn ends(peer: &mut Peer, count: usize) -> (Vec<u32>, usize) {
    let (mut ended, mut others, mut of) = (Vec::new(), 0, std::collections::BTreeMap::<u32, usize>::new());
    while ended.len() < count {
        let frame = peer.news().expect("data");
        if frame.kind != DATA {
            continue;
        }
        *of.entry(frame.stream).or_default() += frame.payload.len();
        if frame.ends() {
            if ended.is_empty() {
                others =
                    of.iter().filter(|(stream, _)| **stream != frame.stream).map(|(_, bytes)| bytes).sum();
            }
            ended.push(frame.stream);
        }
    }
    (ended, others)
}

fn open(peer: &mut Peer) {
    peer.send(&frame(WINDOW_UPDATE, 0, 0, &(1_u32 << 30).to_be_bytes()));
}

#[test]
fn the_urgent_come_first() {
    let weft = weft();
    let mut peer = peer(&weft);
    peer.send(&[ask(1, "u=5"), ask(3, ""), ask(5, "u=1")].concat());
    heads(&mut peer, &[1, 3, 5], &mut Vec::new());
    open(&mut peer);
    let (order, others) = ends(&mut peer, 3);
    assert_eq!(order, [5, 3, 1]);
    assert!(others < BYTES / 2, "{others} bytes came before the end of the most urgent");
}

#[test]
fn equals_come_one_after_the_other_unless_they_are_incremental() {
    let weft = weft();
    for (priority, shares) in [("u=2", false), ("u=2, i", true)] {
        let mut peer = peer(&weft);
        peer.send(&[ask(1, priority), ask(3, priority)].concat());
        heads(&mut peer, &[1, 3], &mut Vec::new());
        open(&mut peer);
        let (order, others) = ends(&mut peer, 2);
        assert_eq!(others > BYTES / 2, shares, "{priority}: {order:?}, {others} bytes of the other");
    }
}

#[test]
fn a_client_may_say_so_later() {
    let weft = weft();
    let mut peer = peer(&weft);
    // Before the stream comes, and while it waits.
    let update = |stream: u32, field: &str| {
        frame(PRIORITY_UPDATE, 0, 0, &[&stream.to_be_bytes()[..], field.as_bytes()].concat())
    };
    peer.send(&[update(3, "u=0"), ask(1, "u=4"), ask(3, "u=7"), ask(5, "u=6")].concat());
    heads(&mut peer, &[1, 3, 5], &mut Vec::new());
    peer.send(&[update(5, "u=2"), frame(PING, 0, 0, b"12345678")].concat());
    open(&mut peer);
    assert_eq!(ends(&mut peer, 3).0, [3, 5, 1]);
}

#[test]
fn who_does_not_read_keeps_nobody_waiting() {
    let weft = weft();
    // Streams have their usual windows, the connection has room.
    let mut peer = Peer::begin(weft.address);
    open(&mut peer);
    peer.send(&[ask(1, "u=0"), ask(3, "u=7")].concat());
    heads(&mut peer, &[1, 3], &mut Vec::new());
    peer.send(&frame(WINDOW_UPDATE, 0, 3, &(1_u32 << 30).to_be_bytes()));
    assert_eq!(ends(&mut peer, 1).0, [3]);
    peer.send(&frame(WINDOW_UPDATE, 0, 1, &(1_u32 << 30).to_be_bytes()));
    assert_eq!(ends(&mut peer, 1).0, [1]);
}
