//! WebSockets over real sockets: the handshake, messages, both ends of a connection, limits and deadlines.

mod common;

use std::cell::{Cell, RefCell};
use std::io::{Read, Write as _};
use std::net::TcpStream;

use common::*;
use weft_proto::websocket::{CloseCode, Kind};
use weft_serve::{
    NotUpgraded, Overflow, RequestKey, Sent, Server, ServerLimits, Subscribed, TunnelEvent, TunnelKey,
    TunnelLimits, Upgrade,
};

const ASK: &str = "GET /chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
const SWITCHED: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nConnection: upgrade\r\n\r\n";
const MASK: [u8; 4] = [1, 2, 3, 4];

thread_local! {
    /// What the handler has seen, in the server's thread.
    static SEEN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static KEYS: RefCell<Vec<TunnelKey>> = const { RefCell::new(Vec::new()) };
    /// Events are left where they are.
    static HELD: RefCell<Vec<TunnelKey>> = const { RefCell::new(Vec::new()) };
    static POLICY: Cell<Overflow> = const { Cell::new(Overflow::Close) };
}

fn upgrade(server: &'static Server, key: RequestKey) {
    let upgrade = Upgrade {
        service: 7,
        overflow: POLICY.get(),
        protocol: None,
        headers: &[],
        attributes: &[(b"user", b"42")],
    };
    match server.upgrade(key, &upgrade) {
        Ok(key) => KEYS.with_borrow_mut(|keys| keys.push(key)),
        Err(NotUpgraded::Refused(reject)) => server.refuse_upgrade(key, reject).unwrap(),
        Err(NotUpgraded::Draining) => server.respond_error(key, 503, None).unwrap(),
        Err(other) => panic!("{other}"),
    }
}

fn see(server: &'static Server, key: TunnelKey, answer: bool) {
    let (service, event) = server.take_event(key).unwrap();
    assert_eq!(service, 7);
    let line = match &event {
        TunnelEvent::Opened => "opened".to_owned(),
        TunnelEvent::Message(kind, bytes) => format!("{kind:?} {}", bytes.escape_ascii()),
        TunnelEvent::Closed(code, reason) => format!("closed {} {reason}", code.0),
    };
    SEEN.with_borrow_mut(|seen| seen.push(line));
    if let (true, TunnelEvent::Message(kind, bytes)) = (answer, event) {
        server.tunnel_send(key, kind, &bytes);
    }
    server.event_done(key);
}

/// Answers each message with itself.
fn echoing(limits: ServerLimits) -> TestServer {
    let server = TestServer::start(Answer::AtOnce, limits, upgrade);
    server.run(|_| EVENTS.set(|server, key| see(server, key, true)));
    server
}

/// Takes no event until the test says so.
fn holding(limits: ServerLimits) -> TestServer {
    let server = TestServer::start(Answer::AtOnce, limits, upgrade);
    server.run(|_| EVENTS.set(|_, key| HELD.with_borrow_mut(|held| held.push(key))));
    server
}

fn release(server: &TestServer) {
    server.run(|server| {
        EVENTS.set(|server, key| see(server, key, false));
        HELD.take().into_iter().for_each(|key| see(server, key, false));
    });
}

fn tunnels(limits: TunnelLimits) -> ServerLimits {
    ServerLimits { tunnels: limits, ..ServerLimits::default() }
}

fn open(server: &TestServer) -> TcpStream {
    let mut stream = server.connect();
    stream.write_all(ASK.as_bytes()).unwrap();
    assert_eq!(head(&mut stream), SWITCHED);
    stream
}

fn seen(server: &TestServer) -> Vec<String> {
    server.run(|_| SEEN.take())
}

fn until_seen(server: &TestServer, line: &'static str) {
    server.until(move |_| SEEN.with_borrow(|seen| seen.iter().any(|seen| seen == line)));
}

