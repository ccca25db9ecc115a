//! A slow peer that speaks HTTP/1.1 and HTTP/2, lines over TCP, UDP and unix sockets, and FTP. Each answer is as late
//! as its request says.
//!
//! Must not know what is tested with it. Invariant: it accepts every connection and answers every request. Each
//! connection has its own thread, so an answer is late only because its request asked for that. The threads end with
//! the process.

mod ftp;
mod held;
mod http;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use held::Held;

/// The ports of its parts on the loopback.
#[derive(Debug)]
pub struct Upstream {
    /// HTTP/1.1, and HTTP/2 by prior knowledge. `/late/500/text` is answered with the text after 500 ms,
    /// `/slowly/500/text` in five parts within 500 ms. A request with a body is answered with the length of the body.
    pub http: u16,
    /// TCP. A line `500 text` is answered with the line `text` after 500 ms.
    pub line: u16,
    /// UDP, with the same words without the line end.
    pub udp: u16,
    /// FTP: a directory that everybody may use, in which the file `500-name` is sent after 500 ms.
    pub ftp: u16,
    directory: tempfile::TempDir,
    held: Arc<Held>,
}

impl Upstream {
    /// Starts all parts.
    ///
    /// # Panics
    /// If one of them finds no free port.
    pub fn start() -> Upstream {
        let directory =
            tempfile::Builder::new().prefix("weft-test-").tempdir().expect("a temporary directory");
        let unix = UnixListener::bind(directory.path().join("stream")).expect("a unix socket");
        thread::spawn(move || {
            while let Ok((peer, _)) = unix.accept() {
                let answers = peer.try_clone().expect("a descriptor");
                thread::spawn(move || lines(peer, answers));
            }
        });
        let udp = UdpSocket::bind(("127.0.0.1", 0)).expect("a port");
        let held = Arc::<Held>::default();
        let udp_port = udp.local_addr().expect("a bound socket has an address").port();
        thread::spawn(move || datagrams(&udp));
        Upstream {
            http: listen({
                let held = Arc::clone(&held);
                move |peer| http::serve(peer, &held)
            }),
            line: listen(|peer| {
                let answers = peer.try_clone().expect("a descriptor");
                lines(peer, answers);
            }),
            udp: udp_port,
            ftp: listen(ftp::serve),
            directory,
            held,
        }
    }

    /// The highest number of HTTP/1.1 requests that it has delayed at the same time.
    pub fn most_at_once(&self) -> usize {
        self.held.most()
    }

    /// The path of the unix stream socket that speaks in lines.
    pub fn stream(&self) -> PathBuf {
        self.directory.path().join("stream")
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}

/// Listens on a free port, with one thread for each connection.
fn listen(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("a bound socket has an address").port();
    thread::spawn(move || {
        while let Ok((peer, _)) = listener.accept() {
            let serve = serve.clone();
            // Small answers must not wait for one another.
            let _ = peer.set_nodelay(true);
            thread::spawn(move || serve(peer));
        }
    });
    port
}

/// Parses `500 text` into a pause and the text; any other line is answered at once.
fn asked(line: &str) -> (Duration, &str) {
    let (pause, text) = line.split_once(' ').unwrap_or(("0", line));
    (Duration::from_millis(pause.parse().unwrap_or(0)), text)
}

fn lines(from: impl Read, mut to: impl Write) {
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        let (pause, text) = asked(&line);
        thread::sleep(pause);
        if to.write_all(format!("{text}\n").as_bytes()).is_err() {
            return;
        }
    }
}

fn datagrams(socket: &UdpSocket) {
    let mut bytes = [0; 2048];
    while let Ok((length, from)) = socket.recv_from(&mut bytes) {
        let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
        let socket = socket.try_clone().expect("a descriptor");
        thread::spawn(move || {
            let (pause, text) = asked(&text);
            thread::sleep(pause);
            // The peer may have gone.
            let _ = socket.send_to(text.as_bytes(), from);
        });
    }
}
