//! 2,000 connections at two hosts while the backplane is killed, and while clients go from one host to the other: all hear
//! all of it, once, and what each publisher says in its order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::process::Signal;
use weft_tests::crowd::Crowd;
use weft_tests::services::{Backplane, Kind};
use weft_tests::{Running, Server, until};

use crate::hosts::{host, join, know, metric};
use crate::messages::with_both;

const CLIENTS: usize = 2_000;

/// A host with a history that is long enough for a slow machine.
fn start(backplane: &Backplane) -> Running {
    let long = |host: Server| host.with("--topics-history-max", "1000000");
    let host = long(host(backplane)).with("--websocket-queue-bytes-max", "8388608");
    join(host.with("--drain-timeout-ms", "6000"))
}

/// Lets a publisher at each host publish while something is done; all must hear all that was confirmed, and nothing else.
fn while_published(hosts: &mut [Running; 2], what: impl FnOnce(&Crowd, &mut [Running; 2])) {
    let addresses = [hosts[0].address, hosts[1].address];
    let crowd = Crowd::gather(&addresses, CLIENTS);
    let stop = AtomicBool::new(false);
    let sure = std::thread::scope(|scope| {
        let (crowd, stop) = (&crowd, &stop);
        let publish = |(by, at)| (by, scope.spawn(move || crowd.publish(at, by, stop)));
        let publishers = [('p', addresses[0]), ('q', addresses[1])].map(publish);
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            crowd.until_heard(50);
            what(crowd, hosts);
            crowd.until_heard(50);
        }));
        stop.store(true, Relaxed);
        let sure = publishers.map(|(by, thread)| (by, thread.join().expect("a publisher")));
        done.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked));
        BTreeMap::from(sure)
    });
    let heard = crowd.end(&addresses);
    for (by, sure) in sure {
        assert_eq!(heard[&by], sure, "{by}");
    }
    for weft in hosts {
        assert_eq!(metric(weft, "weft_backplane_gaps_total"), 0.0, "{}", weft.log());
        assert_eq!(metric(weft, "weft_backplane_dropped_messages_total"), 0.0);
    }
}

fn a_backplane_that_is_killed_costs_nobody_a_message(kind: Kind) {
    let mut backplane = Backplane::start(kind);
    let mut hosts = [start(&backplane), start(&backplane)];
    hosts.iter().for_each(|weft| know(weft, 1));
    while_published(&mut hosts, |crowd, hosts| {
        for round in 1..=2 {
            backplane.kill();
            hosts.iter_mut().for_each(|weft| weft.wait_for_log_times("is not there", round));
            // Each host's own clients hear on.
            crowd.until_somebody_has_heard(50 * CLIENTS / 2);
            backplane.go_on();
            hosts.iter_mut().for_each(|weft| weft.wait_for_log_times("is there again", round));
            crowd.until_heard(50);
        }
        assert_eq!(crowd.ended(), BTreeMap::new(), "no client notices");
    });
}

fn clients_that_go_from_host_to_host_hear_everything_once(kind: Kind) {
    let backplane = Backplane::start(kind);
    let mut hosts = [start(&backplane), start(&backplane)];
    hosts.iter().for_each(|weft| know(weft, 1));
    while_published(&mut hosts, |crowd, hosts| {
        for weft in hosts.iter_mut() {
            let before = weft.workers();
            let ended = crowd.ended().get(&1001).copied().unwrap_or_default();
            weft.signal(Signal::HUP);
            until("new workers", || weft.workers().iter().all(|pid| !before.contains(pid)).then_some(()));
            weft.wait_for_log_times("topics are shared with other hosts", 2);
            crowd.until_all_are_there();
            assert!(crowd.ended()[&1001] > ended);
        }
    });
}

with_both! {
    a_backplane_that_is_killed_costs_nobody_a_message
    clients_that_go_from_host_to_host_hear_everything_once
}
