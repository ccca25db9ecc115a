//! The coroutine API and Fibers of user code, in handlers of a server: many requests at once in one worker.
//!
//! Tests that need only a script are in tests/phpt/coroutine.

mod cleanup;
mod fibers;
mod processes;
mod rest;
mod scopes;

use weft_tests::{Client, Response, Running};

/// Sends one GET request on each of `count` connections, then reads the answers in the same order.
fn at_once(weft: &Running, count: usize, target: impl Fn(usize) -> String) -> Vec<Response> {
    let mut clients: Vec<Client> = (0..count).map(|_| weft.connect()).collect();
    for (i, client) in clients.iter_mut().enumerate() {
        client.get(&target(i));
    }
    clients.iter_mut().map(Client::read).collect()
}
