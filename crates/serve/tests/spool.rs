//! Responses to slow clients: the excess over memory waits in a temporary file, and the writer does not wait.

mod common;

use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;

use common::*;
use weft_rt::Runtime;
use weft_serve::{Error, RequestKey, Server, ServerLimits, Waited};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
/// More than the kernel buffers between a server and a client that does not read.
const LARGE: usize = 20_000_000;
const MIB: u64 = 1 << 20;

/// Bytes that show their position.
fn pattern(length: usize) -> Arc<Vec<u8>> {
    Arc::new((0..length as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect())
}

/// A string, or depending on the target's first letter a stream: of a known length, or in chunks.
fn serve(body: &Arc<Vec<u8>>) -> impl Fn(&'static Server, RequestKey) + Send + Sync + 'static + use<> {
    let body = Arc::clone(body);
    move |server, key| {
        let kind = server.with_request(key, |request| request.path().get(1).copied()).unwrap();
        // Some clients disconnect, which gives Gone.
        let sent = match kind {
            Some(b'l') => stream(server, key, &body, Some(body.len() as u64)),
            Some(b'c') => stream(server, key, &body, None),
            Some(b'p') => {
                server.start(key, 200, &[], Some(body.len() as u64)).unwrap();
                server.keep_pace(key);
                server.write_all(key, &body).and_then(|()| server.finish(key, &[]))
            }
            _ => server.respond(key, 200, &[], &body),
        };
        assert!(matches!(sent, Ok(()) | Err(Error::Gone)), "{sent:?}");
        if sent.is_err() {
            server.abort(key);
        }
    }
}

fn stream(server: &Server, key: RequestKey, body: &[u8], length: Option<u64>) -> Result<(), Error> {
    server.start(key, 200, &[], length)?;
    for piece in body.chunks(7_777) {
        server.write_all(key, piece)?;
    }
    server.finish(key, &[])
}

fn get(server: &TestServer, target: &str) -> TcpStream {
    let mut client = server.connect();
    write!(client, "GET {target} HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    client
}

/// Reads a chunked body.
fn chunked(client: &mut TcpStream) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let (mut line, mut byte) = (Vec::new(), [0]);
        while !line.ends_with(b"\r\n") {
            client.read_exact(&mut byte).unwrap();
            line.push(byte[0]);
        }
        let length = usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim_end(), 16).unwrap();
        let mut piece = vec![0; length + 2];
        client.read_exact(&mut piece).unwrap();
        if length == 0 {
            return body;
        }
        body.extend_from_slice(&piece[..length]);
    }
}

#[test]
fn a_writer_is_done_before_its_client_has_read_anything() {
    let body = pattern(LARGE);
    let server = TestServer::spooling(ServerLimits::default(), serve(&body));
    let mut clients: Vec<_> = ["/string", "/length", "/chunks"].map(|target| get(&server, target)).into();
    server.until(|server| server.stats.requests.get() == 3 && server.in_flight() == 0);
    assert!(server.run(Server::spooled_bytes) > 20 * MIB, "what the kernel does not hold is in files");
    for client in &mut clients {
        // The next request waits behind the response; its answer comes after it.
        client.write_all(GET.as_bytes()).unwrap();
    }
    for client in &mut clients[..2] {
        assert!(response(client).1 == *body);
    }
    head(&mut clients[2]);
    assert!(chunked(&mut clients[2]) == *body);
    for client in &mut clients {
        assert!(response(client).1 == *body);
    }
    drop(clients);
    server.until(|server| server.spooled_bytes() == 0 && server.connections() == 0);
    assert!(server.warnings.lock().unwrap().is_empty());
}

#[test]
fn streams_keep_their_clients_pace_unless_the_handler_wants_them_spooled() {
    let body = pattern(LARGE);
    let server = TestServer::start(Answer::OnCoroutine, ServerLimits::default(), serve(&body));
    let paced = TestServer::spooling(ServerLimits::default(), serve(&body));
    for (server, target) in [(&server, "/length"), (&paced, "/pace")] {
        let mut client = get(server, target);
        head(&mut client);
        server.until(|server| server.in_flight() == 1 && Runtime::get().unwrap().stats.parks.get() > 0);
        assert_eq!(server.run(Server::spooled_bytes), 0);
        let mut all = vec![0; body.len()];
        client.read_exact(&mut all).unwrap();
        assert!(all == *body);
        server.until(|server| server.in_flight() == 0);
    }
}

#[test]
fn beyond_the_bound_writers_wait_for_their_clients_or_for_room() {
    let body = pattern(LARGE);
    // Half is for responses, and one response may have an eighth.
    let limits = ServerLimits { spool_bytes_max: 64 * MIB, ..ServerLimits::default() };
    let server = TestServer::spooling(limits, serve(&body));
    let mut clients: Vec<_> = (0..6).map(|_| get(&server, "/")).collect();
    server.until(|server| server.spooled_bytes() > 30 * MIB);
    assert!(server.run(Server::in_flight) > 0);
    assert!(server.run(Server::spooled_bytes) <= 32 * MIB);
    for client in &mut clients {
        assert!(response(client).1 == *body);
    }
    server.until(|server| server.spooled_bytes() == 0 && server.in_flight() == 0);
}

