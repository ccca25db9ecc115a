//! TCP services and the configuration: wrong addresses, limits, reload, stop.

use std::io::{Read, Write};
use std::process::Command;

use rustix::process::Signal;
use weft_tests::{Server, command, until};

use crate::client::{address, connect, exchange, rest};
use crate::server;

const APPLICATION: &str = "return fn () => 'x';";

/// A server that does not start says one of these.
fn refused(server: Server, reasons: &[&str]) {
    let mut weft = server.spawn();
    assert!(!weft.wait().success());
    // Its last words may still be on their way.
    until(reasons[0], || reasons.iter().any(|reason| weft.log().contains(reason)).then_some(()));
}

#[test]
fn an_address_without_its_service_is_refused_with_what_to_do() {
    refused(
        Server::new(APPLICATION).with("--listen", "tcp://127.0.0.1:0/chat"),
        &["listen names the service /chat, which the application does not have: its TCP services are none"],
    );
    for wrong in ["tcp://127.0.0.1:0", "tcp://127.0.0.1:0/", "tcp://unix:/x/y"] {
        refused(Server::new(APPLICATION).with("--listen", wrong), &["write tcp://HOST:PORT/service"]);
    }
    let docroot = Server::of_docroot(&[("index.php", "x")]);
    refused(docroot.with("--listen", "tcp://127.0.0.1:0/chat"), &["services need coroutine mode"]);
    let server = Server::new(APPLICATION);
    let mut check = Command::new(command::binary());
    check.current_dir(server.directory()).args(["check", "app.php", "--listen", "tcp://127.0.0.1:0/chat"]);
    let said = command::finish(&mut check);
    assert!(
        said.code == Some(1) && said.stderr.contains("listen names the service /chat"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_silent_client_is_given_up() {
    let weft = server().with("--tcp-idle-timeout-ms", "300").start();
    let mut stream = connect(&weft, "lines");
    exchange(&mut stream, b"x\r\n", b"x\r\n");
    assert_eq!(rest(&mut stream), b"");
    weft.calls_until("closed the client was silent for tcp_idle_timeout_ms");
}

#[test]
fn a_reload_closes_connections_and_new_ones_meet_the_new_worker() {
    let mut weft = server().with("--drain-timeout-ms", "2000").start();
    let mut streams: Vec<_> = (0..5).map(|_| connect(&weft, "lines")).collect();
    for stream in &mut streams {
        exchange(stream, b"x\r\n", b"x\r\n");
    }
    let before = weft.workers();
    weft.signal(Signal::HUP);
    for stream in &mut streams {
        assert_eq!(rest(stream), b"");
    }
    drop(streams);
    until("the new worker", || (weft.workers() != before && weft.workers().len() == 1).then_some(()));
    let mut stream = connect(&weft, "lines");
    exchange(&mut stream, b"y\r\n", b"y\r\n");
    // One that never answers, and one whose service has no time: both are told, and the worker ends.
    let mut busy = connect(&weft, "lines");
    busy.write_all(b"sleep\r\nsleep\r\n").unwrap();
    weft.signal(Signal::TERM);
    weft.wait();
    let _ = busy.read_to_end(&mut Vec::new());
}

#[test]
fn connections_are_those_of_their_service_though_a_worker_computes() {
    let weft = server().with("--workers", "2").start();
    let mut busy = weft.connect();
    busy.get("/compute");
    until("the computation", || (!weft.read("computes").is_empty()).then_some(()));
    // The kernel gives some of them to the worker that computes: they wait for it, and no other takes them.
    let mut streams: Vec<_> = (0..20).map(|_| connect(&weft, "lines")).collect();
    for stream in &mut streams {
        exchange(stream, b"x\r\n", b"x\r\n");
    }
    assert_eq!(busy.read().status, 200);
}

#[test]
fn the_death_of_a_worker_does_not_close_the_port() {
    let weft = server().with("--workers", "2").start();
    let victim = weft.workers()[0];
    let pid = rustix::process::Pid::from_raw(victim as i32).expect("a pid");
    rustix::process::kill_process(pid, Signal::KILL).expect("it is alive");
    let at = address(&weft, "tcp", "lines");
    for _ in 0..20 {
        let mut stream = std::net::TcpStream::connect(at).unwrap();
        exchange(&mut stream, b"x\r\n", b"x\r\n");
    }
}
