//! Limits: what happens when there is too much of something.

use std::process::Command;

use weft_tests::{Client, Running, Server, until};

use crate::server;

fn waiting(weft: &Running, count: usize) -> Vec<Client> {
    let mut clients: Vec<Client> = (0..count).map(|_| weft.connect()).collect();
    for client in &mut clients {
        client.get("/?wait=gate");
    }
    clients
}

#[test]
fn beyond_the_coroutines_requests_queue_and_beyond_the_queue_they_get_503() {
    let weft = server().with("--coroutines-max", "3").with("--queue-max", "2").start();
    // Five are accepted and one is refused; which one depends on the order in which the worker sees them.
    let mut clients = waiting(&weft, 6);
    let refused = until("a refusal", || clients.iter_mut().position(Client::is_readable));
    let refusal = clients.remove(refused).read();
    assert_eq!(refusal.status, 503);
    let after = refusal.header("retry-after").and_then(|seconds| seconds.parse::<u32>().ok());
    assert!(after.is_some(), "{refusal:?}");
    weft.write("gate", "open");
    for client in &mut clients {
        assert_eq!(client.read().status, 200);
    }
    assert_eq!(weft.get("/").status, 200, "and then there is room again");
}

#[test]
fn a_request_that_waits_too_long_for_a_coroutine_gets_503() {
    let weft = server()
        .with("--coroutines-max", "1")
        .with("--queue-max", "10")
        .with("--queue-timeout-ms", "200")
        .start();
    let mut running = waiting(&weft, 1);
    let mut queued = weft.connect();
    queued.get("/");
    let refused = queued.read();
    assert_eq!(refused.status, 503);
    assert!(refused.header("retry-after").is_some());
    weft.write("gate", "open");
    assert_eq!(running[0].read().status, 200);
}

#[test]
fn without_memory_for_a_stack_requests_get_503_and_the_worker_lives() {
    let weft = server().with("--queue-timeout-ms", "100").start();
    // The limit leaves the worker some memory, because nobody can do without any, and not enough of it for a stack.
    let worker = weft.workers()[0];
    let status = std::fs::read_to_string(format!("/proc/{worker}/status")).expect("it lives");
    let size = status
        .lines()
        .find_map(|line| line.strip_prefix("VmSize:")?.strip_suffix("kB")?.trim().parse::<u64>().ok());
    let bytes = (size.expect("its size") + 512) << 10;
    let limit = Command::new("prlimit").args([format!("--pid={worker}"), format!("--as={bytes}")]).status();
    assert!(limit.is_ok_and(|status| status.success()));
    for _ in 0..3 {
        assert_eq!(weft.get("/").status, 503);
    }
    assert!(!weft.log().contains("is started again"), "{}", weft.log());
}

#[test]
fn a_request_that_runs_too_long_is_cancelled_with_504() {
    let weft = server().with("--request-timeout-ms", "200").start();
    let mut client = weft.connect();
    client.get("/?wait=never");
    assert_eq!(client.read().status, 504);
    assert_eq!(weft.get("/").status, 200);
}

#[test]
fn ten_thousand_requests_leave_the_worker_unchanged() {
    let weft = server().start();
    let worker = weft.workers()[0];
    let ask = |count: usize| {
        let mut client = weft.connect();
        for _ in 0..count / 10 {
            client.send("GET /?us=1 HTTP/1.1\r\nHost: a\r\n\r\n".repeat(10));
            for _ in 0..10 {
                assert_eq!(client.read().status, 200);
            }
        }
    };
    ask(2000);
    let before = weft_tests::process::private_bytes(worker);
    ask(10_000);
    let after = weft_tests::process::private_bytes(worker);
    assert!(after < before + (1 << 20), "it grew from {before} to {after} bytes");
    assert_eq!(weft.workers(), [worker]);
}

#[test]
fn a_thousand_requests_are_parked_at_once_in_one_worker() {
    let app = "$n = 0; return function ($r) use (&$n) {
            $n++;
            while ($n < 1000) { usleep(5000); }
            return 'all';
        };";
    let weft = Server::new(app).start();
    let mut clients: Vec<Client> = (0..1000).map(|_| weft.connect()).collect();
    for client in &mut clients {
        client.get("/");
    }
    // None can end before all of them run.
    for client in &mut clients {
        assert_eq!(client.read().text(), "all");
    }
}
