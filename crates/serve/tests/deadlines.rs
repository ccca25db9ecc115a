//! Peers that are too slow, each in its own way. The deadlines are as short as a slow machine allows; the tests do
//! not measure how long they take.

mod common;

use std::io::{Read, Write as _};

use common::*;
use weft_serve::{BodyRead, ServerLimits, Waited};

#[test]
fn a_head_that_does_not_end_is_answered_with_408() {
    let limits = ServerLimits { head_timeout_ms: 50, ..ServerLimits::default() };
    let server = TestServer::start(Answer::AtOnce, limits, echo);
    for begun in ["G", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /2"] {
        let page = server.ask(begun);
        let (answered, page) = page.split_at(page.find("HTTP/1.1 408 ").unwrap());
        assert!(answered.is_empty() || answered == ok("GET /"), "{answered:?}");
        assert_eq!(
            page,
            "HTTP/1.1 408 Request Timeout\r\nServer: weft\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Content-Length: 64\r\nConnection: close\r\n\r\n\
             408 Request Timeout: the request head did not arrive in time\n"
                .replace(
                    "64",
                    &"408 Request Timeout: the request head did not arrive in time\n".len().to_string()
                )
        );
    }
    assert!(server.run(|server| server.stats.timed_out.get()) >= 3);
}

#[test]
fn a_trickling_head_has_one_deadline_for_all_of_it() {
    let limits = ServerLimits { head_timeout_ms: 100, ..ServerLimits::default() };
    let server = TestServer::start(Answer::AtOnce, limits, echo);
    let mut stream = server.connect();
    let mut reader = stream.try_clone().unwrap();
    let answer = std::thread::spawn(move || rest(&mut reader));
    // Ends when the server has closed: each byte came well within the time allowed after the previous one.
    while !answer.is_finished() {
        if stream.write_all(b"G").is_err() {
            break;
        }
        server.settle();
    }
    // Either its head was late, or it was too large before that; the server never waited for it.
    let page = answer.join().unwrap();
    assert!(page.starts_with("HTTP/1.1 4"), "{page}");
}

#[test]
fn idle_connections_are_closed_silently() {
    // Long enough for a request to arrive.
    let limits = ServerLimits { idle_timeout_ms: 1000, ..ServerLimits::default() };
    let server = TestServer::start(Answer::AtOnce, limits, echo);
    assert_eq!(rest(&mut server.connect()), "");
    assert_eq!(server.ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), ok("GET /"));
    assert_eq!(server.run(|server| server.connections()), 0);
}

#[test]
fn a_body_that_stalls_fails_with_408() {
    let limits = ServerLimits { body_timeout_ms: 50, ..streaming() };
    let server = TestServer::start(Answer::OnCoroutine, limits, |server, key| {
        let mut piece = [0; 10];
        assert_eq!(server.read_body(key, 0, &mut piece), BodyRead::Data(3));
        assert_eq!(server.wait_body(key, 3, None), Waited::Ready);
        let BodyRead::Failed(status) = server.read_body(key, 3, &mut piece) else { panic!("it has stalled") };
        server.respond_error(key, status, None).unwrap();
    });
    let page = server.ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc");
    assert!(page.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{page}");
    assert!(page.contains("Connection: close\r\n"), "{page}");
}

#[test]
fn an_unread_body_that_stalls_closes_the_connection() {
    let limits = ServerLimits { body_timeout_ms: 50, ..streaming() };
    let server = TestServer::start(Answer::AtOnce, limits, echo);
    assert_eq!(server.ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc"), ok("POST /"));
}

#[test]
fn a_wait_ends_at_the_callers_own_deadline() {
    let server = TestServer::start(Answer::OnCoroutine, streaming(), |server, key| {
        let soon = weft_rt::clock::now() + 5_000_000;
        assert_eq!(server.wait_whole_body(key, Some(soon)), Waited::TimedOut);
        echo(server, key);
    });
    let mut stream = server.connect();
    stream.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc").unwrap();
    assert_eq!(response(&mut stream).1, b"POST /");
}

#[test]
fn a_peer_that_takes_nothing_is_dropped_and_its_writer_told() {
    let limits = ServerLimits { write_timeout_ms: 50, ..ServerLimits::default() };
    let server = TestServer::start(Answer::OnCoroutine, limits, |server, key| {
        if server.with_request(key, |request| request.path() == b"/whole").unwrap() {
            let answered = server.respond(key, 200, &[], &vec![b'x'; 50_000_000]);
            return assert!(matches!(answered, Ok(()) | Err(weft_serve::Error::Gone)), "{answered:?}");
        }
        server.start(key, 200, &[], None).unwrap();
        while server.write(key, &[b'x'; 65_536]).is_ok() {
            server.wait_writable(key, None);
        }
        assert!(server.finish(key, &[]).is_err());
    });
    for (so_far, path) in [(1, "/whole"), (2, "/stream")] {
        let mut stream = server.connect();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).unwrap();
        server.until(move |server| server.stats.requests.get() == so_far && server.connections() == 0);
        // The bytes in flight can be read; then comes the end, orderly or not.
        let mut taken = Vec::new();
        let _ = stream.read_to_end(&mut taken);
        assert!(!taken.is_empty() && taken.len() < 50_000_000);
    }
    assert_eq!(server.run(|server| server.in_flight()), 0);
}
