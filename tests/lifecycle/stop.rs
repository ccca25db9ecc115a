//! Draining and stopping.

use rustix::process::Signal;
use weft_tests::{Client, Server, process, until};

use crate::load::Load;
use crate::server;

#[test]
fn stop_finishes_what_runs() {
    let mut weft = server().with("--pid-file", "weft.pid").start();
    let mut running: Vec<Client> = (0..10).map(|_| weft.connect()).collect();
    for client in &mut running {
        client.get("/?wait=gate");
    }
    assert_eq!(weft.get("/").status, 200);
    weft.signal(Signal::TERM);
    weft.wait_for_log("stopping: running requests have 30000 ms");
    until("the listener to close", || Client::try_connect(weft.address).is_err().then_some(()));
    weft.write("gate", "open");
    for client in &mut running {
        let response = client.read();
        assert!(response.text().starts_with("code one "));
        client.expect_closed();
    }
    assert!(weft.wait().success());
    assert!(weft.log().ends_with("stopped\n"), "{}", weft.log());
    assert!(!weft.path("weft.pid").exists() && !weft.path("weft.pid.state").exists());
}

#[test]
fn idle_connections_do_not_hold_a_stop_up() {
    let mut weft = server().start();
    let mut idle = weft.connect();
    idle.get("/");
    assert_eq!(idle.read().status, 200);
    let mut silent = weft.connect();
    weft.signal(Signal::INT);
    idle.expect_closed();
    silent.expect_closed();
    assert!(weft.wait().success());
}

#[test]
fn every_request_that_was_taken_in_before_a_stop_is_answered() {
    let mut weft = server().with("--workers", "2").start();
    let mut clients: Vec<Client> = (0..100).map(|_| weft.connect()).collect();
    for client in &mut clients {
        client.get("/?us=2000");
    }
    // The first answers show that the requests have arrived.
    assert_eq!(clients[99].read().status, 200);
    weft.signal(Signal::TERM);
    for client in &mut clients[..99] {
        assert_eq!(client.read().status, 200);
    }
    assert!(weft.wait().success());
}

#[test]
fn the_drain_deadline_ends_what_does_not_end() {
    let mut weft = server().with("--drain-timeout-ms", "300").start();
    let mut client = weft.connect();
    client.get("/?wait=never");
    assert_eq!(weft.get("/").status, 200);
    weft.signal(Signal::TERM);
    assert!(weft.wait().code().is_some());
    // The request is answered with an error or cut off, but not left waiting.
    if let Ok(response) = client.try_read() {
        assert!(response.status >= 500, "{response:?}");
    }
    assert!(weft.workers().is_empty());
}

#[test]
fn a_worker_that_computes_forever_is_killed_after_the_deadline() {
    let mut weft = server().with("--drain-timeout-ms", "200").start();
    let worker = weft.workers()[0];
    let mut client = weft.connect();
    client.get("/?spin=never");
    until("the handler to spin", || (weft.read("spinning") == "yes").then_some(()));
    weft.signal(Signal::TERM);
    weft.wait_for_log("was not done within its deadline and is killed");
    weft.wait();
    assert!(!process::is_alive(worker));
}

#[test]
fn responses_that_their_clients_have_not_taken_are_not_cut_off_in_silence() {
    let mut weft =
        Server::new("return fn () => str_repeat('x', 20_000_000);").with("--drain-timeout-ms", "300").start();
    let mut client = weft.connect();
    client.get("/");
    assert_eq!(client.read_head().status, 200);
    weft.signal(Signal::TERM);
    weft.wait_for_log(
        "the worker ends: 1 responses were cut off before their clients had read them completely",
    );
    weft.wait();
}

#[test]
fn a_second_signal_stops_at_once() {
    let mut weft = server().with("--drain-timeout-ms", "600000").start();
    let mut client = weft.connect();
    client.get("/?wait=never");
    assert_eq!(weft.get("/").status, 200);
    weft.signal(Signal::TERM);
    weft.wait_for_log("stopping: running requests have 600000 ms");
    assert!(weft.is_alive());
    weft.signal(Signal::TERM);
    weft.wait_for_log("stopping at once: 1 workers are not done");
    weft.wait();
    assert!(client.try_read().is_err());
}

#[test]
fn weft_stop_waits_for_the_end_and_reports_it() {
    let mut weft = server().with("--pid-file", "weft.pid").start();
    let load = Load::start(&weft);
    load.wait_for_more(10);
    // The load would count the refusals that follow a stop.
    load.finish();
    let outcome = weft.weft(&["stop", "--pid-file=weft.pid"]);
    assert_eq!((outcome.code, outcome.stdout), (Some(0), format!("weft: stopped (pid {})\n", weft.pid())));
    assert!(weft.wait().success());
    let outcome = weft.weft(&["stop", "--pid-file=weft.pid"]);
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("weft is not running: no process holds the pid file"), "{outcome:?}");
}

#[test]
fn workers_do_not_outlive_a_master_that_is_killed() {
    let mut weft = server().with("--workers", "2").start();
    let workers = weft.workers();
    let mut client = weft.connect();
    client.get("/?wait=gate");
    assert_eq!(weft.get("/").status, 200);
    weft.signal(Signal::KILL);
    weft.wait();
    weft.wait_for_log("the master is gone");
    weft.write("gate", "open");
    assert!(client.read().text().starts_with("code one "), "what runs is finished all the same");
    until("the workers to end", || workers.iter().all(|pid| !process::is_alive(*pid)).then_some(()));
}

#[test]
fn the_applications_shutdown_functions_and_destructors_run_when_a_worker_ends() {
    let app = "register_shutdown_function(function () { file_put_contents('shutdown', 'ran'); });
        final class Resource { public function __destruct() { file_put_contents('destructor', 'ran'); } }
        $resource = new Resource;
        return function () use ($resource) { return 'ok'; };";
    let mut weft = weft_tests::Server::new(app).start();
    assert_eq!(weft.get("/").text(), "ok");
    assert_eq!(weft.read("shutdown"), "");
    weft.signal(Signal::TERM);
    assert!(weft.wait().success());
    assert_eq!((weft.read("shutdown").as_str(), weft.read("destructor").as_str()), ("ran", "ran"));
}
