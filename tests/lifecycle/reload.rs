//! New code is loaded without losing a request.

use rustix::process::Signal;
use weft_tests::{Running, until};

use crate::load::Load;
use crate::{changed, server};

#[test]
fn reload_under_load_loses_nothing_and_brings_the_new_code() {
    let mut weft = server().with("--workers", "2").with("--pid-file", "weft.pid").start();
    let load = Load::start(&weft);
    for (round, word) in ["two", "three", "four"].into_iter().enumerate() {
        weft.write_application(&changed(word));
        let outcome = weft.weft(&["reload", "--pid-file=weft.pid"]);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert_eq!(outcome.stdout, format!("weft: reloaded: generation {}, 2 workers ready\n", round + 2));
        assert!(
            weft.get("/").text().starts_with(&format!("code {word} ")),
            "old code after the reload was reported"
        );
        load.wait_for_more(50);
    }
    assert!(load.finish() >= 150);
    assert!(weft.is_alive());
    until("the old workers to go", || (weft.workers().len() == 2).then_some(()));
}

#[test]
fn sighup_reloads_too_and_keeps_the_masters_pid() {
    let mut weft = server().start();
    let (pid, worker) = (weft.pid(), weft.workers()[0]);
    weft.write_application(&changed("two"));
    weft.signal(Signal::HUP);
    weft.wait_for_log("reload: generation 2 is ready");
    assert!(weft.get("/").text().starts_with("code two "));
    assert_eq!(weft.pid(), pid);
    until("the old worker to go", || (!weft_tests::process::is_alive(worker)).then_some(()));
}

#[test]
fn a_request_that_runs_during_a_reload_is_finished_by_the_old_code() {
    let mut weft = server().start();
    let mut client = weft.connect();
    client.get("/?wait=gate");
    assert!(weft.get("/").text().starts_with("code one "));
    weft.write_application(&changed("two"));
    weft.signal(Signal::HUP);
    weft.wait_for_log("reload: generation 2 is ready");
    assert!(weft.get("/").text().starts_with("code two "));
    weft.write("gate", "open");
    assert!(client.read().text().starts_with("code one "));
    weft.wait_for_log("has drained");
}

#[test]
fn a_broken_application_keeps_the_old_code() {
    let mut weft = server().with("--pid-file", "weft.pid").start();
    let load = Load::start(&weft);
    for (broken, why) in [
        ("function {", "syntax error"),
        ("throw new Exception('no database');", "no database"),
        ("return 5;", "returned"),
        ("exit(3);", "app.php"),
        ("require 'missing.php';", "missing.php"),
    ] {
        weft.write_application(broken);
        let outcome = weft.weft(&["reload", "--pid-file=weft.pid"]);
        assert_eq!(outcome.code, Some(1), "{broken}: {outcome:?}");
        assert!(
            outcome.stderr.contains("reload failed, the running code goes on: "),
            "{broken}: {outcome:?}"
        );
        assert!(outcome.stderr.contains(why), "{broken}: {} does not say {why:?}", outcome.stderr);
        assert!(weft.get("/").text().starts_with("code one "), "{broken}");
    }
    load.wait_for_more(20);
    load.finish();
    // The next valid configuration is accepted.
    weft.write_application(&changed("two"));
    let outcome = weft.weft(&["reload", "--pid-file=weft.pid"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(weft.get("/").text().starts_with("code two "));
    assert!(weft.is_alive());
}

#[test]
fn a_broken_configuration_keeps_the_old_one() {
    let server = server().with_file("weft.toml", "[server]\nworkers = 1\npid_file = \"weft.pid\"\n");
    let weft = server.start();
    weft.write("weft.toml", "[server]\nworkrs = 2\npid_file = \"weft.pid\"\n");
    weft.signal(Signal::HUP);
    let mut weft = weft;
    weft.wait_for_log("did you mean");
    assert!(weft.get("/").text().starts_with("code one "));
    weft.write(
        "weft.toml",
        "[server]\nworkers = 1\npid_file = \"weft.pid\"\n[limits]\ntarget_bytes_max = 64\n",
    );
    weft.signal(Signal::HUP);
    weft.wait_for_log("is ready, 1 workers");
    // Until it has drained, the old worker may accept a connection that came to their socket.
    weft.wait_for_log("generation 1) has drained");
    assert_eq!(weft.get(&format!("/{}", "x".repeat(100))).status, 414);
}

#[test]
fn reloads_in_a_row_end_with_the_last_code() {
    let mut weft = server().start();
    for word in ["two", "three", "four", "five"] {
        weft.write_application(&changed(word));
        weft.signal(Signal::HUP);
    }
    until("the last code", || weft.get("/").text().starts_with("code five ").then_some(()));
    assert!(weft.is_alive());
}

#[test]
fn watch_reloads_when_a_file_changes() {
    let mut weft = server().with_flag("--watch").start();
    weft.write_application(&changed("two"));
    until("the new code", || weft.get("/").text().starts_with("code two ").then_some(()));
    weft.wait_for_log("app.php changed: reloading");
    // A broken file does no harm, and the corrected one is loaded.
    weft.write_application("return function {");
    weft.wait_for_log("reload failed, the running code goes on");
    assert!(weft.get("/").text().starts_with("code two "));
    weft.write_application(&changed("three"));
    until("the mended code", || weft.get("/").text().starts_with("code three ").then_some(()));
}

#[test]
fn new_code_of_included_files_is_seen_through_opcache() {
    let app = "$lib = require __DIR__ . '/lib.php'; return fn () => 'code ' . $lib() . ' ' . opcache_is_script_cached(__DIR__ . '/lib.php');";
    let mut weft = weft_tests::Server::new(app)
        .with("--define", "opcache.validate_timestamps=0")
        // By default opcache does not cache files younger than two seconds.
        .with("--define", "opcache.file_update_protection=0")
        .with_file("lib.php", "<?php return fn () => 'one';")
        .start();
    assert_eq!(weft.get("/").text(), "code one 1");
    weft.write("lib.php", "<?php return fn () => 'two';");
    weft.signal(Signal::HUP);
    weft.wait_for_log("reload: generation 2 is ready");
    assert_eq!(weft.get("/").text(), "code two 1");
}

#[test]
fn a_script_that_has_become_a_pipe_does_not_stop_the_master() {
    let mut weft = server().with("--boot-timeout-ms", "1000").start();
    std::fs::remove_file(weft.path("app.php")).unwrap();
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o666));
    rustix::fs::mknodat(rustix::fs::CWD, weft.path("app.php"), kind, mode, 0).unwrap();
    weft.signal(Signal::HUP);
    weft.wait_for_log("reload failed, the running code goes on");
    assert!(weft.get("/").text().starts_with("code one "));
    std::fs::remove_file(weft.path("app.php")).unwrap();
    weft.write_application(&changed("two"));
    // A busy machine may need more than the second that the boot has: then the reload fails once more, and is asked for
    // again.
    let failures = |weft: &Running| weft.log().matches("reload failed").count();
    until("a reload that succeeds", || {
        let before = failures(&weft);
        weft.signal(Signal::HUP);
        until("the end of the reload", || {
            (weft.log().contains("is ready, 1 workers") || failures(&weft) > before).then_some(())
        });
        weft.log().contains("is ready, 1 workers").then_some(())
    });
    weft.wait_for_log("generation 1) has drained");
    assert!(weft.get("/").text().starts_with("code two "));
}
