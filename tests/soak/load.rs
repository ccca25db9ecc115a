//! One client of the soak: requests random routes and checks each answer to the last byte.
//!
//! Must not know how the server runs. Invariant: every request sent is counted once, as answered or as lost.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use weft_tests::client::Client;
use weft_tests::response::Response;

use crate::routes::{Expected, Route};

/// What all clients have counted.
#[derive(Default)]
pub struct Tally {
    /// Requests answered as expected.
    pub answered: AtomicU64,
    /// Clients that left before the answer.
    pub left: AtomicU64,
    /// Connections that the server closed between two requests; the request was sent again on a new one.
    pub reconnected: AtomicU64,
    /// Answers that were wrong or missing.
    pub wrong: AtomicU64,
}

/// A reproducible pseudo-random generator (Knuth's MMIX).
pub struct Random(pub u64);

impl Random {
    /// The next number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Sends requests until told to stop.
pub fn run(address: SocketAddr, seed: u64, routes: &[Route], tally: &Tally, stop: &AtomicBool) {
    let mut random = Random(seed);
    let mut client = Client::connect(address);
    let total: u64 = routes.iter().map(|route| route.1).sum();
    for number in 0u64.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let mut at = random.below(total);
        let route = routes.iter().find(|route| {
            let here = at < route.1;
            at = at.wrapping_sub(route.1);
            here
        });
        let &(path, _, expected) = route.expect("the weights add up to the total");
        let token = format!("{seed:04x}{number:08x}");
        if expected == Expected::Left {
            client.send(format!("GET {path}?token={token} HTTP/1.1\r\nHost: soak\r\n\r\n"));
            tally.left.fetch_add(1, Ordering::Relaxed);
            client = Client::connect(address);
            continue;
        }
        match ask(&mut client, address, &format!("{path}?token={token}"), tally) {
            Ok(response) if is_right(&response, expected, &token) => {
                tally.answered.fetch_add(1, Ordering::Relaxed);
                if response.header("connection") == Some("close") {
                    client = Client::connect(address);
                }
            }
            other => {
                tally.wrong.fetch_add(1, Ordering::Relaxed);
                eprintln!("{path}?token={token}: {}", describe(&other));
                client = Client::connect(address);
            }
        }
    }
}

fn is_right(response: &Response, expected: Expected, token: &str) -> bool {
    match expected {
        Expected::Token => response.status == 200 && response.body == token.as_bytes(),
        Expected::Failure | Expected::Left => response.status == 500,
    }
}

fn describe(result: &std::io::Result<Response>) -> String {
    match result {
        Ok(response) => format!("{}: {}", response.status, String::from_utf8_lossy(&response.body)),
        Err(error) => error.to_string(),
    }
}

/// Sends a request. If the server has closed the connection between two requests (RFC 9112 section 9.3.1), that is not
/// a loss: the request is sent again once, on a new connection.
fn ask(client: &mut Client, address: SocketAddr, target: &str, tally: &Tally) -> std::io::Result<Response> {
    let request = format!("GET {target} HTTP/1.1\r\nHost: soak\r\n\r\n");
    let first = client.try_send(&request).and_then(|()| client.try_read());
    match first {
        Err(error) if is_closed(&error) => {
            tally.reconnected.fetch_add(1, Ordering::Relaxed);
            *client = Client::try_connect(address)?;
            client.try_send(&request)?;
            client.try_read()
        }
        other => other,
    }
}

fn is_closed(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}
