//! `weft publish`: a message for a topic of a running server, over an address for its operator.
//!
//! Must not know what becomes of it there. Invariant: success is reported only after the server has said so.

use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::config::{self, Config, ListenAddress};
use crate::operator;

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
    /// What the message tells the state of: services that keep the newest per key may skip older messages with this key
    #[arg(long, default_value = "", hide_default_value = true)]
    key: String,
    /// The message is bytes, and not a text
    #[arg(long)]
    binary: bool,
    /// Read settings from FILE instead of ./weft.toml
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Runs `weft publish`.
pub fn run(arguments: Arguments) -> ExitCode {
    match publish(&arguments) {
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

fn publish(arguments: &Arguments) -> Result<String, String> {
    let config = config::load(arguments.config.clone(), std::env::vars_os(), Vec::new())
        .map_err(|mistakes| mistakes.join("\nweft: "))?;
    let address = arguments.to.clone().or_else(|| address_of(&config)).ok_or(
        "no server is named: give --to the admin address at which it listens, as in --to admin+unix:/run/weft/admin.sock \
         (server.listen in weft.toml, or topics.publish_to, names it as well)",
    )?;
    let message = match arguments.message.as_deref() {
        None | Some("-") => read_all()?,
        Some(text) => text.as_bytes().to_vec(),
    };
    let token = config.topics.publish_token.as_ref().or(config.admin.token.as_ref());
    let request = request(arguments, &message, token.map(String::as_str));
    match operator::ask(&address, &request, ANSWER_BYTES_MAX)? {
        (200, body) => Ok(body),
        (_, body) => Err(format!("{address} has refused it: {}", body.trim_end())),
    }
}

fn address_of(config: &Config) -> Option<ListenAddress> {
    config.topics.publish_to.clone().or_else(|| operator::address_of(config))
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

fn request(arguments: &Arguments, message: &[u8], token: Option<&str>) -> Vec<u8> {
    let coded = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let (topic, key) = (coded(&arguments.topic), coded(&arguments.key));
    let kind = if arguments.binary { "application/octet-stream" } else { "text/plain; charset=utf-8" };
    let authorization = operator::authorization(token);
    let head = format!(
        "POST /publish?topic={topic}&key={key} HTTP/1.1\r\nHost: weft\r\nConnection: close\r\nContent-Type: {kind}\r\n\
         Content-Length: {}\r\n{authorization}\r\n",
        message.len()
    );
    [head.as_bytes(), message].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_topic_is_named_in_the_request() {
        let (topic, key) = ("a b/é".to_owned(), "k".to_owned());
        let arguments = Arguments { topic, key, message: None, to: None, binary: false, config: None };
        let text = String::from_utf8(request(&arguments, b"hi", Some("secret"))).unwrap();
        assert!(text.starts_with("POST /publish?topic=%61%20%62%2f%c3%a9&key=%6b HTTP/1.1\r\n"), "{text}");
        assert!(text.contains("\r\nAuthorization: Bearer secret\r\n"), "{text}");
        assert!(text.ends_with("\r\nContent-Length: 2\r\nAuthorization: Bearer secret\r\n\r\nhi"), "{text}");
    }
}
