//! What an application sees: its Request and Response, PHP's own variables and functions, and nobody else's.

mod api;
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

/// The application of all these tests; its routes are in app.php.
fn server() -> Server {
    Server::new(include_str!("app.php").trim_start_matches("<?php"))
}
