//! HTTP/2 (RFC 9113) through the real binary: frame by frame, and by clients that know nothing of weft.

mod bodies;
mod clients;
mod downloads;
mod fates;
mod floods;
mod frames;
mod lives;
mod load;
mod modes;
mod priorities;
mod requests;

use weft_tests::Server;

/// The application of the tests of HTTP/1.1.
fn server() -> Server {
    Server::new(include_str!("../http/app.php").trim_start_matches("<?php"))
}
