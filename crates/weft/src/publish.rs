//! `weft publish`: a message for a topic of a running server, over an address for its operator.
//!
//! Must not know what becomes of it there. Invariant: success is reported only after the server has said so; no wait is
//! longer than [`PATIENCE`].

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use crate::config::{self, Config, ListenAddress};

/// How long the server may take for each step.
const PATIENCE: Duration = Duration::from_secs(10);
/// More is not sent: no server has more room (`topics_bytes`).
const MESSAGE_BYTES_MAX: u64 = 128 << 20;
/// An answer is one line.
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// What `weft publish` is told.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The topic
    topic: String,
    /// The message; - or nothing reads it from standard input
    message: Option<String>,
    /// The server: an admin address at which it listens [topics.publish_to, or the first of server.listen]
    #[arg(long, value_name = "ADDRESS")]
    to: Option<ListenAddress>,
    /// The message is bytes, and not a text
    #[arg(long)]
    binary: bool,
    /// Read settings from FILE instead of ./weft.toml
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Runs `weft publish`.
pub fn run(arguments: Arguments) -> ExitCode {
    match publish(arguments) {
        Ok(said) => {
            crate::print::print(&said);
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("weft: {why}");
            ExitCode::FAILURE
        }
    }
}

fn publish(arguments: Arguments) -> Result<String, String> {
    let config = config::load(arguments.config, std::env::vars_os(), Vec::new())
        .map_err(|mistakes| mistakes.join("\nweft: "))?;
    let address = arguments.to.or_else(|| address_of(&config)).ok_or(
        "no server is named: give --to the admin address at which it listens, as in --to admin+unix:/run/weft/admin.sock \
         (server.listen in weft.toml, or topics.publish_to, names it as well)",
    )?;
    let message = match arguments.message.as_deref() {
        None | Some("-") => read_all()?,
        Some(text) => text.as_bytes().to_vec(),
    };
    let token = config.topics.publish_token.as_ref().or(config.admin.token.as_ref());
    let request = request(&arguments.topic, &message, arguments.binary, token.map(String::as_str));
    let answer = ask(&address, &request).map_err(|error| explain(&address, &error))?;
    let (status, body) = parse(&answer).ok_or_else(|| format!("{address} has not answered in HTTP"))?;
    match status {
        200 => Ok(body),
        401 => Err(format!("{address} wants a token: set WEFT_ADMIN_TOKEN to its admin.token")),
        _ => Err(format!("{address} has refused it: {}", body.trim_end())),
    }
}

fn address_of(config: &Config) -> Option<ListenAddress> {
    let listens =
        || config.server.listen.iter().find(|address| address.is_admin() && !address.is_ephemeral());
    config.topics.publish_to.as_ref().or_else(listens).cloned()
}

fn read_all() -> Result<Vec<u8>, String> {
    let mut message = Vec::new();
    let read = io::stdin().lock().take(MESSAGE_BYTES_MAX + 1).read_to_end(&mut message);
    read.map_err(|error| format!("standard input cannot be read: {error}"))?;
    if message.len() as u64 > MESSAGE_BYTES_MAX {
        return Err(format!(
            "standard input has more than {MESSAGE_BYTES_MAX} bytes: no topic takes such a message"
        ));
    }
    Ok(message)
}

fn request(topic: &str, message: &[u8], is_binary: bool, token: Option<&str>) -> Vec<u8> {
    let coded: String = topic.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let kind = if is_binary { "application/octet-stream" } else { "text/plain; charset=utf-8" };
    let authorization = token.map_or(String::new(), |token| format!("Authorization: Bearer {token}\r\n"));
    let head = format!(
        "POST /publish?topic={coded} HTTP/1.1\r\nHost: weft\r\nConnection: close\r\nContent-Type: {kind}\r\n\
         Content-Length: {}\r\n{authorization}\r\n",
        message.len()
    );
    [head.as_bytes(), message].concat()
}

fn ask(address: &ListenAddress, request: &[u8]) -> io::Result<Vec<u8>> {
    match address {
        ListenAddress::Unix { path, .. } => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            exchange(stream, request)
        }
        tcp => {
            let address = tcp.tcp().ok_or(io::ErrorKind::InvalidInput)?;
            let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            exchange(stream, request)
        }
    }
}

fn exchange(mut stream: impl Read + Write, request: &[u8]) -> io::Result<Vec<u8>> {
    // A server that refuses a message may answer before it has all of it.
    let written = stream.write_all(request);
    let mut answer = Vec::new();
    match stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer) {
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
        _ => format!("cannot publish to {address}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_topic_is_named_in_the_request() {
        let text = String::from_utf8(request("a b/é", b"hi", false, Some("secret"))).unwrap();
        assert!(text.starts_with("POST /publish?topic=%61%20%62%2f%c3%a9 HTTP/1.1\r\n"), "{text}");
        assert!(text.contains("\r\nAuthorization: Bearer secret\r\n"), "{text}");
        assert!(text.ends_with("\r\nContent-Length: 2\r\nAuthorization: Bearer secret\r\n\r\nhi"), "{text}");
    }

    #[test]
    fn an_answer_has_a_status_and_a_body() {
        assert_eq!(parse(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n{}\n"), Some((200, "{}\n".to_owned())));
        assert_eq!(parse(b"SSH-2.0"), None);
    }
}
