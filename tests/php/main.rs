//! What an application sees: its own Request and Response, and PHP's variables and functions, never another
//! request's.

mod api;
mod events;
mod forms;
mod guard;
mod identity;
mod interleaved;
mod isolation;
mod leftover;
mod persistent;
mod psr;
mod sapi;
mod sessions;

use weft_tests::Server;

/// The application of these tests; its routes are in app.php.
fn server() -> Server {
    Server::new(include_str!("app.php").trim_start_matches("<?php"))
}
