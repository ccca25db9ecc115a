//! TLS record by record: pieces of them, several at once, keys that change, and the end of either side.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::pki_types::pem::PemObject;
use rustls::{AlertDescription, ClientConfig, ClientConnection, RootCertStore, SupportedProtocolVersion};
use weft_tests::services::Authority;
use weft_tests::{Running, Server};

const APP: &str = "return function ($r) {
    return match ($r->path()) {
        '/large' => str_repeat('weft', 500_000),
        default => strlen($r->body()) . ' ' . md5($r->body()) . ' ' . $_SERVER['SSL_SERVER_NAME'],
    };
};";

fn server() -> Running {
    let server = Server::new(APP);
    Authority::new(server.directory()).certify("a", "DNS:a.example", 9);
    let server = server.with("--listen", "https://127.0.0.1:0").with("--tls-certificates", "a.pem");
    server.with("--tls-keys", "a.key").start()
}

/// A client that hands its bytes to the socket in pieces of a size.
struct Client {
    session: ClientConnection,
    socket: TcpStream,
    piece: usize,
    /// What has been decrypted and belongs to no answer yet.
    seen: String,
}

impl Client {
    fn new(
        weft: &Running,
        version: &'static SupportedProtocolVersion,
        piece: usize,
        fragment: Option<usize>,
    ) -> Client {
        let mut roots = RootCertStore::empty();
        let pem = std::fs::read(weft.path("ca.pem")).expect("the authority has written it");
        roots.add(PemObject::from_pem_slice(&pem).expect("a certificate")).expect("an authority");
        let config = ClientConfig::builder_with_protocol_versions(&[version]);
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.max_fragment_size = fragment;
        let name = ServerName::try_from("a.example").expect("a name");
        let session = ClientConnection::new(Arc::new(config), name).expect("a client");
        let socket = TcpStream::connect(weft.address).expect("it listens");
        socket.set_nodelay(true).expect("TCP");
        socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        Client { session, socket, piece, seen: String::new() }
    }

    /// Sends all that the session has to say.
    fn push(&mut self) {
        let mut records = Vec::new();
        while self.session.wants_write() {
            self.session.write_tls(&mut records).expect("memory takes it");
        }
        for piece in records.chunks(self.piece) {
            self.socket.write_all(piece).expect("the server receives");
        }
    }

    fn say(&mut self, bytes: &[u8]) {
        for some in bytes.chunks(32 * 1024) {
            self.session.writer().write_all(some).expect("there is room");
            self.push();
        }
    }

    /// Receives more; `None` at the end of the socket.
    fn receive(&mut self) -> Option<Result<(), rustls::Error>> {
        let count = self.session.read_tls(&mut self.socket).expect("the server answers in time");
        (count > 0).then(|| self.session.process_new_packets().map(|_| ()))
    }

    /// The body of the next answer, which has a Content-Length.
    fn answer(&mut self) -> String {
        loop {
            if let Some(body) = self.seen_answer() {
                return body;
            }
            let mut buffer = [0; 16384];
            match self.session.reader().read(&mut buffer) {
                Ok(0) => panic!("it ends behind {}", self.seen),
                Ok(count) => self.seen += std::str::from_utf8(&buffer[..count]).expect("text"),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.push();
                    self.receive().expect("an answer").expect("good records");
                }
                Err(error) => panic!("{error} behind {}", self.seen),
            }
        }
    }

    /// Takes the body of an answer that is there whole.
    fn seen_answer(&mut self) -> Option<String> {
        let (head, rest) = self.seen.split_once("\r\n\r\n")?;
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "))?;
        let (body, next) = rest.split_at_checked(length.parse().ok()?)?;
        let (body, next) = (body.to_owned(), next.to_owned());
        self.seen = next;
        Some(body)
    }

    fn handshake(&mut self) {
        while self.session.is_handshaking() {
            self.push();
            if self.session.is_handshaking() {
                self.receive().expect("a handshake").expect("good records");
            }
        }
        self.push();
    }
}

fn post(body: &str) -> String {
    format!("POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn records_may_come_in_any_pieces() {
    let weft = server();
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        for piece in [1, 2, 5, 6, 21, 1000] {
            let mut client = Client::new(&weft, version, piece, None);
            client.handshake();
            client.say(post("weft").as_bytes());
            assert_eq!(client.answer(), "4 e153e1f0af33f12922976c5d0d2ee47b a.example", "pieces of {piece}");
        }
    }
}

#[test]
fn many_records_at_once_keep_their_order() {
    let weft = server();
    let body: String = (0..40_000u32).map(|number| format!("{number:05}")).collect();
    for fragment in [Some(64), Some(1000), None] {
        let mut client = Client::new(&weft, &rustls::version::TLS13, usize::MAX, fragment);
        client.handshake();
        // The requests lie behind one another, and the answers are not read before the last one is sent.
        let all = [post(&body), post(""), post("weft")].concat();
        client.say(all.as_bytes());
        let answers: Vec<String> = (0..3).map(|_| client.answer()).collect();
        let lengths: Vec<&str> = answers.iter().filter_map(|answer| answer.split(' ').next()).collect();
        assert_eq!(lengths, ["200000", "0", "4"], "records of {fragment:?}");
    }
}

#[test]
fn keys_may_change_at_any_time() {
    let weft = server();
    let mut client = Client::new(&weft, &rustls::version::TLS13, 3, None);
    client.handshake();
    for round in 0..5 {
        client.session.refresh_traffic_keys().expect("TLS 1.3 has it");
        client.say(post(&"w".repeat(round)).as_bytes());
        assert!(client.answer().starts_with(&format!("{round} ")));
    }
    client.session.refresh_traffic_keys().expect("TLS 1.3 has it");
    client.say(b"GET /large HTTP/1.1\r\nHost: a.example\r\n\r\n");
    assert_eq!(client.answer().len(), 2_000_000);
}

#[test]
fn each_side_may_end_before_the_other() {
    let weft = server();
    for by_alert in [true, false] {
        let mut client = Client::new(&weft, &rustls::version::TLS13, usize::MAX, None);
        client.handshake();
        client.say(post("weft").as_bytes());
        if by_alert {
            client.session.send_close_notify();
            client.push();
        }
        client.socket.shutdown(Shutdown::Write).expect("it is open");
        assert!(client.answer().starts_with("4 "));
        while let Some(result) = client.receive() {
            result.expect("good records");
        }
        let end = client.session.reader().read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(end, Ok(0), "the server says that it ends");
    }
}

#[test]
fn a_wrong_record_is_answered_by_an_alert() {
    let weft = server();
    let mut client = Client::new(&weft, &rustls::version::TLS13, usize::MAX, None);
    client.handshake();
    client.say(post("weft").as_bytes());
    client.answer();
    client.socket.write_all(&[23, 3, 3, 0, 20]).expect("it is open");
    client.socket.write_all(&[7; 20]).expect("it is open");
    let said = loop {
        match client.receive() {
            Some(Ok(())) => (),
            Some(Err(error)) => break error,
            None => panic!("it ends without an alert"),
        }
    };
    assert_eq!(said, rustls::Error::AlertReceived(AlertDescription::BadRecordMac));
}
