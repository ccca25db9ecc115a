//! instances_memory_bytes_max limits the total memory of a worker's requests.

use std::thread;

use weft_tests::{Response, Running, Server};

use crate::ask;

const PAGE: &str = r#"<?php
if (isset($_GET['meet'])) {
    touch(__DIR__ . "/here-$_GET[n]");
    while (count(glob(__DIR__ . '/here-*')) < $_GET['meet']) {
        usleep(5_000);
    }
}
usleep(10_000); // others are admitted before this request has taken any memory
$text = str_repeat('a', (int) $_GET['mib'] << 20);
usleep(10_000);
echo strlen($text) >> 20;
"#;

fn all(weft: &Running, targets: impl Iterator<Item = String>) -> Vec<Response> {
    thread::scope(|scope| {
        let asked: Vec<_> =
            targets.map(|target| scope.spawn(move || ask(weft, "GET", &target, ""))).collect();
        asked.into_iter().map(|one| one.join().expect("a response")).collect()
    })
}

/// The largest resident memory that a worker has had, in MiB.
fn most_mib(weft: &Running) -> u64 {
    let worker = weft.workers()[0];
    let status = std::fs::read_to_string(format!("/proc/{worker}/status")).expect("the worker's status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") >> 10
}

#[test]
fn requests_wait_for_memory_even_if_there_are_instances() {
    let weft = Server::of_docroot(&[("index.php", PAGE)])
        .with("--workers", "1")
        .with("--instances", "30")
        .with("--instances-memory-bytes-max", "250MiB")
        .with("--queue-timeout-ms", "100000")
        .start();
    for response in all(&weft, (0..30).map(|n| format!("/?n={n}&mib=0&meet=30"))) {
        assert_eq!(response.text(), "0");
    }
    let before = most_mib(&weft);
    assert!(before < 250, "thirty small ones have {before} MiB");
    // The first request to end shows how much one needs.
    assert_eq!(ask(&weft, "GET", "/?mib=40", "").text(), "40");
    for response in all(&weft, (0..30).map(|_| "/?mib=40".to_owned())) {
        assert_eq!((response.status, response.text().as_str()), (200, "40"));
    }
    let most = most_mib(&weft);
    assert!(most < 300, "{most} MiB, where 250 were allowed; {before} before");
}

#[test]
fn a_request_that_needs_more_than_is_available_runs_alone() {
    let weft = Server::of_docroot(&[("index.php", PAGE)])
        .with("--workers", "1")
        .with("--instances", "5")
        .with("--instances-memory-bytes-max", "1MiB")
        .with("--queue-timeout-ms", "100000")
        .start();
    for _ in 0..3 {
        for response in all(&weft, (0..5).map(|_| "/?mib=20".to_owned())) {
            assert_eq!((response.status, response.text().as_str()), (200, "20"));
        }
    }
}
