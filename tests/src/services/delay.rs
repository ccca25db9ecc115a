//! A slow network: a proxy that passes on each piece of an answer after a pause. It adds waits to services that have no
//! blocking command.
//!
//! Invariant: the bytes come out as they went in, in order; when one side closes a connection, the proxy closes the
//! other.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

/// A proxy for a port on the loopback. Its threads end with the process.
#[derive(Debug)]
pub struct Delay {
    /// The port to connect to instead.
    pub port: u16,
}

impl Delay {
    /// Starts a proxy for `port`. Each answer takes `pause` longer.
    ///
    /// # Panics
    /// If it finds no free port.
    pub fn before(port: u16, pause: Duration) -> Delay {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let own = listener.local_addr().expect("a bound socket has an address").port();
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                let server = TcpStream::connect(("127.0.0.1", port)).expect("the service is up");
                let (to_server, to_client) = (server.try_clone(), client.try_clone());
                let (to_server, to_client) =
                    (to_server.expect("a descriptor"), to_client.expect("a descriptor"));
                std::thread::spawn(move || hand_on(client, to_server, Duration::ZERO));
                std::thread::spawn(move || hand_on(server, to_client, pause));
            }
        });
        Delay { port: own }
    }
}

/// Copies until either side ends.
fn hand_on(mut from: TcpStream, mut to: TcpStream, pause: Duration) {
    let mut piece = [0; 16 << 10];
    while let Ok(length @ 1..) = from.read(&mut piece) {
        std::thread::sleep(pause);
        if to.write_all(&piece[..length]).is_err() {
            break;
        }
    }
    // The connection may already be closed.
    let _ = to.shutdown(Shutdown::Write);
}
