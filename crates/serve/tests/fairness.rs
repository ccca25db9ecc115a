//! Connections that pipeline: they are answered in turn with the others, not before them.

mod common;

use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::*;
use weft_serve::ServerLimits;

const PIPELINED: usize = 200;

fn requests(name: &str, count: usize) -> String {
    (0..count).map(|number| format!("GET /{name}/{number} HTTP/1.1\r\nHost: a\r\n\r\n")).collect()
}

fn answers(stream: &mut TcpStream, name: &str, count: usize) {
    for number in 0..count {
        assert_eq!(response(stream).1, format!("GET /{name}/{number}").as_bytes());
    }
}

#[test]
fn who_pipelines_does_not_keep_the_others_waiting() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let visitor: Arc<Mutex<Option<TcpStream>>> = Arc::default();
    let (log, comes) = (Arc::clone(&order), Arc::clone(&visitor));
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), move |server, key| {
        let target = server.with_request(key, |request| request.target().to_vec()).unwrap();
        let target = String::from_utf8(target).unwrap();
        if target == "/greedy/0" {
            // Another client sends a request while the first of many is being answered, which takes a while.
            let mut visitor = comes.lock().unwrap();
            visitor.as_mut().unwrap().write_all(requests("visitor", 1).as_bytes()).unwrap();
            std::thread::sleep(Duration::from_millis(2));
        }
        log.lock().unwrap().push(target);
        echo(server, key);
    });
    let mut asks = server.connect();
    server.until(|server| server.connections() == 1);
    *visitor.lock().unwrap() = Some(asks.try_clone().unwrap());
    let mut greedy = server.connect();
    greedy.write_all(requests("greedy", PIPELINED).as_bytes()).unwrap();
    answers(&mut asks, "visitor", 1);
    answers(&mut greedy, "greedy", PIPELINED);
    let order = order.lock().unwrap();
    let place = order.iter().position(|target| target == "/visitor/0").unwrap();
    assert!(place <= 2, "the visitor was answered after {place} requests of another");
}

#[test]
fn answers_to_pipelined_requests_are_not_held_back_by_those_behind_them() {
    let gate = Arc::new(Mutex::new(()));
    let waits = Arc::clone(&gate);
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), move |server, key| {
        match server.with_request(key, |request| request.target().to_vec()).unwrap().as_slice() {
            b"/slow/0" => std::thread::sleep(Duration::from_millis(2)),
            b"/slow/1" => drop(waits.lock()),
            _ => (),
        }
        echo(server, key);
    });
    let mut stream = server.connect();
    let closed = gate.lock().unwrap();
    stream.write_all(requests("slow", 2).as_bytes()).unwrap();
    // The first took long, so it is sent although the second cannot be answered yet.
    let mut first = vec![0; 1];
    stream.read_exact(&mut first).unwrap();
    drop(closed);
    first.extend(rest_of(&mut stream, "GET /slow/1"));
    assert!(String::from_utf8_lossy(&first).contains("GET /slow/0"));
}

fn rest_of(stream: &mut TcpStream, end: &str) -> Vec<u8> {
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    while !bytes.ends_with(end.as_bytes()) {
        stream.read_exact(&mut byte).unwrap();
        bytes.push(byte[0]);
    }
    bytes
}

#[test]
fn where_others_accept_too_no_connection_waits_behind_a_request_that_runs() {
    let (free, blocked) = std::sync::mpsc::channel::<()>();
    let (enter, entered) = std::sync::mpsc::channel::<()>();
    let counts = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&counts);
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), move |server, key| {
        log.lock().unwrap().push(server.connections());
        echo(server, key);
    });
    let mut streams = std::thread::scope(|scope| {
        let asked = &server;
        let waits = scope.spawn(move || {
            asked.run(move |server| {
                server.accept_singly(true);
                enter.send(()).unwrap();
                blocked.recv().unwrap();
            });
        });
        entered.recv().unwrap();
        let streams: Vec<TcpStream> = (0..3)
            .map(|number| {
                let mut stream = server.connect();
                stream.write_all(requests("one", number + 1).as_bytes()).unwrap();
                stream
            })
            .collect();
        free.send(()).unwrap();
        waits.join().unwrap();
        streams
    });
    for (count, stream) in streams.iter_mut().enumerate() {
        answers(stream, "one", count + 1);
    }
    // While the first request of a connection runs, the next connection has not been accepted.
    let counts = counts.lock().unwrap();
    assert_eq!([counts[0], counts[1], counts[3]], [1, 2, 3], "{counts:?}");
}
