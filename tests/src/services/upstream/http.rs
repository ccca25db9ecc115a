//! HTTP/1.1, and the part of HTTP/2 (RFC 9113) that a client with prior knowledge needs: every stream is answered with
//! 200 and `h2` after half a second; header fields are not read.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::held::Held;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const H2_PAUSE: Duration = Duration::from_millis(500);

/// Serves one connection.
pub(super) fn serve(peer: TcpStream, held: &Held) {
    let mut writer = peer.try_clone().expect("a descriptor");
    let mut reader = BufReader::new(peer);
    while let Some(Head { line, length, expects, last }) = head(&mut reader) {
        if line.starts_with("PRI ") {
            // The rest of the preface; its first part ended like a head, with an empty line.
            let mut rest = [0; PREFACE.len() - 18];
            let _ = reader.read_exact(&mut rest);
            let _ = streams(&mut reader, writer);
            return;
        }
        if expects && writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").is_err() {
            return;
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() || answer(&mut writer, &line, length, held).is_err() || last
        {
            return;
        }
    }
}

/// The fields of a request's head that are read.
#[derive(Default)]
struct Head {
    line: String,
    /// The length of the body.
    length: usize,
    /// Whether the client waits for 100 Continue.
    expects: bool,
    /// Whether this is the last request of the connection.
    last: bool,
}

fn head(reader: &mut impl BufRead) -> Option<Head> {
    let mut head = Head::default();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            return Some(head);
        }
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            head.length = value.trim().parse().unwrap_or(0);
        }
        head.expects |= lower.starts_with("expect:");
        head.last |= lower == "connection: close" || lower.ends_with(" http/1.0");
        if head.line.is_empty() {
            head.line = line.to_string();
        }
    }
}

fn answer(writer: &mut TcpStream, line: &str, length: usize, held: &Held) -> std::io::Result<()> {
    let mut parts = line.split(' ').nth(1).unwrap_or_default().split('/').skip(1);
    let (kind, pause) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let pause = Duration::from_millis(pause.parse().unwrap_or(0));
    let text = match length {
        0 => parts.next().unwrap_or_default().to_string(),
        length => length.to_string(),
    };
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n", text.len());
    if kind != "slowly" {
        held.sleep(pause);
        return writer.write_all(format!("{head}{text}").as_bytes());
    }
    writer.write_all(head.as_bytes())?;
    for part in text.as_bytes().chunks(text.len().div_ceil(5).max(1)) {
        thread::sleep(pause / 5);
        writer.write_all(part)?;
    }
    Ok(())
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

fn streams(reader: &mut impl Read, writer: TcpStream) -> std::io::Result<()> {
    let writer = Arc::new(Mutex::new(writer));
    let send = |bytes: Vec<u8>| writer.lock().unwrap_or_else(PoisonError::into_inner).write_all(&bytes);
    send(frame(SETTINGS, 0, 0, &[]))?;
    loop {
        let mut head = [0; 9];
        reader.read_exact(&mut head)?;
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        reader.read_exact(&mut payload)?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        match (head[3], head[4]) {
            (SETTINGS | PING, flags) if flags & ACK == 0 => send(frame(
                head[3],
                ACK,
                0,
                match head[3] {
                    PING => &payload,
                    _ => &[],
                },
            ))?,
            (HEADERS | DATA, flags) if flags & END_STREAM != 0 => {
                let writer = Arc::clone(&writer);
                thread::spawn(move || {
                    thread::sleep(H2_PAUSE);
                    // `:status: 200` is entry 8 of the static table (RFC 7541, appendix A).
                    let mut bytes = frame(HEADERS, END_HEADERS, stream, &[0x88]);
                    bytes.extend(frame(DATA, END_STREAM, stream, b"h2"));
                    // The peer may have gone.
                    let _ = writer.lock().unwrap_or_else(PoisonError::into_inner).write_all(&bytes);
                });
            }
            _ => {}
        }
    }
}
