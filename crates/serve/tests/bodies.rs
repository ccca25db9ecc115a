//! Request bodies, with every framing, split, announcement and interruption.

mod common;

use std::io::{Read, Write as _};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::*;
use weft_rt::{Runtime, clock};
use weft_serve::{BodyRead, BodyView, RequestKey, Server, ServerLimits, Waited};

/// Waits for the whole body; answers with it, the place of its storage, and its trailers.
fn whole(server: &'static Server, key: RequestKey) {
    assert_eq!(server.wait_whole_body(key, None), Waited::Ready);
    if let Some(status) = server.body_failed(key) {
        return server.respond_error(key, status, None).unwrap();
    }
    assert!(server.body_complete(key));
    let mut body = server
        .with_body(key, |view| match view {
            BodyView::Memory(bytes) => [b"memory ", bytes].concat(),
            BodyView::File { file, length } => {
                let mut bytes = vec![0; length as usize];
                assert_eq!(rustix::io::pread(file.as_fd(), &mut bytes, 0).unwrap(), bytes.len());
                [&b"file "[..], &bytes].concat()
            }
        })
        .unwrap();
    for (name, value) in server.trailers(key) {
        body.extend([&b" "[..], &name, b"=", &value].concat());
    }
    server.respond(key, 200, &[], &body).unwrap();
}

/// Reads the body as it arrives and answers with it.
fn streamed(server: &'static Server, key: RequestKey) {
    let (mut body, mut piece) = (Vec::new(), [0; 7]);
    loop {
        match server.read_body(key, body.len() as u64, &mut piece) {
            BodyRead::Data(count) => body.extend_from_slice(&piece[..count]),
            BodyRead::Pending => assert_eq!(server.wait_body(key, body.len() as u64, None), Waited::Ready),
            BodyRead::End => break server.respond(key, 200, &[], &body).unwrap(),
            BodyRead::Failed(status) => break server.respond_error(key, status, None).unwrap(),
            BodyRead::Gone => break server.abort(key),
        }
    }
}

const FIXED: &str = "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world";
const CHUNKED: &str = "POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x\r\n world\r\n0\r\nT: u\r\n\r\n";
const LAST: &str = "GET /3 HTTP/1.0\r\n\r\n";

#[test]
fn bodies_arrive_whole_and_leave_the_next_request_alone() {
    let server = TestServer::start(Answer::OnCoroutine, ServerLimits::default(), whole);
    server.check(
        &[FIXED, CHUNKED, LAST].concat(),
        &[ok("memory hello world"), ok("memory hello world T=u"), last("memory ")].concat(),
    );
}

#[test]
fn bodies_can_be_read_as_they_come() {
    let server = TestServer::start(Answer::OnCoroutine, streaming(), streamed);
    server
        .check(&[CHUNKED, FIXED, LAST].concat(), &[ok("hello world"), ok("hello world"), last("")].concat());
}

#[test]
fn a_handler_that_may_not_park_waits_all_the_same() {
    let server = TestServer::start(Answer::AtOnce, streaming(), streamed);
    let mut stream = server.connect();
    stream.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n").unwrap();
    stream.write_all(b"abc").unwrap();
    assert_eq!(response(&mut stream).1, b"abc");
}

#[test]
fn large_bodies_go_to_a_file_without_a_name() {
    let directory = directory("spool");
    let limits = ServerLimits {
        body_memory_bytes_max: 4,
        spool_directory: directory.clone(),
        ..ServerLimits::default()
    };
    let server = TestServer::start(Answer::OnCoroutine, limits, whole);
    server.check(
        &[FIXED, CHUNKED, LAST].concat(),
        &[ok("file hello world"), ok("file hello world T=u"), last("memory ")].concat(),
    );
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
    drop(server);
    std::fs::remove_dir(&directory).unwrap();
}

#[test]
fn a_body_of_megabytes_arrives_intact() {
    let server = TestServer::start(Answer::OnCoroutine, ServerLimits::default(), |server, key| {
        assert_eq!(server.wait_whole_body(key, None), Waited::Ready);
        streamed_sum(server, key);
    });
    let body: Vec<u8> = (0..5_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let sum: u64 = body.iter().map(|&b| u64::from(b)).sum();
    let mut stream = server.connect();
    for _ in 0..2 {
        write!(stream, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len()).unwrap();
        stream.write_all(&body).unwrap();
        assert_eq!(response(&mut stream).1, format!("5000000 {sum}").as_bytes());
    }
}

fn streamed_sum(server: &Server, key: RequestKey) {
    let (mut count, mut sum, mut piece) = (0, 0u64, vec![0; 10_000]);
    while let BodyRead::Data(length) = server.read_body(key, count, &mut piece) {
        count += length as u64;
        sum += piece[..length].iter().map(|&b| u64::from(b)).sum::<u64>();
    }
    server.respond(key, 200, &[], format!("{count} {sum}").as_bytes()).unwrap();
}

#[test]
fn a_spool_directory_that_cannot_be_written_fails_the_body_with_507() {
    let limits = ServerLimits {
        body_memory_bytes_max: 4,
        spool_directory: PathBuf::from("/nonexistent"),
        ..ServerLimits::default()
    };
    let server = TestServer::start(Answer::OnCoroutine, limits, whole);
    assert!(server.ask(FIXED).starts_with("HTTP/1.1 507 Insufficient Storage\r\n"));
}

#[test]
fn a_chunked_body_beyond_the_limit_fails_with_413_and_closes() {
    let mut limits = ServerLimits::default();
    limits.http.body_bytes_max = 10;
    let server = TestServer::start(Answer::OnCoroutine, limits, whole);
    let page = server.ask(CHUNKED);
    assert!(page.starts_with("HTTP/1.1 413 Content Too Large\r\n"), "{page}");
    assert!(page.contains("\r\nConnection: close\r\n"), "{page}");
    server.check(CHUNKED, &page);
}

#[test]
fn a_body_that_is_cut_off_or_malformed_fails_with_400() {
    let server = TestServer::start(Answer::OnCoroutine, ServerLimits::default(), streamed);
    let mut stream = server.connect();
    stream.write_all(&FIXED.as_bytes()[..FIXED.len() - 3]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert!(rest(&mut stream).starts_with("HTTP/1.1 400 Bad Request\r\n"));
    let malformed = CHUNKED.replace("6;x", "z");
    assert!(server.ask(malformed).starts_with("HTTP/1.1 400 Bad Request\r\n"));
}

const EXPECTING: &str = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";

#[test]
fn a_client_is_told_to_continue_when_the_body_is_asked_for() {
    for read in [whole, streamed] {
        let server = TestServer::start(Answer::OnCoroutine, ServerLimits::default(), read);
        let mut stream = server.connect();
        stream.write_all(EXPECTING.as_bytes()).unwrap();
        assert_eq!(head(&mut stream), "HTTP/1.1 100 Continue\r\n\r\n");
        stream.write_all(b"abc").unwrap();
        let (head, body) = response(&mut stream);
        assert!(!head.contains("Connection: close"), "{head}");
        assert!(body.ends_with(b"abc"));
    }
}

#[test]
fn a_client_that_did_not_wait_is_not_told() {
    let server = TestServer::start(Answer::OnCoroutine, ServerLimits::default(), streamed);
    assert_eq!(server.ask([EXPECTING, "abc", LAST].concat()), [ok("abc"), last("")].concat());
}

#[test]
fn an_answer_without_asking_closes_the_connection() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), echo);
    assert_eq!(server.ask(EXPECTING), last("POST /"));
}

