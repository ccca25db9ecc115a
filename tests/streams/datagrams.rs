//! UDP services: datagrams and their answers, over real sockets.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use rustix::process::Signal;
use weft_tests::{Client, PATIENCE, Running, Server, process, until};

use crate::client::address;

fn server() -> Server {
    Server::new(include_str!("datagrams.php").trim_start_matches("<?php"))
        .with("--listen", "127.0.0.1:0")
        .with("--listen", "udp://127.0.0.1:0/echo")
}

/// A client of its own address.
fn client(weft: &Running) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time");
    socket.connect(address(weft, "udp", "echo")).expect("an address");
    socket
}

fn ask(socket: &UdpSocket, message: impl AsRef<[u8]>) -> Vec<u8> {
    socket.send(message.as_ref()).expect("sent");
    answer(socket)
}

fn answer(socket: &UdpSocket) -> Vec<u8> {
    let mut bytes = vec![0; 70_000];
    let count = socket.recv(&mut bytes).expect("an answer");
    bytes.truncate(count);
    bytes
}

fn text(socket: &UdpSocket, message: &str) -> String {
    String::from_utf8(ask(socket, message)).expect("UTF-8")
}

#[test]
fn each_datagram_is_a_call_and_its_sender_gets_the_answer() {
    let mut weft = server().with("--workers", "2").start();
    let clients: Vec<UdpSocket> = (0..50).map(|_| client(&weft)).collect();
    for round in 0..4 {
        for (number, socket) in clients.iter().enumerate() {
            socket.send(format!("{round} of {number}").as_bytes()).expect("sent");
        }
        for (number, socket) in clients.iter().enumerate() {
            assert_eq!(answer(socket), format!("{round} of {number}").as_bytes());
        }
    }
    let socket = &clients[0];
    assert_eq!(ask(socket, b""), b"");
    assert_eq!(ask(socket, [0xFF, 0, b' ', 0xFE]), [0xFF, 0, b' ', 0xFE]);
    let largest = vec![b'x'; 65_507];
    assert_eq!(ask(socket, &largest), largest);
    assert_eq!(text(socket, "large 65508"), "A datagram has at most 65,507 bytes, not 65508");
    let own = socket.local_addr().expect("an address");
    assert_eq!(text(socket, "who"), format!("udp0 {own}|{own}"));
    // A call that waits delays no other one, and one that fails ends nothing.
    socket.send(b"wait 500").expect("sent");
    assert_eq!(ask(socket, "at once"), b"at once");
    assert_eq!(answer(socket), b"wait 500");
    socket.send(b"throw").expect("sent");
    weft.wait_for_log("thrown over UDP");
    assert_eq!(ask(socket, "still there"), b"still there");
}

#[test]
fn a_peer_can_be_answered_later_in_any_worker_and_from_the_address_it_knows() {
    let weft = server().with("--listen", "udp://127.0.0.1:0/other").with("--workers", "2").start();
    let other: SocketAddr = address(&weft, "udp", "other");
    for (place, to) in [address(&weft, "udp", "echo"), other].into_iter().enumerate() {
        let socket = client(&weft);
        socket.connect(to).expect("an address");
        let id = text(&socket, "who").split('|').next().expect("an id").to_owned();
        assert!(id.starts_with(&format!("udp{place} ")), "{id}");
        for _ in 0..8 {
            // A connection of its own, so that each worker gets some.
            assert_eq!(weft.get(&format!("/push?peer={}", id.replace(' ', "+"))).text(), "true");
            assert_eq!(answer(&socket), b"pushed");
        }
    }
    for nobody in ["udp7+127.0.0.1:9", "udp0+nowhere", "udp", ""] {
        assert_eq!(weft.get(&format!("/push?peer={nobody}")).text(), "false", "{nobody}");
    }
}

