//! What a TCP service sees, and what it can do.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::process::Command;

use serde_json::json;
use weft_tests::command;
use weft_tests::services::Authority;

use crate::client::{address, connect, exchange, read, rest};
use crate::server;

#[test]
fn a_connection_from_its_beginning_to_its_end() {
    let mut weft = server().start();
    let mut stream = connect(&weft, "lines");
    exchange(&mut stream, b"set this\r\n", b"set this\r\n");
    exchange(&mut stream, b"get\r\n", b"this\r\n");
    assert_eq!(weft.get("/kept").json(), json!([[true, true]]));
    read(&mut stream, b"from http\r\n");
    assert_eq!(weft.get("/coroutines").text(), "1", "an idle connection has none");
    stream.write_all(b"close good bye\r\n").unwrap();
    assert_eq!(rest(&mut stream), b"good bye\r\n");
    let calls = weft.calls_until("[false,false,false,null]");
    assert_eq!(calls[0], "opened ip");
    assert_eq!(calls[calls.len() - 2], "closed ");
    assert_eq!(weft.get("/kept").json(), json!([[false, false]]));
    // What a service throws closes its connection only.
    let mut other = connect(&weft, "lines");
    let mut thrown = connect(&weft, "lines");
    thrown.write_all(b"throw\r\n").unwrap();
    assert_eq!(rest(&mut thrown), b"");
    exchange(&mut other, b"still there\r\n", b"still there\r\n");
    weft.wait_for_log("Uncaught LogicException: thrown over TCP");
}

#[test]
fn a_client_that_has_ended_its_side_gets_all_answers() {
    let weft = server().start();
    let mut stream = connect(&weft, "lines");
    stream.write_all(b"wait 100\r\none\r\ntwo\r\nno end").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(&mut stream), b"wait 100\r\none\r\ntwo\r\n");
    weft.calls_until("closed ");
    // One that says nothing at all.
    let mut stream = connect(&weft, "raw");
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(&mut stream), b"");
}

#[test]
fn calls_of_one_connection_are_in_order_and_delay_no_other() {
    let weft = server().start();
    let (mut slow, mut quick) = (connect(&weft, "length"), connect(&weft, "lines"));
    let framed = |message: &str| [&(message.len() as u32).to_be_bytes()[..], message.as_bytes()].concat();
    let all: Vec<u8> = ["wait 500", "1", "2"].iter().flat_map(|message| framed(message)).collect();
    slow.write_all(&all).unwrap();
    for _ in 0..20 {
        exchange(&mut quick, b"x\r\n", b"x\r\n");
    }
    read(&mut slow, &all);
}

#[test]
fn a_client_that_does_not_read_costs_a_bounded_number_of_bytes() {
    let weft = server().start();
    let mut stream = connect(&weft, "dropping");
    stream.write_all(b"flood\n").unwrap();
    weft.calls_until("flooded [true,true]");
    assert_eq!(weft.get("/").text(), "page\n");
    let mut first = vec![0; 10_001];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(first, [&[b'x'; 10_000][..], b"\n"].concat());
    // By default such a connection is closed.
    let mut closed = connect(&weft, "lines");
    closed.write_all(b"flood\r\n").unwrap();
    weft.calls_until("closed the client does not keep up");
    let _ = closed.read_to_end(&mut Vec::new());
}

#[test]
fn a_client_is_not_read_while_its_service_does_not_keep_up() {
    let weft = server().start();
    let mut stream = connect(&weft, "lines");
    stream.write_all(b"wait 2000\r\n").unwrap();
    let flood = b"0123456789\r\n".repeat(1 << 20);
    // The kernel's buffers and a bounded part of the server's memory take what they can.
    stream.set_nonblocking(true).unwrap();
    let mut sent = 0;
    while let Ok(count) = stream.write(&flood[sent..]) {
        sent += count;
        if sent == flood.len() {
            break;
        }
    }
    assert!(sent < flood.len(), "{sent} bytes were taken");
    stream.set_nonblocking(false).unwrap();
    let reader = std::thread::spawn({
        let mut stream = stream.try_clone().unwrap();
        move || {
            let mut said = 0;
            let mut buffer = vec![0; 1 << 16];
            while said < b"wait 2000\r\n".len() + (1 << 20) * 12 {
                said += stream.read(&mut buffer).expect("answers");
            }
            said
        }
    });
    stream.write_all(&flood[sent..]).unwrap();
    assert_eq!(reader.join().unwrap(), b"wait 2000\r\n".len() + flood.len());
}

#[test]
fn a_service_is_told_when_its_client_has_caught_up() {
    let weft = server().start();
    let mut stream = connect(&weft, "patient");
    stream.write_all(&[0, 0, 0, 1, b'x']).unwrap();
    for number in 0..3_000 {
        let mut frame = vec![0; 10_004];
        stream.read_exact(&mut frame).unwrap();
        assert!(frame[4..].starts_with(number.to_string().as_bytes()), "{number}");
    }
}

#[test]
fn tls_is_below_it_where_the_address_says_so() {
    let server = server();
    Authority::new(server.directory()).certify("a", "DNS:localhost,IP:127.0.0.1", 9);
    let server =
        server.with("--listen", "tls://127.0.0.1:0/lines").with("--listen", "tls://127.0.0.1:0/dialogue");
    let weft = server.with("--tls-certificates", "a.pem").with("--tls-keys", "a.key").start();
    let says = |service: &str, alpn: &str, text: &str| {
        let port = address(&weft, "tls", service).port();
        let mut openssl = Command::new("sh");
        let line = format!(
            "printf '{text}' | timeout 50 openssl s_client -quiet {alpn} -verify_return_error -CAfile ca.pem -servername localhost \
             -connect 127.0.0.1:{port} 2>&1"
        );
        command::finish(openssl.args(["-c", &line]).current_dir(weft.directory())).stdout
    };
    let said = says("lines", "", "one\\r\\nclose two\\r\\n");
    assert!(said.ends_with("one\r\ntwo\r\n"), "{said}");
    // A protocol that the client names is its own affair.
    let said = says("lines", "-alpn my-protocol", "close x\\r\\n");
    assert!(said.ends_with("x\r\n"), "{said}");
    // Plain bytes are no handshake, and the service never hears of them.
    let before = weft.get("/calls").json();
    let mut plain = std::net::TcpStream::connect(address(&weft, "tls", "lines")).unwrap();
    plain.write_all(b"plain\r\n").unwrap();
    let _ = plain.read_to_end(&mut Vec::new());
    assert_eq!(weft.get("/calls").json(), before);
}
