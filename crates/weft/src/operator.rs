//! The other end of an address for the operator: how commands ask a running server.
//!
//! Must not know what is asked. Invariants: no wait is longer than [`PATIENCE`]; no more is read than the caller allows.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::config::{Config, ListenAddress};

/// How long the server may take for each step.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The first address for the operator at which a server of this configuration listens.
pub fn address_of(config: &Config) -> Option<ListenAddress> {
    let listens = &config.server.listen;
    listens.iter().find(|address| address.is_admin() && !address.is_ephemeral()).cloned()
}

/// The address that a command asks: the one that it was given, or the one of its configuration.
///
/// # Errors
/// There is neither; what to do.
pub fn address_for(given: Option<ListenAddress>, config: &Config) -> Result<ListenAddress, String> {
    let address = given.or_else(|| address_of(config)).ok_or(
        "no server is named: give --at the admin address at which it listens, as in --at admin+unix:/run/weft/admin.sock \
         (server.listen in weft.toml names it as well)",
    )?;
    Ok(address)
}

/// The field that says who asks.
pub fn authorization(token: Option<&str>) -> String {
    token.map_or(String::new(), |token| format!("Authorization: Bearer {token}\r\n"))
}

/// Sends a request, and returns the status and the body of its answer, of which at most so many bytes are read.
///
/// # Errors
/// What is wrong, and what to do.
pub fn ask(address: &ListenAddress, request: &[u8], bytes_max: u64) -> Result<(u16, String), String> {
    let answer = exchange_at(address, request, bytes_max).map_err(|error| explain(address, &error))?;
    let (status, body) = parse(&answer).ok_or_else(|| format!("{address} has not answered in HTTP"))?;
    match status {
        401 => Err(format!("{address} wants a token: set WEFT_ADMIN_TOKEN to its admin.token")),
        _ => Ok((status, body)),
    }
}

fn exchange_at(address: &ListenAddress, request: &[u8], bytes_max: u64) -> io::Result<Vec<u8>> {
    match address {
        ListenAddress::Unix { path, .. } => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            exchange(stream, request, bytes_max)
        }
        tcp => {
            let address = tcp.tcp().ok_or(io::ErrorKind::InvalidInput)?;
            let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            exchange(stream, request, bytes_max)
        }
    }
}

fn exchange(mut stream: impl Read + Write, request: &[u8], bytes_max: u64) -> io::Result<Vec<u8>> {
    // A server that refuses a message may answer before it has all of it.
    let written = stream.write_all(request);
    let mut answer = Vec::new();
    match stream.take(bytes_max).read_to_end(&mut answer) {
        Err(error) if answer.is_empty() => written.and(Err(error)),
        _ if answer.is_empty() => written.map(|()| answer),
        _ => Ok(answer),
    }
}

/// The status and the body of an answer.
fn parse(answer: &[u8]) -> Option<(u16, String)> {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    Some((status, body.to_owned()))
}

fn explain(address: &ListenAddress, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => format!(
            "no server listens at {address}: is it running, and was it started with --listen {address}?"
        ),
        io::ErrorKind::PermissionDenied => format!(
            "you may not connect to {address}: its socket's permission bits say who may (--listen admin+unix:/path,mode=0660)"
        ),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("{address} has not answered within {} s", PATIENCE.as_secs())
        }
        _ => format!("cannot speak to {address}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_a_status_and_a_body() {
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n{}\n"), Some((200, "{}\n".to_owned())));
        assert_eq!(parse(b"SSH-2.0"), None);
    }
}
