//! Sites over TLS: the name that a client asks for picks the certificate, and a connection is good for what its certificate
//! is good for.

use std::net::SocketAddr;
use std::process::Command;

use weft_tests::services::Authority;
use weft_tests::wait::until;
use weft_tests::{Running, Server, command};

use crate::server;

const SITES: &str = r#"
[tls]
certificates = ["common.pem"]
keys = ["common.key"]

[[site]]
names = ["one.example", "*.one.example"]
root = "one"
certificates = ["one.pem", "one-rsa.pem"]
keys = ["one.key", "one-rsa.key"]

[[site]]
names = ["two.example"]
root = "two"
certificates = ["two.pem"]
keys = ["two.key"]

[[site]]
names = ["three.example", "four.example"]
root = "three"

[[site]]
names = ["five.example"]
root = "five"
"#;

fn files() -> Vec<(&'static str, &'static str)> {
    let page =
        "<?php echo basename(__DIR__), ' ', $_SERVER['HTTPS'], ' ', $_SERVER['SSL_SERVER_NAME'] ?? '-';";
    ["one/index.php", "two/index.php", "three/index.php", "five/index.php"].map(|name| (name, page)).to_vec()
}

fn sites() -> (Server, Authority) {
    let server = server(SITES, &files());
    let authority = Authority::new(server.directory());
    authority.certify("common", "DNS:three.example,DNS:four.example,DNS:five.example", 9);
    authority.certify("one", "DNS:one.example,DNS:*.one.example", 9);
    authority.certify_rsa("one-rsa", "DNS:one.example,DNS:*.one.example", 9);
    // It covers a name of another site, too.
    authority.certify("two", "DNS:two.example,DNS:one.example", 9);
    (server.with("--listen", "https://127.0.0.1:0"), authority)
}

fn curl(weft: &Running, address: SocketAddr, arguments: &[&str]) -> command::Output {
    let mut curl = Command::new("curl");
    curl.current_dir(weft.directory()).args(["-sS", "--cacert", "ca.pem", "--connect-to"]);
    command::finish(curl.arg(format!("::{address}")).args(arguments))
}

/// The name in the certificate that a client gets, without "CN=".
fn certificate(weft: &Running, flags: &[&str]) -> String {
    let mut openssl = Command::new("openssl");
    openssl
        .current_dir(weft.directory())
        .args(["s_client", "-connect", &weft.address.to_string()])
        .args(flags);
    openssl.stdin(std::process::Stdio::null());
    let said = command::finish(&mut openssl).stdout.replace(' ', "");
    let line = said.lines().find_map(|line| line.strip_prefix("subject=CN="));
    line.unwrap_or_else(|| panic!("no certificate: {said}")).to_owned()
}

#[test]
fn the_name_picks_the_sites_certificate() {
    let weft = sites().0.start();
    for (name, expected) in [
        ("one.example", "one"),
        ("x.ONE.example", "one"),
        ("two.example", "two"),
        ("three.example", "common"),
        ("five.example", "common"),
        ("nobody.example", "common"),
    ] {
        assert_eq!(certificate(&weft, &["-servername", name]), expected, "{name}");
    }
    assert_eq!(certificate(&weft, &["-noservername"]), "common");
    let rsa = ["-servername", "one.example", "-tls1_3", "-sigalgs", "RSA-PSS+SHA256"];
    assert_eq!(certificate(&weft, &rsa), "one-rsa", "what the client can verify");
    for (host, site) in [("one.example", "one"), ("two.example", "two"), ("four.example", "three")] {
        for version in ["--http1.1", "--http2"] {
            let said = curl(&weft, weft.address, &[version, &format!("https://{host}/")]);
            assert_eq!(said.stdout, format!("{site} on {host}"), "{version}: {}", said.stderr);
        }
    }
}

#[test]
fn the_default_sites_certificate_is_for_all_other_names() {
    let (server, _) = sites();
    let text = SITES.replace("names = [\"two.example\"]", "names = [\"two.example\"]\ndefault = true");
    let weft = server.with_file("weft.toml", &text).start();
    assert_eq!(certificate(&weft, &["-servername", "nobody.example"]), "two");
    assert_eq!(certificate(&weft, &["-noservername"]), "two");
    assert_eq!(certificate(&weft, &["-servername", "five.example"]), "common");
    let said = curl(&weft, weft.address, &["--insecure", "https://nobody.example/"]);
    assert_eq!(said.stdout, "two on nobody.example", "{}", said.stderr);
}

/// Asks for several hosts on one connection of HTTP/2 that was made for a name; prints their statuses.
const MANY_HOSTS: &str = r#"
import socket, ssl, sys
import h2.config, h2.connection, h2.events

