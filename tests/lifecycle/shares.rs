//! Fair shares: so many requests of a key run at once, the others wait in its own queue, and nobody else waits for them.
//!
//! A page waits until the test opens it, and writes down when it begins and ends, so the order of events is known.

use rustix::process::Signal;
use weft_tests::{Client, Running, Server, in_each_mode, until};

/// `/slow/NAME` and `/other/NAME` wait for a file `open.NAME`, or one that opens them all.
const PAGES: &str = r#"
function note(string $what): void
{
    file_put_contents(__DIR__ . '/events', "$what\n", FILE_APPEND | LOCK_EX);
}
function page(string $path): string
{
    if ($path === '/crash') {
        FFI::cdef('void abort(void);')->abort();
    }
    if (!preg_match('~^/+(slow|other)/(?:\./)?(\w+)~', rawurldecode($path), $match)) {
        return "light $path";
    }
    note("+$match[2]");
    while (!is_file(__DIR__ . "/open.$match[2]") && !is_file(__DIR__ . '/open')) {
        usleep(3000);
        clearstatcache();
    }
    note("-$match[2]");
    return $match[2];
}
"#;

fn servers(shares: &[&str]) -> [(&'static str, Server); 3] {
    in_each_mode(PAGES).map(|(mode, server)| {
        let server = if mode == "coroutine" { server } else { server.with("--instances", "8") };
        (mode, shares.iter().fold(server, |server, share| server.with("--shares", share)))
    })
}

fn coroutine(shares: &[&str]) -> Server {
    let [.., (_, server)] = servers(shares);
    server
}

/// Begins and ends, in their order.
fn events(weft: &Running) -> Vec<String> {
    let text = std::fs::read_to_string(weft.path("events")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn has_begun(weft: &Running, name: &str) -> bool {
    events(weft).contains(&format!("+{name}"))
}

fn wait_for(weft: &Running, name: &str) {
    until("it to begin", || has_begun(weft, name).then_some(()));
}

/// Asks for a page, and makes sure that its worker has seen it: answers another request that came later.
fn ask(weft: &Running, path: &str, headers: &str) -> Client {
    let mut client = weft.connect();
    client.send(format!("GET {path} HTTP/1.1\r\nHost: weft.test\r\n{headers}\r\n"));
    assert_eq!(weft.get("/light").text(), "light /light");
    client
}

fn open(weft: &Running, name: &str) {
    weft.write(&format!("open.{name}"), "");
}

#[test]
fn forty_requests_for_a_slow_page_leave_room_for_others() {
    for (mode, server) in servers(&["path /slow 4"]) {
        let weft = server.start();
        let mut slow: Vec<Client> = (0..40).map(|_| weft.connect()).collect();
        for (number, client) in slow.iter_mut().enumerate() {
            client.get(&format!("/slow/n{number}?x=1"));
        }
        for _ in 0..5 {
            assert_eq!(weft.get("/slower").text(), "light /slower", "{mode}");
        }
        let mut other = ask(&weft, "/other/one", "");
        wait_for(&weft, "one");
        open(&weft, "one");
        assert_eq!(other.read().text(), "one", "{mode}");
        until("four to run", || (events(&weft).len() >= 6).then_some(()));
        weft.write("open", "");
        for (number, client) in slow.iter_mut().enumerate() {
            assert_eq!(client.read().text(), format!("n{number}"), "{mode}");
        }
        let slow_events = events(&weft).into_iter().filter(|event| event[1..].starts_with('n'));
        let mut running = 0;
        for event in slow_events {
            running = if event.starts_with('+') { running + 1 } else { running - 1 };
            assert!(running <= 4, "{mode}: {:?}", events(&weft));
        }
        assert_eq!((running, events(&weft).len()), (0, 82), "{mode}");
    }
}

#[test]
fn who_waits_for_a_share_begins_in_the_order_of_arrival() {
    for (mode, server) in servers(&["path /slow 1"]) {
        let weft = server.start();
        let names = ["a", "b", "c", "d"];
        // Another spelling of a path is the same path.
        let paths = ["/slow/a", "//slow/./b", "/%73low/c", "/slow/d?e=f"];
        let mut clients: Vec<Client> = Vec::new();
        for path in paths {
            clients.push(ask(&weft, path, ""));
        }
        let mut expected: Vec<String> = Vec::new();
        for (name, client) in names.iter().zip(&mut clients) {
            wait_for(&weft, name);
            expected.push(format!("+{name}"));
            assert_eq!(events(&weft), expected, "{mode}");
            open(&weft, name);
            assert_eq!(client.read().text(), *name, "{mode}");
            expected.push(format!("-{name}"));
        }
    }
}

#[test]
fn each_value_of_a_header_has_its_share_and_so_has_each_client() {
    for (mode, server) in servers(&["header X-Key 1", "address 2"]) {
        let weft = server.with("--trust-proxies", "127.0.0.0/8").start();
        let (ada, bob) = ("x-key: ada\r\nX-Forwarded-For: 192.0.2.1\r\n", "X-Key: bob\r\n");
        let mut first = ask(&weft, "/slow/first", ada);
        wait_for(&weft, "first");
        let mut second = ask(&weft, "/slow/second", ada);
        let mut third = ask(&weft, "/slow/third", bob);
        wait_for(&weft, "third");
        // Without the header, the address counts alone: the one that the proxy reports.
        let from = "X-Forwarded-For: 192.0.2.1\r\n";
        let mut fourth = ask(&weft, "/slow/fourth", from);
        wait_for(&weft, "fourth");
        let mut fifth = ask(&weft, "/slow/fifth", from);
        let mut elsewhere = ask(&weft, "/slow/elsewhere", "X-Forwarded-For: 192.0.2.2\r\n");
        wait_for(&weft, "elsewhere");
        assert!(!has_begun(&weft, "second") && !has_begun(&weft, "fifth"), "{mode}: {:?}", events(&weft));
        open(&weft, "first");
        assert_eq!(first.read().text(), "first", "{mode}");
        wait_for(&weft, "second");
        assert!(!has_begun(&weft, "fifth"), "{mode}: {:?}", events(&weft));
        weft.write("open", "");
        for client in [&mut second, &mut third, &mut fourth, &mut fifth, &mut elsewhere] {
            assert_eq!(client.read().status, 200, "{mode}");
        }
    }
}

#[test]
fn the_place_of_a_client_that_has_gone_is_free() {
    for (mode, server) in servers(&["path /slow 1"]) {
        let weft = server.with("--queue-max", "2").start();
        let mut first = ask(&weft, "/slow/first", "");
        wait_for(&weft, "first");
        for gone in ["b", "c"] {
            // It has an answer that it has not read, so its end is a reset.
            let mut client = weft.connect();
            client.get("/light");
            assert_eq!(weft.get("/light").status, 200, "{mode}");
            client.get(&format!("/slow/{gone}"));
            assert_eq!(weft.get("/light").status, 200, "{mode}");
        }
        let mut last = ask(&weft, "/slow/last", "");
        open(&weft, "first");
        assert_eq!(first.read().text(), "first", "{mode}");
        wait_for(&weft, "last");
        assert_eq!(events(&weft), ["+first", "-first", "+last"], "{mode}: who has gone does not begin");
        open(&weft, "last");
        assert_eq!(last.read().text(), "last", "{mode}");
    }
}

#[test]
fn a_client_that_goes_while_its_request_runs_keeps_its_place_until_the_request_ends() {
    for (mode, server) in servers(&["path /slow 1"]) {
        let weft = server.start();
        drop(ask(&weft, "/slow/gone", ""));
        let mut next = ask(&weft, "/slow/next", "");
        assert!(!has_begun(&weft, "next"), "{mode}");
        open(&weft, "gone");
        wait_for(&weft, "next");
        assert_eq!(events(&weft), ["+gone", "-gone", "+next"], "{mode}");
        open(&weft, "next");
        assert_eq!(next.read().text(), "next", "{mode}");
    }
}

#[test]
fn too_many_that_wait_get_503_and_the_longest_queue_first() {
    for (mode, server) in servers(&["path /slow 1", "path /other 1"]) {
        let weft = server.with("--queue-max", "3").with("--queue-timeout-ms", "600000").start();
        let mut running = [ask(&weft, "/slow/a", ""), ask(&weft, "/other/b", "")];
        let mut waiting = ["c", "d", "e"].map(|name| ask(&weft, &format!("/slow/{name}"), ""));
        let refused = ask(&weft, "/slow/f", "").read();
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{mode}");
        let mut other = ask(&weft, "/other/g", "");
        assert_eq!(waiting[2].read().status, 503, "{mode}: the last of the longest queue gave way");
        weft.write("open", "");
        for client in running.iter_mut().chain(&mut waiting[..2]).chain([&mut other]) {
            assert_eq!(client.read().status, 200, "{mode}");
        }
    }
}

#[test]
fn who_waits_too_long_for_a_share_gets_503() {
    for (mode, server) in servers(&["path /slow 1"]) {
        let weft = server.with("--queue-timeout-ms", "200").start();
        let mut running = ask(&weft, "/slow/a", "");
        let refused = ask(&weft, "/slow/b", "").read();
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{mode}");
        weft.write("open", "");
        assert_eq!(running.read().text(), "a", "{mode}");
        assert_eq!(weft.get("/slow/c").text(), "c", "{mode}");
        assert_eq!(events(&weft), ["+a", "-a", "+c", "-c"], "{mode}");
    }
}

#[test]
fn a_reload_loses_nobody_who_waits_and_brings_the_new_shares() {
    let mut weft = coroutine(&[]).with_file("weft.toml", "[limits]\nshares = [\"path /slow 1\"]\n").start();
    let mut clients = [ask(&weft, "/slow/a", ""), ask(&weft, "/slow/b", "")];
    wait_for(&weft, "a");
    weft.write("weft.toml", "[limits]\nshares = [\"path /slow 2\"]\n");
    weft.signal(Signal::HUP);
    weft.wait_for_log("reload: generation 2 is ready");
    let mut later = ["c", "d", "e"].map(|name| ask(&weft, &format!("/slow/{name}"), ""));
    for name in ["c", "d"] {
        wait_for(&weft, name);
    }
    assert!(!has_begun(&weft, "b") && !has_begun(&weft, "e"), "{:?}", events(&weft));
    weft.write("open", "");
    for (client, name) in clients.iter_mut().chain(&mut later).zip(["a", "b", "c", "d", "e"]) {
        assert_eq!(client.read().text(), name);
    }
}

#[test]
fn who_waits_when_the_drain_deadline_passes_gets_503() {
    for (mode, server) in servers(&["path /slow 1"]) {
        let weft = server.with("--drain-timeout-ms", "200").start();
        let clients = ["a", "b", "c"].map(|name| ask(&weft, &format!("/slow/{name}"), ""));
        wait_for(&weft, "a");
        weft.signal(Signal::TERM);
        for mut client in clients {
            assert_eq!(client.read().status, 503, "{mode}");
        }
        assert_eq!(events(&weft)[0], "+a", "{mode}");
        assert!(!has_begun(&weft, "b"), "{mode}");
    }
}

#[test]
fn requests_that_wait_when_their_worker_fails_are_answered_by_the_next() {
    for (mode, server) in servers(&["path /slow 1"]) {
        let weft = server.with("--define", "ffi.enable=1").start();
        let mut clients = ["a", "b", "c"].map(|name| ask(&weft, &format!("/slow/{name}"), ""));
        wait_for(&weft, "a");
        assert_eq!(weft.get("/crash").status, 502, "{mode}");
        weft.write("open", "");
        for (client, name) in clients.iter_mut().zip(["a", "b", "c"]) {
            assert_eq!(client.read().text(), name, "{mode}");
        }
        let begun = |name: &str| events(&weft).iter().filter(|event| **event == format!("+{name}")).count();
        assert_eq!(["a", "b", "c"].map(begun), [2, 1, 1], "{mode}: {:?}", events(&weft));
    }
}

#[test]
fn a_script_of_a_document_root_is_meant_by_its_own_path_too() {
    let script = "<?php require __DIR__ . '/../../pages.inc'; echo page('/slow/' . $_GET['name']);";
    let weft = Server::of_docroot(&[
        ("bad/index.php", script),
        ("index.php", "<?php echo 'light ', $_SERVER['REQUEST_URI'];"),
    ])
    .with_file("pages.inc", &format!("<?php {PAGES}"))
    .with("--instances", "8")
    .with("--shares", "path /bad/index.php 1")
    .start();
    let mut first = ask(&weft, "/bad/?name=a", "");
    wait_for(&weft, "a");
    let mut second = ask(&weft, "/bad/index.php?name=b", "");
    open(&weft, "a");
    assert_eq!(first.read().text(), "a");
    wait_for(&weft, "b");
    assert_eq!(events(&weft), ["+a", "-a", "+b"]);
    open(&weft, "b");
    assert_eq!(second.read().text(), "b");
}

#[test]
fn check_says_what_is_wrong_with_a_share() {
    let weft = coroutine(&["path /slow 1", "address 10"]).start();
    let check = |share: &str| weft.weft(&["check", "--listen=127.0.0.1:0", "app.php", "--shares", share]);
    let mistake = check("path slow 4");
    let line = "weft: --shares: \"path slow 4\": a path begins with a slash: write /slow\n";
    assert_eq!((mistake.code, mistake.stderr.as_str()), (Some(1), line));
    let right = check("path /slow 4");
    assert!(right.code == Some(0) && right.stdout.contains("share       path /slow 4\n"), "{right:?}");
}
