//! More connections than there is room for: the one that has kept the server waiting longest is closed for the
//! others.

mod common;

use std::io::{Read, Write as _};
use std::net::TcpStream;

use common::*;
use weft_serve::ServerLimits;

fn room_for(connections_max: usize) -> ServerLimits {
    ServerLimits { connections_max, ..ServerLimits::default() }
}

fn ask(stream: &mut TcpStream, target: &str) {
    stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).unwrap();
}

fn asked(stream: &mut TcpStream, target: &str) {
    ask(stream, target);
    assert_eq!(response(stream).1, format!("GET {target}").as_bytes());
}

#[test]
fn the_connection_that_has_been_idle_longest_is_closed_for_a_new_one() {
    let server = TestServer::start(Answer::AtOnce, room_for(3), echo);
    let mut there: Vec<_> = (0..3).map(|_| server.connect()).collect();
    for stream in &mut there {
        asked(stream, "/first");
    }
    // The first one is now the latest.
    asked(&mut there[0], "/again");
    for (new, oldest) in [("/fourth", 1), ("/fifth", 2), ("/sixth", 0)] {
        let mut stream = server.connect();
        asked(&mut stream, new);
        assert_eq!(rest(&mut there[oldest]), "", "{new}");
        there.push(stream);
        assert_eq!(server.run(|server| server.connections()), 3);
    }
    assert_eq!(server.run(|server| server.stats.evicted.get()), 3);
    assert_eq!(server.run(|server| server.stats.timed_out.get()), 0);
}

#[test]
fn silent_connections_and_heads_that_dribble_keep_nobody_out() {
    let server = TestServer::start(Answer::AtOnce, room_for(4), echo);
    let mut hostile: Vec<_> = (0..4).map(|_| server.connect()).collect();
    for stream in &mut hostile[2..] {
        stream.write_all(b"GET / HTTP/1.1\r\nHost:").unwrap();
    }
    server.until(|server| server.connections() == 4);
    // All at once, each on its own connection, which it keeps.
    let mut visitors: Vec<_> = (0..4).map(|_| server.connect()).collect();
    for stream in &mut visitors {
        ask(stream, "/visitor");
    }
    for stream in &mut visitors {
        assert_eq!(response(stream).1, b"GET /visitor");
    }
    for stream in &mut hostile {
        // Closed, although the unread bytes of a head make it a reset.
        assert!(stream.read_to_end(&mut Vec::new()).is_ok_and(|count| count == 0));
    }
}

#[test]
fn where_nobody_is_idle_who_is_answered_next_makes_room() {
    let server = TestServer::start(Answer::WhenTold(usize::MAX), room_for(2), echo);
    let mut busy: Vec<_> = (0..2).map(|_| server.connect()).collect();
    for stream in &mut busy {
        ask(stream, "/busy");
    }
    server.until(|server| server.in_flight() == 2);
    let mut waiting = server.connect();
    ask(&mut waiting, "/waiting");
    // The server has seen the new connection and closes none for it.
    server.until(|server| server.stats.evicted.get() == 0 && server.connections() == 2);
    server.settle();
    server.answer_first();
    let (head, body) = response(&mut busy[0]);
    assert_eq!(body, b"GET /busy");
    assert!(head.contains("Connection: close\r\n"), "{head}");
    assert_eq!(rest(&mut busy[0]), "");
    server.until(|server| server.in_flight() == 2);
    // There is room again: no other connection is told to close.
    server.answer_first();
    let (head, _) = response(&mut busy[1]);
    assert!(!head.contains("Connection: close\r\n"), "{head}");
    server.answer_first();
    assert_eq!(response(&mut waiting).1, b"GET /waiting");
}

#[test]
fn no_request_is_lost_while_connections_are_closed_for_others() {
    let server = TestServer::start(Answer::AtOnce, room_for(8), echo);
    let address = server.address;
    let visitor = move |number: usize| {
        let mut again = 0;
        let mut stream = TcpStream::connect(address).unwrap();
        for request in 0..40 {
            let target = format!("/{number}/{request}");
            let line = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
            loop {
                // A connection that was closed before its request has answered nothing: the next one does.
                let mut answer = [0; 4096];
                let count =
                    stream.write_all(line.as_bytes()).and_then(|()| stream.read(&mut answer)).unwrap_or(0);
                if count > 0 {
                    let text = String::from_utf8_lossy(&answer[..count]).into_owned();
                    assert!(text.ends_with(&format!("GET {target}")), "{text}");
                    if text.contains("Connection: close") {
                        stream = TcpStream::connect(address).unwrap();
                    }
                    break;
                }
                again += 1;
                assert!(again < 40, "closed again and again");
                stream = TcpStream::connect(address).unwrap();
            }
        }
    };
    let visitors: Vec<_> = (0..24).map(|number| std::thread::spawn(move || visitor(number))).collect();
    for visitor in visitors {
        visitor.join().unwrap();
    }
    assert_eq!(server.run(|server| server.stats.requests.get()), 24 * 40);
}
