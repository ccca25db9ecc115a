//! Responses that are produced while they are sent.

mod common;

use std::io::{Read, Write as _};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::*;
use weft_proto::Version;
use weft_rt::{Runtime, clock};
use weft_serve::{Error, RequestKey, Server, ServerLimits, Waited, Write};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const LAST: &str = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
const OLD: &str = "GET / HTTP/1.0\r\n\r\n";

/// Writes all of `data`, parking as often as needed.
fn write_all(server: &Server, key: RequestKey, mut data: &[u8]) -> Result<(), Error> {
    while !data.is_empty() {
        match server.write(key, data)? {
            Write::Accepted(count) => data = &data[count..],
            Write::Full => assert_eq!(server.wait_writable(key, None), Waited::Ready),
        }
    }
    Ok(())
}

#[test]
fn without_a_length_a_response_is_chunked_or_ended_by_closing() {
    let server = TestServer::start(Answer::OnCoroutine, ServerLimits::default(), |server, key| {
        assert!(matches!(server.write(key, b"early"), Err(Error::NotStarted)));
        server.start(key, 200, &[(b"X", b"y")], None).unwrap();
        assert!(matches!(server.start(key, 200, &[], None), Err(Error::Started)));
        assert!(matches!(server.respond(key, 200, &[], b""), Err(Error::Started)));
        write_all(server, key, b"hello").unwrap();
        Runtime::get().unwrap().sleep_until(clock::now() + 100_000);
        write_all(server, key, b"").unwrap();
        write_all(server, key, b" world").unwrap();
        server.finish(key, &[(b"T", b"u")]).unwrap();
    });
    let start = "HTTP/1.1 200 OK\r\nServer: weft\r\nX: y\r\n";
    let chunks = "\r\n5\r\nhello\r\n6\r\n world\r\n0\r\nT: u\r\n\r\n";
    server.check(
        &[GET, LAST].concat(),
        &[
            start,
            "Transfer-Encoding: chunked\r\n",
            chunks,
            start,
            "Transfer-Encoding: chunked\r\nConnection: close\r\n",
            chunks,
        ]
        .concat(),
    );
    server.check(OLD, &[start, "Connection: close\r\n\r\nhello world"].concat());
}

#[test]
fn an_announced_length_is_kept() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), |server, key| {
        server.start(key, 200, &[], Some(5)).unwrap();
        write_all(server, key, b"he").unwrap();
        write_all(server, key, b"llo").unwrap();
        server.finish(key, &[]).unwrap();
    });
    server.check(&[GET, LAST].concat(), &[ok("hello"), last("hello")].concat());
}

#[test]
fn a_wrong_length_is_an_error_and_a_body_that_is_short_closes_the_connection() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), |server, key| {
        let long = server.with_request(key, |request| request.path() == b"/long").unwrap();
        server.start(key, 200, &[(b"Content-Length", b"5")], None).unwrap();
        if long {
            let error = server.write(key, b"hello world").unwrap_err();
            assert_eq!(error.to_string(), "Content-Length announced 5 bytes, but the body has 11");
            assert!(matches!(server.write(key, b"more"), Err(Error::Gone)), "it is said once");
            server.finish(key, &[]).unwrap();
        } else {
            write_all(server, key, b"hel").unwrap();
            assert!(matches!(server.finish(key, &[]), Err(Error::Length { announced: 5, given: 3 })));
        }
    });
    let long = "GET /long HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(
        server.ask([long, GET].concat()),
        [ok("hello"), ok("hello").strip_suffix("lo").unwrap().to_owned()].concat(),
        "the peer can tell where it ends"
    );
    assert_eq!(server.ask([GET, GET].concat()), ok("hello").strip_suffix("lo").unwrap());
}

#[test]
fn bodies_that_must_not_be_sent_are_dropped() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), |server, key| {
        let status = server.with_request(key, |request| request.path() == b"/304").unwrap();
        server.start(key, if status { 304 } else { 200 }, &[], None).unwrap();
        write_all(server, key, b"content").unwrap();
        server.finish(key, &[]).unwrap();
    });
    server.check(
        "HEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET /304 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 200 OK\r\nServer: weft\r\n\r\n\
         HTTP/1.1 304 Not Modified\r\nServer: weft\r\nConnection: close\r\n\r\n",
    );
}