fn key(server: &TestServer) -> TunnelKey {
    server.run(|_| KEYS.with_borrow(|keys| *keys.last().unwrap()))
}

/// A frame as a client sends it.
fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        length @ 0..=125 => bytes.push(0x80 | length as u8),
        length => {
            bytes.push(0x80 | 127);
            bytes.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    if (126..=0xFFFF).contains(&payload.len()) {
        bytes.truncate(1);
        bytes.push(0x80 | 126);
        bytes.extend_from_slice(&(payload.len() as u16).to_be_bytes());
    }
    bytes.extend_from_slice(&MASK);
    bytes.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

fn close(code: u16, reason: &str) -> Vec<u8> {
    masked(0x88, &[&code.to_be_bytes(), reason.as_bytes()].concat())
}

/// Reads a frame of the server.
fn read(stream: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut start = [0; 2];
    stream.read_exact(&mut start).unwrap();
    let mut long = vec![
        0;
        match start[1] {
            126 => 2,
            127 => 8,
            _ => 0,
        }
    ];
    stream.read_exact(&mut long).unwrap();
    let length = long.iter().fold(0usize, |length, byte| length << 8 | usize::from(*byte));
    let mut payload = vec![0; if long.is_empty() { usize::from(start[1]) } else { length }];
    stream.read_exact(&mut payload).unwrap();
    (start[0], payload)
}

fn read_close(stream: &mut TcpStream) -> (u16, String) {
    let (first, payload) = read(stream);
    assert_eq!(first, 0x88);
    (u16::from_be_bytes([payload[0], payload[1]]), String::from_utf8(payload[2..].to_vec()).unwrap())
}

fn ends(stream: &mut TcpStream) {
    assert_eq!(stream.read(&mut [0]).unwrap(), 0, "the server has closed its side");
}

#[test]
fn a_dialogue_has_the_same_answer_however_its_bytes_are_split() {
    let server = echoing(ServerLimits::default());
    let dialogue = [
        ASK.as_bytes().to_vec(),
        masked(0x81, b"one"),
        masked(0x01, b"tw"),
        masked(0x89, b"?"),
        masked(0x80, b"o"),
        masked(0x82, &[0xFF, 0]),
    ]
    .concat();
    for at in 0..=dialogue.len() {
        let mut stream = server.connect();
        stream.write_all(&dialogue[..at]).unwrap();
        server.settle();
        stream.write_all(&dialogue[at..]).unwrap();
        assert_eq!(head(&mut stream), SWITCHED, "split at {at}");
        // A pong may overtake messages.
        let (pongs, messages): (Vec<_>, Vec<_>) =
            (0..4).map(|_| read(&mut stream)).partition(|(first, _)| *first == 0x8A);
        assert_eq!(pongs, [(0x8A, b"?".to_vec())], "split at {at}");
        let expected = [(0x81, b"one".to_vec()), (0x81, b"two".to_vec()), (0x82, vec![0xFF, 0])];
        assert_eq!(messages, expected, "split at {at}");
        let closing = close(4000, "bye");
        stream.write_all(&closing[..at % closing.len()]).unwrap();
        server.settle();
        stream.write_all(&closing[at % closing.len()..]).unwrap();
        assert_eq!(read_close(&mut stream), (4000, String::new()));
        ends(&mut stream);
        until_seen(&server, "closed 4000 bye");
        let expected = ["opened", "Text one", "Text two", "Binary \\xff\\x00", "closed 4000 bye"];
        assert_eq!(seen(&server), expected, "split at {at}");
    }
    server.until(|server| server.tunnels() == 0 && server.connections() == 0);
}

#[test]
fn handshakes_that_are_refused() {
    let server = echoing(ServerLimits::default());
    let answer = server.ask(ASK.replace("Version: 13", "Version: 8\r\nConnection: close"));
    assert!(
        answer.starts_with("HTTP/1.1 426 ") && answer.contains("Sec-WebSocket-Version: 13\r\n"),
        "{answer}"
    );
    let answer = server.ask(ASK.replace("dGhl", "\r\nConnection: close\r\nX: "));
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("Sec-WebSocket-Key"), "{answer}");
    let answer = server.ask(ASK.replace("websocket", "h2c\r\nConnection: close"));
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert_eq!(server.run(|server| server.tunnels()), 0);
}

