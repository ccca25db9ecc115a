//! Clients and handlers for the tests of WebSockets: raw frames over a socket, and handlers that write down what they see.

use std::cell::{Cell, RefCell};
use std::io::{Read, Write as _};
use std::net::TcpStream;

use super::*;
use weft_proto::websocket::Kind;
use weft_serve::{NotUpgraded, Overflow, Sent, TunnelEvent, TunnelLimits, Upgrade};

pub const ASK: &str = "GET /chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
pub const SWITCHED: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nConnection: upgrade\r\n\r\n";
pub const MASK: [u8; 4] = [1, 2, 3, 4];

thread_local! {
    /// What the handler has seen, in the server's thread.
    pub static SEEN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    pub static KEYS: RefCell<Vec<TunnelKey>> = const { RefCell::new(Vec::new()) };
    /// Events are left where they are.
    pub static HELD: RefCell<Vec<TunnelKey>> = const { RefCell::new(Vec::new()) };
    pub static POLICY: Cell<Overflow> = const { Cell::new(Overflow::Close) };
    pub static WANTS_DRAINED: Cell<bool> = const { Cell::new(false) };
}

pub fn upgrade(server: &'static Server, key: RequestKey) {
    let upgrade = Upgrade {
        service: 7,
        overflow: POLICY.get(),
        wants_drained: WANTS_DRAINED.get(),
        is_owned: false,
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

pub fn see(server: &'static Server, key: TunnelKey, answer: bool) {
    let (service, event) = server.take_event(key).unwrap();
    assert_eq!(service, 7);
    let line = match &event {
        TunnelEvent::Opened => "opened".to_owned(),
        TunnelEvent::Drained => "drained".to_owned(),
        TunnelEvent::Ended => "ended".to_owned(),
        TunnelEvent::Message(kind, bytes) => format!("{kind:?} {}", bytes.escape_ascii()),
        TunnelEvent::Closed(code, reason) => format!("closed {} {reason}", code.0),
    };
    SEEN.with_borrow_mut(|seen| seen.push(line));
    if let (true, TunnelEvent::Message(kind, bytes)) = (answer, event) {
        server.tunnel_send(key, kind, &bytes, None);
    }
    server.event_done(key);
}

/// Answers each message with itself.
pub fn echoing(limits: ServerLimits) -> TestServer {
    let server = TestServer::start(Answer::AtOnce, limits, upgrade);
    server.run(|_| EVENTS.set(|server, key| see(server, key, true)));
    server
}

/// Takes no event until the test says so.
pub fn holding(limits: ServerLimits) -> TestServer {
    let server = TestServer::start(Answer::AtOnce, limits, upgrade);
    server.run(|_| EVENTS.set(|_, key| HELD.with_borrow_mut(|held| held.push(key))));
    server
}

pub fn release(server: &TestServer) {
    server.run(|server| {
        EVENTS.set(|server, key| see(server, key, false));
        HELD.take().into_iter().for_each(|key| see(server, key, false));
    });
}

pub fn tunnels(limits: TunnelLimits) -> ServerLimits {
    ServerLimits { tunnels: limits, ..ServerLimits::default() }
}

pub fn open(server: &TestServer) -> TcpStream {
    let mut stream = server.connect();
    stream.write_all(ASK.as_bytes()).unwrap();
    assert_eq!(head(&mut stream), SWITCHED);
    stream
}

pub fn seen(server: &TestServer) -> Vec<String> {
    server.run(|_| SEEN.take())
}

pub fn until_seen(server: &TestServer, line: &'static str) {
    server.until(move |_| SEEN.with_borrow(|seen| seen.iter().any(|seen| seen == line)));
}

pub fn key(server: &TestServer) -> TunnelKey {
    server.run(|_| KEYS.with_borrow(|keys| *keys.last().unwrap()))
}

/// A frame as a client sends it.
pub fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
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

pub fn close(code: u16, reason: &str) -> Vec<u8> {
    masked(0x88, &[&code.to_be_bytes(), reason.as_bytes()].concat())
}

/// Reads a frame of the server.
pub fn read(stream: &mut TcpStream) -> (u8, Vec<u8>) {
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

pub fn read_close(stream: &mut TcpStream) -> (u16, String) {
    let (first, payload) = read(stream);
    assert_eq!(first, 0x88);
    (u16::from_be_bytes([payload[0], payload[1]]), String::from_utf8(payload[2..].to_vec()).unwrap())
}

pub fn ends(stream: &mut TcpStream) {
    assert_eq!(stream.read(&mut [0]).unwrap(), 0, "the server has closed its side");
}
/// Sends messages to a client that does not read, until one is not queued.
pub fn flood(server: &TestServer, key: TunnelKey) -> Sent {
    server.run(move |server| {
        let body = vec![b'x'; 10_000];
        (0..10_000)
            .map(|_| server.tunnel_send(key, Kind::Binary, &body, None))
            .find(|sent| *sent != Sent::Queued)
            .unwrap_or(Sent::Queued)
    })
}
