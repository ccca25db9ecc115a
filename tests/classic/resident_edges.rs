//! Resident mode in unusual situations: time limits, clients that disconnect, bodies that do not arrive, calls in the
//! wrong place, and output that is sent early.

use weft_tests::process::private_bytes;
use weft_tests::{Running, Server};

use super::ask;

const WORKER: &str = r#"<?php
$n = 0;
$handler = function () use (&$n, &$handler): void {
    $n++;
    switch ($_GET['do'] ?? '') {
        case 'wait':
            touch(__DIR__ . '/waits');
            usleep(20_000_000);
            break;
        case 'spin':
            set_time_limit(1);
            while (true) {
            }
        case 'compute':
            while (true) {
            }
        case 'hint':
            header('Link: </a.css>; rel=preload');
            echo json_encode([headers_send(103), headers_send(103)]);
            header_remove('Link');
            break;
        case 'head':
            header('X-Early: yes');
            echo headers_send(202), headers_sent() ? ' sent' : ' not';
            return;
        case 'nested':
            try {
                frankenphp_handle_request($handler);
            } catch (Error $error) {
                echo $error->getMessage();
            }
            return;
        case 'stream':
            for ($i = 0; $i < 1000 && !connection_aborted(); $i++) {
                echo str_repeat('x', 1 << 16);
                flush();
            }
            file_put_contents(__DIR__ . '/aborted', $i < 1000 ? 'yes' : 'no');
            return;
        case 'keep':
            $GLOBALS['kept'][] = $_FILES['f']['tmp_name'] ?? null;
            echo json_encode(array_map('file_exists', array_filter($GLOBALS['kept'])));
            return;
    }
    echo $n;
};
// As frameworks do, it has something to do after each.
while (frankenphp_handle_request($handler)) {
    for ($until = microtime(true) + 0.05; microtime(true) < $until;) {
    }
    usleep(1_000);
}
"#;

fn worker() -> Server {
    Server::of_script("worker.php", WORKER).with("--instances", "1")
}

fn served(weft: &Running) -> u32 {
    weft.get("/").text().parse().expect("a number of requests")
}

#[test]
fn a_request_that_runs_too_long_is_cancelled_and_the_script_stays_loaded() {
    let mut weft = worker().with("--request-timeout-ms", "300").start();
    assert_eq!(weft.get("/?do=wait").status, 504);
    weft.wait_for_log("request_timeout_ms");
    assert_eq!(served(&weft), 2);
}

/// What it was cancelled for is over when the script goes on, which computes and waits after each request.
#[test]
fn a_request_that_computes_too_long_is_cancelled_and_the_script_stays_loaded() {
    let mut weft = worker().with("--request-timeout-ms", "300").start();
    for n in [2, 4] {
        assert_eq!(weft.get("/?do=compute").status, 504);
        weft.wait_for_log("the request is cancelled while it computes");
        assert_eq!(served(&weft), n, "{}", weft.log());
    }
}

#[test]
fn a_time_limit_of_php_ends_the_request_and_reloads_the_script() {
    let mut weft = worker().start();
    assert_eq!(weft.get("/?do=spin").status, 500);
    weft.wait_for_log("Maximum execution time of 1 second exceeded");
    assert_eq!(served(&weft), 1);
}

#[test]
fn early_hints_and_an_early_head_are_sent() {
    let weft = worker().start();
    let mut client = weft.connect();
    client.get("/?do=hint");
    let hint = client.read_head();
    assert_eq!((hint.status, hint.header("link")), (103, Some("</a.css>; rel=preload")));
    let hint = client.read_head();
    assert_eq!(hint.status, 103);
    let response = client.read();
    assert_eq!((response.status, response.header("link")), (200, None));
    let head = weft.get("/?do=head");
    assert_eq!((head.status, head.header("x-early"), head.text().as_str()), (202, Some("yes"), "1 sent"));
}

#[test]
fn a_request_is_not_handled_inside_another() {
    let weft = worker().start();
    let said = weft.get("/?do=nested").text();
    assert_eq!(said, "frankenphp_handle_request() cannot be called while a request is handled");
    assert_eq!(served(&weft), 2);
}

#[test]
fn a_body_that_does_not_arrive_is_answered_without_the_script() {
    let weft = worker().with("--body-timeout-ms", "200").start();
    let stalled = weft.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
    assert_eq!(stalled.status, 408);
    let malformed = weft.say("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n");
    assert_eq!(malformed.status, 400);
    assert_eq!(served(&weft), 1, "the script has not seen them");
}

#[test]
fn a_client_that_disconnects_ends_only_its_request() {
    let weft = worker().start();
    let mut client = weft.connect();
    client.get("/?do=stream");
    client.read_bytes(1000);
    drop(client);
    weft_tests::until("the script's notice", || (weft.read("aborted") == "yes").then_some(()));
    assert_eq!(served(&weft), 2);
}