#[test]
fn an_idle_tunnel_holds_no_stream_and_answers_again() {
    let server = echoing(ServerLimits::default());
    let mut streams: Vec<_> = (0..20).map(|_| open(&server)).collect();
    server.until(|server| server.idle() == 20);
    assert_eq!(server.run(|server| (server.stats.busy.get(), server.stats.tunnels.get())), (0, 20));
    for stream in &mut streams {
        stream.write_all(&masked(0x81, b"x")).unwrap();
        assert_eq!(read(stream), (0x81, b"x".to_vec()));
    }
    drop(streams);
    server.until(|server| server.tunnels() == 0 && server.stats.tunnels.get() == 0);
    assert_eq!(seen(&server).iter().filter(|line| *line == "closed 1006 ").count(), 20);
}

#[test]
fn a_broken_rule_is_answered_with_its_code() {
    let limits = TunnelLimits { message_bytes_max: 1000, ..TunnelLimits::default() };
    for (frame, code) in [
        (masked(0xC1, b"x"), 1002),
        (vec![0x81, 1, b'x'], 1002),
        (masked(0x81, b"\xff"), 1007),
        (masked(0x82, &[0; 1001]), 1009),
        (close(1005, ""), 1002),
    ] {
        let server = echoing(tunnels(limits));
        let mut stream = open(&server);
        stream.write_all(&[frame, masked(0x81, b"not read any more")].concat()).unwrap();
        assert_eq!(read_close(&mut stream).0, code);
        ends(&mut stream);
        drop(stream);
        server.until(|server| server.tunnels() == 0);
        let seen = seen(&server);
        assert!(seen.len() == 2 && seen[1].starts_with(&format!("closed {code} ")), "{seen:?}");
    }
}

#[test]
fn the_server_closes_and_waits_for_the_answer() {
    let server = echoing(ServerLimits::default());
    let mut stream = open(&server);
    let key = key(&server);
    let closed = server.run(move |server| {
        server.tunnel_send(key, Kind::Text, b"last");
        let first = server.tunnel_close(key, CloseCode(4001), "enough");
        (first, server.tunnel_close(key, CloseCode(4002), ""), server.tunnel_send(key, Kind::Text, b"later"))
    });
    assert_eq!(closed, (true, false, Sent::Gone));
    assert_eq!(read(&mut stream), (0x81, b"last".to_vec()));
    assert_eq!(read_close(&mut stream), (4001, "enough".to_owned()));
    // What was on its way is dropped.
    stream.write_all(&[masked(0x81, b"on its way"), close(4001, "")].concat()).unwrap();
    ends(&mut stream);
    until_seen(&server, "closed 4001 enough");
    assert_eq!(seen(&server), ["opened", "closed 4001 enough"]);
}

#[test]
fn a_close_frame_that_is_not_answered_ends_the_connection_in_time() {
    let server = echoing(tunnels(TunnelLimits { close_timeout_ms: 200, ..TunnelLimits::default() }));
    let mut stream = open(&server);
    let key = key(&server);
    server.run(move |server| server.tunnel_close(key, CloseCode::NORMAL, ""));
    assert_eq!(read_close(&mut stream).0, 1000);
    ends(&mut stream);
    until_seen(&server, "closed 1000 ");
}

