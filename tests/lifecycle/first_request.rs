//! A connection that was accepted but has not sent a byte when its worker is told to drain.

use rustix::process::Signal;
use weft_tests::{Client, until};

use crate::{changed, server};

#[test]
fn a_first_request_that_comes_during_a_reload_is_answered() {
    let mut weft = server().start();
    for (round, word) in ["two", "three", "four", "five", "six"].into_iter().enumerate() {
        // One request keeps the old worker in its drain.
        let mut running = weft.connect();
        running.get("/?wait=gate");
        let mut silent: Vec<Client> = (0..10).map(|_| weft.connect()).collect();
        // An answer shows that the worker has accepted the earlier connections.
        assert_eq!(weft.get("/").status, 200);
        weft.write_application(&changed(word));
        weft.signal(Signal::HUP);
        weft.wait_for_log(&format!("reload: generation {} is ready", round + 2));
        for client in &mut silent {
            client.get("/");
            assert!(client.read().text().starts_with("code "), "a first request was lost");
        }
        weft.write("gate", "open");
        assert!(running.read().text().starts_with("code "));
        weft.wait_for_log_times("has drained", round + 1);
        std::fs::remove_file(weft.path("gate")).expect("the test's own file");
    }
}

#[test]
fn a_silent_connection_does_not_delay_a_drain_forever() {
    let mut weft = server().with("--head-timeout-ms", "500").start();
    let mut silent = weft.connect();
    assert_eq!(weft.get("/").status, 200);
    weft.signal(Signal::TERM);
    assert!(weft.wait().success());
    silent.expect_closed();
    until("nobody to listen", || Client::try_connect(weft.address).is_err().then_some(()));
}
