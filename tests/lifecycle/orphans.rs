//! A master is killed: its workers finish their requests and release the port for another server.

use rustix::process::Signal;
use weft_tests::{Client, Running, process, until};

use crate::server;

/// Computes in one C function for longer than any test waits.
const STUCK: &str = "return function ($request) {
    if ($request->path() === '/stuck') {
        file_put_contents('spinning', 'yes');
        return (string) similar_text(str_repeat('ab', 200000), str_repeat('ba', 200000));
    }
    return 'code one ' . getmypid();
};";

/// Starts a server at once, on the addresses of one that was killed.
fn start_again(first: &mut Running, application: &str) -> Running {
    let address = first.address.to_string();
    first.signal(Signal::KILL);
    first.wait();
    weft_tests::Server::new(application)
        .with("--listen", &address)
        .with("--listen", &format!("unix:{}", first.path("weft.sock").display()))
        .start()
}

fn listening(application: &str) -> Running {
    let server = weft_tests::Server::new(application).with("--workers", "2").with("--listen", "127.0.0.1:0");
    let socket = format!("unix:{}", server.directory().join("weft.sock").display());
    server.with("--listen", &socket).start()
}

#[test]
fn a_new_master_starts_at_once_after_one_that_was_killed() {
    let mut first = listening(STUCK);
    let workers = first.workers();
    let second = start_again(&mut first, STUCK);
    assert_eq!(second.get("/").status, 200);
    let mut client = Client::connect_unix(&first.path("weft.sock"));
    client.get("/");
    assert_eq!(client.read().status, 200);
    until("the orphans to end", || workers.iter().all(|pid| !process::is_alive(*pid)).then_some(()));
}

#[test]
fn a_worker_that_is_held_in_c_lets_go_of_the_port() {
    let mut first = listening(STUCK);
    let mut stuck = first.connect();
    stuck.get("/stuck");
    until("it to be stuck", || (first.read("spinning") == "yes").then_some(()));
    let second = start_again(&mut first, STUCK);
    for _ in 0..20 {
        assert_eq!(second.get("/").status, 200);
    }
}

#[test]
fn a_held_orphan_ends_after_its_grace() {
    let mut weft = weft_tests::Server::new(STUCK).with("--drain-timeout-ms", "0").start();
    let workers = weft.workers();
    let mut stuck = weft.connect();
    stuck.get("/stuck");
    until("it to be stuck", || (weft.read("spinning") == "yes").then_some(()));
    weft.signal(Signal::KILL);
    weft.wait();
    until("the orphan to end", || (!process::is_alive(workers[0])).then_some(()));
}

#[test]
fn a_signal_of_the_applications_own_does_not_end_a_worker() {
    let app = "return function () { posix_kill(getmypid(), SIGUSR2); return 'alive'; };";
    let weft = weft_tests::Server::new(app).with("--drain-timeout-ms", "0").start();
    let worker = weft.workers();
    for _ in 0..10 {
        assert_eq!(weft.get("/").text(), "alive");
    }
    assert_eq!(weft.workers(), worker);
}

#[test]
fn a_port_in_use_by_another_program_is_reported() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut weft = server().with("--listen", &address).spawn();
    assert_eq!(weft.wait().code(), Some(1));
    weft.wait_for_log("the port is taken");
}
