//! A worker that crashes loses the requests and connections it held, and nothing else.

use rustix::process::Signal;
use weft_tests::{Client, Running, Server, process, until};

use crate::{Parked, server};

#[test]
fn kill_9_of_a_worker_costs_only_what_it_held() {
    let mut weft = server().with("--workers", "2").start();
    let workers = weft.workers();
    assert_eq!(workers.len(), 2);
    // Opens connections until both workers hold some, each with a waiting request.
    let mut held: Vec<(u32, Client)> = Vec::new();
    while workers.iter().any(|worker| held.iter().filter(|(pid, _)| pid == worker).count() < 3) {
        let mut client = weft.connect();
        client.get("/pid");
        let pid = client.read().text().parse().expect("a pid");
        client.get("/wait");
        held.push((pid, client));
        assert!(held.len() < 500, "all connections went to one worker");
    }
    process::signal(workers[0], Signal::KILL);
    weft.wait_for_log("was killed by signal 9 (SIGKILL)");
    // The worker is replaced at once.
    let now = until("a new worker", || {
        let now = weft.workers();
        (now.len() == 2 && !now.contains(&workers[0])).then_some(now)
    });
    assert!(now.contains(&workers[1]), "the other worker is the same");
    weft.write("gate", "open");
    for (pid, client) in &mut held {
        match client.try_read() {
            Ok(response) => assert_eq!((*pid, response.text().as_str()), (workers[1], "waited")),
            Err(_) => assert_eq!(*pid, workers[0], "a request of the worker that lived was lost"),
        }
    }
    for _ in 0..50 {
        assert_eq!(weft.get("/").text(), "ok");
    }
}

#[test]
fn connections_made_while_a_worker_is_being_replaced_are_served() {
    let mut weft = server().start();
    for round in 1..=3 {
        let worker = weft.workers()[0];
        process::signal(worker, Signal::KILL);
        let mut clients: Vec<Client> = (0..20).map(|_| weft.connect()).collect();
        for client in &mut clients {
            client.get("/");
        }
        weft.wait_for_log_times("SIGKILL", round);
        // The connections that the dying worker had already accepted are lost; those in the queue belong to no
        // worker.
        let served = clients.iter_mut().filter_map(|client| client.try_read().ok()).count();
        let lost = clients.len() - served;
        assert!(served > 0, "nobody was served ({lost} lost)");
        until("a new worker", || weft.workers().first().filter(|pid| **pid != worker).copied());
    }
}

/// A server whose application can read from address 0.
fn crashing() -> Server {
    server().with("--define", "ffi.enable=1")
}

#[test]
fn a_worker_that_crashes_is_named_and_replaced() {
    let mut weft = crashing().start();
    let before = weft.get("/pid").text();
    let mut client = weft.connect();
    client.get("/crash");
    assert_eq!(client.read().status, 502);
    weft.wait_for_log("was killed by signal 11 (SIGSEGV)");
    let after = until("another worker", || Some(weft.get("/pid").text()).filter(|pid| *pid != before));
    assert!(process::is_alive(after.parse().expect("a pid")));
}

/// Compiled code that is wrong would crash one worker after another until there is new memory.
#[test]
fn workers_that_crash_one_after_another_get_new_shared_memory_but_not_again_and_again() {
    const RELOADING: &str = "has crashed 3 times soon after its start: reloading";
    let mut weft = crashing().start();
    let crash = |weft: &mut Running, times: usize| {
        let mut client = weft.connect();
        client.get("/crash");
        assert_eq!(client.read().status, 502);
        weft.wait_for_log_times("was killed by signal 11 (SIGSEGV)", times);
    };
    for times in 1..=3 {
        assert!(!weft.log().contains(RELOADING));
        crash(&mut weft, times);
    }
    weft.wait_for_log(RELOADING);
    weft.wait_for_log("reload: generation 2 is ready");
    assert_eq!(weft.get("/").text(), "ok");
    for times in 4..=6 {
        crash(&mut weft, times);
    }
    assert_eq!(weft.get("/").text(), "ok");
    assert_eq!(weft.log().matches(RELOADING).count(), 1);
}

#[test]
fn a_crash_does_not_affect_requests_parked_in_other_workers() {
    let mut weft = crashing().with("--workers", "2").start();
    let mut victim = weft.connect();
    victim.get("/pid");
    let doomed = victim.read().text();
    let mut parked = Vec::new();
    while parked.len() < 10 {
        let mut client = weft.connect();
        client.get("/pid");
        if client.read().text() != doomed {
            client.get("/wait");
            parked.push(client);
        }
    }
    victim.get("/crash");
    weft.wait_for_log("SIGSEGV");
    weft.write("gate", "open");
    for client in &mut parked {
        assert_eq!(client.read().text(), "waited");
    }
}

#[test]
fn a_client_that_breaks_every_rule_does_no_harm() {
    let mut weft = server().start();
    let parked = Parked::park(&weft, 20);
    let garbage: Vec<u8> = (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for at in 0..64 {
        let mut client = weft.connect();
        // The server may close at any byte.
        let _ = client.try_send(&garbage[at * 16..]);
        drop(client);
        let mut client = weft.connect();
        let _ = client.try_send(format!("GET / HTTP/1.1\r\nHost: a\r\n{}", "X: y\r\n".repeat(at)));
    }
    assert_eq!(weft.get("/").text(), "ok");
    parked.release(&weft);
    assert!(weft.is_alive());
}
