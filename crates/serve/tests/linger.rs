//! Answers that are given before the request has been read: they arrive, whatever the client is still sending.

mod common;

use std::io::{ErrorKind, Read, Write as _};
use std::net::TcpStream;

use common::*;
use weft_serve::ServerLimits;

const MIB: usize = 1024 * 1024;

fn begin(stream: &mut TcpStream, framing: &str) {
    write!(stream, "POST /early HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n").unwrap();
}

/// Sends this many bytes, like a client that reads the answer only afterwards; returns the answer.
fn answer_after(stream: &mut TcpStream, bytes: usize) -> String {
    let piece = vec![b'x'; 256 * 1024];
    for _ in 0..bytes / piece.len() {
        stream.write_all(&piece).expect("the server goes on reading");
    }
    rest(stream)
}

#[test]
fn a_413_reaches_clients_that_send_all_of_their_body_first() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), echo);
    for _ in 0..8 {
        let mut stream = server.connect();
        begin(&mut stream, &format!("Content-Length: {}", 64 * MIB));
        let page = answer_after(&mut stream, 64 * MIB);
        assert!(page.starts_with("HTTP/1.1 413 Content Too Large\r\n"), "{page}");
        assert!(page.contains("\r\nConnection: close\r\n"), "{page}");
    }
    server.until(|server| server.connections() == 0);
}

#[test]
fn a_long_answer_reaches_a_client_that_sends_all_of_its_body_first() {
    // More than the buffers of both sockets hold, so each side could wait for the other.
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), |server, key| {
        server.respond(key, 200, &[], &vec![b'y'; 24 * MIB]).unwrap();
    });
    let mut stream = server.connect();
    begin(&mut stream, &format!("Content-Length: {}", 7 * MIB));
    let answer = answer_after(&mut stream, 7 * MIB);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"));
    assert!(answer.len() > 24 * MIB && answer.ends_with('y'));
}

#[test]
fn who_lingers_is_left_after_silence_time_or_bytes() {
    for limits in [
        ServerLimits { linger_silence_ms: 50, ..ServerLimits::default() },
        ServerLimits { linger_timeout_ms: 50, ..ServerLimits::default() },
        ServerLimits { linger_bytes_max: 1000, ..ServerLimits::default() },
    ] {
        let sends = limits.linger_silence_ms != 50;
        let server = TestServer::start(Answer::AtOnce, limits, echo);
        let mut stream = server.connect();
        begin(&mut stream, "Content-Length: 100000000");
        let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
        // A client that keeps sending, whatever it is told, until the connection is reset.
        while sends && stream.write_all(&[b'x'; 500]).is_ok() {
            server.settle();
        }
        server.until(|server| server.connections() == 0);
        loop {
            match stream.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => answer.extend_from_slice(&piece[..count]),
                Err(error) => break assert_eq!(error.kind(), ErrorKind::ConnectionReset),
            }
        }
        if !sends {
            assert!(answer.starts_with(b"HTTP/1.1 413 "));
        }
    }
}

#[test]
fn nobody_lingers_for_long_when_the_server_goes_away() {
    let limits =
        ServerLimits { linger_silence_ms: 100, linger_timeout_ms: 3_600_000, ..ServerLimits::default() };
    let server = TestServer::start(Answer::AtOnce, limits, echo);
    let mut stream = server.connect();
    begin(&mut stream, "Content-Length: 100000000");
    server.run(|server| server.drain(0));
    while server.run(|server| server.connections()) > 0 {
        let _ = stream.write_all(b"x");
    }
}

#[test]
fn who_lingers_makes_room_for_others() {
    let limits = ServerLimits { connections_max: 2, ..ServerLimits::default() };
    let server = TestServer::start(Answer::AtOnce, limits, echo);
    let mut lingering: Vec<_> = (0..2).map(|_| server.connect()).collect();
    for stream in &mut lingering {
        begin(stream, "Content-Length: 100000000");
    }
    assert_eq!(server.ask("GET /room HTTP/1.0\r\n\r\n"), last("GET /room"));
    server.until(|server| server.stats.evicted.get() == 1);
}
