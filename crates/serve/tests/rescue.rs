//! A worker that fails: who is told what, and what the access log says, where another worker cannot go on.
//!
//! The server of these tests goes on after its rescue, which no worker does: nothing is asked of it then.

mod common;

use std::io::Write as _;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::mpsc;

use common::*;
use rustix::net::{SendFlags, send};
use weft_serve::{Relay, Rescued, Server, ServerLimits};

/// A server with a way out, and the way.
fn server(
    serve: impl Fn(&'static Server, weft_serve::RequestKey) + Send + Sync + 'static,
) -> (TestServer, Relay) {
    let server = TestServer::logging(ServerLimits::default(), serve);
    let relay = Relay::new().unwrap();
    let own = relay.try_clone().unwrap();
    // Nobody holds this loop, so there is no work for the deputy.
    server.run(move |server| drop(server.hand_over(own, Box::new(|_| ())).unwrap()));
    (server, relay)
}

/// Puts as much into the relay as it takes. It is the loop that would take it out.
fn fill(relay: &Relay) {
    while send(relay.sending.as_fd(), &[0; 2048], SendFlags::DONTWAIT).is_ok() {}
}

fn sent(server: &TestServer, bytes: &str) -> TcpStream {
    let mut stream = server.connect();
    stream.write_all(bytes.as_bytes()).unwrap();
    stream
}

#[test]
fn what_the_relay_does_not_take_is_answered_and_logged() {
    // As for a worker whose coroutines are all busy.
    let (server, relay) = server(|server, key| server.offer_waiting(key));
    let mut get = sent(&server, "GET /get HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut post = sent(&server, "POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    let mut head = sent(&server, "HEAD /head HTTP/1.1\r\nHost: a\r\n\r\n");
    server.until(|server| server.in_flight() == 3);
    let mut part = sent(&server, "GET /part HT");
    server.until(|server| server.connections() - server.idle() == 4);
    let rescued = server.run(move |server| {
        fill(&relay);
        let rescued = server.rescue(None, false);
        server.say_goodbye(None, false);
        rescued
    });
    assert_eq!(rescued, Rescued { failed: 4, ..Rescued::default() });
    for stream in [&mut get, &mut post, &mut part] {
        let (head, body) = response(stream);
        assert!(head.starts_with("HTTP/1.1 503 ") && head.contains("\r\nRetry-After: 1\r\n"), "{head}");
        assert_eq!(body, b"503 Service Unavailable\n");
    }
    assert!(common::head(&mut head).starts_with("HTTP/1.1 503 "));
    let mut log = server.log.lock().unwrap().clone();
    log.sort();
    let expected = [
        "GET /get 503 24 complete",
        "HEAD /head 503 0 complete",
        "POST /post 503 24 complete",
        "refused 503",
    ];
    assert_eq!(log, expected);
}

#[test]
fn an_answer_that_was_complete_before_the_failure_is_logged_with_its_request() {
    for is_full in [true, false] {
        let (tell, told) = mpsc::channel();
        let tell = std::sync::Mutex::new(tell);
        let way = std::sync::Arc::new(std::sync::OnceLock::<Relay>::new());
        let own = std::sync::Arc::clone(&way);
        let (server, relay) = server(move |server, key| {
            if server.with_request(key, |request| request.target() != b"/crash").unwrap() {
                return echo(server, key);
            }
            if is_full {
                fill(own.get().unwrap());
            }
            let rescued = server.rescue(Some(key), false);
            server.say_goodbye(Some(key), false);
            tell.lock().unwrap().send(rescued).unwrap();
        });
        way.set(relay).unwrap();
        let (mut answered, mut crashing) = (server.connect(), server.connect());
        server.until(|server| server.connections() == 2);
        // Both are there when the loop looks next.
        server.run({
            let mut streams = [answered.try_clone().unwrap(), crashing.try_clone().unwrap()];
            move |_| {
                for (stream, target) in streams.iter_mut().zip(["/answered", "/crash"]) {
                    stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).unwrap();
                }
            }
        });
        let rescued = told.recv().unwrap();
        let passed_on = u32::from(!is_full);
        assert_eq!(rescued, Rescued { passed_on, failed: 1, ..Rescued::default() });
        assert!(head(&mut crashing).starts_with("HTTP/1.1 502 "));
        if is_full {
            assert_eq!(response(&mut answered).1, b"GET /answered");
        }
        let log = server.log.lock().unwrap()[..2].to_vec();
        assert_eq!(log, ["GET /answered 200 13 complete", "GET /crash 502 16 complete"]);
    }
}
