//! WebSocket services through the real binary: what PHP code sees, and what clients that know nothing of weft see.

mod bus;
mod carried;
mod clients;
mod compressed;
mod conversation;
mod crowds;
mod events;
mod lives;
mod presence;
mod publishers;
mod questions;
mod recent;
mod service;
mod states;
mod topics;

use weft_tests::Server;

/// The application of these tests.
fn server() -> Server {
    Server::new(include_str!("app.php").trim_start_matches("<?php"))
}
