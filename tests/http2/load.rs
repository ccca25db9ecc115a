//! Clients that keep many streams open and write down what becomes of each.
//!
//! Must not know what the server goes through meanwhile. Invariant: each stream has one fate: answered, refused so that it
//! may be sent again, or lost with its connection; whatever else happens to one is a fault.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::read;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use weft_tests::{Running, until};

use crate::frames::*;

/// An application that writes down each request that runs, takes its time, and says who it is.
pub const APP: &str = "return function ($r) {
    $token = $r->query('t');
    file_put_contents('ran', \"$token\\n\", FILE_APPEND);
    usleep(random_int(0, 4000));
    return \"$token \" . getmypid();
};";

const CLIENTS: usize = 8;
/// Streams of one client at a time.
const STREAMS: usize = 25;
/// REFUSED_STREAM: it has not begun, and may be sent again (RFC 9113 8.7).
const REFUSED: u32 = 7;

/// What became of all streams, by what they asked with.
#[derive(Debug, Default)]
pub struct Fates {
    pub answered: Vec<String>,
    pub refused: Vec<String>,
    /// With the worker of the connection, if it had answered anything.
    pub lost: Vec<(String, Option<u32>)>,
    pub faults: Vec<String>,
    /// The certificates that were shown.
    pub certificates: BTreeSet<Vec<u8>>,
}

/// The clients.
pub struct Load {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<()>>,
}

struct Shared {
    address: SocketAddr,
    tls: Option<Arc<ClientConfig>>,
    stop: AtomicBool,
    answered: AtomicUsize,
    asked: AtomicUsize,
    fates: Mutex<Fates>,
}

impl Load {
    /// Starts them; with an authority's certificate they speak TLS.
    pub fn start(weft: &Running, authority: Option<&Path>) -> Load {
        let shared = Arc::new(Shared {
            address: weft.address,
            tls: authority.map(tls),
            stop: AtomicBool::new(false),
            answered: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
            fates: Mutex::default(),
        });
        let client = |_| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || {
                while !shared.stop.load(Relaxed) {
                    Conversation::begin(&shared).run();
                }
            })
        };
        let load = Load { clients: (0..CLIENTS).map(client).collect(), shared };
        load.wait_for_more(500);
        load
    }

    /// Waits until this many more streams were answered.
    pub fn wait_for_more(&self, count: usize) {
        let goal = self.shared.answered.load(Relaxed) + count;
        until("more answers", || {
            let failed = self.clients.iter().any(JoinHandle::is_finished);
            (failed || self.shared.answered.load(Relaxed) >= goal).then_some(())
        });
    }

    /// Opens no more streams, and waits for the fate of each.
    pub fn finish(self) -> Fates {
        self.shared.stop.store(true, Relaxed);
        self.clients.into_iter().for_each(|client| client.join().expect("a client does not panic"));
        let fates = std::mem::take(&mut *self.shared.fates.lock().expect("no holder panics"));
        let sum = fates.answered.len() + fates.refused.len() + fates.lost.len();
        assert!(fates.faults.is_empty(), "{:#?}", fates.faults);
        assert_eq!(sum, self.shared.asked.load(Relaxed), "each stream has one fate");
        fates
    }
}

fn tls(authority: &Path) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let pem = read(authority).expect("the authority has written it");
    roots.add(PemObject::from_pem_slice(&pem).expect("a certificate")).expect("an authority");
    let mut config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols.push(b"h2".to_vec());
    // A session that is resumed shows the certificate with which it began.
    config.resumption = Resumption::disabled();
    Arc::new(config)
}

/// One connection.
struct Conversation<'s> {
    shared: &'s Shared,
    peer: Peer,
    /// What the streams have asked with that have no fate yet.
    open: BTreeMap<u32, String>,
    bodies: BTreeMap<u32, String>,
    next: u32,
    /// The last stream that the server takes, once it has said so.
    last: Option<u32>,
    worker: Option<u32>,
}

