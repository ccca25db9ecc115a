//! The PROXY protocol: who the client is, however the header arrives, and who is not believed.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::thread;

use weft_tests::services::Authority;
use weft_tests::{Client, Running, Server, command, until};

/// REMOTE_ADDR and REMOTE_PORT, which are also the request's.
const APP: &str = "return fn ($r) => $r->client() === $_SERVER['REMOTE_ADDR']
    ? \"{$_SERVER['REMOTE_ADDR']} {$_SERVER['REMOTE_PORT']} {$_SERVER['REQUEST_SCHEME']} {$_SERVER['SERVER_PROTOCOL']}\" : 'not the same';";

const LINE: &[u8] = b"PROXY TCP4 203.0.113.9 192.0.2.1 4711 80\r\n";
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// A header of version 2 for 203.0.113.9:4711, with a field behind the addresses.
fn binary() -> Vec<u8> {
    let fixed = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x10";
    [&fixed[..], &[203, 0, 113, 9, 192, 0, 2, 1, 0x12, 0x67, 0, 80], &[4, 0, 1, 7]].concat()
}

fn server() -> Server {
    Server::new(APP)
        .with("--listen", "127.0.0.1:0")
        .with("--proxy-protocol", "127.0.0.1:0")
        .with("--trust-proxies", "127.0.0.0/8")
}

fn say(weft: &Running, header: &[u8]) -> String {
    weft.say([header, REQUEST].concat()).text()
}

/// Whether the server closes the connection without an answer.
fn is_closed(client: &mut Client) -> bool {
    client.read_to_end().is_empty()
}

#[test]
fn the_header_names_the_client() {
    let weft = server().with("--access-log", "-").start();
    let v6 = [
        &b"\r\n\r\n\0\r\nQUIT\n\x21\x21\0\x24"[..],
        &[0x20, 1, 0xd, 0xb8],
        &[0; 11],
        &[9],
        &[0; 16],
        &[1, 0, 0, 80],
    ];
    for (header, expected) in [
        (LINE.to_vec(), "203.0.113.9 4711 http HTTP/1.1"),
        (binary(), "203.0.113.9 4711 http HTTP/1.1"),
        (b"PROXY TCP6 2001:db8::9 ::1 256 80\r\n".to_vec(), "2001:db8::9 256 http HTTP/1.1"),
        (v6.concat(), "2001:db8::9 256 http HTTP/1.1"),
    ] {
        assert_eq!(say(&weft, &header), expected, "{}", header.escape_ascii());
    }
    for local in [&b"PROXY UNKNOWN\r\n"[..], b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"] {
        assert!(say(&weft, local).starts_with("127.0.0.1 "), "the proxy speaks for itself");
    }
    let mut client = weft.connect();
    client.send([LINE, REQUEST, REQUEST].concat());
    for _ in 0..2 {
        assert!(client.read().text().starts_with("203.0.113.9 4711"), "on all requests of the connection");
    }
    client.send(REQUEST);
    assert!(client.read().text().starts_with("203.0.113.9 4711"), "and later");
    until("the access log", || (weft.log().matches("203.0.113.9 - - [").count() >= 5).then_some(()));
    let forged = [LINE, b"GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n"].concat();
    assert!(weft.say(forged).text().starts_with("203.0.113.9 "), "the client is not one of the proxies");
}

#[test]
fn every_split_of_the_header_means_the_same() {
    let weft = server().start();
    for header in [LINE.to_vec(), binary()] {
        let whole = [&header[..], REQUEST].concat();
        for at in 1..header.len() + 2 {
            let mut client = weft.connect();
            client.send(&whole[..at]);
            // Another client's answer proves that the server has seen only the first part.
            assert_eq!(weft.say([LINE, REQUEST].concat()).status, 200);
            client.send(&whole[at..]);
            assert_eq!(client.read().text(), "203.0.113.9 4711 http HTTP/1.1", "split at {at}");
        }
        let mut client = weft.connect();
        whole.iter().for_each(|byte| client.send([*byte]));
        assert_eq!(client.read().text(), "203.0.113.9 4711 http HTTP/1.1");
    }
}

#[test]
fn what_is_no_header_is_closed_and_logged() {
    let mut weft = server().start();
    for wrong in [
        &b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..],
        b"\x16\x03\x01\x02\0\x01\0",
        b"PROXY TCP4 203.0.113.9 192.0.2.1 4711\r\n",
        b"PROXY TCP4 203.0.113.9 192.0.2.1 99999 80\r\n",
        b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\x0c",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff",
        &[b'P'; 200],
    ] {
        let mut client = weft.connect();
        client.send(wrong);
        assert!(is_closed(&mut client), "{}", wrong.escape_ascii());
    }
    weft.wait_for_log(
        "a connection to an address of server.proxy_protocol was closed: it does not begin with a header",
    );
    let mut client = weft.connect();
    client.send(&LINE[..20]);
    client.shutdown_write();
    assert!(is_closed(&mut client), "it ends in its header");
    assert_eq!(say(&weft, LINE), "203.0.113.9 4711 http HTTP/1.1");
}

