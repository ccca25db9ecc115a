//! TLS as clients see it: curl and openssl, which know nothing of weft.

use std::fs::File;
use std::net::SocketAddr;
use std::process::Command;

use serde_json::Value;
use weft_tests::services::Authority;
use weft_tests::{Running, Server, command};

const APP: &str = "return function ($r) {
    return match ($r->path()) {
        '/large' => str_repeat('weft', 3_000_000),
        '/length' => md5($r->body()),
        default => Weft\\Http\\Response::json($_SERVER + ['scheme()' => $r->scheme(), 'pid' => getmypid()]),
    };
};";

/// A server that listens with TLS for a.example (ECDSA, then RSA) and for names below b.example.
fn server() -> Server {
    let server = Server::new(APP);
    let authority = Authority::new(server.directory());
    authority.certify("a", "DNS:a.example,DNS:localhost", 9);
    authority.certify_rsa("rsa", "DNS:a.example,DNS:localhost", 9);
    authority.certify("b", "DNS:*.b.example", 9);
    let pairs = ["a", "rsa", "b"].into_iter();
    pairs.fold(server.with("--listen", "https://127.0.0.1:0"), |server, name| {
        server.with("--tls-certificates", &format!("{name}.pem")).with("--tls-keys", &format!("{name}.key"))
    })
}

/// What curl prints for a path; its exit code is 0.
fn curl(weft: &Running, address: SocketAddr, path: &str, flags: &[&str]) -> String {
    let output = try_curl(weft, address, path, flags);
    assert_eq!(output.code, Some(0), "{} {}", output.stderr, weft.log());
    output.stdout
}

fn try_curl(weft: &Running, address: SocketAddr, path: &str, flags: &[&str]) -> command::Output {
    let mut curl = Command::new("curl");
    curl.current_dir(weft.directory()).args(["-sS", "--cacert", "ca.pem", "--connect-to"]);
    curl.arg(format!("::{address}")).args(flags).arg(format!("https://a.example{path}"));
    command::finish(&mut curl)
}