#[test]
fn room_that_one_client_leaves_is_anothers() {
    // One response may have 16 MiB, all together 64.
    let limits = ServerLimits { spool_bytes_max: 128 * MIB, ..ServerLimits::default() };
    let server = TestServer::spooling(limits, serve(&pattern(16_000_000)));
    let mut clients = Vec::new();
    // Until no more fit: then one waits whose client reads nothing.
    while server.run(Server::in_flight) == 0 {
        let before = server.run(|server| server.stats.requests.get());
        clients.push(get(&server, "/"));
        server.until(move |server| server.stats.requests.get() > before);
        let parks = || server.run(|_| Runtime::get().unwrap().stats.parks.get());
        let mut seen = (parks(), server.run(Server::spooled_bytes));
        loop {
            let now = (parks(), server.run(Server::spooled_bytes));
            if now == seen {
                break;
            }
            seen = now;
        }
    }
    let waiting = clients.pop().unwrap();
    clients.drain(..).for_each(reset);
    server.until(|server| server.in_flight() == 0);
    assert!(server.run(Server::spooled_bytes) > 0, "it is in a file now, unread");
    drop(waiting);
    let warnings = server.warnings.lock().unwrap().join("\n");
    assert!(warnings.contains("temporary files have reached spool_bytes_max (134217728 bytes"), "{warnings}");
}

#[test]
fn without_a_directory_writers_wait_and_the_operator_is_told_once() {
    let body = pattern(LARGE);
    let limits = ServerLimits { spool_directory: PathBuf::from("/nonexistent"), ..ServerLimits::default() };
    let server = TestServer::spooling(limits, serve(&body));
    let mut clients: Vec<_> = (0..2).map(|_| get(&server, "/")).collect();
    server.until(|server| server.in_flight() == 2);
    for client in &mut clients {
        assert!(response(client).1 == *body);
    }
    server.until(|server| server.in_flight() == 0);
    let warnings = server.warnings.lock().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("a temporary file in /nonexistent cannot be written: "), "{warnings:?}");
    assert!(warnings[0].contains("TMPDIR"), "{warnings:?}");
}

#[test]
fn bodies_that_exceed_the_bound_fail_with_507() {
    let limits = ServerLimits { body_memory_bytes_max: 4, spool_bytes_max: 16, ..ServerLimits::default() };
    let server = TestServer::start(Answer::OnCoroutine, limits, move |server, key| {
        assert_eq!(server.wait_whole_body(key, None), Waited::Ready);
        match server.body_failed(key) {
            Some(status) => server.respond_error(key, status, None).unwrap(),
            None => server.respond(key, 200, &[], server.spooled_bytes().to_string().as_bytes()).unwrap(),
        }
    });
    let post =
        |length: usize| format!("POST / HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{}", "x".repeat(length));
    assert!(server.ask(post(16)).ends_with("\r\n\r\n16"));
    assert!(server.ask(post(17)).starts_with("HTTP/1.1 507 "));
    server.until(|server| server.spooled_bytes() == 0);
    assert_eq!(server.warnings.lock().unwrap().len(), 1);
}

#[test]
fn a_client_that_goes_takes_its_file_along() {
    let body = pattern(LARGE);
    let server = TestServer::spooling(ServerLimits::default(), serve(&body));
    let client = get(&server, "/chunks");
    server.until(|server| server.stats.requests.get() == 1 && server.in_flight() == 0);
    assert!(server.run(Server::spooled_bytes) > 0);
    reset(client);
    server.until(|server| server.spooled_bytes() == 0 && server.connections() == 0);
}

#[test]
fn all_responses_together_have_little_memory() {
    let body = pattern(LARGE);
    let limits = ServerLimits { waiting_bytes_max: 0, ..ServerLimits::default() };
    let server = TestServer::spooling(limits, serve(&body));
    let targets = ["/string", "/length", "/chunks", "/pace"];
    let mut clients: Vec<_> = targets.map(|target| get(&server, target)).into();
    server.until(|server| server.stats.requests.get() == 4 && server.in_flight() == 1);
    server.until(|server| server.waiting_bytes() > 0);
    assert!(server.run(Server::waiting_bytes) <= 4 * 16 * 1024);
    for (client, target) in clients.iter_mut().zip(targets) {
        let body_sent = if target == "/chunks" {
            head(client);
            chunked(client)
        } else {
            response(client).1
        };
        assert!(body_sent == *body, "{target}");
    }
    server.until(|server| server.in_flight() == 0 && server.spooled_bytes() == 0);
    assert_eq!(server.run(Server::waiting_bytes), 0);
    drop(clients);
    // The counted bytes are released with their connection.
    let client = get(&server, "/pace");
    server.until(|server| server.waiting_bytes() > 0);
    reset(client);
    server.until(|server| server.connections() == 0 && server.waiting_bytes() == 0);
}