#[test]
fn over_ipv6() {
    let server = Server::new(include_str!("datagrams.php").trim_start_matches("<?php"));
    let weft = server.with("--listen", "127.0.0.1:0").with("--listen", "udp://[::1]:0/echo").start();
    let socket = UdpSocket::bind("[::1]:0").expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time");
    socket.connect(address(&weft, "udp", "echo")).expect("an address");
    let own = socket.local_addr().expect("an address");
    assert_eq!(text(&socket, "who"), format!("udp0 {own}|{own}"));
}

#[test]
fn an_answer_leaves_from_the_address_that_the_datagram_came_to() {
    let server = Server::new(include_str!("datagrams.php").trim_start_matches("<?php"));
    let server = server.with("--listen", "127.0.0.1:0").with("--listen", "udp://0.0.0.0:0/echo");
    let weft = server.with("--listen", "udp://[::]:0/other").with("--workers", "2").start();
    let v4 = address(&weft, "udp", "echo").port();
    let clients: Vec<(IpAddr, UdpSocket)> = ["127.0.0.1", "127.0.0.2", "127.0.3.4", "127.255.255.254", "::1"]
        .into_iter()
        .map(|own| own.parse().expect("an address"))
        .map(|own: IpAddr| {
            let port = if own.is_ipv4() { v4 } else { address(&weft, "udp", "other").port() };
            // Of another address than the server's; and only what comes from that one arrives at a connected socket.
            let any = if own.is_ipv4() { "127.0.0.9:0" } else { "[::1]:0" };
            let socket = UdpSocket::bind(any).expect("a socket");
            socket.set_read_timeout(Some(PATIENCE)).expect("a time");
            socket.connect((own, port)).expect("an address");
            (own, socket)
        })
        .collect();
    // Many at once, so that one call of the server receives and sends those of several addresses.
    for round in 0..10 {
        for (own, socket) in &clients {
            socket.send(format!("{round} to {own}").as_bytes()).expect("sent");
        }
        for (own, socket) in &clients {
            assert_eq!(answer(socket), format!("{round} to {own}").as_bytes());
        }
    }
    for (own, socket) in &clients {
        let from = socket.local_addr().expect("an address");
        let place = usize::from(own.is_ipv6());
        let id = format!("udp{place} {from} {own}");
        assert_eq!(text(socket, "who"), format!("{id}|{from}"));
        for _ in 0..4 {
            // Later, in any worker.
            assert_eq!(weft.get(&format!("/push?peer={}", id.replace(' ', "+"))).text(), "true");
            assert_eq!(answer(socket), b"pushed");
        }
    }
    // From an address that is not this machine's nothing leaves (192.0.2.0/24 is for documentation), and others are not held up.
    let (_, socket) = &clients[1];
    let forged = format!("udp0+{}+192.0.2.1", socket.local_addr().expect("an address"));
    weft.get(&format!("/push?peer={forged}"));
    assert_eq!(ask(socket, "still there"), b"still there");
    for nobody in ["udp0+127.0.0.9:9+here", "udp0+127.0.0.9:9+127.0.0.1+more"] {
        assert_eq!(weft.get(&format!("/push?peer={nobody}")).text(), "false", "{nobody}");
    }
}

/// A counter at the admin address.
fn counted(weft: &Running, name: &str) -> u64 {
    let mut client = Client::connect_unix(&weft.path("admin.sock"));
    client.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    let page = client.read().text();
    let line = page.lines().find_map(|line| line.strip_prefix(&format!("weft_udp_{name}_datagrams_total ")));
    line.unwrap_or_else(|| panic!("no {name}: {page}")).parse().expect("a number")
}

#[test]
fn what_finds_no_room_is_dropped_and_counted() {
    let server = server().with("--workers", "1").with("--coroutines-max", "4");
    let admin = format!("admin+unix:{}", server.directory().join("admin.sock").display());
    let weft = server.with("--listen", &admin).start();
    let socket = client(&weft);
    // All coroutines wait, so datagrams do.
    for _ in 0..4 {
        socket.send(b"held").expect("sent");
    }
    until("all are taken", || (counted(&weft, "received") == 4).then_some(()));
    let mut sent = 4;
    while counted(&weft, "dropped") == 0 {
        for _ in 0..100 {
            socket.send(b"x").expect("sent");
            sent += 1;
        }
        until("they have come", || (counted(&weft, "received") >= sent.min(1100)).then_some(()));
    }
    weft.write("released", "");
    until("all that had room are answered", || {
        (counted(&weft, "sent") + counted(&weft, "dropped") == counted(&weft, "received")).then_some(())
    });
    let answered = counted(&weft, "sent");
    assert!((1024..=1024 + 4).contains(&answered), "a full queue, and what ran: {answered}");
    assert_eq!(weft.get("/").text(), answered.to_string());
}

