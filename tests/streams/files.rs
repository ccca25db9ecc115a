//! Files over TCP: whole, in their place among messages, and at no cost in memory.

use std::io::{Read, Write};
use std::process::Command;

use weft_tests::services::Authority;
use weft_tests::{command, process, until};

use crate::client::{address, connect, exchange, read, rest};
use crate::server;

/// Bytes that tell where they are in the file.
fn numbered(length: usize) -> Vec<u8> {
    (0..length as u64 / 8 + 1).flat_map(u64::to_be_bytes).take(length).collect()
}

/// More than the kernel takes for a client that does not read.
const LARGE: usize = 64 << 20;

#[test]
fn a_file_is_sent_in_its_place_among_messages() {
    let weft = server().start();
    weft.write("small", "what is in it");
    weft.write("empty", "");
    let mut stream = connect(&weft, "lines");
    let asked = b"file small\r\nfile small 5\r\nfile small 5 2\r\nfile empty\r\nfile small 13 0\r\n";
    // Each is followed by what it was asked with.
    let said = b"what is in itfile small\r\nis in itfile small 5\r\nisfile small 5 2\r\nfile empty\r\nfile small 13 0\r\n";
    exchange(&mut stream, asked, said);
    let mut stream = connect(&weft, "length");
    let framed = |message: &[u8]| [&(message.len() as u32).to_be_bytes()[..], message].concat();
    let said = [framed(b"what is in it"), framed(b"file small")].concat();
    exchange(&mut stream, &framed(b"file small"), &said);
    let mut stream = connect(&weft, "digits");
    exchange(&mut stream, b"0000000020file small", b"what is in it0000000020file small");
    // A client that has ended its side gets all of it.
    let mut stream = connect(&weft, "raw");
    stream.write_all(b"file small").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(rest(&mut stream), b"what is in itfile small");
}

#[test]
fn a_coroutine_waits_until_its_client_has_taken_a_file() {
    let weft = server().start();
    std::fs::write(weft.path("large"), numbered(LARGE)).unwrap();
    let mut stream = connect(&weft, "dialogue");
    read(&mut stream, b"name?\n");
    stream.write_all(b"Ada\nfile large\n").unwrap();
    let mut said = vec![0; LARGE - 1];
    stream.read_exact(&mut said).unwrap();
    assert!(said == numbered(LARGE)[1..], "the file is another one");
    read(&mut stream, b"Ada: flushed true 0\n");
}

#[test]
fn what_cannot_be_sent_is_refused_with_its_reason() {
    let weft = server().start();
    weft.write("small", "what is in it");
    let large = std::fs::File::create(weft.path("large")).unwrap();
    large.set_len(1 << 16).unwrap();
    let mut stream = connect(&weft, "lines");
    let directory = weft.directory().display().to_string();
    let mut refused = |asked: &str, reason: &str| {
        let said = format!("{reason}\r\n{asked}\r\n");
        exchange(&mut stream, format!("{asked}\r\n").as_bytes(), said.as_bytes());
    };
    refused("file none", "There is no regular file none");
    refused(&format!("file {directory}"), &format!("There is no regular file {directory}"));
    refused("file small 14", "The file small has fewer bytes than are to be sent");
    refused("file small 5 9", "The file small has fewer bytes than are to be sent");
    refused("file small 1 9223372036854775807", "The file small has fewer bytes than are to be sent");
    refused("file small -1", "Offset and length of what is sent of a file are 0 or more");
    // A length of two bytes that counts itself.
    let mut stream = connect(&weft, "short");
    let framed = |message: &str| [&(message.len() as u16 + 2).to_le_bytes()[..], message.as_bytes()].concat();
    let said = [framed("The length of a message does not fit the bytes of its prefix"), framed("file large")]
        .concat();
    exchange(&mut stream, &framed("file large"), &said);
}

