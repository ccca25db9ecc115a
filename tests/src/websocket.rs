//! A WebSocket client: raw frames over a socket. Must not know what the server answers. Invariant: nothing is sent that a
//! test has not asked for.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::{PATIENCE, Running};

/// A connection that was accepted.
pub struct Socket {
    /// The connection, after the handshake.
    pub stream: TcpStream,
    /// The head of the answer.
    pub head: String,
}

/// The request for a WebSocket, with further header lines.
pub fn handshake(target: &str, lines: &str) -> String {
    format!(
        "GET {target} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{lines}\r\n"
    )
}

/// A masked frame.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    const MASK: [u8; 4] = [9, 8, 7, 6];
    let mut bytes = vec![first];
    match payload.len() {
        length @ 0..=125 => bytes.push(0x80 | length as u8),
        length @ 126..=0xFFFF => {
            bytes.push(0x80 | 126);
            bytes.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            bytes.push(0x80 | 127);
            bytes.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(&MASK);
    bytes.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

impl Socket {
    /// Sends a handshake, and does not wait for the answer.
    pub fn begin(weft: &Running, target: &str, lines: &str) -> Socket {
        let mut stream = TcpStream::connect(weft.address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        stream.write_all(handshake(target, lines).as_bytes()).expect("sent");
        Socket { stream, head: String::new() }
    }

    /// Reads the head of the answer, whatever it is.
    pub fn read_head(&mut self, weft: &Running) {
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            self.stream.read_exact(&mut byte).unwrap_or_else(|error| panic!("{error}: {}", weft.log()));
            head.push(byte[0]);
        }
        self.head = String::from_utf8(head).expect("a head is ASCII");
    }

    /// Sends a handshake and reads the head of the answer, whatever it is.
    pub fn ask(weft: &Running, target: &str, lines: &str) -> Socket {
        let mut socket = Socket::begin(weft, target, lines);
        socket.read_head(weft);
        socket
    }

    /// Opens a connection of a service.
    pub fn open(weft: &Running, target: &str) -> Socket {
        let socket = Socket::ask(weft, target, "");
        assert!(socket.head.starts_with("HTTP/1.1 101 "), "{} {}", socket.head, weft.log());
        socket
    }

    /// Sends a text message in one frame.
    pub fn send(&mut self, text: &str) {
        self.stream.write_all(&frame(0x81, text.as_bytes())).expect("sent");
    }

    /// The next frame: its first byte and its payload.
    pub fn read(&mut self) -> (u8, Vec<u8>) {
        let mut start = [0; 2];
        self.stream.read_exact(&mut start).expect("a frame");
        let mut long = vec![
            0;
            match start[1] {
                126 => 2,
                127 => 8,
                _ => 0,
            }
        ];
        self.stream.read_exact(&mut long).expect("its length");
        let length = long.iter().fold(0usize, |length, byte| length << 8 | usize::from(*byte));
        let mut payload = vec![0; if long.is_empty() { usize::from(start[1]) } else { length }];
        self.stream.read_exact(&mut payload).expect("its payload");
        (start[0], payload)
    }

    /// The next frame, which is a text message.
    pub fn text(&mut self) -> String {
        let (first, payload) = self.read();
        assert_eq!(first, 0x81, "{payload:?}");
        String::from_utf8(payload).expect("UTF-8")
    }

    /// The code and the reason of the next frame, which is a close frame.
    pub fn close(&mut self) -> (u16, String) {
        let (first, payload) = self.read();
        assert_eq!(first, 0x88, "{}", payload.escape_ascii());
        let reason = String::from_utf8(payload[2..].to_vec()).expect("UTF-8");
        (u16::from_be_bytes([payload[0], payload[1]]), reason)
    }

    /// Answers a close frame, and sees the end.
    pub fn end(mut self) {
        // The server may have ended meanwhile.
        let _ = self.stream.write_all(&frame(0x88, b""));
        let ended = self.stream.read(&mut [0]);
        assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    }
}
