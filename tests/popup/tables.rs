//! The tables: workers that start together create them once, and a failure is reported in one line.

use std::fs::{File, create_dir_all};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use weft_tests::until;

use crate::service::{ask, health, service, tables};

/// A new SQLite file switches to its write-ahead log once, and a connection that is opened at that moment is
/// refused.
#[test]
fn workers_take_turns_at_a_new_file() {
    let server = service();
    let data = server.directory().join("data");
    create_dir_all(&data).expect("a directory of this test");
    let turn = File::create(data.join("popup.sqlite.lock")).expect("a file of this test");
    flock(&turn, FlockOperation::LockExclusive).expect("nobody else has it yet");
    let weft = server.start();
    until("both workers to wait for their turn", || {
        let waits = |worker: &u32| opens(*worker, &data.join("popup.sqlite.lock"));
        (weft.workers().iter().filter(|worker| waits(worker)).count() == 2).then_some(())
    });
    assert!(!data.join("popup.sqlite").exists(), "a worker did not wait");
    drop(turn);
    let weft = tables(weft);
    until("all workers to be well", || (health(&weft)["status"] == "ok").then_some(()));
    assert!(!weft.log().contains("making the tables failed"), "{}", weft.log());
}

fn opens(process: u32, file: &Path) -> bool {
    let Ok(descriptors) = std::fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    descriptors.flatten().any(|entry| std::fs::read_link(entry.path()).is_ok_and(|target| target == file))
}

#[test]
fn a_database_that_cannot_be_opened_is_one_line_and_tried_again() {
    let server = service();
    let directory = server.directory().join("later");
    let server =
        server.with_variable("POPUP_DATABASE", &format!("sqlite:{}/popup.sqlite", directory.display()));
    let mut weft = server.start();
    let line = "popup: making the tables failed and will be tried again: SQLSTATE[HY000] [14] unable to open database file\n";
    weft.wait_for_log(line);
    assert!(!weft.log().contains("Stack trace") && !weft.log().contains("Warning"), "{}", weft.log());
    create_dir_all(&directory).expect("a directory of this test");
    let weft = tables(weft);
    assert!(ask(&weft, "ada").is_null(), "there is no pop-up, and it serves");
}
