//! Connections open, wait and close: limits, descriptors, draining, and the cost of an idle one.

mod common;

use std::io::{Read, Write as _};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};

use common::*;
use weft_rt::{Runtime, clock};
use weft_serve::{Endpoint, Peer, ServerLimits};

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn an_idle_connection_holds_no_buffers() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), echo);
    let mut streams: Vec<_> = (0..50).map(|_| server.connect()).collect();
    for stream in &mut streams {
        stream.write_all(GET).unwrap();
        response(stream);
    }
    server.until(|server| server.idle() == 50);
    assert_eq!(server.run(|server| server.stats.busy.get()), 0);
    drop(streams);
    server.until(|server| server.connections() == 0);
}

#[test]
fn connections_beyond_the_limit_wait_until_one_leaves() {
    let limits = ServerLimits { connections_max: 2, ..ServerLimits::default() };
    let server = TestServer::start(Answer::AtOnce, limits, echo);
    let mut streams: Vec<_> = (0..4).map(|_| server.connect()).collect();
    for stream in &mut streams {
        stream.write_all(GET).unwrap();
    }
    for stream in streams {
        let mut stream = stream;
        assert_eq!(response(&mut stream).1, b"GET /");
        assert!(server.run(|server| server.connections()) <= 2);
    }
}

#[test]
fn connections_leave_the_low_descriptor_numbers_to_others() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), |server, key| {
        let open = std::fs::read_dir("/proc/self/fd").unwrap();
        let sockets = open
            .filter_map(|entry| {
                Some((entry.as_ref().ok()?.file_name(), std::fs::read_link(entry.ok()?.path()).ok()?))
            })
            .filter(|(_, link)| link.to_string_lossy().starts_with("socket:"))
            .filter(|(number, _)| number.to_string_lossy().parse::<u32>().unwrap() >= 1024)
            .count();
        server.respond(key, 200, &[], if sockets > 0 { b"high" } else { b"low" }).unwrap();
    });
    let answer = || {
        let mut stream = server.connect();
        stream.write_all(GET).unwrap();
        response(&mut stream).1
    };
    assert_eq!(answer(), b"low");
    // With this many taken, the next numbers would be the last ones that PHP's select() can use. Other tests of this
    // process may free lower ones meanwhile: those are then taken as well.
    let mut taken: Vec<OwnedFd> = Vec::new();
    let is_high = (0..100).any(|_| {
        let take = || rustix::io::dup(std::io::stdin()).unwrap();
        taken.extend(std::iter::repeat_with(take).take_while(|fd| fd.as_raw_fd() < 600));
        answer() == b"high"
    });
    assert!(is_high);
}

#[test]
fn unix_sockets_are_served_as_well() {
    let directory = directory("unix");
    let path = directory.join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let bound = path.clone();
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), |server, key| {
        let ends = server.with_request(key, |request| {
            assert_eq!(request.peer(), Peer::Unix);
            request.local().unwrap().to_string()
        });
        server.respond(key, 200, &[], ends.unwrap().as_bytes()).unwrap();
    });
    server.run(move |server| server.listen(OwnedFd::from(listener), Endpoint::Unix(bound)).unwrap());
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with(&format!("\r\n\r\nunix:{}", path.display())), "{answer}");
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn stop_accepting_takes_in_what_has_connected_and_refuses_the_rest() {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), echo);
    let mut streams: Vec<_> = (0..10).map(|_| server.connect()).collect();
    server.run(|server| server.stop_accepting());
    assert!(std::net::TcpStream::connect(server.address).is_err());
    for stream in &mut streams {
        stream.write_all(GET).unwrap();
        assert_eq!(response(stream).1, b"GET /");
    }
}

#[test]
fn draining_answers_what_is_in_flight_and_then_closes() {
    // Long enough for a request to arrive.
    let limits = ServerLimits { drain_idle_ms: 2000, ..ServerLimits::default() };
    let server = TestServer::start(Answer::OnCoroutine, limits, |server, key| {
        while server.run_slow(key) {
            Runtime::get().unwrap().sleep_until(clock::now() + 1_000_000);
        }
        echo(server, key);
    });
    let (mut idle, mut late, mut active) = (server.connect(), server.connect(), server.connect());
    for stream in [&mut idle, &mut late] {
        stream.write_all(GET).unwrap();
        response(stream);
    }
    active.write_all(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    server.until(|server| server.in_flight() == 1);
    server.run(|server| {
        server.stop_accepting();
        server.drain(0);
    });
    // A request that was on its way to an idle connection is answered, and it is the last one.
    late.write_all(GET).unwrap();
    assert_eq!(rest(&mut late), last("GET /"));
    assert_eq!(rest(&mut idle), "");
    assert_eq!(rest(&mut active), last("GET /slow"));
    server.until(|server| server.connections() == 0);
}

/// Slow requests end when the server drains.
trait Slow {
    fn run_slow(&self, key: weft_serve::RequestKey) -> bool;
}

impl Slow for weft_serve::Server {
    fn run_slow(&self, key: weft_serve::RequestKey) -> bool {
        let slow = self.with_request(key, |request| request.path() == b"/slow").unwrap();
        slow && self.connections() > 1
    }
}
