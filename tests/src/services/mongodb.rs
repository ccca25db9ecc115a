//! A stand-in for MongoDB, which Debian does not package. It speaks enough of the wire protocol (OP_MSG, and OP_QUERY
//! for the handshake) to tell which connection asked what. A command `{echo: 1, n: N, milliseconds: M}` is answered
//! after M milliseconds with `{n: N, connection: C}`.
//!
//! Source: MongoDB's wire protocol and BSON specifications. Invariant: the requests of a connection are answered in
//! order, one at a time, as the server does.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

const OP_REPLY: i32 = 1;
const OP_QUERY: i32 = 2004;
const OP_MSG: i32 = 2013;

/// Larger messages end the connection.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// A running stand-in. Its threads end with the process.
#[derive(Debug)]
pub struct MongoDb {
    /// Its port on 127.0.0.1.
    pub port: u16,
}

impl MongoDb {
    /// Starts the stand-in.
    ///
    /// # Panics
    /// If it finds no free port.
    pub fn start() -> MongoDb {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        std::thread::spawn(move || {
            for (number, stream) in (1..).zip(listener.incoming()) {
                let Ok(stream) = stream else { return };
                // The thread ends when its client has disconnected.
                std::thread::spawn(move || converse(stream, number));
            }
        });
        MongoDb { port }
    }
}

fn converse(mut stream: TcpStream, connection: i32) -> io::Result<()> {
    loop {
        let mut head = [0; 16];
        stream.read_exact(&mut head)?;
        let word = |at: usize| i32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
        let length = usize::try_from(word(0)).unwrap_or_default();
        if !(16..=MESSAGE_BYTES_MAX).contains(&length) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut body = vec![0; length - 16];
        stream.read_exact(&mut body)?;
        let answer = if named_int(&body, "echo").is_some() {
            let span = named_int(&body, "milliseconds").unwrap_or_default();
            std::thread::sleep(Duration::from_millis(span.try_into().unwrap_or_default()));
            document(&[("n", named_int(&body, "n").unwrap_or_default()), ("connection", connection)], &[])
        } else {
            hello()
        };
        stream.write_all(&reply(word(4), word(12), &answer))?;
    }
}

/// The handshake's answer: a standalone server with MongoDB 6.0's protocol version.
fn hello() -> Vec<u8> {
    let numbers = [
        ("minWireVersion", 0),
        ("maxWireVersion", 17),
        ("maxBsonObjectSize", 16 << 20),
        ("maxMessageSizeBytes", 48_000_000),
        ("maxWriteBatchSize", 100_000),
    ];
    document(&numbers, &["ismaster", "helloOk"])
}

/// A message that answers request `to`, in the form that its opcode requires.
fn reply(to: i32, opcode: i32, document: &[u8]) -> Vec<u8> {
    let (opcode, prefix): (i32, &[u8]) = match opcode {
        // flags, cursor (64 bits), starting position, number of documents
        OP_QUERY => (OP_REPLY, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]),
        // flags, kind of section: one document
        _ => (OP_MSG, &[0, 0, 0, 0, 0]),
    };
    let length = (16 + prefix.len() + document.len()) as i32;
    let head = [length, 0, to, opcode].map(i32::to_le_bytes).concat();
    [&head, prefix, document].concat()
}

/// BSON with 32-bit integers, booleans that are true, and `ok: 1.0`.
fn document(numbers: &[(&str, i32)], truths: &[&str]) -> Vec<u8> {
    let mut elements = Vec::new();
    for (name, number) in numbers {
        elements.extend([&[0x10], name.as_bytes(), &[0], &number.to_le_bytes()[..]].concat());
    }
    for name in truths {
        elements.extend([&[0x08], name.as_bytes(), &[0, 1]].concat());
    }
    elements.extend([&[0x01], &b"ok\0"[..], &1f64.to_le_bytes()].concat());
    let length = (elements.len() + 5) as i32;
    [&length.to_le_bytes()[..], &elements, &[0]].concat()
}

/// A 32-bit integer of a document, by name.
fn named_int(bytes: &[u8], name: &str) -> Option<i32> {
    let key = [&[0x10], name.as_bytes(), &[0]].concat();
    let at = bytes.windows(key.len()).position(|window| window == key)? + key.len();
    Some(i32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