#[test]
fn a_large_file_waits_in_no_memory_and_delays_nobody() {
    let weft = server().start();
    std::fs::write(weft.path("large"), numbered(LARGE)).unwrap();
    let before = process::private_bytes(weft.workers()[0]);
    let mut stream = connect(&weft, "lines");
    // As many as may wait, and one more.
    for _ in 0..17 {
        stream.write_all(b"file large\r\n").unwrap();
    }
    weft.calls_until("not sent");
    let mut other = connect(&weft, "lines");
    exchange(&mut other, b"meanwhile\r\n", b"meanwhile\r\n");
    let waiting: usize = weft.get("/waiting").text().parse().unwrap();
    assert!(waiting > 15 * LARGE && waiting < 17 * LARGE, "{waiting}");
    let grown = process::private_bytes(weft.workers()[0]).saturating_sub(before);
    assert!(grown < 8 << 20, "{grown} bytes for {} of files", 16 * LARGE);
    let expected = numbered(LARGE);
    let mut said = vec![0; LARGE];
    for _ in 0..2 {
        stream.read_exact(&mut said).unwrap();
        assert!(said == expected, "the file is another one");
        read(&mut stream, b"file large\r\n");
    }
}

#[test]
fn a_file_that_becomes_shorter_cuts_its_connection() {
    let weft = server().start();
    let file = std::fs::File::create(weft.path("large")).unwrap();
    file.set_len(LARGE as u64).unwrap();
    let mut stream = connect(&weft, "lines");
    stream.write_all(b"file large\r\n").unwrap();
    weft.calls_until("message 10");
    file.set_len(1 << 20).unwrap();
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said);
    assert!(said.len() < LARGE && !said.ends_with(b"\r\n"), "{}", said.len());
    weft.calls_until("closed a file became shorter while it was sent");
}

#[test]
fn a_file_for_a_connection_of_another_worker_is_sent_there() {
    let weft = server().with("--workers", "2").start();
    weft.write("small", "what is in it");
    let mut stream = connect(&weft, "lines");
    stream.write_all(b"id\r\n").unwrap();
    let mut said = Vec::new();
    while !said.ends_with(b"\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        said.extend(byte);
    }
    let said = String::from_utf8(said).unwrap();
    let (pid, id) = said.trim_end().split_once(' ').unwrap();
    let pid: u32 = pid.parse().unwrap();
    let mut asked = 0;
    until("another worker is asked", || {
        let answer = weft.get(&format!("/file?id={id}&name=small")).json();
        assert_eq!(answer[1], true, "{answer}");
        asked += 1;
        (answer[0] != pid).then_some(())
    });
    for _ in 0..asked {
        read(&mut stream, b"what is in it");
    }
    assert_eq!(weft.get(&format!("/file?id={id}&name=none")).json()[1], "There is no regular file none");
}

#[test]
fn a_file_is_sent_over_tls() {
    let server = server();
    Authority::new(server.directory()).certify("a", "DNS:localhost,IP:127.0.0.1", 9);
    let server = server.with("--listen", "tls://127.0.0.1:0/lines");
    let weft = server.with("--tls-certificates", "a.pem").with("--tls-keys", "a.key").start();
    std::fs::write(weft.path("large"), numbered(LARGE)).unwrap();
    let port = address(&weft, "tls", "lines").port();
    let line = format!(
        "printf 'file large\\r\\nclose end\\r\\n' | timeout 50 openssl s_client -quiet -verify_return_error -CAfile ca.pem \
         -servername localhost -connect 127.0.0.1:{port} 2>errors >said; cat errors"
    );
    let output = command::finish(Command::new("sh").args(["-c", &line]).current_dir(weft.directory()));
    let said = std::fs::read(weft.path("said")).unwrap();
    let expected = [&numbered(LARGE)[..], b"file large\r\nend\r\n"].concat();
    assert!(said == expected, "{} bytes: {}", said.len(), output.stdout);
}
