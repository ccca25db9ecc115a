//! Requests in, responses out: order, persistence, refusals, keys.

mod common;

use std::io::{Read, Write as _};
use std::sync::{Arc, Mutex};

use common::*;
use weft_rt::{Runtime, clock};
use weft_serve::{Error, Peer, ServerLimits};

#[test]
fn requests_are_answered_in_order_however_they_arrive() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), echo);
    server.check(
        "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\nGET /3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        &[ok("GET /1"), ok("GET /2"), last("GET /3")].concat(),
    );
}

#[test]
fn coroutines_that_park_keep_the_order_of_pipelined_requests() {
    let server = TestServer::start(Answer::OnCoroutine, ServerLimits::default(), |server, key| {
        let slow = server.with_request(key, |request| request.path() == b"/slow").unwrap();
        if slow {
            Runtime::get().unwrap().sleep_until(clock::now() + 2_000_000);
        }
        echo(server, key);
    });
    server.check(
        "GET /slow HTTP/1.1\r\nHost: a\r\n\r\nGET /fast HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        &[ok("GET /slow"), last("GET /fast")].concat(),
    );
}

#[test]
fn responses_of_pipelined_requests_leave_together() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), echo);
    let mut stream = server.connect();
    stream.write_all(&b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n".repeat(20)).unwrap();
    let mut buffer = [0; 8192];
    let count = stream.read(&mut buffer).unwrap();
    assert_eq!(undated(&buffer[..count]), ok("GET /x").repeat(20));
}

#[test]
fn more_pipelined_requests_than_one_turn_takes_are_all_answered() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), echo);
    let mut stream = server.connect();
    let mut writer = stream.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        writer.write_all(&b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n".repeat(20_000)).unwrap();
        writer.write_all(b"GET /end HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    });
    let all = rest(&mut stream);
    sender.join().unwrap();
    assert_eq!(all.matches("GET /x").count(), 20_000);
    assert!(all.ends_with("GET /end"));
}

#[test]
fn a_peer_that_does_not_read_is_not_answered_without_bound() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), |server, key| {
        server.respond(key, 200, &[], &[b'x'; 8192]).unwrap();
    });
    let mut stream = server.connect();
    stream.set_nonblocking(true).unwrap();
    // Ends when the server accepts no more requests, because the client does not read its answers.
    let requests = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(100);
    let mut sent = 0;
    loop {
        match stream.write(&requests[sent % requests.len()..]) {
            Ok(count) => sent += count,
            Err(_) => {
                let before = server.run(|server| server.stats.requests.get());
                server.settle();
                if stream.write(&requests[sent % requests.len()..]).map(|count| sent += count).is_err()
                    && before == server.run(|server| server.stats.requests.get())
                {
                    break;
                }
            }
        }
    }
    let taken = server.run(|server| server.stats.requests.get());
    assert!(taken < (sent / 28) as u64, "{taken} of {} requests", sent / 28);
    assert_eq!(server.run(|server| server.connections()), 1);
}

#[test]
fn old_clients_are_closed_unless_they_ask_otherwise() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), echo);
    server.check("GET / HTTP/1.0\r\n\r\n", &last("GET /"));
    let kept = "HTTP/1.1 200 OK\r\nServer: weft\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nGET /";
    server.check(
        "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n",
        &[kept, &last("GET /")].concat(),
    );
}

#[test]
fn a_half_closed_client_gets_its_answers() {
    let server = TestServer::start(Answer::OnCoroutine, ServerLimits::default(), |server, key| {
        // Answers when it has seen the peer's FIN.
        while !server.aborted(key) {
            Runtime::get().unwrap().yield_now();
        }
        echo(server, key);
    });
    let mut stream = server.connect();
    stream
        .write_all(b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\nGET /cut")
        .unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(rest(&mut stream), [ok("GET /1"), ok("GET /2")].concat());
}

#[test]
fn responses_without_content_have_none() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), |server, key| {
        let status = server.with_request(key, |request| request.path() == b"/204").unwrap();
        server.respond(key, if status { 204 } else { 200 }, &[(b"X-A", b"b")], b"content").unwrap();
    });
    server.check(
        "HEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET /204 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 200 OK\r\nServer: weft\r\nX-A: b\r\nContent-Length: 7\r\n\r\n\
         HTTP/1.1 204 No Content\r\nServer: weft\r\nX-A: b\r\nConnection: close\r\n\r\n",
    );
}

#[test]
fn what_is_no_request_is_refused_and_the_refusal_can_be_read() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), echo);
    for (request, status) in [
        ("GET / HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", "505 HTTP Version Not Supported"),
        ("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", "501 Not Implemented"),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n", "413 Content Too Large"),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "400 Bad Request",
        ),
    ] {
        let page = server.ask([request, &"x".repeat(30_000)].concat());
        assert!(page.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request:?}: {page:?}");
        assert!(page.contains("\r\nConnection: close\r\n"), "{page:?}");
        server.check(request, &page);
    }
    let long = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(9000));
    assert!(server.ask(&long).starts_with("HTTP/1.1 414 URI Too Long\r\n"));
    let large = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    assert!(server.ask(&large).starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"));
    assert_eq!(server.run(|server| server.stats.in_flight.get()), 0);
}

