//! A steady load that counts all responses.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;

use weft_tests::{Client, Running, until};

/// Clients that send requests continuously, on kept connections and on new ones.
pub struct Load {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
    clients: Vec<JoinHandle<Result<(), String>>>,
}

impl Load {
    /// Starts four clients.
    pub fn start(weft: &Running) -> Load {
        let stop = Arc::new(AtomicBool::new(false));
        let answered = Arc::new(AtomicU64::new(0));
        let clients = (0..4)
            .map(|index| {
                let (stop, answered, address) = (Arc::clone(&stop), Arc::clone(&answered), weft.address);
                std::thread::spawn(move || run(index, address, &stop, &answered))
            })
            .collect();
        let load = Load { stop, answered, clients };
        load.wait_for_more(20);
        load
    }

    /// Waits until this many more requests have been answered.
    pub fn wait_for_more(&self, count: u64) {
        let goal = self.answered.load(Relaxed) + count;
        until("more responses", || {
            let failed = self.clients.iter().any(JoinHandle::is_finished);
            (failed || self.answered.load(Relaxed) >= goal).then_some(())
        });
    }

    /// Ends the load; returns the number of responses.
    ///
    /// # Panics
    /// If one request was refused, lost or answered with another status than 200.
    pub fn finish(self) -> u64 {
        self.stop.store(true, Relaxed);
        for client in self.clients {
            client
                .join()
                .expect("a client does not panic")
                .unwrap_or_else(|lost| panic!("a request was lost: {lost}"));
        }
        self.answered.load(Relaxed)
    }
}

fn run(index: usize, address: SocketAddr, stop: &AtomicBool, answered: &AtomicU64) -> Result<(), String> {
    let mut kept: Option<Client> = None;
    let mut fresh = true;
    while !stop.load(Relaxed) {
        let mut client = match kept.take() {
            Some(client) => client,
            None => {
                fresh = true;
                Client::try_connect(address).map_err(|e| format!("connecting: {e}"))?
            }
        };
        let sent = client.try_send("GET /?us=300 HTTP/1.1\r\nHost: a\r\n\r\n");
        let response = sent.and_then(|()| client.try_read());
        let response = match response {
            Ok(response) => response,
            // A server may close an idle connection at the moment when a client uses it again (RFC 9112 section 9.3.1).
            // It then has answered nothing, and the client repeats the request on a new connection.
            Err(e) if !fresh && is_close(&e) => continue,
            Err(e) => return Err(format!("client {index}: {e}")),
        };
        if response.status != 200 || !response.text().starts_with("code ") {
            return Err(format!("client {index}: {} {}", response.status, response.text()));
        }
        answered.fetch_add(1, Relaxed);
        fresh = false;
        if index.is_multiple_of(2) && response.header("connection") != Some("close") {
            kept = Some(client);
        }
    }
    Ok(())
}

fn is_close(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}