#[test]
fn what_the_kernel_has_no_room_for_is_counted() {
    let server = server().with("--workers", "1");
    let admin = format!("admin+unix:{}", server.directory().join("admin.sock").display());
    let weft = server.with("--listen", &admin).start();
    let socket = client(&weft);
    assert_eq!(ask(&socket, "first"), b"first");
    let worker = weft.workers()[0];
    process::signal(worker, Signal::STOP);
    until("the worker to stop", || process::is_stopped(worker).then_some(()));
    let large = vec![b'x'; 60_000];
    let sent = 1 + (0..300).filter(|_| socket.send(&large).is_ok()).count() as u64;
    process::signal(worker, Signal::CONT);
    let overflowed = until("all to be received or lost", || {
        let (received, overflowed) = (counted(&weft, "received"), counted(&weft, "overflowed"));
        (received + overflowed == sent).then_some(overflowed)
    });
    assert!((1..sent).contains(&overflowed), "{overflowed} of {sent}");
}

#[test]
fn a_reload_loses_no_datagram() {
    let weft = server().with("--workers", "2").start();
    let socket = client(&weft);
    let before: BTreeSet<u32> = weft.workers().into_iter().collect();
    // What the kernel keeps while nobody receives is for those who come.
    for pid in &before {
        process::signal(*pid, Signal::STOP);
    }
    for number in 0..20 {
        socket.send(format!("kept {number}").as_bytes()).expect("sent");
    }
    weft.signal(Signal::HUP);
    let mut answers: BTreeSet<Vec<u8>> = (0..20).map(|_| answer(&socket)).collect();
    assert_eq!(answers.len(), 20);
    for pid in &before {
        process::signal(*pid, Signal::CONT);
    }
    // One after another, while workers come and go.
    weft.signal(Signal::HUP);
    let mut number = 0;
    until("others", || {
        number += 1;
        assert_eq!(ask(&socket, format!("n {number}")), format!("n {number}").as_bytes());
        weft.workers().iter().all(|pid| !before.contains(pid)).then_some(())
    });
    answers.clear();
    // A stop answers what has arrived.
    socket.send(b"wait 300").expect("sent");
    let other = client(&weft);
    assert_eq!(ask(&other, "it has come"), b"it has come");
    weft.signal(Signal::TERM);
    assert_eq!(answer(&socket), b"wait 300");
}

#[test]
fn wrong_addresses_are_refused_with_what_to_do() {
    let refused = |server: Server, why: &str| {
        let mut weft = server.spawn();
        weft.wait_for_log(why);
        assert!(!weft.wait().success());
    };
    let with = |address: &str| server().with("--listen", address);
    refused(with("udp://127.0.0.1:0"), "write udp://HOST:PORT/service");
    refused(with("udp://127.0.0.1:0/none"), "its UDP services are /echo, /other");
    refused(with("tcp://127.0.0.1:0/echo"), "its TCP services are none");
    let taken = UdpSocket::bind("127.0.0.1:0").expect("a port").local_addr();
    let holder = UdpSocket::bind(taken.expect("an address")).expect("the same");
    let port = holder.local_addr().expect("an address").port();
    refused(with(&format!("udp://127.0.0.1:{port}/echo")), "ss -lunp");
    let docroot = Server::of_docroot(&[("index.php", "x")]).with("--listen", "127.0.0.1:0");
    refused(docroot.with("--listen", "udp://127.0.0.1:0/echo"), "services need coroutine mode");
}
