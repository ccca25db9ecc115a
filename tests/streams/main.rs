//! TCP and UDP services through the real binary: what PHP code sees, and what clients see.

mod client;
mod conversation;
mod datagrams;
mod files;
mod framing;
mod lives;
mod proxied;
mod service;

use weft_tests::Server;

/// The services of the application of these tests, each at an address of its own.
const SERVICES: [&str; 9] =
    ["lines", "length", "short", "raw", "digits", "dropping", "patient", "dialogue", "dialogue-digits"];

/// The application of these tests.
fn server() -> Server {
    let server = Server::new(include_str!("app.php").trim_start_matches("<?php"));
    let server = server.with("--listen", "127.0.0.1:0");
    SERVICES.iter().fold(server, |server, name| server.with("--listen", &format!("tcp://127.0.0.1:0/{name}")))
}
