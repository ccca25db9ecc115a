//! Requests whose body arrives slowly: they occupy nothing that others need, and they fail in the end.

mod common;

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::*;
use weft_rt::Runtime;
use weft_serve::{BodyRead, RequestKey, Server, ServerLimits, Waited};

fn post(stream: &mut TcpStream, length: usize, begin: &str) {
    write!(stream, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{begin}").unwrap();
}

fn running() -> usize {
    Runtime::get().unwrap().stats.live.get()
}

/// Answers with the part of the body that has arrived when it begins, and then with its length.
fn lengths(server: &'static Server, key: RequestKey) {
    let mut piece = [0; 4096];
    let BodyRead::Data(first) = server.read_body(key, 0, &mut piece) else {
        panic!("it has begun too early")
    };
    assert_eq!(server.wait_whole_body(key, None), Waited::Ready);
    let BodyRead::Data(all) = server.read_body(key, 0, &mut piece) else { panic!("it is there") };
    server.respond(key, 200, &[], format!("{first} {all}").as_bytes()).unwrap();
}

#[test]
fn a_request_begins_with_its_whole_body() {
    let server = TestServer::start(Answer::OnCoroutine, ServerLimits::default(), lengths);
    let mut slow: Vec<_> = (0..50).map(|_| server.connect()).collect();
    for stream in &mut slow {
        post(stream, 10, "hello");
    }
    server.until(|server| server.in_flight() == 50);
    server.settle();
    assert_eq!(server.run(|_| running()), 0, "nobody runs for a body that has not come");
    for stream in &mut slow {
        stream.write_all(b"world").unwrap();
        assert_eq!(response(stream).1, b"10 10");
    }
}

#[test]
fn a_request_with_a_long_body_begins_with_enough_of_it() {
    let limits = ServerLimits { body_begin_bytes: 4, ..ServerLimits::default() };
    let server = TestServer::start(Answer::OnCoroutine, limits, lengths);
    let mut stream = server.connect();
    post(&mut stream, 10, "abc");
    server.until(|server| server.in_flight() == 1);
    assert_eq!(server.run(|_| running()), 0);
    stream.write_all(b"d").unwrap();
    server.until(|_| running() == 1);
    stream.write_all(b"efghij").unwrap();
    assert_eq!(response(&mut stream).1, b"4 10");
}

#[test]
fn enough_may_be_more_than_what_stays_in_memory() {
    let limits = ServerLimits { body_begin_bytes: 8, body_memory_bytes_max: 4, ..ServerLimits::default() };
    let server = TestServer::start(Answer::OnCoroutine, limits, lengths);
    let mut stream = server.connect();
    post(&mut stream, 10, "abcdefg");
    server.until(|server| server.in_flight() == 1);
    assert_eq!(server.run(|_| running()), 0);
    stream.write_all(b"h").unwrap();
    server.until(|_| running() == 1);
    stream.write_all(b"ij").unwrap();
    assert_eq!(response(&mut stream).1, b"8 10");
}

#[test]
fn a_request_begins_with_its_head_when_that_is_wanted() {
    let server = TestServer::start(Answer::OnCoroutine, streaming(), |server, key| {
        server.start(key, 200, &[], Some(3)).unwrap();
        server.flush_now(key);
        let mut piece = [0; 10];
        assert_eq!(server.wait_body(key, 0, None), Waited::Ready);
        assert_eq!(server.read_body(key, 0, &mut piece), BodyRead::Data(3));
        server.write(key, &piece[..3]).unwrap();
        server.finish(key, &[]).unwrap();
    });
    let mut stream = server.connect();
    post(&mut stream, 3, "");
    assert!(head(&mut stream).starts_with("HTTP/1.1 200 OK\r\n"));
    stream.write_all(b"abc").unwrap();
    assert_eq!(rest_of(&mut stream, 3), b"abc");
}

fn rest_of(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    std::io::Read::read_exact(stream, &mut bytes).unwrap();
    bytes
}

#[test]
fn where_much_is_taken_no_request_begins_before_its_whole_body() {
    let limits = ServerLimits { body_begin_bytes: 4, ..ServerLimits::default() };
    let server = TestServer::start(Answer::WhenTold(4), limits, |_, _| ());
    let mut busy: Vec<_> = (0..2).map(|_| server.connect()).collect();
    for stream in &mut busy {
        post(stream, 10, "12345");
    }
    server.until(|server| server.in_flight() == 2);
    assert_eq!(server.kept().len(), 2);
    // Half of it has been received.
    let (mut long, mut expects) = (server.connect(), server.connect());
    post(&mut long, 10, "12345");
    write!(expects, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        .unwrap();
    assert!(head(&mut expects).starts_with("HTTP/1.1 100 "));
    server.until(|server| server.in_flight() == 4);
    assert_eq!(server.kept().len(), 2);
    long.write_all(b"67890").unwrap();
    expects.write_all(b"123").unwrap();
    server.until(|_| KEPT.with_borrow(|kept| kept.len() == 4));
    for _ in 0..4 {
        server.answer_first();
    }
    for stream in [&mut long, &mut expects] {
        assert_eq!(response(stream).1, b"POST /");
    }
}

#[test]
fn who_asks_whether_its_body_is_wanted_is_answered_by_the_handler() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), echo);
    let asks = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
    assert_eq!(server.ask(asks), last("POST /"));
}

