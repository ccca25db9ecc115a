//! Sites whose application stays loaded, over TLS and HTTP/2: as a document root's site, and as itself.

use std::net::SocketAddr;
use std::process::Command;
use std::thread;

use serde_json::Value;
use weft_tests::services::Authority;
use weft_tests::{Client, Running, Server, command};

use crate::server;

const WORKER: &str = r#"<?php
$handled = 0;
while (frankenphp_handle_request(function () use (&$handled) {
    $handled++;
    if (isset($_GET['hold'])) {
        touch(__DIR__ . "/here-$_GET[hold]");
        while (!file_exists(__DIR__ . '/go')) {
            usleep(2000);
        }
    }
    echo json_encode(['site' => basename(__DIR__), 'own' => getenv('OWN'), 'handled' => $handled, 'https' => $_SERVER['HTTPS'] ?? 'off',
        'protocol' => $_SERVER['SERVER_PROTOCOL'], 'asked' => $_SERVER['SSL_SERVER_NAME'] ?? '', 'host' => $_SERVER['HTTP_HOST'],
        'body' => strlen(file_get_contents('php://input'))]);
})) {}
"#;

const PAGE: &str = r#"<?php
echo json_encode(['site' => basename(__DIR__), 'own' => getenv('OWN'), 'https' => $_SERVER['HTTPS'] ?? 'off',
    'protocol' => $_SERVER['SERVER_PROTOCOL'], 'asked' => $_SERVER['SSL_SERVER_NAME'] ?? '', 'host' => $_SERVER['HTTP_HOST'],
    'body' => strlen(file_get_contents('php://input'))]);
"#;

const SITES: &str = r#"
[tls]
certificates = ["common.pem"]
keys = ["common.key"]
redirect = true

[[site]]
names = ["app.example"]
application = "app/worker.php"
instances_max = 4
certificates = ["app.pem"]
keys = ["app.key"]
hsts_s = 700
[site.environment]
OWN = "app"

[[site]]
names = ["mixed.example"]
root = "mixed/public"
worker = "mixed/worker.php"
redirect = false
[site.environment]
OWN = "mixed"

[[site]]
names = ["root.example"]
root = "root"
[site.environment]
OWN = "root"
"#;

/// The server, its address with TLS, and the plain one.
fn sites() -> (Running, SocketAddr, SocketAddr) {
    let files = [
        ("app/worker.php", WORKER),
        ("mixed/worker.php", WORKER),
        ("mixed/public/a.css", "a{}"),
        ("root/index.php", PAGE),
    ];
    let server: Server = server(SITES, &files);
    let authority = Authority::new(server.directory());
    authority.certify("common", "DNS:mixed.example,DNS:root.example", 9);
    authority.certify("app", "DNS:app.example", 9);
    let weft = server.with("--listen", "https://127.0.0.1:0").with("--listen", "127.0.0.1:0").start();
    let [tls, plain] = weft.addresses()[..] else { panic!("two addresses: {}", weft.log()) };
    (weft, tls, plain)
}

fn curl(weft: &Running, tls: SocketAddr, arguments: &[&str]) -> String {
    let mut curl = Command::new("curl");
    curl.current_dir(weft.directory()).args(["-sS", "--cacert", "ca.pem", "--connect-to"]);
    let output = command::finish(curl.arg(format!("::{tls}")).args(arguments));
    assert_eq!(output.code, Some(0), "{arguments:?}: {} {}", output.stderr, weft.log());
    output.stdout
}

#[test]
fn an_application_of_a_site_is_reached_by_both_protocols() {
    let (weft, tls, _) = sites();
    std::fs::write(weft.path("upload"), vec![b'x'; 300_000]).expect("a file");
    for (flag, protocol) in [("--http1.1", "HTTP/1.1"), ("--http2", "HTTP/2.0")] {
        for site in ["app", "mixed", "root"] {
            let host = format!("{site}.example");
            let url = format!("https://{host}/x?y");
            let said = curl(&weft, tls, &[flag, "--data-binary", "@upload", &url]);
            let said: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
            for (name, expected) in [
                ("site", site),
                ("own", site),
                ("https", "on"),
                ("protocol", protocol),
                ("asked", &host),
                ("host", &host),
            ] {
                assert_eq!(said[name], expected, "{protocol} {site}: {said}");
            }
            assert_eq!(said["body"], 300_000, "{protocol} {site}");
        }
        assert_eq!(curl(&weft, tls, &[flag, "https://mixed.example/a.css"]), "a{}");
    }
}

#[test]
fn an_application_of_a_site_answers_streams_of_one_connection_at_once() {
    let (weft, tls, _) = sites();
    let url = |number: usize| format!("https://app.example/?hold={number}");
    let urls: Vec<String> = (0..3).map(url).collect();
    let made = ["--http2", "--parallel", "-s", "-w", " made=%{num_connects} "];
    let arguments: Vec<&str> = made.into_iter().chain(urls.iter().map(String::as_str)).collect();
    thread::scope(|scope| {
        let weft = &weft;
        let asking = scope.spawn(|| curl(weft, tls, &arguments));
        weft_tests::until("all of them are under way", || {
            (0..3).all(|number| weft.path(&format!("app/here-{number}")).exists()).then_some(())
        });
        // Beside them there is an instance, and other sites are not theirs.
        for host in ["app.example", "root.example"] {
            assert!(curl(weft, tls, &["--http2", &format!("https://{host}/")]).contains("\"https\":\"on\""));
        }
        weft.write("app/go", "");
        let said = asking.join().expect("their answers");
        assert_eq!(said.matches("\"site\":\"app\"").count(), 3, "{said}");
        assert_eq!(said.matches(" made=1 ").count(), 1, "one connection: {said}");
    });
}

#[test]
fn redirect_and_promise_of_a_site_hold_for_its_application() {
    let (weft, tls, plain) = sites();
    for (host, status) in [("app.example", 301), ("mixed.example", 200), ("root.example", 301)] {
        let mut client = Client::connect(plain);
        client.send(format!("GET /x?y HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        let answer = client.read();
        assert_eq!(answer.status, status, "{host}");
        let expected = format!("https://{host}:{}/x?y", tls.port());
        assert_eq!(answer.header("location"), (status == 301).then_some(&expected[..]), "{host}");
    }
    for flag in ["--http1.1", "--http2"] {
        for (host, promise) in [("app.example", Some("max-age=700")), ("mixed.example", None)] {
            let said = curl(&weft, tls, &[flag, "-D", "-", "-o", "/dev/null", &format!("https://{host}/")]);
            let said = said.to_lowercase();
            let found = said.lines().find_map(|line| line.strip_prefix("strict-transport-security: "));
            assert_eq!(found, promise, "{flag} {host}: {said}");
        }
    }
}
