//! Thousands of WebSocket clients in one thread, which count what they hear. Each comes back when its connection ends, and
//! asks for what it has missed.
//!
//! The server is tests/websocket/room.php. Must not know why connections end. Invariant: a client that hears a message
//! twice, out of order, or is told that it is too late, fails the test; in the end all have heard the same.

mod clients;
mod shared;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

use clients::Client;
pub use shared::LEFT;
use shared::{END, Shared};

use crate::client::Client as HttpClient;
use crate::wait::until;

/// How far publishers are ahead of what is heard, on an average: a client that comes back is not to be too late.
const AHEAD: usize = 100;
/// The clients.
#[derive(Debug)]
pub struct Crowd {
    clients: usize,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Vec<Client>>>,
}

impl Crowd {
    /// So many clients, all of which have subscribed to the topic `all`. They are at these addresses in turn; one whose
    /// connection has ended goes to the next one.
    ///
    /// # Panics
    /// If one is not accepted.
    pub fn gather(addresses: &[SocketAddr], clients: usize) -> Crowd {
        let (shared, addresses) = (Arc::<Shared>::default(), addresses.to_vec());
        let thread = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || clients::run(addresses, clients, &shared)
        });
        let crowd = Crowd { clients, shared, thread: Some(thread) };
        crowd.until_all_are_there();
        crowd
    }

    fn until(&self, what: &str, mut condition: impl FnMut(&Shared) -> bool) {
        until(what, || {
            let failure = self.shared.failure.lock().expect("no holder panics").clone();
            assert!(failure.is_none(), "{}", failure.unwrap_or_default());
            condition(&self.shared).then_some(())
        });
    }

    /// From now on clients leave, with a close frame or without a word, come back at once, or read nothing for a while; or
    /// they do no longer.
    pub fn set_restless(&self, is_restless: bool) {
        self.shared.is_restless.store(is_restless, Relaxed);
    }

    fn has_failed(&self) -> bool {
        self.shared.failure.lock().expect("no holder panics").is_some()
    }

    /// Waits until all have subscribed, and are connected.
    pub fn until_all_are_there(&self) {
        self.until("all clients to be there", |shared| shared.live.load(Relaxed) == self.clients);
    }

    /// Waits until so many further messages have been heard by all, on an average.
    pub fn until_heard(&self, more: usize) {
        let enough = self.shared.heard.load(Relaxed) + more * self.clients;
        self.until("more to be heard", |shared| shared.heard.load(Relaxed) >= enough);
    }

    /// Waits until the clients at some of the addresses have heard something further: a part of what all would hear.
    pub fn until_somebody_has_heard(&self, messages: usize) {
        let enough = self.shared.heard.load(Relaxed) + messages;
        self.until("more to be heard", |shared| shared.heard.load(Relaxed) >= enough);
    }

    /// How connections have ended so far: codes of close frames, 0 for none, [`LEFT`]; and how many.
    ///
    /// # Panics
    /// Never: no holder of the lock panics.
    pub fn ended(&self) -> BTreeMap<u16, usize> {
        self.shared.ended.lock().expect("no holder panics").clone()
    }

    /// Publishes numbers from 0 on, five with each request, until it is told to stop. Returns those of requests that were
    /// answered; whether the others are published is not known.
    pub fn publish(&self, server: SocketAddr, by: char, stop: &AtomicBool) -> Vec<u32> {
        let mut sure = Vec::new();
        for from in (0..).step_by(5) {
            // A failure is told by those who wait for what all hear.
            let is_over = || stop.load(Relaxed) || self.has_failed();
            until("clients that keep up", || {
                let heard = self.shared.heard.load(Relaxed) / self.clients;
                (is_over() || self.shared.published.load(Relaxed) <= heard + AHEAD).then_some(())
            });
            if is_over() {
                break;
            }
            if say(server, by, from, 5) {
                sure.extend(from..from + 5);
                self.shared.published.fetch_add(5, Relaxed);
            }
        }
        sure
    }

    /// Says at each of these servers that nothing follows, waits until all have heard that, and compares what they have
    /// heard. Returns it: numbers by their publishers.
    ///
    /// # Panics
    /// If two have not heard the same, or one heard something twice or out of order.
    pub fn end(mut self, servers: &[SocketAddr]) -> BTreeMap<char, Vec<u32>> {
        self.until_all_are_there();
        for (by, server) in ('A'..=END).rev().zip(servers) {
            until("the end is published", || say(*server, by, 0, 1).then_some(()));
        }
        let all = servers.len() * self.clients;
        self.until("all to hear the end", |shared| shared.farewells.load(Relaxed) >= all);
        self.shared.ends.store(true, Relaxed);
        let clients = self.thread.take().expect("it is taken once").join().expect("it does not panic");
        for (number, client) in clients.iter().enumerate() {
            for (by, track) in &clients[0].tracks {
                assert_eq!(client.tracks.get(by), Some(track), "client {number} of {}", char::from(*by));
            }
        }
        clients[0].numbers.iter().map(|(by, numbers)| (char::from(*by), numbers.clone())).collect()
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.shared.ends.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // What it failed with was said.
            let _ = thread.join();
        }
    }
}

/// Publishes numbers; whether that is confirmed.
fn say(server: SocketAddr, by: char, from: u32, count: u32) -> bool {
    let Ok(mut client) = HttpClient::try_connect(server) else { return false };
    let target = format!("/publish?topic=all&by={by}&from={from}&count={count}");
    client.try_send(format!("GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")).is_ok()
        && client.try_read().is_ok_and(|answer| answer.status == 200)
}
