//! Clients that are slow or disconnect.

use weft_tests::{process, until};

use crate::server;

#[test]
fn a_handler_learns_that_its_client_has_gone() {
    let weft = server().start();
    let mut client = weft.connect();
    client.get("/until-aborted");
    until("the handler to start", || (weft.read("started") == "yes").then_some(()));
    drop(client);
    until("the handler to see it", || (weft.read("aborted") == "yes").then_some(()));
    assert_eq!(weft.get("/hello").text(), "Hello World");
}

#[test]
fn a_writer_waits_for_a_client_that_reads_slowly_and_memory_stays_flat() {
    let weft = server().start();
    assert_eq!(weft.get("/hello").status, 200);
    let worker = weft.workers()[0];
    let before = process::private_bytes(worker);
    let mut client = weft.connect();
    client.get("/flood");
    assert_eq!(client.read_head().status, 200);
    // The response stops when the buffers are full.
    let mut seen = (String::new(), 0);
    until("the writer to wait", || {
        assert_eq!(weft.get("/hello").text(), "Hello World", "others are served meanwhile");
        let written = weft.read("written");
        seen = if written == seen.0 { (written, seen.1 + 1) } else { (written, 0) };
        (seen.1 == 200).then_some(())
    });
    let written: u64 = seen.0.parse().unwrap_or_default();
    assert!(written < 32 << 20, "{written} bytes were written for a client that reads nothing");
    let grown = process::private_bytes(worker).saturating_sub(before);
    assert!(grown < 8 << 20, "the worker grew by {grown} bytes");
    // It continues when the client does.
    let mut left: usize = 64 << 20;
    while left > 0 {
        let line = client.read_bytes(3);
        let mut size = String::from_utf8_lossy(&line).into_owned();
        while !size.ends_with("\r\n") {
            size.push(char::from(client.read_bytes(1)[0]));
        }
        let size = usize::from_str_radix(size.trim(), 16).expect("a chunk's size");
        let chunk = client.read_bytes(size + 2);
        assert!(chunk[..size].iter().all(|byte| *byte == b'x'));
        left -= size;
    }
    assert_eq!(client.read_bytes(5), b"0\r\n\r\n");
    until("the handler's end", || (weft.read("finished") == "yes").then_some(()));
}

#[test]
fn a_writer_learns_that_its_client_has_gone() {
    let weft = server().start();
    let mut client = weft.connect();
    client.get("/flood");
    assert_eq!(client.read_head().status, 200);
    drop(client);
    until("the writer to see it", || (weft.read("aborted") == "yes").then_some(()));
    assert_eq!(weft.get("/hello").text(), "Hello World");
}

#[test]
fn a_client_that_takes_nothing_is_given_up() {
    let weft = server().with("--write-timeout-ms", "300").start();
    let mut client = weft.connect();
    client.get("/flood");
    assert_eq!(client.read_head().status, 200);
    until("the writer to be told", || (weft.read("aborted") == "yes").then_some(()));
}

#[test]
fn a_connection_beyond_the_limit_takes_the_place_of_an_idle_one() {
    let mut weft = server().with("--connections-max", "4").start();
    let mut held: Vec<_> = (0..4).map(|_| weft.connect()).collect();
    // The first connection has never sent a request.
    for client in &mut held[1..] {
        client.get("/hello");
        assert_eq!(client.read().status, 200);
    }
    let mut waiting = weft.connect();
    waiting.get("/hello");
    assert_eq!(waiting.read().text(), "Hello World");
    assert_eq!(weft.get("/hello").text(), "Hello World");
    weft.wait_for_log("connections_max (4) is reached");
}

#[test]
fn hundreds_of_clients_at_once_in_one_worker() {
    let weft = server().start();
    let mut clients: Vec<_> = (0..300).map(|_| weft.connect()).collect();
    for (i, client) in clients.iter_mut().enumerate() {
        client.get(&format!("/wait-for-file?file=gate-{}", i % 3));
    }
    // All of them wait for the same worker's handlers; none has been answered yet.
    assert_eq!(weft.get("/hello").text(), "Hello World");
    for gate in [1, 2, 0] {
        weft.write(&format!("gate-{gate}"), "open");
        for client in clients.iter_mut().skip(gate).step_by(3) {
            assert_eq!(client.read().text(), format!("found gate-{gate}"));
        }
    }
}