#[test]
fn large_bodies_leave_whole_at_the_pace_of_the_peer() {
    let body: Arc<Vec<u8>> = Arc::new((0..20_000_000u32).map(|n| (n >> 8) as u8).collect());
    let sent = Arc::clone(&body);
    let server = TestServer::start(Answer::OnCoroutine, ServerLimits::default(), move |server, key| {
        match server.with_request(key, |request| request.path()[1]).unwrap() {
            b'w' => server.respond(key, 200, &[], &sent).unwrap(),
            b'l' => {
                server.start(key, 200, &[], Some(sent.len() as u64)).unwrap();
                write_all(server, key, &sent).unwrap();
                server.finish(key, &[]).unwrap();
            }
            _ => {
                server.start(key, 200, &[], None).unwrap();
                for piece in sent.chunks(7_777) {
                    write_all(server, key, piece).unwrap();
                }
                server.finish(key, &[]).unwrap();
            }
        }
    });
    let mut stream = server.connect();
    stream.write_all(b"GET /w HTTP/1.1\r\nHost: a\r\n\r\nGET /l HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    for _ in 0..2 {
        assert!(response(&mut stream).1 == *body);
    }
    stream.write_all(b"GET /old HTTP/1.0\r\n\r\n").unwrap();
    head(&mut stream);
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    assert!(all == *body);
}

#[test]
fn a_writer_waits_while_the_peer_does_not_read() {
    let written = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&written);
    let limits = ServerLimits { write_buffer_bytes_max: 10_000, ..ServerLimits::default() };
    let server = TestServer::start(Answer::OnCoroutine, limits, move |server, key| {
        server.start(key, 200, &[], None).unwrap();
        loop {
            match server.write(key, &[b'x'; 4_000]) {
                Ok(Write::Accepted(count)) => drop(counter.fetch_add(count as u64, Ordering::Relaxed)),
                Ok(Write::Full) => match server.wait_writable(key, None) {
                    Waited::Ready => (),
                    other => break assert_eq!(other, Waited::Gone),
                },
                Err(error) => break assert!(matches!(error, Error::Gone)),
            }
        }
        assert!(server.aborted(key));
        assert!(server.finish(key, &[]).is_err());
    });
    let mut stream = server.connect();
    stream.write_all(GET.as_bytes()).unwrap();
    // Parked: the loop runs, but nothing more is written once the kernel's buffers are full.
    let parks = || server.run(|_| Runtime::get().unwrap().stats.parks.get());
    let mut before = (0, 0);
    loop {
        let now = (parks(), written.load(Ordering::Relaxed));
        if now.0 > 0 && now == before {
            break;
        }
        before = now;
    }
    let before = before.1;
    // Reading lets it continue.
    let mut all = vec![0; before as usize + 100_000];
    stream.read_exact(&mut all).unwrap();
    assert!(written.load(Ordering::Relaxed) > before);
    // A reset ends it.
    reset(stream);
    server.until(|server| server.connections() == 0 && server.in_flight() == 0);
}

#[test]
fn a_half_closed_client_gets_the_whole_stream() {
    let server = TestServer::start(Answer::OnCoroutine, ServerLimits::default(), |server, key| {
        server.start(key, 200, &[], None).unwrap();
        while !server.aborted(key) {
            Runtime::get().unwrap().yield_now();
        }
        write_all(server, key, &[b'x'; 1_000_000]).unwrap();
        server.finish(key, &[]).unwrap();
    });
    let mut stream = server.connect();
    stream.write_all(OLD.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(&mut stream).matches('x').count(), 1_000_000);
}

#[test]
fn what_was_written_leaves_before_the_response_ends() {
    let server = TestServer::start(Answer::OnCoroutine, ServerLimits::default(), |server, key| {
        server.start(key, 200, &[], Some(6)).unwrap();
        write_all(server, key, b"abc").unwrap();
        // The rest follows when the peer has read this: it answers with its FIN.
        while !server.aborted(key) {
            Runtime::get().unwrap().yield_now();
        }
        write_all(server, key, b"def").unwrap();
        server.flush_now(key);
        server.finish(key, &[]).unwrap();
    });
    let mut stream = server.connect();
    stream.write_all(GET.as_bytes()).unwrap();
    head(&mut stream);
    let mut first = [0; 3];
    stream.read_exact(&mut first).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!((&first, rest(&mut stream).as_str()), (b"abc", "def"));
}

#[test]
fn early_hints_precede_the_response_and_are_not_sent_to_old_clients() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), |server, key| {
        let knows_them = server.with_request(key, |request| request.version() == Version::Http11).unwrap();
        assert_eq!(server.early_hints(key, &[(b"Link", b"a\r\nb")]).is_err(), knows_them);
        server.early_hints(key, &[(b"Link", b"</a.css>; rel=preload")]).unwrap();
        echo(server, key);
    });
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";
    server.check(LAST, &[hints, &last("GET /")].concat());
    server.check(OLD, &last("GET /"));
}

#[test]
fn an_aborted_stream_is_visibly_cut_off() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), |server, key| {
        server.start(key, 200, &[], None).unwrap();
        write_all(server, key, b"abc").unwrap();
        assert!(matches!(server.finish(key, &[(b"Content-Length", b"3")]), Err(Error::Header(_))));
        server.abort(key);
    });
    let answer = server.ask(GET);
    assert!(answer.ends_with("\r\n\r\n3\r\nabc\r\n"), "{answer}");
}
