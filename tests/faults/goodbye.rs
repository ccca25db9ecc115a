//! What clients whose connections cannot leave are told by a worker that crashes, and what the access log says of requests
//! that it had.

use std::collections::BTreeMap;
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::process::Signal;
use weft_tests::services::Authority;
use weft_tests::{Client, Running, Server, command, process, until};

const PAGES: &str = r#"
function page(string $path, string $method): string
{
    file_put_contents(__DIR__ . '/begun', "$method $path\n", FILE_APPEND | LOCK_EX);
    if (str_starts_with($path, '/streams')) {
        while (ob_get_level() > 0) {
            ob_end_flush();
        }
        echo 'begun ';
        flush();
        touch(__DIR__ . '/streaming');
    }
    if (str_starts_with($path, '/waits') || str_starts_with($path, '/streams')) {
        until_there('gate');
    }
    if (str_starts_with($path, '/boom')) {
        until_there('boom');
        FFI::cast('int *', FFI::new('long'))[0];
    }
    return str_starts_with($path, '/large') ? str_repeat('x', 32 << 20) : $path . ' ' . $method;
}
function until_there(string $name): void
{
    while (!is_file(__DIR__ . "/$name")) {
        usleep(3000);
        clearstatcache();
    }
}
"#;

const INDEX: &str = "<?php require __DIR__ . '/../pages.inc'; echo page($_SERVER['REQUEST_URI'], $_SERVER['REQUEST_METHOD']);";

/// A document root whose access log is a file.
fn server() -> Server {
    let server =
        Server::of_docroot(&[("index.php", INDEX)]).with_file("pages.inc", &format!("<?php {PAGES}"));
    server.with("--define", "ffi.enable=1").with("--access-log", "access.log")
}

/// The statuses in the access log by method and target, once there are so many lines.
fn logged(weft: &Running, count: usize) -> BTreeMap<String, Vec<u16>> {
    let lines = until("the lines of the access log", || {
        let text = weft.read("access.log");
        (text.lines().count() >= count).then_some(text)
    });
    let mut statuses: BTreeMap<String, Vec<u16>> = BTreeMap::new();
    for line in lines.lines() {
        let words: Vec<&str> = line.split(['"', ' ']).filter(|word| !word.is_empty()).collect();
        let at = words.iter().position(|word| word.starts_with("HTTP/")).expect("a protocol");
        let status = words[at + 1].parse().expect("a status");
        statuses.entry(format!("{} {}", words[at - 2], words[at - 1])).or_default().push(status);
    }
    statuses
}

fn has_begun(weft: &Running, line: &str) {
    until(line, || weft.read("begun").lines().any(|one| one == line).then_some(()));
}

#[test]
fn clients_over_tls_and_http2_are_told_what_became_of_their_requests() {
    let server = server().with("--instances", "6");
    Authority::new(server.directory()).certify("a", "DNS:a.example", 9);
    let server = server.with("--tls-certificates", "a.pem").with("--tls-keys", "a.key");
    let mut weft = ["127.0.0.1:0", "https://127.0.0.1:0", "admin://127.0.0.1:0"]
        .iter()
        .fold(server, |server, address| server.with("--listen", address))
        .start();
    weft.write("goodbye.py", include_str!("goodbye.py"));
    let log = weft.log();
    let port = |scheme: &str| {
        let mut lines = log.lines().filter_map(|line| line.strip_prefix("weft: listening on "));
        let address = lines.find_map(|url| url.strip_prefix(&format!("{scheme}://"))).expect("its address");
        address.trim_end_matches('/').rsplit_once(':').expect("a port").1.to_owned()
    };
    let ports = ["http", "https", "admin"].map(port);
    let mut python = Command::new("/usr/bin/python3");
    let said = command::finish(python.current_dir(weft.directory()).arg("goodbye.py").args(ports));
    let fates = "idle: nothing, clean
safe: HTTP/1.1 502 Bad Gateway, clean
posting: HTTP/1.1 502 Bad Gateway, clean
streaming: HTTP/1.1 200 OK, cut
crashing: HTTP/1.1 502 Bad Gateway, clean
large: HTTP/1.1 200 OK, cut
late: HTTP/1.1 503 Service Unavailable Retry-After, clean
h2: /waits/h2: 502; /late/h2: REFUSED_STREAM; GOAWAY NO_ERROR; clean
h2c: /waits/h2c: 502; /late/h2c: REFUSED_STREAM; GOAWAY NO_ERROR; clean
";
    assert_eq!(said.stdout, fates, "{} {}", said.stderr, weft.log());
    weft.wait_for_log(
        "3 requests had not begun and may be sent again, 5 were answered with an error, 2 were cut off",
    );
    let expected = [
        ("GET /idle", 200),
        ("GET /waits/safe", 502),
        ("POST /waits/post", 502),
        ("GET /streams", 200),
        ("GET /large", 200),
        ("GET /boom", 502),
        ("POST /late", 503),
        ("GET /waits/h2", 502),
        ("GET /late/h2", 503),
        ("GET /waits/h2c", 502),
        ("GET /late/h2c", 503),
    ];
    let expected = expected.map(|(target, status)| (target.to_owned(), vec![status]));
    assert_eq!(logged(&weft, expected.len()), BTreeMap::from(expected), "{}", weft.read("access.log"));
}

