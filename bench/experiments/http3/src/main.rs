//! HTTP/3 by quinn and h3, on one thread each: a server that answers hello, and the clients that ask it.
//!
//! An experiment for docs/internals/http3.md: what a request, a handshake and an idle connection cost. `run` starts both.
//! Usage: http3-experiment serve PORT CERTIFICATE KEY | hello PORT CONNECTIONS STREAMS SECONDS | handshakes PORT SECONDS |
//! held PORT COUNT
//! Clients print how many answers they got. `held` keeps its connections until its input ends.

mod client;
mod server;

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What a connection speaks (RFC 9114 section 3.1).
pub const PROTOCOL: &[u8] = b"h3";

/// The same for both ends: connections may be silent for longer than a run takes.
pub fn transport() -> quinn::TransportConfig {
    let mut transport = quinn::TransportConfig::default();
    transport.max_idle_timeout(Some(quinn::IdleTimeout::from(quinn::VarInt::from_u32(600_000))));
    transport
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match words[..] {
            ["serve", port, certificate, key] => server::serve(port.parse()?, certificate, key).await,
            ["hello", port, connections, streams, seconds] => {
                client::hello(port.parse()?, connections.parse()?, streams.parse()?, seconds.parse()?).await
            }
            ["handshakes", port, seconds] => client::handshakes(port.parse()?, seconds.parse()?).await,
            ["held", port, count] => client::held(port.parse()?, count.parse()?).await,
            _ => Err("see the usage in src/main.rs".into()),
        }
    })
}
