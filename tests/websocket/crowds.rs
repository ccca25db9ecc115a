//! 2,000 connections while workers are killed and replaced: each client that comes back hears what it has missed, so that
//! in the end all have heard all of it, once and in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::process::Signal;
use weft_tests::crowd::{Crowd, LEFT};
use weft_tests::{Running, process, until};

use crate::bus::mortal;

const CLIENTS: usize = 2_000;

/// A server for so many, with a history that is long enough for a slow machine.
fn start(drain_timeout_ms: &str) -> Running {
    let server = mortal().with("--workers", "3").with("--drain-timeout-ms", drain_timeout_ms);
    let server = server.with("--topics-history-max", "1000000");
    server.with("--websocket-queue-bytes-max", "8388608").start()
}

/// Lets two publishers publish while something is done. Returns which numbers were confirmed to each, and what all have
/// heard.
fn while_published(
    weft: &Running,
    crowd: Crowd,
    what: impl FnOnce(&Crowd),
) -> (BTreeMap<char, Vec<u32>>, BTreeMap<char, Vec<u32>>) {
    let stop = AtomicBool::new(false);
    let sure = std::thread::scope(|scope| {
        let (crowd, stop) = (&crowd, &stop);
        let publish = |by| (by, scope.spawn(move || crowd.publish(weft.address, by, stop)));
        let publishers = ['p', 'q'].map(publish);
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            crowd.until_heard(50);
            what(crowd);
            crowd.until_heard(50);
        }));
        stop.store(true, Relaxed);
        let sure = publishers.map(|(by, thread)| (by, thread.join().expect("a publisher")));
        done.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked));
        BTreeMap::from(sure)
    });
    (sure, crowd.end(&[weft.address]))
}

#[test]
fn when_worker_after_worker_is_killed_the_history_closes_all_gaps() {
    let weft = start("2000");
    let crowd = Crowd::gather(&[weft.address], CLIENTS);
    let first = weft.workers();
    let (sure, heard) = while_published(&weft, crowd, |crowd| {
        for victim in &first {
            let before: usize = crowd.ended().values().sum();
            process::signal(*victim, Signal::KILL);
            until("its connections end", || (crowd.ended().values().sum::<usize>() > before).then_some(()));
            crowd.until_all_are_there();
            crowd.until_heard(20);
        }
        assert!(
            crowd.ended().values().sum::<usize>() >= CLIENTS,
            "all have lost a worker: {:?}",
            crowd.ended()
        );
    });
    for (by, sure) in sure {
        let heard = &heard[&by];
        // What a killed worker had not confirmed may have been published, or not.
        let missing: Vec<&u32> = sure.iter().filter(|number| heard.binary_search(number).is_err()).collect();
        assert!(missing.is_empty(), "{by}: {missing:?}");
    }
}

#[test]
fn a_reload_costs_nobody_a_message() {
    let weft = start("6000");
    let crowd = Crowd::gather(&[weft.address], CLIENTS);
    let before = weft.workers();
    let (sure, heard) = while_published(&weft, crowd, |crowd| {
        weft.signal(Signal::HUP);
        until("new workers", || weft.workers().iter().all(|pid| !before.contains(pid)).then_some(()));
        crowd.until_all_are_there();
        assert_eq!(crowd.ended(), BTreeMap::from([(1001, CLIENTS)]), "each was told so, once");
    });
    for (by, sure) in sure {
        assert_eq!(heard[&by], sure, "{by}: all that was published, and nothing else");
    }
}

#[test]
fn clients_that_leave_and_stall_at_random_hear_everything_once() {
    let weft = start("2000");
    let crowd = Crowd::gather(&[weft.address], CLIENTS);
    let (sure, heard) = while_published(&weft, crowd, |crowd| {
        crowd.set_restless(true);
        until("many have left", || {
            let ended = crowd.ended();
            let count = |code| ended.get(&code).copied().unwrap_or_default();
            (count(LEFT) >= 500 && count(1000) >= 500).then_some(())
        });
        crowd.set_restless(false);
        crowd.until_all_are_there();
        let by_itself: Vec<u16> = crowd.ended().into_keys().collect();
        assert_eq!(by_itself, [LEFT, 1000], "the server has ended none");
    });
    for (by, sure) in sure {
        assert_eq!(heard[&by], sure, "{by}");
    }
}
