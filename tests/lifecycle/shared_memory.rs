//! A worker dies while it writes to the memory that opcache shares: no other worker uses what it left there.

use rustix::process::Signal;
use weft_tests::{Running, Server, process, until};

/// How many scripts the worker includes, so that the test can stop it while it writes one to shared memory.
const SCRIPTS: usize = 40;

/// A script with a constant array that takes opcache some milliseconds to copy.
fn script(number: usize) -> String {
    let rows: String = (0..30_000).map(|row| format!("[{row},{number},[{row}]],")).collect();
    format!("<?php return [{rows}];")
}

fn server() -> Server {
    let app = "return function ($r) {
            if ($file = $r->query('file')) { include $file; }
            return 'served by ' . getmypid();
        };";
    let scripts = (0..SCRIPTS).map(|number| (format!("script-{number}.inc"), script(number)));
    let server = scripts.fold(Server::new(app), |server, (name, text)| server.with_file(&name, &text));
    server
        .with("--workers", "2")
        .with("--define", "opcache.memory_consumption=512")
        .with("--define", "opcache.file_update_protection=0") // the files are new
        .with("--define", "memory_limit=1G")
}

/// Whether a process holds opcache's write lock, on the first byte of its lock file (proc_locks(5)).
fn writes(pid: &str) -> bool {
    let locks = std::fs::read_to_string("/proc/locks").expect("proc is mounted");
    locks.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.contains(&"WRITE") && words.contains(&pid) && words.ends_with(&["0", "0"])
    })
}

/// Lets a worker include one script after another, and stops it while it writes one to the shared memory; returns
/// its pid.
fn stopped_while_it_writes(weft: &Running) -> u32 {
    for number in 0..SCRIPTS {
        let mut client = weft.connect();
        client.get("/");
        let said = client.read().text();
        let pid = said.rsplit(' ').next().expect("a pid at the end").to_owned();
        let worker: u32 = pid.parse().expect("a pid");
        client.get(&format!("/?file=script-{number}.inc"));
        while !client.is_readable() {
            if writes(&pid) {
                process::signal(worker, Signal::STOP);
                if until("it to stand", || process::is_stopped(worker).then(|| writes(&pid))) {
                    return worker;
                }
                process::signal(worker, Signal::CONT);
            }
        }
        assert_eq!(client.read().status, 200);
    }
    panic!("no script was seen being written");
}

#[test]
fn a_death_in_the_midst_of_a_write_gives_everybody_a_new_one() {
    let mut weft = server().start();
    let workers = weft.workers();
    let worker = stopped_while_it_writes(&weft);
    process::signal(worker, Signal::KILL);
    weft.wait_for_log("died while it wrote to opcache's shared memory");
    weft.wait_for_log("reload: generation 2 is ready, 2 workers");
    until("the old workers to be gone", || workers.iter().all(|pid| !process::is_alive(*pid)).then_some(()));
    for _ in 0..20 {
        let response = weft.get("/?file=script-0.inc");
        assert!(response.status == 200 && response.text().starts_with("served by "), "{response:?}");
    }
    assert_eq!(weft.log().matches("reload: generation").count(), 1, "{}", weft.log());
}

#[test]
fn a_death_at_another_time_does_not_affect_other_workers() {
    let mut weft = server().start();
    let workers = weft.workers();
    assert_eq!(weft.get("/").status, 200);
    process::signal(workers[0], Signal::KILL);
    weft.wait_for_log("was killed by signal 9");
    until("another worker", || (weft.workers().len() == 2).then_some(()));
    assert!(weft.workers().contains(&workers[1]), "the other worker stays");
    assert!(!weft.log().contains("reload:"), "{}", weft.log());
}
