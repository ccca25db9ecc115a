//! HTTP/1.1 (RFC 9110, RFC 9112) through the real binary, byte by byte.

mod beside;
mod bodies;
mod clients;
mod compressed;
mod connections;
mod early;
mod files;
mod forged;
mod listeners;
mod proxied;
mod proxies;
mod records;
mod refusals;
mod requests;
mod responses;
mod scanned;
mod sent;
mod splits;
mod tickets;
mod tls;
mod tls_files;
mod traces;

use weft_tests::Server;

/// The application of these tests; its routes are in app.php.
fn server() -> Server {
    Server::new(include_str!("app.php").trim_start_matches("<?php"))
}
