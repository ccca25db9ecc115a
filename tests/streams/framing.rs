//! Messages in streams: each framing, each split, each limit.

use std::io::Write;

use crate::client::{connect, exchange, read, rest};
use crate::server;

/// A message in the frame of each service that answers it with itself.
fn framed(service: &str, message: &str) -> Vec<u8> {
    let length = message.len();
    match service {
        "lines" => format!("{message}\r\n").into_bytes(),
        "length" => [&(length as u32).to_be_bytes()[..], message.as_bytes()].concat(),
        "short" => [&(length as u16 + 2).to_le_bytes()[..], message.as_bytes()].concat(),
        "digits" => format!("{:010}{message}", length + 10).into_bytes(),
        _ => message.as_bytes().to_vec(),
    }
}

#[test]
fn a_message_is_the_same_however_its_bytes_are_split() {
    let weft = server().start();
    for service in ["lines", "length", "short", "digits"] {
        let mut stream = connect(&weft, service);
        let bytes: Vec<u8> =
            ["one", "", "three"].iter().flat_map(|message| framed(service, message)).collect();
        for at in 0..=bytes.len() {
            stream.write_all(&bytes[..at]).unwrap();
            // The other half is another segment.
            stream.set_nodelay(true).unwrap();
            exchange(&mut stream, &bytes[at..], &bytes);
        }
        for byte in &bytes {
            stream.write_all(&[*byte]).unwrap();
        }
        read(&mut stream, &bytes);
    }
}

#[test]
fn many_messages_in_one_packet_and_one_in_many() {
    let weft = server().start();
    for service in ["lines", "length", "short", "digits"] {
        let mut stream = connect(&weft, service);
        let many: Vec<u8> = (0..500).flat_map(|number| framed(service, &format!("m{number}"))).collect();
        exchange(&mut stream, &many, &many);
        let large = framed(service, &"x".repeat(60_000));
        exchange(&mut stream, &large, &large);
    }
    let mut raw = connect(&weft, "raw");
    exchange(&mut raw, b"a", b"a");
    exchange(&mut raw, b"bc", b"bc");
}

#[test]
fn a_message_is_as_large_as_allowed_and_no_larger() {
    let weft = server().with("--tcp-message-bytes-max", "1000").start();
    for service in ["lines", "length", "short"] {
        let mut stream = connect(&weft, service);
        let largest = framed(service, &"x".repeat(1000));
        exchange(&mut stream, &largest, &largest);
        stream.write_all(&framed(service, &"x".repeat(1001))).unwrap();
        assert_eq!(rest(&mut stream), b"", "{service}");
        drop(stream);
        weft.calls_until("closed a message is larger than tcp_message_bytes_max");
    }
    // A class of PHP's: its frames count.
    let mut stream = connect(&weft, "digits");
    let largest = framed("digits", &"x".repeat(990));
    exchange(&mut stream, &largest, &largest);
    stream.write_all(&framed("digits", &"x".repeat(991))).unwrap();
    assert_eq!(rest(&mut stream), b"");
}

#[test]
fn what_is_no_message_closes_the_connection() {
    let weft = server().start();
    let mut stream = connect(&weft, "short");
    stream.write_all(&[1, 0]).unwrap();
    assert_eq!(rest(&mut stream), b"");
    weft.calls_until("closed the length before a message is less than its own bytes");
    let mut stream = connect(&weft, "digits");
    stream.write_all(b"no digits").unwrap();
    assert_eq!(rest(&mut stream), b"");
}

#[test]
fn what_cannot_be_framed_is_refused_with_its_reason() {
    let weft = server().start();
    let mut stream = connect(&weft, "lines");
    exchange(&mut stream, b"bad 1\r\n", b"A message contains the delimiter that ends it\r\n");
    let mut stream = connect(&weft, "short");
    let said = framed("short", "The length of a message does not fit the bytes of its prefix");
    exchange(&mut stream, &framed("short", "bad 20000"), &said);
}
