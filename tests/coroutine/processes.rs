//! Helper processes of handlers: they compute while other requests continue, and they own none of the server's
//! descriptors.

use weft_tests::{Server, process, until};

use crate::at_once;

const APPLICATION: &str = r#"use Weft\Process;
    Process::limit(4);
    return function ($r) {
        $n = (int) $r->query('n');
        switch ($r->path()) {
            case '/compute':
                return (string) Process::run(fn () => array_sum(range(1, 1000)) + $n);
            case '/spin':
                return Process::run(function () {
                    file_put_contents('helper', (string) getmypid());
                    while (!file_exists('stop')) { clearstatcache(); }
                    return 'spun';
                });
            case '/fail':
                try {
                    Process::run(fn () => throw new DomainException("failed $n"));
                } catch (DomainException $failure) {
                    return $failure->getMessage();
                }
            case '/exit':
                try {
                    Process::run(function () { echo 'lost'; exit(1); });
                } catch (Weft\ProcessFailed $failure) {
                    return $failure->getMessage();
                }
            case '/late':
                try {
                    Process::run(function () { while (true) { hrtime(); } }, 0.05);
                } catch (Weft\TimeoutException) {
                    return 'late';
                }
        }
        return 'ok';
    };"#;

#[test]
fn results_and_failures_come_back_to_their_own_request() {
    let weft = Server::new(APPLICATION).start();
    let worker = weft.workers();
    let target = |n: usize| match n % 4 {
        0 => format!("/compute?n={n}"),
        1 => format!("/fail?n={n}"),
        2 => "/exit".to_string(),
        _ => "/late".to_string(),
    };
    for (n, response) in at_once(&weft, 24, target).iter().enumerate() {
        let expected = match n % 4 {
            0 => (500_500 + n).to_string(),
            1 => format!("failed {n}"),
            2 => "The helper process called exit(): return a value instead".to_string(),
            _ => "late".to_string(),
        };
        assert_eq!((response.status, response.text()), (200, expected));
    }
    assert_eq!(weft.workers(), worker);
    until("the helpers to be gone", || process::children(worker[0]).is_empty().then_some(()));
}

#[test]
fn others_are_answered_and_their_connections_closed_while_a_helper_computes() {
    let weft = Server::new(APPLICATION).start();
    let mut spinning = weft.connect();
    let mut other = weft.connect();
    other.get("/");
    assert_eq!(other.read().text(), "ok");
    spinning.get("/spin");
    until("the helper", || (!weft.read("helper").is_empty()).then_some(()));
    for response in at_once(&weft, 20, |_| "/".to_string()) {
        assert_eq!(response.text(), "ok");
    }
    // If the connection were open in the helper as well, this end would never come.
    other.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(other.read().text(), "ok");
    other.expect_closed();
    weft.write("stop", "");
    assert_eq!(spinning.read().text(), "spun");
}

#[test]
fn a_helper_does_not_outlive_its_worker() {
    let mut weft = Server::new(APPLICATION).start();
    let mut client = weft.connect();
    client.get("/spin");
    let helper: u32 = until("the helper", || weft.read("helper").parse().ok());
    let worker = weft.workers()[0];
    process::signal(worker, rustix::process::Signal::KILL);
    until("the helper's end", || (!process::is_alive(helper)).then_some(()));
    weft.wait_for_log_times("weft: ready\n", 1);
    assert_eq!(weft.get("/").text(), "ok");
}
