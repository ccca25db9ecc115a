//! A line to a server that can be cut: connections end, and new ones are not accepted until it is mended.
//!
//! Must not know what is said over it. Invariant: while the line is cut, nothing passes.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The line. Its threads end with the process.
#[derive(Debug)]
pub struct Line {
    /// Where it begins.
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    is_cut: bool,
    streams: Vec<TcpStream>,
}

impl Line {
    /// A line to this server.
    ///
    /// # Panics
    /// If there is no port.
    pub fn to(server: SocketAddr) -> Line {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let line = Line {
            address: listener.local_addr().expect("a bound socket has an address"),
            state: Arc::default(),
        };
        let state = Arc::clone(&line.state);
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                let mut state = state.lock().expect("no holder panics");
                if state.is_cut {
                    continue;
                }
                // A server that has ended is like a line that is cut.
                let Ok(server) = TcpStream::connect(server) else { continue };
                let copy = |stream: &TcpStream| stream.try_clone().expect("a descriptor");
                for (from, to) in [(copy(&client), copy(&server)), (copy(&server), copy(&client))] {
                    std::thread::spawn(move || hand_on(from, to));
                }
                state.streams.extend([client, server]);
            }
        });
        line
    }

    /// Cuts it.
    ///
    /// # Panics
    /// Never: no holder of the lock panics.
    pub fn cut(&self) {
        let mut state = self.state.lock().expect("no holder panics");
        state.is_cut = true;
        for stream in state.streams.drain(..) {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// New connections are made again.
    ///
    /// # Panics
    /// Never: no holder of the lock panics.
    pub fn mend(&self) {
        self.state.lock().expect("no holder panics").is_cut = false;
    }
}

/// Copies until either side ends.
fn hand_on(mut from: TcpStream, mut to: TcpStream) {
    let mut piece = [0; 16 << 10];
    while let Ok(length @ 1..) = from.read(&mut piece) {
        if to.write_all(&piece[..length]).is_err() {
            break;
        }
    }
    // The connection may already be closed.
    let _ = to.shutdown(Shutdown::Write);
}
