//! The same document root under nginx with php-fpm and under weft: compares everything that scripts and clients can
//! observe.
//!
//! Both run as Debian configures them (fastcgi_params, snippets/fastcgi-php.conf). The intended differences are listed
//! here and in docs/guide/php-fpm.md.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde_json::Value;
use weft_tests::services::{Fpm, is_own};
use weft_tests::{Client, Response, Server};

/// $_SERVER keys whose values are specific to each server.
const OTHER_VALUES: [&str; 8] = [
    "SERVER_SOFTWARE",
    "SERVER_PORT",
    "SERVER_NAME",
    "REMOTE_PORT",
    "REQUEST_TIME",
    "REQUEST_TIME_FLOAT",
    "HTTP_HOST",
    "argv",
];
/// nginx passes on a user name although nobody has checked the password.
const UNCHECKED: &str = "REMOTE_USER";
/// Set by php-fpm for its own protocol.
const FPM_ONLY: [&str; 1] = ["FCGI_ROLE"];

fn ask(address: SocketAddr, request: &str) -> Response {
    let mut client = Client::connect(address);
    client.send(request);
    if request.starts_with("HEAD") { client.read_of_head() } else { client.read() }
}

const VARIABLES: &str = "<?php header('Content-Type: application/json');
    echo json_encode(['server' => $_SERVER, 'get' => $_GET, 'post' => $_POST, 'files' => array_map(fn ($f) => array_diff_key($f, ['tmp_name' => 1]), $_FILES),
        'cookie' => $_COOKIE, 'headers' => getallheaders(), 'cwd' => getcwd(), 'included' => get_included_files(), 'input' => file_get_contents('php://input')]);";

fn variables(response: &Response) -> BTreeMap<String, Value> {
    let mut all: BTreeMap<String, Value> = serde_json::from_slice(&response.body).expect("JSON");
    let server = all.get_mut("server").and_then(Value::as_object_mut).expect("$_SERVER");
    FPM_ONLY.iter().for_each(|name| drop(server.remove(*name)));
    let environment = std::env::vars().map(|(name, _)| name);
    environment.filter(|name| name != "USER" && name != "HOME").for_each(|name| drop(server.remove(&name)));
    OTHER_VALUES.iter().filter(|name| **name != "argv").for_each(|name| {
        assert!(server.remove(*name).is_some(), "{name} is missing: {server:?}");
    });
    server.remove(UNCHECKED);
    let headers = all.get_mut("headers").and_then(Value::as_object_mut).expect("headers");
    headers.remove("Host");
    // php-fpm turns nginx's empty parameters into headers.
    headers.retain(|_, value| value != "");
    if headers.is_empty() {
        let none = Value::Array(Vec::new());
        all.insert("headers".to_owned(), none);
    }
    all
}

/// So many header lines with values of this length.
fn lines(count: usize, length: usize) -> String {
    (0..count).map(|n| format!("X-Line-{n}: {}\r\n", "a".repeat(length))).collect()
}

#[test]
fn scripts_see_the_same_variables() {
    let weft =
        Server::of_docroot(&[("index.php", VARIABLES), ("v.php", VARIABLES), ("sub/index.php", VARIABLES)])
            .start();
    let fpm = Fpm::start(&weft.path("public").canonicalize().expect("it exists"), 1, &[]);
    let form = "a=1&b%5B%5D=2";
    let multipart = "--X\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n\"\r\nContent-Type: a/b\r\n\r\nhi\r\n--X--\r\n";
    let requests = [
        "GET / HTTP/1.1\r\n".to_owned(),
        "GET /?a=1&b=%20 HTTP/1.1\r\n".to_owned(),
        "GET /v.php/info/x%20y?q HTTP/1.1\r\nCookie: a=b; c=d\r\nX-Custom-Header: v\r\n".to_owned(),
        "GET /not/there?x=y HTTP/1.1\r\nAccept: text/html\r\naccept-language: de\r\n".to_owned(),
        "GET /sub/ HTTP/1.1\r\nAuthorization: Basic bWU6cHc=\r\n".to_owned(),
        "GET //v.php HTTP/1.0\r\n".to_owned(),
        format!(
            "POST /v.php?g=1 HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n",
            form.len()
        ),
        format!(
            "POST /v.php HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=X\r\nContent-Length: {}\r\n",
            multipart.len()
        ),
        "PUT /v.php HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n".to_owned(),
        "DELETE /x HTTP/1.1\r\n".to_owned(),
        "POST /v.php/info HTTP/1.1\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n".to_owned(),
        format!("GET /v.php HTTP/1.1\r\n{}", lines(150, 1)),
        format!("GET /v.php HTTP/1.1\r\n{}", lines(4, 5_000)),
    ];
    for head in requests {
        let body = if head.contains("urlencoded") {
            form
        } else if head.contains("multipart") {
            multipart
        } else if head.contains("chunked") {
            "5\r\nhello\r\n3\r\nyou\r\n0\r\n\r\n"
        } else if head.contains("PUT") {
            "ok"
        } else {
            ""
        };
        let request = format!("{head}Host: weft.test\r\n\r\n{body}");
        let (ours, theirs) = (ask(weft.address, &request), ask(fpm.address, &request));
        assert_eq!(ours.status, theirs.status, "{head}");
        assert_eq!(variables(&ours), variables(&theirs), "{head}");
    }
}

