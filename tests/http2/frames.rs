//! A client that sends exactly the frames it is given, and reads those of the server.
//!
//! Must not know what the server should do. Invariant: it compresses nothing, so its bytes can be read in the test.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use weft_tests::PATIENCE;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;

/// The indexed field `:status: 200` (RFC 7541 appendix A), with which a block begins.
pub const STATUS_200: u8 = 0x88;
/// `:status: 400`
pub const STATUS_400: u8 = 0x8c;

/// Error codes (RFC 9113 7).
pub const NO_ERROR: u32 = 0;
pub const PROTOCOL_ERROR: u32 = 1;
pub const INTERNAL_ERROR: u32 = 2;
pub const ENHANCE_YOUR_CALM: u32 = 11;

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl Frame {
    pub fn ends(&self) -> bool {
        matches!(self.kind, DATA | HEADERS) && self.flags & END_STREAM != 0
    }

    /// The error code of a RST_STREAM or GOAWAY.
    pub fn code(&self) -> u32 {
        let at = if self.kind == GOAWAY { 4 } else { 0 };
        u32::from_be_bytes(self.payload[at..at + 4].try_into().expect("four bytes"))
    }
}

/// A frame as bytes.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(payload.len()).expect("a small frame").to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// The preface, SETTINGS with these values, and the acknowledgement of the server's.
pub fn begin(settings: &[(u16, u32)]) -> Vec<u8> {
    let values = settings.iter().flat_map(|(name, value)| {
        name.to_be_bytes().into_iter().chain(value.to_be_bytes()).collect::<Vec<u8>>()
    });
    [PREFACE, &frame(SETTINGS, 0, 0, &values.collect::<Vec<u8>>()), &frame(SETTINGS, 1, 0, b"")].concat()
}

/// Fields as literals without indexing and without Huffman's code.
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            assert!(text.len() < 127, "a length of one byte");
            block.push(u8::try_from(text.len()).expect("it is short"));
            block.extend(text.as_bytes());
        }
    }
    block
}

/// The fields of a request.
pub fn fields<'f>(method: &'f str, path: &'f str) -> Vec<(&'f str, &'f str)> {
    vec![(":method", method), (":scheme", "http"), (":path", path), (":authority", "a.example")]
}

/// A request without a body.
pub fn get(stream: u32, path: &str) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &block(&fields("GET", path)))
}

/// The head of a request with one.
pub fn post(stream: u32, path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let fields = [&fields("POST", path), more].concat();
    frame(HEADERS, END_HEADERS, stream, &block(&fields))
}

pub fn window_update(stream: u32, bytes: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes())
}

/// What carries the frames: TCP, or TLS on it.
pub trait Socket: Read + Write {}

impl<S: Read + Write> Socket for S {}

/// A TCP connection that waits no longer than any test.
pub fn tcp(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).expect("a server listens");
    socket.set_nodelay(true).expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
    socket.set_write_timeout(Some(PATIENCE)).expect("a socket");
    socket
}

/// A connection.
pub struct Peer {
    socket: Box<dyn Socket>,
}

impl Peer {
    pub fn connect(address: SocketAddr) -> Peer {
        Peer::over(tcp(address))
    }

    pub fn over(socket: impl Socket + 'static) -> Peer {
        Peer { socket: Box::new(socket) }
    }

    /// One that has said that it speaks HTTP/2.
    pub fn begin(address: SocketAddr) -> Peer {
        Peer::begin_with(address, &[])
    }

    /// The same, with these settings.
    pub fn begin_with(address: SocketAddr, settings: &[(u16, u32)]) -> Peer {
        let mut peer = Peer::connect(address);
        peer.send(&begin(settings));
        peer
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).expect("the server takes the bytes");
    }

    /// Sends, although the server may have closed.
    pub fn try_send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes)
    }

    /// Sends; that the server has closed shows when its frames are read.
    pub fn send_or_ignore(&mut self, bytes: &[u8]) {
        let _ = self.try_send(bytes);
    }

    /// The next frame; `None` at the end.
    pub fn next(&mut self) -> Option<Frame> {
        self.try_next().ok()
    }

    /// The next frame, or why there is none.
    pub fn try_next(&mut self) -> io::Result<Frame> {
        let mut head = [0; 9];
        self.socket.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        self.socket.read_exact(&mut payload)?;
        let stream = u32::from_be_bytes(head[5..].try_into().expect("four bytes"));
        Ok(Frame { kind: head[3], flags: head[4], stream, payload })
    }

    /// The next frame of a kind that is no bookkeeping: SETTINGS, PING and WINDOW_UPDATE.
    pub fn news(&mut self) -> Option<Frame> {
        loop {
            let frame = self.next()?;
            if !matches!(frame.kind, SETTINGS | PING | WINDOW_UPDATE) {
                return Some(frame);
            }
        }
    }

    /// The answer on a stream: the first byte of its head, and its body.
    pub fn answer(&mut self, stream: u32) -> (u8, Vec<u8>) {
        let (mut status, mut body) = (0, Vec::new());
        loop {
            let frame = self.news().expect("an answer before the end");
            assert_eq!(frame.stream, stream, "{frame:?}");
            match frame.kind {
                HEADERS if status == 0 => status = frame.payload[0],
                DATA => body.extend(&frame.payload),
                _ => panic!("{frame:?}"),
            }
            if frame.ends() {
                return (status, body);
            }
        }
    }

    /// What the connection is ended with: the code of its GOAWAY, whatever comes before.
    pub fn goaway(&mut self) -> u32 {
        loop {
            let frame = self.next().expect("a GOAWAY before the end");
            if frame.kind == GOAWAY {
                return frame.code();
            }
        }
    }

    /// The server closes.
    pub fn expect_closed(&mut self) {
        while self.next().is_some() {}
    }
}
