//! Conversations over TCP: a coroutine has a connection to itself.

use std::io::{Read, Write};
use std::net::Shutdown;

use crate::client::{connect, exchange, read, rest};
use crate::server;

#[test]
fn a_dialogue_goes_on_until_its_client_has_ended_its_side() {
    let mut weft = server().start();
    let mut stream = connect(&weft, "dialogue");
    read(&mut stream, b"name?\n");
    exchange(&mut stream, b"ada\nhello\n", b"ada: hello\n");
    exchange(&mut stream, b"wait\n", b"ada: No message came within 0.05 seconds\n");
    stream.write_all(b"last\n").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(&mut stream), b"ada: last\nbye ada, 3\n");
    weft.calls_until("conversation ada 3");
    assert_eq!(weft.get("/coroutines").text(), "1");
    let mut stream = connect(&weft, "dialogue");
    exchange(&mut stream, b"eve\nthrow\n", b"name?\n");
    assert_eq!(rest(&mut stream), b"");
    weft.wait_for_log("thrown in a dialogue");
}

#[test]
fn a_class_of_php_tells_messages_apart_in_a_dialogue() {
    let weft = server().start();
    let mut stream = connect(&weft, "dialogue-digits");
    let framed = |message: &str| format!("{:010}{message}", message.len() + 10).into_bytes();
    read(&mut stream, &framed("name?"));
    let bytes = [framed("ada"), framed("one"), framed("two")].concat();
    for byte in &bytes {
        stream.write_all(&[*byte]).unwrap();
    }
    read(&mut stream, &[framed("ada: one"), framed("ada: two")].concat());
    stream.write_all(b"no digits").unwrap();
    // What was said before its end.
    assert!(rest(&mut stream).is_empty() || weft.get("/").text() == "page\n");
}

#[test]
fn a_client_that_vanishes_ends_the_dialogue() {
    let weft = server().start();
    let mut stream = connect(&weft, "dialogue");
    exchange(&mut stream, b"ada\nx\n", b"name?\nada: x\n");
    drop(stream);
    weft.calls_until("conversation ada 1");
}

#[test]
fn a_dialogue_waits_until_its_client_has_caught_up() {
    let weft = server().start();
    let mut stream = connect(&weft, "dialogue");
    exchange(&mut stream, b"ada\nflood\n", b"name?\n");
    let mut line = vec![0; 10_001];
    for _ in 0..2_000 {
        stream.read_exact(&mut line).unwrap();
        assert_eq!((line[0], line[10_000]), (b'x', b'\n'));
    }
    read(&mut stream, b"ada: flood\n");
}