/// What openssl says of a connection, on which one request is sent.
fn s_client(weft: &Running, flags: &[&str]) -> String {
    weft.write("request", "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
    let mut openssl = Command::new("openssl");
    openssl.current_dir(weft.directory()).args(["s_client", "-ign_eof", "-CAfile", "ca.pem", "-connect"]);
    openssl.arg(weft.address.to_string()).args(flags);
    openssl.stdin(File::open(weft.path("request")).expect("it was just written"));
    let output = command::finish(&mut openssl);
    output.stdout + &output.stderr
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_request_says_that_it_came_by_tls() {
    let weft = server().start();
    for (version, cipher) in [("1.2", "TLS_ECDHE_"), ("1.3", "TLS_AES_")] {
        let said = json(&curl(&weft, weft.address, "/?q", &["--tls-max", version]));
        for (name, expected) in [
            ("HTTPS", "on"),
            ("REQUEST_SCHEME", "https"),
            ("scheme()", "https"),
            ("SERVER_PROTOCOL", "HTTP/2.0"),
            ("SSL_PROTOCOL", &format!("TLSv{version}")),
            ("SSL_SERVER_NAME", "a.example"),
            ("SSL_CLIENT_VERIFY", "NONE"),
        ] {
            assert_eq!(said[name], expected, "{name}");
        }
        assert!(said["SSL_CIPHER"].as_str().is_some_and(|name| name.starts_with(cipher)), "{said}");
        assert_eq!(said["SERVER_PORT"], weft.address.port().to_string());
    }
    let old = try_curl(&weft, weft.address, "/", &["--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0"]);
    assert_ne!(old.code, Some(0), "TLS 1.1 is refused");
}

#[test]
fn bodies_of_any_size_pass_and_many_requests_share_a_connection() {
    let weft = server().start();
    let large = curl(&weft, weft.address, "/large", &["--limit-rate", "40M"]);
    assert_eq!(large.len(), 12_000_000);
    assert!(large.as_bytes().chunks(4).all(|word| word == b"weft"));
    let body: String = (0..900_000u32).map(|number| format!("{number:07}")).collect();
    weft.write("body", &body);
    let sum = curl(&weft, weft.address, "/length", &["--data-binary", "@body"]);
    let mut md5sum = Command::new("md5sum");
    let expected = command::finish(md5sum.current_dir(weft.directory()).arg("body")).stdout;
    assert_eq!(Some(sum.as_str()), expected.split(' ').next());
    let codes =
        curl(&weft, weft.address, "/[1-300]", &["-o", "/dev/null", "-w", "%{http_code} %{num_connects}\\n"]);
    let reused = codes.lines().filter(|line| *line == "200 0").count();
    assert_eq!((codes.lines().count(), reused), (300, 299), "{codes}");
}

#[test]
fn a_document_root_sends_its_files_and_scripts() {
    let large = "0123456789abcdef".repeat(100_000);
    let script = "<?= $_SERVER['HTTPS'], $_SERVER['SSL_PROTOCOL'], $_SERVER['REQUEST_SCHEME'];";
    let server = Server::of_docroot(&[("large.bin", &large), ("index.php", script)]);
    Authority::new(server.directory()).certify("a", "DNS:a.example", 9);
    let weft = server
        .with("--listen", "https://127.0.0.1:0")
        .with("--tls-certificates", "a.pem")
        .with("--tls-keys", "a.key")
        .start();
    assert_eq!(curl(&weft, weft.address, "/large.bin", &[]), large);
    assert_eq!(curl(&weft, weft.address, "/large.bin", &["-r", "16-19,-4"]).matches("cdef").count(), 1);
    assert_eq!(curl(&weft, weft.address, "/", &[]), "onTLSv1.3https");
}

#[test]
fn the_certificate_follows_the_name_and_what_the_client_can_verify() {
    let weft = server().start();
    let subject = |flags: &[&str]| {
        let said = s_client(&weft, flags);
        let line = said.lines().find(|line| line.trim_start().starts_with("0 s:")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("no certificate: {said}")).replace([' ', '='], "")
    };
    assert_eq!(subject(&["-servername", "a.example"]), "0s:CNa");
    assert_eq!(subject(&["-servername", "x.B.example"]), "0s:CNb");
    assert_eq!(subject(&["-servername", "x.y.b.example"]), "0s:CNa", "a star is one label");
    assert_eq!(subject(&["-noservername"]), "0s:CNa", "the first is the default");
    let rsa = ["-servername", "a.example", "-tls1_3", "-sigalgs", "RSA-PSS+SHA256"];
    assert_eq!(subject(&rsa), "0s:CNrsa");
}

#[test]
fn the_protocol_is_agreed_on_or_refused() {
    let weft = server().start();
    assert!(s_client(&weft, &["-alpn", "h2,http/1.1"]).contains("ALPN protocol: h2"));
    assert!(s_client(&weft, &[]).contains("No ALPN negotiated"));
    let other = s_client(&weft, &["-alpn", "smtp"]);
    assert!(other.contains("no application protocol"), "{other}");
    // Who speaks plain HTTP to it is not answered, and nobody else notices.
    let mut plain = weft.connect();
    plain.send("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
    assert!(!plain.read_to_end().starts_with(b"HTTP"));
    curl(&weft, weft.address, "/", &[]);
}

#[test]
fn a_session_is_resumed_at_any_worker_and_after_a_reload() {
    let mut weft = server().with("--workers", "2").start();
    for version in ["-tls1_2", "-tls1_3"] {
        let (mut pids, mut first) = (std::collections::BTreeSet::new(), true);
        let mut resume = |weft: &Running| {
            let given = if std::mem::take(&mut first) { "-sess_out" } else { "-sess_in" };
            let said = s_client(weft, &[version, given, "session"]);
            let (_, pid) = said.split_once("\"pid\":").unwrap_or_else(|| panic!("no answer: {said}"));
            assert_eq!(said.contains("\nReused, "), given == "-sess_in", "{said}");
            pid.split('}').next().unwrap_or_default().to_owned()
        };
        // Which worker accepts is the kernel's choice.
        while pids.len() < 2 {
            pids.insert(resume(&weft));
        }
        let ready = weft.log().matches(" is ready, ").count();
        weft.signal(rustix::process::Signal::HUP);
        weft.wait_for_log_times(" is ready, ", ready + 1);
        while pids.len() < 3 {
            pids.insert(resume(&weft));
        }
    }
}