impl<'s> Conversation<'s> {
    fn begin(shared: &'s Shared) -> Conversation<'s> {
        let socket = tcp(shared.address);
        let mut peer = match &shared.tls {
            None => Peer::over(socket),
            Some(config) => {
                let name = ServerName::try_from("a.example").expect("a name");
                let mut session = ClientConnection::new(Arc::clone(config), name).expect("a client");
                let mut socket = socket;
                // A worker that is killed now has not been asked anything.
                let _ = session.complete_io(&mut socket);
                let shown = session.peer_certificates().and_then(|chain| chain.first());
                shared.note(|fates| fates.certificates.extend(shown.map(|leaf| leaf.to_vec())));
                Peer::over(StreamOwned::new(session, socket))
            }
        };
        peer.send_or_ignore(&[begin(&[]), window_update(0, 1 << 30)].concat());
        let (open, bodies) = (BTreeMap::new(), BTreeMap::new());
        Conversation { shared, peer, open, bodies, next: 1, last: None, worker: None }
    }

    fn run(mut self) {
        loop {
            while self.last.is_none() && self.open.len() < STREAMS && !self.shared.stop.load(Relaxed) {
                self.ask();
            }
            if self.open.is_empty() {
                return;
            }
            match self.peer.try_next() {
                Ok(frame) => self.take(&frame),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return self.fault(&format!("without an end: {:?}", self.open));
                }
                Err(_) => return self.end(),
            }
        }
    }

    fn ask(&mut self) {
        let token = self.shared.asked.fetch_add(1, Relaxed).to_string();
        let request = get(self.next, &format!("/?t={token}"));
        self.open.insert(self.next, token);
        self.next += 2;
        // That the server has closed shows when its frames are read.
        self.peer.send_or_ignore(&request);
    }

    fn take(&mut self, frame: &Frame) {
        match frame.kind {
            PING if frame.flags & 1 == 0 => {
                self.peer.send_or_ignore(&crate::frames::frame(PING, 1, 0, &frame.payload));
            }
            GOAWAY => {
                let last = u32::from_be_bytes(frame.payload[..4].try_into().expect("four bytes"));
                self.last = Some(last);
                if frame.code() != NO_ERROR {
                    self.fault(&format!("ended with error {}", frame.code()));
                }
            }
            HEADERS | DATA | RST_STREAM => self.take_of_stream(frame),
            _ => (),
        }
    }

    fn take_of_stream(&mut self, frame: &Frame) {
        let stream = frame.stream;
        if !self.open.contains_key(&stream) {
            return self.fault(&format!("{frame:?} on a stream that has ended"));
        }
        match frame.kind {
            RST_STREAM if frame.code() == REFUSED && !self.bodies.contains_key(&stream) => {
                let token = self.open.remove(&stream).unwrap_or_default();
                self.shared.note(|fates| fates.refused.push(token));
            }
            HEADERS if frame.payload[0] == STATUS_200 && !self.bodies.contains_key(&stream) => {
                self.bodies.insert(stream, String::new());
            }
            DATA if self.bodies.contains_key(&stream) => {
                let more = String::from_utf8_lossy(&frame.payload);
                self.bodies.entry(stream).or_default().push_str(&more);
            }
            _ => return self.fault(&format!("{frame:?}")),
        }
        if frame.ends() {
            let token = self.open.remove(&stream).unwrap_or_default();
            let body = self.bodies.remove(&stream).unwrap_or_default();
            match body.strip_prefix(&format!("{token} ")).and_then(|pid| pid.parse().ok()) {
                None => return self.fault(&format!("{token} was answered with {body:?}")),
                worker if self.worker.is_some() && self.worker != worker => {
                    return self.fault(&format!("{worker:?} answered on a connection of {:?}", self.worker));
                }
                worker => self.worker = worker,
            }
            self.shared.answered.fetch_add(1, Relaxed);
            self.shared.note(|fates| fates.answered.push(token));
        }
    }

    /// The server has closed.
    fn end(&mut self) {
        let (open, last, worker) = (std::mem::take(&mut self.open), self.last, self.worker);
        self.shared.note(|fates| {
            for (stream, token) in open {
                match last {
                    Some(last) if stream > last => fates.refused.push(token),
                    _ => fates.lost.push((token, worker)),
                }
            }
        });
    }

    fn fault(&self, what: &str) {
        self.shared.note(|fates| fates.faults.push(what.to_owned()));
    }
}

impl Shared {
    fn note(&self, write: impl FnOnce(&mut Fates)) {
        write(&mut self.fates.lock().expect("no holder panics"));
    }
}