context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
context.set_alpn_protocols(["h2"])
sock = context.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60), server_hostname=sys.argv[2] or None)
connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
connection.initiate_connection()
hosts = sys.argv[3:]
for number, host in enumerate(hosts):
    fields = [(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", host)]
    connection.send_headers(2 * number + 1, fields, end_stream=True)
sock.sendall(connection.data_to_send())
statuses, ended = {}, 0
while ended < len(hosts):
    received = sock.recv(65536)
    assert received, "closed too soon"
    for event in connection.receive_data(received):
        if isinstance(event, h2.events.ResponseReceived):
            statuses[event.stream_id] = dict(event.headers)[":status"]
        elif isinstance(event, h2.events.StreamEnded):
            ended += 1
    sock.sendall(connection.data_to_send())
print(" ".join(statuses[2 * number + 1] for number in range(len(hosts))))
"#;

/// The statuses for several hosts on one connection of HTTP/2.
fn statuses(weft: &Running, name: &str, hosts: &[&str]) -> String {
    let mut python = Command::new("/usr/bin/python3");
    python
        .current_dir(weft.directory())
        .args(["hosts.py", &weft.address.port().to_string(), name])
        .args(hosts);
    let output = command::finish(&mut python);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stdout.trim_end().to_owned()
}

const ALL: [&str; 6] =
    ["one.example", "x.one.example", "two.example", "three.example", "five.example", "nobody.example"];

#[test]
fn a_connection_is_good_for_what_its_certificate_is_good_for() {
    let weft = sites().0.with_file("hosts.py", MANY_HOSTS).start();
    assert_eq!(statuses(&weft, "one.example", &ALL), "200 200 421 421 421 421");
    assert_eq!(statuses(&weft, "two.example", &ALL), "421 421 200 421 421 421");
    // One certificate for several sites: clients may use their connection for all of them (RFC 9113 section 9.1.1).
    assert_eq!(statuses(&weft, "three.example", &ALL), "421 421 421 200 200 421");
    assert_eq!(statuses(&weft, "", &ALL), "421 421 421 200 200 421");
    // HTTP/1.1 has no such rule: a client that asks so means it.
    let said = curl(&weft, weft.address, &["--http1.1", "-H", "Host: two.example", "https://one.example/"]);
    assert_eq!(said.stdout, "two on one.example");
}

#[test]
fn a_trusted_proxys_connection_is_good_for_all_sites() {
    let server = sites().0.with_file("hosts.py", MANY_HOSTS);
    let text = format!("[trust]\nproxies = [\"127.0.0.1\"]\n{SITES}");
    let weft = server.with_file("weft.toml", &text).start();
    assert_eq!(statuses(&weft, "one.example", &ALL), "200 200 200 200 200 421");
}

#[test]
fn a_session_is_not_resumed_at_another_site() {
    let weft = sites().0.start();
    let client = |flags: &[&str]| {
        let mut openssl = Command::new("openssl");
        let address = weft.address.to_string();
        openssl.current_dir(weft.directory()).args(["s_client", "-connect", &address, "-tls1_2"]).args(flags);
        openssl.stdin(std::process::Stdio::null());
        command::finish(&mut openssl).stdout
    };
    client(&["-servername", "one.example", "-sess_out", "session"]);
    assert!(client(&["-servername", "one.example", "-sess_in", "session"]).contains("Reused, TLSv1.2"));
    assert!(client(&["-servername", "two.example", "-sess_in", "session"]).contains("New, TLSv1.2"));
}

#[test]
fn a_sites_changed_certificate_is_served() {
    let (server, authority) = sites();
    let weft = server.start();
    let serial = || {
        let said = curl(&weft, weft.address, &["-o", "/dev/null", "-w", "%{certs}", "https://two.example/"]);
        said.stdout.lines().find(|line| line.starts_with("Serial Number:")).map(str::to_owned)
    };
    let before = serial();
    assert!(before.is_some());
    authority.certify("two", "DNS:two.example", 8);
    until("the new certificate", || (serial().is_some() && serial() != before).then_some(()));
}

#[test]
fn a_sites_certificate_is_checked() {
    let (server, authority) = sites();
    authority.certify("two", "DNS:two.example", -1);
    let directory = server.directory().to_owned();
    let said = command::weft(&directory, &["check", "--listen", "https://127.0.0.1:0"]);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("two.pem has expired on"), "{}", said.stderr);
}

#[test]
fn names_without_a_certificate_are_told() {
    let (server, authority) = sites();
    authority.certify("two", "DNS:other.example", 9);
    let text = SITES
        .replace("names = [\"one.example\"", "names = [\"bare.example\", \"192.0.2.1\", \"one.example\"");
    let server = server.with_file("weft.toml", &text.replace("\"four.example\"", "\"*.four.example\""));
    let said = command::weft(server.directory(), &["check", "--listen", "https://127.0.0.1:0"]);
    let warnings: Vec<&str> =
        said.stdout.lines().filter_map(|line| line.strip_prefix("warning     weft.toml:")).collect();
    let refused = |place: &str, names: &str, given: &str| {
        format!("{place}: no certificate is for {names}: clients get the one for {given}, and refuse it")
    };
    let common = "three.example, four.example, five.example";
    let expected = [
        refused("6", "bare.example", "one.example, *.one.example"),
        refused("12", "two.example", "other.example"),
        refused("18", "*.four.example", common),
    ];
    assert_eq!(
        (said.code, &warnings[..3]),
        (Some(0), &expected.each_ref().map(|line| &line[..])[..]),
        "{}",
        said.stdout
    );
    let mut weft = server.start();
    weft.wait_for_log(&expected[1]);
    // A name that is certified by itself needs none yet.
    let automatic = ["check", "--listen", "https://127.0.0.1:0", "--config", "automatic.toml"];
    weft.write("automatic.toml", "[[site]]\nnames = [\"a.example\"]\nroot = \"one\"\n");
    let said = weft.weft(&automatic);
    assert!(said.code == Some(0) && !said.stdout.contains("no certificate is for"), "{}", said.stdout);
}

const PROMISES: &str = r#"
[tls]
certificates = ["common.pem"]
keys = ["common.key"]
redirect = true
hsts_s = 600

[[site]]
names = ["three.example"]
root = "three"

[[site]]
names = ["four.example"]
root = "one"
redirect = false
hsts_s = 0

[[site]]
names = ["five.example"]
root = "five"
hsts_s = 31536000
[[site.rule]]
path = "/own"
header = { Strict-Transport-Security = "max-age=1", X-Own = "yes" }
"#;

#[test]
fn a_site_says_itself_whether_it_wants_tls_only() {
    let files =
        [("five/a.txt", "text"), ("five/own/a.txt", "text"), ("one/a.txt", "text"), ("three/a.txt", "text")];
    let server = files.into_iter().fold(sites().0, |server, (name, text)| server.with_file(name, text));
    let server = server.with_file("weft.toml", PROMISES).with("--listen", "127.0.0.1:0");
    let weft = server.start();
    let [tls, plain] = weft.addresses()[..] else { panic!("two addresses: {}", weft.log()) };
    for (host, status) in
        [("three.example", 301), ("four.example", 200), ("five.example", 301), ("six.example", 301)]
    {
        let mut client = weft_tests::Client::connect(plain);
        client.send(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        let answer = client.read();
        assert_eq!((answer.status, answer.header("strict-transport-security")), (status, None), "{host}");
        let said =
            weft.weft(&["check", "--listen", "https://127.0.0.1:0", "--url", &format!("http://{host}/")]);
        assert_eq!(said.stdout.contains("301 to the same URL by https"), status == 301, "{}", said.stdout);
    }
    let promise = |version: &str, url: &str| {
        let said = curl(&weft, tls, &[version, "-D", "-", "-o", "/dev/null", url]).stdout.to_lowercase();
        assert!(said.starts_with("http/") && said.contains(" 200"), "{url}: {said}");
        let lines = said.lines().filter_map(|line| line.strip_prefix("strict-transport-security: "));
        lines.map(str::to_owned).collect::<Vec<_>>().join("; ")
    };
    for version in ["--http1.1", "--http2"] {
        for (url, expected) in [
            ("https://three.example/", "max-age=600"),
            ("https://three.example/a.txt", "max-age=600"),
            ("https://four.example/", ""),
            ("https://four.example/a.txt", ""),
            ("https://five.example/", "max-age=31536000"),
            ("https://five.example/a.txt", "max-age=31536000"),
            ("https://five.example/own/a.txt", "max-age=1"),
        ] {
            assert_eq!(promise(version, url), expected, "{version} {url}");
        }
    }
}

#[test]
fn a_redirect_needs_an_address_with_tls() {
    let server = server("[[site]]\ndefault = true\nroot = \"one\"\nredirect = true\n", &files());
    let said = command::weft(server.directory(), &["check"]);
    let expected =
        "weft: weft.toml:1: redirect is on, but no address has TLS: listen on https://HOST:PORT as well\n";
    assert_eq!((said.code, &said.stderr[..]), (Some(1), expected));
}
