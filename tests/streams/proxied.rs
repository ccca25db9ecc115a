//! The PROXY protocol before a TCP service: who the client is, however the header arrives.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use weft_tests::{Running, Server};

use crate::client::{connect, exchange, read};
use crate::server;

const LINE: &[u8] = b"PROXY TCP4 203.0.113.9 192.0.2.1 4711 9000\r\n";

fn behind_a_proxy() -> Server {
    server().with("--proxy-protocol", "tcp://127.0.0.1:0/lines")
}

fn trusting() -> Running {
    behind_a_proxy().with("--trust-proxies", "127.0.0.0/8").start()
}

/// A header of version 2 for 203.0.113.9:4711, with a field behind the addresses.
fn binary() -> Vec<u8> {
    let fixed = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x10";
    [&fixed[..], &[203, 0, 113, 9, 192, 0, 2, 1, 0x12, 0x67, 0, 80], &[4, 0, 1, 7]].concat()
}

#[test]
fn the_header_names_the_client_and_is_no_message() {
    let weft = trusting();
    for header in [LINE.to_vec(), binary()] {
        let mut stream = connect(&weft, "lines");
        exchange(&mut stream, &[&header[..], b"client\r\n"].concat(), b"203.0.113.9:4711\r\n");
        exchange(&mut stream, b"a later one\r\n", b"a later one\r\n");
    }
    // A proxy that speaks for itself.
    let mut stream = connect(&weft, "lines");
    let own = format!("{}\r\n", stream.local_addr().expect("an address"));
    exchange(&mut stream, b"PROXY UNKNOWN\r\nclient\r\n", own.as_bytes());
}

#[test]
fn the_header_may_arrive_in_any_pieces() {
    let weft = trusting();
    for header in [LINE.to_vec(), binary()] {
        let all = [&header[..], b"client\r\n"].concat();
        let mut streams: Vec<(TcpStream, usize)> =
            (1..all.len()).map(|cut| (connect(&weft, "lines"), cut)).collect();
        for (stream, cut) in &mut streams {
            stream.set_nodelay(true).expect("an option");
            stream.write_all(&all[..*cut]).expect("sent");
        }
        for (stream, cut) in &mut streams {
            stream.write_all(&all[*cut..]).expect("sent");
            read(stream, b"203.0.113.9:4711\r\n");
        }
    }
}

#[test]
fn what_is_no_header_and_who_may_not_send_one_get_nothing() {
    let weft = trusting();
    for wrong in
        [&b"client\r\n"[..], b"PROXY TCP4 nonsense\r\nclient\r\n", b"\r\n\r\n\0\r\nQUIT\n\xff\xff\0\0"]
    {
        let (mut stream, mut said) = (connect(&weft, "lines"), Vec::new());
        stream.write_all(wrong).expect("sent");
        // The end may be a reset, because what was sent is not read.
        let _ = (stream.shutdown(Shutdown::Write), stream.read_to_end(&mut said));
        assert_eq!(said, b"", "{}", wrong.escape_ascii());
    }
    let distrusting = behind_a_proxy().with("--trust-proxies", "192.0.2.0/24").start();
    let mut stream = connect(&distrusting, "lines");
    stream.write_all(&[LINE, b"client\r\n"].concat()).expect("sent");
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said);
    assert!(!said.starts_with(b"203."), "{}", said.escape_ascii());
}
