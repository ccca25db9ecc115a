//! Hosts: servers that have nothing in common but the backplane.

use std::collections::HashMap;
use std::net::SocketAddr;

use weft_tests::{Client, Running, Server, process, until};

use weft_tests::services::Backplane;

pub use weft_tests::websocket::Socket;

/// A host that is not started yet.
pub fn host(backplane: &Backplane) -> Server {
    host_at(&backplane.url())
}

/// The same, with the address of its backplane.
pub fn host_at(backplane: &str) -> Server {
    Server::new(include_str!("../websocket/room.php").trim_start_matches("<?php"))
        .with("--listen", "127.0.0.1:0")
        .with("--listen", "admin://127.0.0.1:0")
        .with("--workers", "2")
        // One that is killed while it writes to opcache's memory takes the others along.
        .with("--define", "opcache.enable=0")
        .with("--topics-backplane", backplane)
}

/// Starts it, and waits until it is joined to others.
pub fn join(host: Server) -> Running {
    let mut weft = host.start();
    weft.wait_for_log("topics are shared with other hosts");
    weft
}

/// Two hosts that know of each other.
pub fn pair(backplane: &Backplane) -> (Running, Running) {
    let pair = (join(host(backplane)), join(host(backplane)));
    for weft in [&pair.0, &pair.1] {
        know(weft, 1);
    }
    pair
}

/// Waits until a host knows so many others.
pub fn know(weft: &Running, others: usize) {
    until("it knows the others", || (metric(weft, "weft_backplane_hosts") == others as f64).then_some(()));
}

fn ask_admin(weft: &Running, target: &str) -> weft_tests::Response {
    let log = weft.log();
    let found = log.lines().find_map(|line| line.strip_prefix("weft: listening on admin://"));
    let address: SocketAddr = found.expect("it says where").parse().expect("an address");
    let mut client = Client::connect(address);
    client.send(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
    client.read()
}

/// Whether it takes requests.
pub fn is_ready(weft: &Running) -> bool {
    ask_admin(weft, "/readyz").status == 200
}

/// One number of those it reports.
pub fn metric(weft: &Running, name: &str) -> f64 {
    let text = ask_admin(weft, "/metrics").text();
    let samples: HashMap<&str, &str> = text.lines().filter_map(|line| line.rsplit_once(' ')).collect();
    samples.get(name).unwrap_or_else(|| panic!("no {name} in\n{text}")).parse().expect("a number")
}

/// A connection, and its name.
pub fn enter(weft: &Running) -> (Socket, String) {
    let mut socket = Socket::open(weft, "/room");
    let said = socket.text();
    (socket, said.split_once(' ').expect("a pid and a name").1.to_owned())
}

/// Sends a command and returns its answer.
pub fn ask(socket: &mut Socket, command: &str) -> String {
    socket.send(command);
    socket.text()
}

/// Connections that have subscribed to `all`.
pub fn crowd(weft: &Running, count: usize) -> Vec<Socket> {
    let subscribed = |_| {
        let (mut socket, _) = enter(weft);
        assert_eq!(ask(&mut socket, "join all"), "true");
        socket
    };
    (0..count).map(subscribed).collect()
}

/// Publishes so many numbers `by` this name; returns the id of the last one.
pub fn publish(weft: &Running, topic: &str, by: &str, from: usize, count: usize) -> String {
    let response = weft.get(&format!("/publish?topic={topic}&by={by}&from={from}&count={count}"));
    assert_eq!(response.status, 200, "{}", weft.log());
    response.text()
}

/// The process that is the link.
pub fn link(weft: &Running) -> u32 {
    let is_link = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() == "weft: link")
    };
    until("a link", || process::children(weft.pid()).into_iter().find(is_link))
}