#[test]
fn only_proxies_may_connect() {
    let mut weft = Server::new(APP)
        .with("--listen", "127.0.0.1:0")
        .with("--proxy-protocol", "127.0.0.1:0")
        .with("--trust-proxies", "192.0.2.0/24")
        .start();
    let mut client = weft.connect();
    let _ = client.try_send(LINE);
    assert!(is_closed(&mut client));
    weft.wait_for_log("it is not one of the trusted proxies");
}

#[test]
fn a_header_has_a_deadline() {
    let weft = server().with("--head-timeout-ms", "300").start();
    let mut client = weft.connect();
    client.send(&LINE[..LINE.len() - 1]);
    assert!(is_closed(&mut client), "by the server");
}

#[test]
fn other_addresses_and_unix_sockets_are_as_configured() {
    let server = Server::new(APP);
    let socket = server.directory().join("weft.sock");
    let unix = format!("unix:{}", socket.display());
    let weft = server
        .with("--listen", "127.0.0.1:0")
        .with("--listen", &unix)
        .with("--proxy-protocol", &unix)
        .start();
    assert!(weft.get("/").text().starts_with("127.0.0.1 "));
    assert_eq!(weft.say([LINE, REQUEST].concat()).status, 400, "there it is no request");
    let mut client = Client::connect_unix(&socket);
    client.send([LINE, REQUEST].concat());
    assert_eq!(client.read().text(), "203.0.113.9 4711 http HTTP/1.1");
    let check = |flags: &[&str]| weft.weft(&[&["check", "app.php"], flags].concat()).stderr;
    let said = check(&["--proxy-protocol", "127.0.0.1:1"]);
    assert!(said.contains("proxy_protocol names 127.0.0.1:1, which listen does not"), "{said}");
    let said = check(&["--listen", "127.0.0.1:0", "--proxy-protocol", "127.0.0.1:0"]);
    assert!(said.contains("trust.proxies is empty"), "{said}");
}

/// A proxy that sends this header in two pieces before what its client says, once; returns its address.
fn proxy(to: SocketAddr, header: Vec<u8>, split: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        let Ok((client, _)) = listener.accept() else { return };
        let server = TcpStream::connect(to).expect("weft listens");
        server.set_nodelay(true).expect("a socket takes it");
        (&server).write_all(&header[..split]).expect("it reads");
        // The rest comes together with the first bytes of the handshake.
        let mut first = vec![0; 16 * 1024];
        let count = (&client).read(&mut first).unwrap_or(0);
        (&server).write_all(&[&header[split..], &first[..count]].concat()).expect("it reads");
        let pump = |mut from: TcpStream, mut to: TcpStream| {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(std::net::Shutdown::Write);
        };
        let (from, to) = (client.try_clone().expect("a copy"), server.try_clone().expect("a copy"));
        let back = thread::spawn(move || pump(server, client));
        pump(from, to);
        let _ = back.join();
    });
    address
}

#[test]
fn tls_and_http2_follow_the_header() {
    let server = Server::new(APP);
    Authority::new(server.directory()).certify("a", "DNS:a.example", 9);
    let weft = server
        .with("--listen", "https://127.0.0.1:0")
        .with("--proxy-protocol", "https://127.0.0.1:0")
        .with("--trust-proxies", "127.0.0.1")
        .with("--tls-certificates", "a.pem")
        .with("--tls-keys", "a.key")
        .start();
    for header in [LINE.to_vec(), binary()] {
        for (split, flag, protocol) in [
            (0, "--http1.1", "HTTP/1.1"),
            (1, "--http2", "HTTP/2.0"),
            (13, "--http1.1", "HTTP/1.1"),
            (header.len(), "--http2", "HTTP/2.0"),
        ] {
            let address = proxy(weft.address, header.clone(), split);
            let mut curl = Command::new("curl");
            curl.current_dir(weft.directory()).args(["-sS", "--cacert", "ca.pem", flag, "--connect-to"]);
            curl.arg(format!("::{address}")).arg("https://a.example/");
            let output = command::finish(&mut curl);
            assert_eq!(
                output.stdout,
                format!("203.0.113.9 4711 https {protocol}"),
                "{} {}",
                output.stderr,
                weft.log()
            );
        }
    }
}
