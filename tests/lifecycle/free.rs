//! Beside computations that hold other workers, those that are free share what comes, and run at once when it does.

use weft_tests::{process, until};

use crate::held::{Held, servers};

/// What the kernel gives a thread at a time while others want its processor, in nanoseconds (`se.slice` in /proc/PID/sched);
/// `None`: this kernel does not tell.
fn slice(pid: u32) -> Option<u64> {
    let sched = std::fs::read_to_string(format!("/proc/{pid}/sched")).ok()?;
    let line = sched.lines().find(|line| line.starts_with("se.slice"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

/// Whether threads may ask for another one: since Linux 6.12.
fn may_be_asked_for() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers =
        release.split(|character: char| !character.is_ascii_digit()).map_while(|part| part.parse().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(12))
}

#[test]
fn workers_that_are_free_take_new_connections_in_turn() {
    const ASKED: usize = 10;
    const AT_LEAST: usize = 3;
    for (mode, server) in servers(1) {
        let weft = server.start();
        let first = weft.workers()[0];
        let held = Held::begin(&weft, "one");
        let further = until("a further worker", || weft.workers().into_iter().find(|pid| *pid != first));
        held.release();
        let answered_by = |_| {
            // One that still works could not take the next connection anyway.
            let both = [first, further];
            until("both to wait", || both.into_iter().all(process::sleeps).then_some(()));
            weft.get("/who").text().rsplit(' ').next().unwrap().parse::<u32>().unwrap()
        };
        until(&format!("{mode}: both to answer about as often"), || {
            let by: Vec<u32> = (0..ASKED).map(answered_by).collect();
            let count = |pid| by.iter().filter(|other| **other == pid).count();
            (count(first) >= AT_LEAST && count(further) >= AT_LEAST).then_some(())
        });
    }
}

#[test]
fn who_is_free_beside_a_computation_asks_for_a_short_slice_of_the_processor() {
    const SHORT: u64 = 100_000;
    let Some(usual) = slice(std::process::id()) else { return };
    let when_free = if may_be_asked_for() { SHORT } else { usual };
    let [(_, server), ..] = servers(1);
    let weft = server.start();
    let first = weft.workers()[0];
    assert_eq!(slice(first), Some(usual), "nobody computes");
    let held = Held::begin(&weft, "one");
    let further = until("a further worker", || weft.workers().into_iter().find(|pid| *pid != first));
    let has = |pid, expected| until("a slice", || (slice(pid) == Some(expected)).then_some(()));
    has(further, when_free);
    assert_eq!(slice(first), Some(usual), "it computes itself");
    held.release();
    has(first, when_free);
}
