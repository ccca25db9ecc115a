//! Waits of one worker, seen from outside: what its threads do, what blocks it, and what interrupts it.
//!
//! Must not know how a call is hooked. Waits for peers are in `tests/clients`; semantics that `php` shares are in
//! `tests/phpt`.

mod blocked;
mod children;
mod compiling;
mod doctor;
mod environment;
mod libraries;
mod offloaded;
mod sessions;
mod signals;

use rustix::process::Signal;
use weft_tests::{Client, Running};

/// Sends requests at once, each on a new connection; returns the answers in the same order.
fn at_once(running: &Running, targets: &[String]) -> Vec<String> {
    let mut clients: Vec<Client> = targets.iter().map(|_| running.connect()).collect();
    for (client, target) in clients.iter_mut().zip(targets) {
        client.get(target);
    }
    clients.iter_mut().map(|client| client.read().text().to_string()).collect()
}

/// Stops the server; returns the line with that beginning from the worker's report about its calls, or nothing.
fn last_words(running: &mut Running, line: &str) -> String {
    running.signal(Signal::TERM);
    running.wait_for_log(" stopped\n");
    let log = running.log();
    let found = log.lines().find_map(|text| text.split_once(line));
    found.map_or_else(String::new, |(_, rest)| rest.to_string())
}