#[test]
fn silence_is_answered_with_a_ping_and_then_with_the_end() {
    let limits = TunnelLimits { ping_ms: 200, ping_timeout_ms: 3_000, ..TunnelLimits::default() };
    let server = echoing(tunnels(limits));
    let mut stream = open(&server);
    for _ in 0..3 {
        assert_eq!(read(&mut stream), (0x89, vec![]));
        stream.write_all(&masked(0x8A, b"")).unwrap();
    }
    assert_eq!(read(&mut stream), (0x89, vec![]));
    ends(&mut stream);
    until_seen(&server, "closed 1006 ");
    assert_eq!(server.run(|server| server.stats.timed_out.get()), 1);
}

#[test]
fn a_peer_is_not_read_while_its_events_are_not_taken() {
    const COUNT: usize = 2_000;
    let server = holding(ServerLimits::default());
    let mut stream = open(&server);
    stream.set_nonblocking(true).unwrap();
    let message = masked(0x82, &[b'x'; 20_000]);
    let (mut sent, mut whole) = (0, vec![]);
    for _ in 0..COUNT {
        whole.extend_from_slice(&message);
    }
    // The server takes a bounded part of 40 MB, and the kernel's buffers the rest.
    server.until(|server| server.stats.messages_received.get() > 0 || server.tunnels() == 1);
    let mut refused = 0;
    while refused < 50 {
        match stream.write(&whole[sent..]) {
            Ok(count) => (sent, refused) = (sent + count, 0),
            Err(_) => {
                server.settle();
                refused += 1;
            }
        }
    }
    let taken = server.run(|server| server.stats.messages_received.get());
    assert!(taken <= 30 && sent < whole.len(), "{taken} messages were taken");
    release(&server);
    stream.set_nonblocking(false).unwrap();
    stream.write_all(&whole[sent..]).unwrap();
    server.until(|_| SEEN.with_borrow(|seen| seen.len() == COUNT + 1));
}

#[test]
fn events_of_one_tunnel_come_one_at_a_time_and_in_order() {
    let server = holding(ServerLimits::default());
    let mut stream = open(&server);
    stream.write_all(&[masked(0x81, b"1"), masked(0x81, b"2"), close(1000, "")].concat()).unwrap();
    assert_eq!(read_close(&mut stream).0, 1000);
    drop(stream);
    server.until(|server| server.connections() == 0);
    assert_eq!(
        server.run(|_| HELD.with_borrow(Vec::len)),
        1,
        "the next event waits for the end of the first"
    );
    let key = key(&server);
    let late = server.run(move |server| {
        (
            server.tunnel_send(key, Kind::Text, b"x"),
            server.tunnel_is_open(key),
            server.tunnel_attribute(key, b"user"),
        )
    });
    assert_eq!(late, (Sent::Gone, false, Some(b"42".to_vec())));
    release(&server);
    server.until(|server| server.tunnels() == 0);
    assert_eq!(seen(&server), ["opened", "Text 1", "Text 2", "closed 1000 "]);
    let after = server.run(move |server| {
        (server.take_event(key).is_none(), server.tunnel_attribute(key, b"user"), server.subscribe(key, b"t"))
    });
    assert_eq!(after, (true, None, Subscribed::Gone));
}

/// Sends messages to a client that does not read, until one is not queued.
fn flood(server: &TestServer, key: TunnelKey) -> Sent {
    server.run(move |server| {
        let body = vec![b'x'; 10_000];
        (0..10_000)
            .map(|_| server.tunnel_send(key, Kind::Binary, &body))
            .find(|sent| *sent != Sent::Queued)
            .unwrap_or(Sent::Queued)
    })
}

#[test]
fn a_client_that_does_not_read_is_closed_with_1013() {
    let limits = TunnelLimits { queue_bytes_max: 50_000, close_timeout_ms: 500, ..TunnelLimits::default() };
    let server = echoing(tunnels(limits));
    let stream = open(&server);
    assert_eq!(flood(&server, key(&server)), Sent::Overflowed);
    until_seen(&server, "closed 1013 the client does not keep up");
    assert_eq!(server.run(|server| server.stats.messages_dropped.get()), 1);
    drop(stream);
}