#[test]
fn a_body_that_fails_before_its_request_begins_is_refused() {
    let called = Arc::new(AtomicBool::new(false));
    let notes = Arc::clone(&called);
    let server = TestServer::logging(ServerLimits::default(), move |server, key| {
        notes.store(true, Ordering::Relaxed);
        echo(server, key);
    });
    let chunked = "POST /bad HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\nnonsense\r\n";
    for at in [0, chunked.len() - 12, chunked.len() - 4] {
        let page = if at == 0 { server.ask(chunked) } else { server.ask_split(chunked.as_bytes(), at) };
        assert!(page.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{page}");
    }
    assert!(!called.load(Ordering::Relaxed));
    server.until(|server| server.connections() == 0 && server.in_flight() == 0);
    let log = server.log.lock().unwrap();
    assert_eq!(log.len(), 3, "{log:?}");
    assert!(log.iter().all(|line| line.starts_with("POST /bad 400 ")), "{log:?}");
}

#[test]
fn a_body_that_dribbles_ends_with_408() {
    for enough in [u64::MAX, 0] {
        let limits = ServerLimits {
            body_begin_bytes: enough,
            body_rate_bytes_min: 100_000_000,
            body_pace_ms: 1000,
            ..ServerLimits::default()
        };
        let server = TestServer::start(Answer::OnCoroutine, limits, |server, key| {
            server.wait_whole_body(key, None);
            let status = server.body_failed(key).expect("it is too slow");
            server.respond_error(key, status, None).unwrap();
        });
        let mut stream = server.connect();
        post(&mut stream, 8_000_000, "");
        let mut reader = stream.try_clone().unwrap();
        let answer = std::thread::spawn(move || response(&mut reader));
        // Never silent for as long as `body_timeout_ms`.
        while !answer.is_finished() && stream.write_all(b"x").is_ok() {
            server.settle();
        }
        let (head, _) = answer.join().unwrap();
        assert!(head.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{head}");
    }
}

#[test]
fn a_body_that_keeps_its_pace_arrives_however_long_it_takes() {
    let limits = ServerLimits { body_rate_bytes_min: 1, body_pace_ms: 100, ..ServerLimits::default() };
    let server = TestServer::start(Answer::OnCoroutine, limits, lengths);
    let mut stream = server.connect();
    post(&mut stream, 400, "");
    let (began, mut sent) = (std::time::Instant::now(), 0);
    // Several intervals, in each of which some bytes arrive.
    while sent < 399 && began.elapsed().as_millis() < 500 {
        stream.write_all(b"x").unwrap();
        sent += 1;
        server.settle();
    }
    stream.write_all(&vec![b'x'; 400 - sent]).unwrap();
    assert_eq!(response(&mut stream).1, b"400 400");
}