#[test]
fn fpm_get_status_has_the_same_fields_in_the_same_order_with_the_same_types() {
    const STATUS: &str = "<?php header('Content-Type: application/json');
        $shape = fn (array $fields) => array_map(get_debug_type(...), $fields);
        $status = fpm_get_status();
        $own = in_array(getmypid(), array_column($status['procs'], 'pid'), true);
        echo json_encode([$shape($status), $shape($status['procs'][0]), $own, $status['active-processes']]);";
    let weft = Server::of_docroot(&[("index.php", STATUS)]).start();
    let fpm = Fpm::start(&weft.path("public").canonicalize().expect("it exists"), 1, &[]);
    let request = "GET / HTTP/1.1\r\nHost: weft.test\r\n\r\n";
    let (ours, theirs) = (ask(weft.address, request), ask(fpm.address, request));
    assert_eq!((ours.status, ours.text()), (theirs.status, theirs.text()));
}

/// Header lines that are meant for the client, sorted, without those in which a server describes itself or its
/// connection.
fn telling(response: &Response) -> Vec<(String, String)> {
    let mut headers: Vec<_> =
        response.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())).collect();
    headers.retain(|(name, _)| !is_own(name));
    headers.sort();
    headers
}

#[test]
fn clients_see_the_same_responses() {
    let scripts = [
        ("index.php", "<?php http_response_code(404); echo 'front: ', $_SERVER['REQUEST_URI'];"),
        ("plain.php", "<?php echo 'plain';"),
        (
            "status.php",
            "<?php header('HTTP/1.1 410 Gone'); header('X-A: b'); header('X-A: c', false); setcookie('n', 'v', 0, '/', '', true, true); echo 'x';",
        ),
        ("cgi.php", "<?php header('Status: 403 Forbidden'); echo 'no';"),
        ("move.php", "<?php header('Location: /elsewhere'); exit('moved');"),
        ("moved.php", "<?php header('Location: /elsewhere', true, 307);"),
        ("type.php", "<?php header('Content-Type: text/plain'); echo 'text';"),
        ("none.php", "<?php http_response_code(204);"),
        ("not.php", "<?php http_response_code(304);"),
        ("session.php", "<?php session_id('fixed'); session_start(); echo session_id();"),
        ("fatal.php", "<?php ini_set('display_errors', '0'); undefined();"),
        (
            "shown.php",
            "<?php ini_set('display_errors', '1'); echo 'some'; trigger_error('warn', E_USER_WARNING); undefined();",
        ),
        (
            "exit.php",
            "<?php register_shutdown_function(fn () => print(' end')); ob_start(fn ($s) => strtoupper($s)); echo 'ob'; exit(' exit');",
        ),
        (
            "late.php",
            "<?php ini_set('display_errors', '1'); echo str_repeat('x', 5000); flush(); header('X-Late: 1');",
        ),
        ("empty.php", ""),
        (
            "functions.php",
            "<?php echo json_encode([function_exists('pcntl_fork'), extension_loaded('pcntl'), defined('SIGTERM'), function_exists('chroot')]);",
        ),
        ("a.json", "{}"),
        ("dir/x.json", "x"),
    ];
    let weft = Server::of_docroot(&scripts)
        .with("--define", "session.save_path=/tmp")
        .with("--define", "opcache.jit=0")
        .start();
    let fpm = Fpm::start(&weft.path("public").canonicalize().expect("it exists"), 1, &[]);
    let mut paths: Vec<String> = scripts.iter().map(|(name, _)| format!("/{name}")).collect();
    paths.extend(["/", "/missing", "/missing.css", "/plain.php?q"].map(str::to_owned));
    for path in paths {
        for method in ["GET", "HEAD", "POST"] {
            if path.ends_with(".json") && method == "POST" {
                continue; // the same refusal, in each server's own words
            }
            let request = format!("{method} {path} HTTP/1.1\r\nHost: weft.test\r\nContent-Length: 0\r\n\r\n");
            let (ours, theirs) = (ask(weft.address, &request), ask(fpm.address, &request));
            assert_eq!(ours.status, theirs.status, "{method} {path}");
            assert_eq!(telling(&ours), telling(&theirs), "{method} {path}");
            assert_eq!(ours.text(), theirs.text(), "{method} {path}");
        }
    }
}

#[test]
fn the_same_requests_are_refused() {
    let weft =
        Server::of_docroot(&[("index.php", "<?php echo 'front';"), ("a.php", "<?php echo 'a';")]).start();
    let fpm = Fpm::start(&weft.path("public").canonicalize().expect("it exists"), 1, &[]);
    for (request, status) in [
        ("GET /missing.php", 404),
        ("GET /missing.php/behind", 404),
        ("GET /deep/missing.php?a=b", 404),
        ("GET /a.php/missing.php", 200),
        ("GET /missing", 200),
        ("TRACE /a.php", 405),
        ("TRACE /", 405),
    ] {
        let request = format!("{request} HTTP/1.1\r\nHost: weft.test\r\n\r\n");
        let (ours, theirs) = (ask(weft.address, &request), ask(fpm.address, &request));
        assert_eq!((ours.status, theirs.status), (status, status), "{request}");
    }
}