#[test]
fn messages_for_a_client_that_does_not_read_are_dropped() {
    let limits = TunnelLimits { queue_bytes_max: 50_000, ..TunnelLimits::default() };
    for (policy, outcome) in [(Overflow::DropNewest, Sent::Dropped), (Overflow::DropOldest, Sent::Queued)] {
        let server = echoing(tunnels(limits));
        server.run(move |_| POLICY.set(policy));
        let mut stream = open(&server);
        let key = key(&server);
        assert_eq!(flood(&server, key), outcome);
        assert!(server.run(move |server| server.tunnel_waiting(key)) <= 50_000);
        server.run(move |server| server.tunnel_close(key, CloseCode::NORMAL, ""));
        // What it then reads is whole, and fits the bound with what the kernel held.
        let mut count = 0;
        while read(&mut stream).0 == 0x82 {
            count += 1;
        }
        assert!(count < 10_000);
        stream.write_all(&close(1000, "")).unwrap();
        ends(&mut stream);
    }
}

#[test]
fn what_is_published_reaches_the_subscribers() {
    let server = echoing(ServerLimits::default());
    let mut streams: Vec<_> = (0..10).map(|_| open(&server)).collect();
    let keys = server.run(|_| KEYS.with_borrow(Vec::clone));
    let first = keys[0];
    let count = server.run(move |server| {
        for key in &keys[..9] {
            assert_eq!(server.subscribe(*key, b"news"), Subscribed::Yes);
        }
        assert!(server.unsubscribe(keys[8], b"news") && !server.unsubscribe(keys[8], b"news"));
        assert_eq!(server.publish(b"nothing", Kind::Text, b"x", None), 0);
        server.publish(b"news", Kind::Text, b"hello", Some(first))
    });
    assert_eq!(count, 7);
    for stream in &mut streams[1..8] {
        assert_eq!(read(stream), (0x81, b"hello".to_vec()));
    }
    // The others get nothing: the next frame is their own.
    for place in [0, 8, 9] {
        streams[place].write_all(&masked(0x81, b"own")).unwrap();
        assert_eq!(read(&mut streams[place]), (0x81, b"own".to_vec()));
    }
}

#[test]
fn a_worker_that_ends_tells_its_tunnels_one_after_another() {
    let server = echoing(tunnels(TunnelLimits { leave_ms: 1_000, ..TunnelLimits::default() }));
    let mut streams: Vec<_> = (0..10).map(|_| open(&server)).collect();
    let mut late = server.connect();
    late.write_all(&ASK.as_bytes()[..20]).unwrap();
    server.settle();
    server.run(|server| server.drain());
    late.write_all(&ASK.as_bytes()[20..]).unwrap();
    assert!(head(&mut late).starts_with("HTTP/1.1 503 "));
    assert_eq!(read_close(&mut streams[0]), (1001, "the server restarts".to_owned()));
    assert_eq!(server.run(|server| server.stats.tunnels.get()), 10, "the others are told later");
    // They can be used until then.
    streams[9].write_all(&masked(0x81, b"x")).unwrap();
    assert_eq!(read(&mut streams[9]), (0x81, b"x".to_vec()));
    for stream in &mut streams[1..] {
        assert_eq!(read_close(stream).0, 1001);
    }
    for mut stream in streams {
        stream.write_all(&close(1001, "")).unwrap();
        ends(&mut stream);
    }
    server.until(|server| server.tunnels() == 0);
}

#[test]
fn events_that_cannot_be_taken_end_the_tunnel() {
    let server = holding(ServerLimits::default());
    let mut stream = open(&server);
    let key = key(&server);
    server.until(|_| HELD.with_borrow(Vec::len) == 1);
    server.run(move |server| server.abandon_tunnel(key));
    ends(&mut stream);
    server.until(|server| {
        server.tunnels() == 0 && server.connections() == 0 && server.stats.tunnels.get() == 0
    });
}