#[test]
fn an_unread_body_is_dropped_and_the_connection_goes_on() {
    let server = TestServer::start(Answer::AtOnce, streaming(), echo);
    server.check(&[FIXED, CHUNKED, LAST].concat(), &[ok("POST /1"), ok("POST /2"), last("GET /3")].concat());
}

#[test]
fn too_long_an_unread_body_closes_the_connection_after_the_answer() {
    let limits = ServerLimits { discard_bytes_max: 1000, ..streaming() };
    let server = TestServer::start(Answer::AtOnce, limits, echo);
    let announced = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n{}", "x".repeat(1500));
    assert_eq!(server.ask(announced), last("POST /"));
    // A chunked body does not announce its length, so it is found too long only while it is read.
    let mut stream = server.connect();
    stream.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
    assert_eq!(response(&mut stream).1, b"POST /");
    stream.write_all(format!("800\r\n{}", "x".repeat(2048)).as_bytes()).unwrap();
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn a_body_reader_wakes_when_the_client_resets_the_connection() {
    let server = TestServer::start(Answer::OnCoroutine, streaming(), |server, key| {
        assert_eq!(server.wait_whole_body(key, None), Waited::Gone);
        assert!(server.aborted(key));
        assert!(server.with_request(key, |request| request.path() == b"/1").unwrap());
        assert!(server.respond(key, 200, &[], b"").is_err());
    });
    let mut stream = server.connect();
    stream.write_all(&FIXED.as_bytes()[..FIXED.len() - 3]).unwrap();
    server.until(|server| server.in_flight() == 1);
    reset(stream);
    server.until(|server| server.connections() == 0 && server.in_flight() == 0);
}

#[test]
fn a_body_that_nobody_asks_for_stays_with_its_client() {
    const LENGTH: usize = 40_000_000;
    let asked = Arc::new(AtomicBool::new(false));
    let ask = Arc::clone(&asked);
    let mut limits = ServerLimits::default();
    limits.http.body_bytes_max = LENGTH as u64;
    let server = TestServer::start(Answer::OnCoroutine, limits, move |server, key| {
        while !ask.load(Ordering::Relaxed) {
            Runtime::get().unwrap().sleep_until(clock::now() + 100_000);
        }
        let (mut offset, mut piece, mut furthest) = (0, vec![0; 50_000], 0);
        loop {
            match server.read_body(key, offset, &mut piece) {
                BodyRead::Data(count) => offset += count as u64,
                BodyRead::Pending => assert_eq!(server.wait_body(key, offset, None), Waited::Ready),
                _ => break,
            }
            let arrived = server.with_body(key, |view| match view {
                BodyView::Memory(bytes) => bytes.len() as u64,
                BodyView::File { length, .. } => length,
            });
            furthest = furthest.max(arrived.unwrap() - offset);
        }
        server.respond(key, 200, &[], format!("{offset} {}", furthest <= 400_000).as_bytes()).unwrap();
    });
    let mut stream = server.connect();
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {LENGTH}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    // As much as the kernel's buffers hold plus what the server has received: until neither accepts more.
    stream.set_nonblocking(true).unwrap();
    let (body, mut sent, mut refused) = (vec![b'x'; LENGTH], 0, 0);
    while refused < 10 && sent < LENGTH {
        match stream.write(&body[sent..]) {
            Ok(count) => (sent, refused) = (sent + count, 0),
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
                refused += 1;
                server.settle();
            }
        }
    }
    assert!(sent < LENGTH, "somebody has taken all of it");
    assert_eq!(server.run(Server::spooled_bytes), 0);
    asked.store(true, Ordering::Relaxed);
    stream.set_nonblocking(false).unwrap();
    stream.write_all(&body[sent..]).unwrap();
    assert_eq!(response(&mut stream).1, format!("{LENGTH} true").as_bytes());
}