#[test]
fn uploads_are_gone_with_their_request() {
    let weft = worker().start();
    let body = "--X\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n\"\r\n\r\nhello\r\n--X--\r\n";
    let mut client = weft.connect();
    for expected in ["[true]", "[false,true]"] {
        client.post("/?do=keep", "multipart/form-data; boundary=X", body);
        assert_eq!(client.read().text(), expected);
    }
}

#[test]
fn a_worker_that_is_told_to_stop_finishes_the_running_request() {
    let mut weft = Server::of_script(
        "worker.php",
        "<?php while (frankenphp_handle_request(function () { touch(__DIR__ . '/began'); usleep(700_000); echo 'done'; }));",
    )
    .with("--instances", "2")
    .start();
    let mut client = weft.connect();
    client.get("/");
    weft_tests::until("the request's begin", || weft.path("began").exists().then_some(()));
    weft.signal(rustix::process::Signal::TERM);
    assert_eq!(client.read().text(), "done");
    assert!(weft.wait().success());
}

#[test]
fn a_head_request_has_no_body() {
    let weft = worker().start();
    let response = ask(&weft, "HEAD", "/", "");
    assert_eq!((response.status, response.body.len()), (200, 0));
    assert_eq!(served(&weft), 2);
}

#[test]
fn the_scripts_work_between_requests_is_its_own() {
    let script = r#"<?php
        $between = 0;
        while (frankenphp_handle_request(function () use (&$between) {
            header('X-A: b');
            echo $between, ' ', apache_response_headers()['X-A'];
        })) {
            usleep(20_000);
            echo "said between requests\n";
            header('X-Lost: yes');
            ini_set('precision', '3');
            $between++;
        }"#;
    let mut weft = Server::of_script("worker.php", script).with("--instances", "1").start();
    for n in 0..3 {
        let response = weft.get("/");
        assert_eq!((response.text(), response.header("x-lost")), (format!("{n} b"), None));
    }
    weft.wait_for_log("output outside of a request: said between requests");
}

#[test]
fn opcache_does_not_kill_a_script_that_stays_loaded() {
    let script = "<?php while (frankenphp_handle_request(function () {
        opcache_reset();
        echo ini_get('opcache.force_restart_timeout') > 1_000_000 ? 'patient' : 'kills', ' ', getmypid();
    }));";
    for instances in ["1", "3"] {
        let weft = Server::of_script("worker.php", script).with("--instances", instances).start();
        let first = weft.get("/").text();
        assert!(first.starts_with("patient "), "{first}");
        assert_eq!(weft.get("/").text(), first, "the same process");
    }
}

/// Every tenth request fails, in one of four ways; meanwhile other requests wait in two more instances.
const FAILING: &str = r#"<?php
$n = 0;
while (frankenphp_handle_request(function () use (&$n): void {
    $n++;
    session_id('s' . ($_GET['n'] ?? 'x'));
    session_start(['save_path' => __DIR__]);
    $_SESSION['a'] = $n;
    ob_start();
    ini_set('precision', 7);
    register_shutdown_function(fn () => 1);
    if (isset($_GET['wait'])) {
        usleep(400_000);
    }
    if ($n % 10 === 0) {
        match (random_int(0, 3)) {
            0 => str_repeat('x', PHP_INT_MAX >> 8),
            1 => throw new Exception('thrown'),
            2 => eval('class B {} class B {}'),
            3 => exit('left'),
        };
    }
    echo str_repeat('0123456789', 500);
}));
"#;

#[test]
fn a_failure_in_every_tenth_of_thousands_of_requests_leaves_nothing_behind() {
    let weft = Server::of_script("worker.php", FAILING)
        .with("--instances", "4")
        .with("--define", "memory_limit=64M")
        .start();
    let pid = *weft.workers().first().expect("a worker");
    let mut waiting = [weft.connect(), weft.connect()];
    let mut load = |requests: usize| {
        waiting.iter_mut().enumerate().for_each(|(n, client)| client.get(&format!("/?wait&n={n}")));
        let mut client = weft.connect();
        let mut failed = 0;
        for _ in 0..requests {
            client.get("/");
            failed += u32::from(client.read().status == 500);
        }
        waiting.iter_mut().for_each(|client| {
            client.read();
        });
        failed
    };
    load(1000);
    let before = private_bytes(pid);
    let failed = load(3000);
    assert!((100..300).contains(&failed), "{failed} of 3000 failed");
    let after = private_bytes(pid);
    assert!(after < before + (2 << 20), "{before} bytes before, {after} bytes after");
    assert_eq!(weft.workers(), [pid], "the same process");
}
