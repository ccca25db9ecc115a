//! Classic mode as a client sees it: document roots, scripts that have PHP to themselves, static files.

mod commands;
mod computing;
mod confined;
mod delegation;
mod failures;
mod files;
mod flush;
mod fpm;
mod hostile;
mod instances;
mod isolated;
mod jit;
mod memory;
mod requests;
mod resident;
mod resident_edges;
mod resident_state;
mod responses;
mod routing;
mod rules;
mod settings;
mod slices;
mod slow;
mod sqlite;
mod steps;
mod uploads;

use weft_tests::{Response, Running};

/// Sends a request with these header lines; returns the response.
fn ask(weft: &Running, method: &str, target: &str, headers: &str) -> Response {
    let mut client = weft.connect();
    client.send(format!("{method} {target} HTTP/1.1\r\nHost: weft.test\r\n{headers}\r\n"));
    if method == "HEAD" { client.read_of_head() } else { client.read() }
}