#[test]
fn a_head_of_the_largest_size_is_taken() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), |server, key| {
        let length = server.with_request(key, |request| request.header("x").unwrap().len()).unwrap();
        server.respond(key, 200, &[], length.to_string().as_bytes()).unwrap();
    });
    let head = |fill: usize| {
        format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: {}\r\n\r\n", "x".repeat(fill))
    };
    let fill = 16 * 1024 - head(0).len() - 1;
    let request = head(fill);
    assert_eq!(server.ask(&request), last(&fill.to_string()));
    for at in [1, 4095, 4096, 4097, 8192, 12_000, request.len() - 1] {
        assert_eq!(server.ask_split(request.as_bytes(), at), last(&fill.to_string()));
    }
}

#[test]
fn the_view_shows_what_was_sent_and_from_where() {
    let seen = Arc::new(Mutex::new(String::new()));
    let slot = Arc::clone(&seen);
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), move |server, key| {
        let shown = server.with_request(key, |request| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let fields: Vec<_> =
                request.headers().map(|(name, value)| text(name) + "=" + &text(value)).collect();
            let Peer::Tcp(peer) = request.peer() else { panic!("the test speaks TCP") };
            format!(
                "{} {} {:?} {} {:?} {} {}",
                text(request.path()),
                text(request.query().unwrap()),
                request.version(),
                fields.join(","),
                request.content_length(),
                request.local().unwrap(),
                peer
            )
        });
        *slot.lock().unwrap() = shown.unwrap();
        echo(server, key);
    });
    let mut stream = server.connect();
    stream.write_all(b"PUT /a%20b?c=d HTTP/1.1\r\nHost: h\r\nX-Y:  z \r\nContent-Length: 0\r\n\r\n").unwrap();
    response(&mut stream);
    let (local, peer) = (server.address, stream.local_addr().unwrap());
    let expected = format!("/a%20b c=d Http11 Host=h,X-Y=z,Content-Length=0 Some(0) {local} {peer}");
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[test]
fn a_key_whose_response_has_ended_finds_nothing() {
    let keys = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&keys);
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), move |server, key| {
        for &old in kept.lock().unwrap().iter() {
            assert!(server.with_request(old, |_| ()).is_none());
            assert!(matches!(server.respond(old, 200, &[], b"wrong"), Err(Error::Gone)));
            assert!(server.aborted(old));
        }
        echo(server, key);
        assert!(matches!(server.respond(key, 200, &[], b"twice"), Err(Error::Gone)));
        kept.lock().unwrap().push(key);
    });
    for _ in 0..3 {
        let request = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.0\r\n\r\n";
        assert_eq!(server.ask(request), [ok("GET /1"), last("GET /2")].concat());
    }
    assert_eq!(keys.lock().unwrap().len(), 6);
}

#[test]
fn a_header_that_could_split_the_response_is_refused_by_name() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), |server, key| {
        for value in [&b"a\r\nX: y"[..], b"a\nb", b"a\0b"] {
            let refused = server.respond(key, 200, &[(b"Location", value)], b"").unwrap_err();
            assert!(refused.to_string().contains("Location"), "{refused}");
        }
        assert!(matches!(server.respond(key, 200, &[(b"A b", b"c")], b""), Err(Error::Header(_))));
        assert!(matches!(server.respond(key, 99, &[], b""), Err(Error::Header(_))));
        server.respond_error(key, 503, Some(7)).unwrap();
    });
    server.check(
        "GET / HTTP/1.0\r\n\r\n",
        "HTTP/1.1 503 Service Unavailable\r\nServer: weft\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Retry-After: 7\r\nContent-Length: 24\r\nConnection: close\r\n\r\n503 Service Unavailable\n",
    );
}

#[test]
fn the_handlers_own_fields_win_where_they_may() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), |server, key| {
        let headers: [(&[u8], &[u8]); 5] = [
            (b"Server", b"mine"),
            (b"Date", b"then"),
            (b"Content-Length", b"99"),
            (b"Transfer-Encoding", b"chunked"),
            (b"Connection", b"close"),
        ];
        server.respond(key, 200, &headers, b"abc").unwrap();
    });
    let mut stream = server.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert_eq!(
        all,
        "HTTP/1.1 200 OK\r\nServer: mine\r\nDate: then\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"
    );
}

#[test]
fn a_connection_has_as_many_requests_as_it_may() {
    let limits = ServerLimits { requests_max: 2, ..ServerLimits::default() };
    let server = TestServer::start(Answer::AtOnce, limits, echo);
    let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(3);
    assert_eq!(server.ask(request), [ok("GET /"), last("GET /")].concat());
}

#[test]
fn summaries_tell_what_was_answered() {
    let server = TestServer::logging(ServerLimits::default(), |server, key| {
        if server.with_request(key, |request| request.path() == b"/abort").unwrap() {
            return server.abort(key);
        }
        server.respond(key, 404, &[], b"none").unwrap();
    });
    server
        .ask("GET /a?b HTTP/1.1\r\nHost: a\r\n\r\nPOST /c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(server.ask("GET /abort HTTP/1.1\r\nHost: a\r\n\r\n"), "");
    server.ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n\x16\x03\x01");
    server.settle();
    assert_eq!(
        *server.log.lock().unwrap(),
        [
            "GET /a?b 404 4 complete",
            "POST /c 404 4 complete",
            "GET /abort 0 0 complete",
            "GET / 404 4 complete",
            "refused 400"
        ]
    );
}