#[test]
fn each_request_of_a_worker_that_crashes_is_in_the_access_log_once() {
    let weft = server().with("--instances", "5").start();
    assert_eq!(weft.get("/before").text(), "/before GET");
    let ask = |method: &str, target: &str| -> Client {
        let mut client = weft.connect();
        match method {
            "POST" => client.post(target, "text/plain", "a body"),
            _ => client.get(target),
        }
        client
    };
    let begun = [
        ("GET", "/waits/safe"),
        ("POST", "/waits/post"),
        ("GET", "/streams"),
        ("GET", "/waits/gone"),
        ("GET", "/boom"),
    ];
    let mut clients = begun.map(|(method, target)| {
        let client = ask(method, target);
        has_begun(&weft, &format!("{method} {target}"));
        client
    });
    let mut late = ask("POST", "/late");
    weft.write("boom", "");
    let [safe, posting, streaming, gone, crashing] = &mut clients;
    assert_eq!(crashing.read().status, 502, "{}", weft.log());
    assert_eq!(posting.read().status, 502);
    assert_eq!(streaming.read_head().status, 200);
    streaming.read_to_end();
    weft.write("gate", "");
    assert_eq!(safe.read().text(), "/waits/safe GET");
    assert_eq!(gone.read().text(), "/waits/gone GET");
    assert_eq!(late.read().text(), "/late POST");
    let expected = [
        ("GET /before", 200),
        ("GET /waits/safe", 200),
        ("POST /waits/post", 502),
        ("GET /streams", 200),
        ("GET /waits/gone", 200),
        ("GET /boom", 502),
        ("POST /late", 200),
    ];
    let expected = expected.map(|(target, status)| (target.to_owned(), vec![status]));
    assert_eq!(logged(&weft, expected.len()), BTreeMap::from(expected), "{}", weft.read("access.log"));
}

#[test]
fn clients_behind_a_proxy_that_names_them_are_told_what_became_of_their_requests() {
    let weft = server()
        .with("--instances", "5")
        .with("--listen", "127.0.0.1:0")
        .with("--proxy-protocol", "127.0.0.1:0")
        .with("--trust-proxies", "127.0.0.0/8")
        .start();
    let mut clients: Vec<Client> = (0..5).map(|_| weft.connect()).collect();
    let request = |method: &str, target: &str| {
        format!("{method} {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
    };
    for (n, client) in clients.iter_mut().enumerate() {
        client.send(format!("PROXY TCP4 203.0.113.{n} 192.0.2.1 4711 80\r\n{}", request("GET", "/before")));
        assert_eq!(client.read().text(), "/before GET");
    }
    let [waiting, posting, crashing, early, late] = &mut clients[..] else { unreachable!("there are five") };
    waiting.send(request("GET", "/waits/get"));
    posting.send(request("POST", "/waits/post"));
    has_begun(&weft, "GET /waits/get");
    has_begun(&weft, "POST /waits/post");
    weft.write("boom", "");
    // The others are there before the one that crashes begins, and begin after it.
    let worker = weft.workers()[0];
    process::signal(worker, Signal::STOP);
    until("the worker to stop", || process::is_stopped(worker).then_some(()));
    crashing.send(request("GET", "/boom"));
    early.send(request("GET", "/early"));
    late.send(request("POST", "/late"));
    process::signal(worker, Signal::CONT);
    for (client, status) in [(waiting, 502), (posting, 502), (crashing, 502), (early, 503), (late, 503)] {
        let response = client.read();
        assert_eq!(response.status, status, "{}", weft.log());
        assert_eq!(response.header("retry-after").is_some(), status == 503);
        client.expect_closed();
    }
    let statuses = logged(&weft, 10);
    for (request, status) in [
        ("GET /waits/get", 502),
        ("POST /waits/post", 502),
        ("GET /boom", 502),
        ("GET /early", 503),
        ("POST /late", 503),
    ] {
        assert_eq!(statuses.get(request), Some(&vec![status]), "{request}: {}", weft.read("access.log"));
    }
    for n in 0..5 {
        assert_eq!(weft.read("access.log").matches(&format!("203.0.113.{n} ")).count(), 2, "client {n}");
    }
}

/// The last words end after a bound, whatever they wait for.
#[test]
fn a_log_that_nobody_reads_keeps_no_worker_that_crashes() {
    let server = server().with("--instances", "5");
    let path = server.directory().join("access.log");
    mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).expect("a FIFO");
    let reader = rustix::fs::open(&path, OFlags::RDWR | OFlags::NONBLOCK, Mode::empty()).expect("its end");
    while rustix::io::write(&reader, &[b'.'; 4096]).is_ok() {}
    let mut weft = server.start();
    for _ in 0..2 {
        let worker = weft.workers()[0];
        let mut posting = weft.connect();
        posting.post("/waits/post", "text/plain", "a body");
        has_begun(&weft, "POST /waits/post");
        std::fs::remove_file(weft.path("begun")).expect("it is there");
        weft.write("boom", "");
        assert_eq!(weft.get("/boom").status, 502);
        assert_eq!(posting.read().status, 502);
        until("another worker", || weft.workers().first().filter(|now| **now != worker).copied());
    }
    weft.wait_for_log_times("was killed by signal 11 (SIGSEGV)", 2);
    drop(reader);
}
