//! `flush()` beside output buffers, compressed or not: under weft as under nginx with php-fpm.
//!
//! What it must not send is as important as what it sends: while PHP's own buffers hold the output, headers, status and
//! cookies can still change. Settings come from a `.user.ini` in each directory, so one pair of servers has them all.

use std::net::SocketAddr;

use weft_tests::services::{Fpm, is_own};
use weft_tests::{Client, Response, Server};

/// Each changes the response after it has flushed, in another state of the buffers. `late()` says in the body whether PHP
/// believes that the headers are gone.
const SCRIPTS: [(&str, &str); 14] = [
    ("begun", "echo 'a'; flush(); late();"),
    ("first", "flush(); late();"),
    ("buffer", "ob_start(); echo 'a'; flush(); late(); ob_end_flush();"),
    ("flushed", "ob_start(); echo 'a'; ob_flush(); flush(); late(); ob_end_flush();"),
    ("cleaned", "ob_start(); echo 'a'; flush(); ob_end_clean(); late();"),
    ("all", "echo 'a'; while (ob_get_level()) ob_end_flush(); flush(); late();"),
    ("nested", "ob_start(); ob_start(fn ($s) => strtoupper($s)); echo 'a'; ob_flush(); flush(); late();"),
    ("implicit", "ob_implicit_flush(true); echo 'a'; late();"),
    ("explicit", "ob_implicit_flush(false); echo 'a'; late();"),
    ("gzip", "ob_start('ob_gzhandler'); echo 'a'; flush(); late(); ob_flush(); flush(); echo 'c';"),
    ("large", "echo str_repeat('x', 5000); flush(); late();"),
    ("chunks", "ob_start(null, 10); echo 'a'; flush(); echo str_repeat('y', 20); flush(); late();"),
    ("fatal", "echo 'a'; flush(); undefined();"),
    ("moved", "flush(); ob_start(); echo 'a'; flush(); header('Location: /there'); exit;"),
];

const LATE: &str = "<?php ini_set('display_errors', '1'); ini_set('session.use_strict_mode', '0');
    function late() { $sent = headers_sent(); header('X-Late: 1'); http_response_code(404); setcookie('late', '1');
        session_name('named'); session_id('fixed'); session_start(); echo 'b', var_export($sent, true), ob_get_level(); flush(); }\n";

fn directories() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for buffering in ["0", "4096", "On"] {
        for implicit in ["0", "1"] {
            for compression in ["0", "1", "4096"] {
                let settings = format!(
                    "output_buffering={buffering}\nimplicit_flush={implicit}\nzlib.output_compression={compression}\n"
                );
                all.push((format!("b{buffering}-i{implicit}-z{compression}"), settings));
            }
        }
    }
    all
}

fn ask(address: SocketAddr, method: &str, path: &str) -> Response {
    let mut client = Client::connect(address);
    client.send(format!("{method} {path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n"));
    if method == "HEAD" { client.read_of_head() } else { client.read() }
}

/// All that a client sees of it, without what describes the server itself.
fn seen(response: &Response) -> (u16, Vec<(String, String)>, String) {
    let lines = response.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
    let mut lines: Vec<_> = lines.filter(|(name, _)| name == "vary" || !is_own(name)).collect();
    lines.sort();
    (response.status, lines, response.body.escape_ascii().to_string())
}

#[test]
fn flush_sends_what_php_fpm_sends_in_each_state_of_the_buffers() {
    let mut files = Vec::new();
    for (directory, settings) in directories() {
        files.push((format!("{directory}/.user.ini"), settings));
        files
            .extend(SCRIPTS.map(|(name, code)| (format!("{directory}/{name}.php"), format!("{LATE}{code}"))));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let weft = Server::of_docroot(&files).with("--define", "session.save_path=/tmp").start();
    let fpm = Fpm::start(&weft.path("public").canonicalize().expect("it exists"), 1, &[]);
    for (directory, _) in directories() {
        for (name, _) in SCRIPTS {
            for method in ["GET", "HEAD"] {
                let path = format!("/{directory}/{name}.php");
                let (ours, theirs) = (ask(weft.address, method, &path), ask(fpm.address, method, &path));
                assert_eq!(seen(&ours), seen(&theirs), "{method} {path}");
            }
        }
    }
}

/// Since PHP 8.4 it sends the head, as the comparison above shows.
#[test]
fn a_flush_with_debian_s_settings_keeps_the_head_open_before_php_8_4() {
    if weft_tests::php::config("--vernum").parse::<u32>().expect("a number") >= 80_400 {
        return;
    }
    let late =
        "echo 'a'; flush(); header('Content-Type: application/pdf'); http_response_code(201); echo 'b';";
    let weft = Server::of_docroot(&[
        ("late.php", &format!("<?php {late}")),
        ("fatal.php", "<?php echo 'a'; flush(); undefined();"),
    ])
    .with("--define", "output_buffering=4096")
    .with("--define", "display_errors=0")
    .start();
    let response = weft.get("/late.php");
    assert_eq!((response.status, response.header("content-type")), (201, Some("application/pdf")));
    assert_eq!(response.text(), "ab");
    assert_eq!(weft.get("/fatal.php").status, 500);
}
