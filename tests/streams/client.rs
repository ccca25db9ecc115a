//! A client of the tests: bytes over a socket, below TLS or not.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use weft_tests::Running;

/// Where a service listens.
pub fn address(weft: &Running, scheme: &str, service: &str) -> SocketAddr {
    let log = weft.log();
    let urls = log.lines().rev().filter_map(|line| line.strip_prefix("weft: listening on "));
    let mut found = urls.filter_map(|url| {
        url.strip_prefix(scheme)?.strip_prefix("://")?.strip_suffix(&format!("/{service}"))
    });
    found.next().unwrap_or_else(|| panic!("no address of {service}: {log}")).parse().expect("an address")
}

/// Connects to a service.
pub fn connect(weft: &Running, service: &str) -> TcpStream {
    let stream = TcpStream::connect(address(weft, "tcp", service)).expect("it listens");
    stream.set_read_timeout(Some(weft_tests::PATIENCE)).expect("a time");
    stream
}

/// Sends bytes, and reads as many as are expected.
#[track_caller]
pub fn exchange(stream: &mut TcpStream, bytes: &[u8], expected: &[u8]) {
    stream.write_all(bytes).expect("sent");
    read(stream, expected);
}

#[track_caller]
pub fn read(stream: &mut TcpStream, expected: &[u8]) {
    let mut said = vec![0; expected.len()];
    stream.read_exact(&mut said).expect("an answer");
    assert_eq!(said.escape_ascii().to_string(), expected.escape_ascii().to_string());
}

/// What comes until the end.
pub fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).expect("it ends in order");
    rest
}
