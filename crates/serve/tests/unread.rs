//! Requests for which the handler has no room: they wait unread, in order, within limits.

mod common;

use std::io::Write as _;
use std::net::{Shutdown, TcpStream};

use common::*;
use weft_serve::ServerLimits;

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")
}

/// A connection that has sent a request for `target`, after the earlier ones.
fn asked(server: &TestServer, target: &str) -> TcpStream {
    let mut stream = server.connect();
    let unread = server.run(|server| server.unread());
    stream.write_all(get(target).as_bytes()).unwrap();
    server.until(move |server| server.unread() > unread);
    stream
}

/// A server with room for one request, which is taken.
fn busy(limits: ServerLimits) -> (TestServer, TcpStream) {
    let server = TestServer::start(Answer::WhenTold(1), limits, |_, _| ());
    let mut first = server.connect();
    first.write_all(get("/first").as_bytes()).unwrap();
    server.until(|server| server.in_flight() == 1);
    (server, first)
}

#[test]
fn they_are_read_in_the_order_in_which_they_came() {
    let (server, mut first) = busy(ServerLimits::default());
    let mut streams: Vec<_> = (0..5).map(|n| asked(&server, &format!("/{n}"))).collect();
    assert_eq!(server.run(|server| (server.unread(), server.stats.busy.get())), (5, 1), "none is read");
    server.answer_first();
    assert_eq!(response(&mut first).1, b"GET /first");
    for (n, stream) in streams.iter_mut().enumerate() {
        server.until(|server| server.in_flight() == 1);
        assert_eq!(server.kept(), [format!("/{n}")]);
        server.answer_first();
        assert_eq!(response(stream).1, format!("GET /{n}").as_bytes());
    }
    assert_eq!(server.run(|server| (server.unread(), server.in_flight())), (0, 0));
}

#[test]
fn who_sends_many_on_one_connection_joins_the_end_each_time() {
    let (server, mut first) = busy(ServerLimits::default());
    first.write_all((get("/second") + &get("/third")).as_bytes()).unwrap();
    let mut other = asked(&server, "/other");
    for expected in ["/first", "/other", "/second", "/third"] {
        server.until(|server| server.in_flight() == 1);
        assert_eq!(server.kept(), [expected]);
        server.answer_first();
    }
    for target in ["/first", "/second", "/third"] {
        assert_eq!(response(&mut first).1, format!("GET {target}").as_bytes());
    }
    assert_eq!(response(&mut other).1, b"GET /other");
}

#[test]
fn beyond_the_lines_limit_the_answer_is_503() {
    let (server, _first) = busy(ServerLimits { queue_max: 2, ..ServerLimits::default() });
    let _waiting: Vec<_> = (0..2).map(|n| asked(&server, &format!("/{n}"))).collect();
    for _ in 0..3 {
        let mut stream = server.connect();
        stream.write_all(get("/beyond").as_bytes()).unwrap();
        let (head, _) = response(&mut stream);
        assert!(head.starts_with("HTTP/1.1 503 ") && head.contains("\r\nRetry-After: 1\r\n"), "{head}");
    }
    assert_eq!(server.run(|server| server.unread()), 2);
    server.answer_first();
    server.until(|server| server.unread() == 1);
    assert_eq!(server.kept(), ["/0"]);
}

#[test]
fn who_has_waited_too_long_is_told_so_and_may_ask_again() {
    let (server, _first) = busy(ServerLimits { queue_timeout_ms: 50, ..ServerLimits::default() });
    let mut stream = server.connect();
    stream.write_all(get("/late").as_bytes()).unwrap();
    let (head, _) = response(&mut stream);
    assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
    server.answer_first();
    stream.write_all(get("/again").as_bytes()).unwrap();
    server.until(|server| server.in_flight() == 1);
    assert_eq!(server.kept(), ["/again"]);
}

#[test]
fn who_has_gone_meanwhile_is_not_given_to_the_handler() {
    let (server, _first) = busy(ServerLimits::default());
    let gone = [asked(&server, "/reset"), asked(&server, "/reset as well")];
    let mut last = asked(&server, "/last");
    gone.into_iter().for_each(reset);
    server.answer_first();
    server.until(|server| server.unread() == 0 && server.in_flight() == 1);
    assert_eq!(server.kept(), ["/last"]);
    server.answer_first();
    assert_eq!(response(&mut last).1, b"GET /last");
    server.until(|server| server.connections() == 2);
}

#[test]
fn who_has_ended_its_side_is_answered() {
    let (server, _first) = busy(ServerLimits::default());
    let mut stream = asked(&server, "/");
    stream.shutdown(Shutdown::Write).unwrap();
    server.settle();
    server.answer_first();
    server.until(|server| server.in_flight() == 1);
    server.answer_first();
    assert!(rest(&mut stream).ends_with("GET /"));
}

#[test]
fn a_half_of_a_head_takes_no_place_from_others() {
    let (server, _first) = busy(ServerLimits::default());
    let mut half = server.connect();
    half.write_all(b"GET /half HTTP/1.1\r\n").unwrap();
    server.until(|server| server.unread() == 1);
    let _whole = asked(&server, "/whole");
    server.answer_first();
    server.until(|server| server.in_flight() == 1);
    assert_eq!(server.kept(), ["/whole"]);
    // It has waited in the line once and does not have to again.
    half.write_all(b"Host: a\r\n\r\n").unwrap();
    server.until(|server| server.in_flight() == 2);
    assert_eq!(server.kept(), ["/whole", "/half"]);
}

#[test]
fn waiting_is_not_idling_and_draining_waits_for_it() {
    // Long enough for a request to arrive.
    let limits = ServerLimits {
        idle_timeout_ms: 1000,
        head_timeout_ms: 1000,
        drain_idle_ms: 1000,
        ..ServerLimits::default()
    };
    let (server, mut first) = busy(limits);
    let mut stream = asked(&server, "/");
    server.run(|server| server.drain(0));
    // A connection that is idle, and came later, is closed for it.
    assert_eq!(rest(&mut server.connect()), "");
    server.answer_first();
    server.until(|server| server.in_flight() == 1);
    server.answer_first();
    assert!(rest(&mut first).ends_with("GET /first"));
    assert!(rest(&mut stream).ends_with("GET /"));
}
