//! Running out of descriptors. The only test of its process, because it lowers the limit of the process.

mod common;

use std::io::Write as _;

use common::*;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use weft_serve::ServerLimits;

#[test]
fn without_descriptors_connections_wait_until_one_is_idle_and_the_loop_does_not_spin() {
    let server = TestServer::start(Answer::WhenTold(usize::MAX), ServerLimits::default(), echo);
    let mut stream = server.connect();
    stream.write_all(b"GET /there HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    server.until(|server| server.in_flight() == 1);
    let before = getrlimit(Resource::Nofile);
    let lowest = rustix::io::dup(std::io::stdin()).unwrap();
    // The client's socket still gets a number, the server's does not.
    let number = u64::from(std::os::fd::AsRawFd::as_raw_fd(&lowest).unsigned_abs());
    drop(lowest);
    setrlimit(Resource::Nofile, Rlimit { current: Some(number + 1), maximum: before.maximum }).unwrap();
    let mut waiting = server.connect();
    waiting.write_all(b"GET /waiting HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    server.settle();
    assert_eq!(server.run(|server| server.connections()), 1);
    // A loop that waits turns about once per command; one that spins turns thousands of times.
    let turns = || server.run(|_| weft_rt::Runtime::get().unwrap().stats.turns.get());
    let first = turns();
    for _ in 0..10 {
        server.settle();
    }
    assert!(turns() - first < 100);
    // Existing connections continue; one that is then idle is closed for the new one.
    server.answer_first();
    assert_eq!(response(&mut stream).1, b"GET /there");
    assert_eq!(rest(&mut stream), "");
    server.until(|server| server.in_flight() == 1);
    server.answer_first();
    assert_eq!(response(&mut waiting).1, b"GET /waiting");
    setrlimit(Resource::Nofile, before).unwrap();
}
