//! Topics across workers: that each message arrives once, in order, whatever becomes of workers.

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use rustix::process::Signal;
use weft_tests::{Client, Running, Server, process, until};

use crate::topics::{ask, enter, expect_flood, rooms};
use weft_tests::websocket::Socket;

/// Connections, all of which have subscribed to the topic `all`; of each worker some.
fn crowd(weft: &Running, count: usize) -> Vec<(Socket, u32)> {
    let sockets: Vec<(Socket, u32)> = (0..count)
        .map(|_| {
            let (mut socket, pid, _) = enter(weft, "/room");
            assert_eq!(ask(&mut socket, "join all"), "true");
            (socket, pid)
        })
        .collect();
    let workers: BTreeSet<u32> = sockets.iter().map(|(_, pid)| *pid).collect();
    assert_eq!(workers.len(), weft.workers().len());
    sockets
}

/// A server whose workers can be killed at any moment: one that dies while it writes to opcache's memory takes the others
/// along.
pub fn mortal() -> Server {
    rooms().with("--define", "opcache.enable=0")
}

/// Publishes numbers, `by` this name, on connections of its own. Requests whose worker has died are not repeated: what they
/// had published is not known. Returns the first number that was not asked for.
fn publish(weft: &Running, by: &str, from: usize, count: usize) -> bool {
    let Ok(mut client) = Client::try_connect(weft.address) else { return false };
    let target = format!("/publish?topic=all&by={by}&from={from}&count={count}");
    client.try_send(format!("GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")).is_ok()
        && client.try_read().is_ok_and(|answer| answer.status == 200)
}

/// What a connection was sent up to a message, or up to its end.
fn heard_until(socket: &mut Socket, last: &str) -> Vec<String> {
    let mut heard = Vec::new();
    loop {
        let mut start = [0; 2];
        if socket.stream.read_exact(&mut start).is_err() || start[0] != 0x81 {
            return heard;
        }
        let mut payload = vec![0; usize::from(start[1])];
        socket.stream.read_exact(&mut payload).expect("the rest of it");
        let text = String::from_utf8(payload).expect("a text");
        if text == last {
            return heard;
        }
        heard.push(text);
    }
}

/// The numbers of one publisher, which rise.
fn numbers(heard: &[String], by: &str) -> Vec<usize> {
    let of = |text: &String| text.strip_prefix(by)?.strip_prefix(' ')?.parse().ok();
    let numbers: Vec<usize> = heard.iter().filter_map(of).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{by}: out of order, or twice: {numbers:?}");
    numbers
}

#[test]
fn every_worker_gets_each_message_once_and_in_order() {
    let weft = rooms().with("--workers", "3").start();
    let mut sockets = crowd(&weft, 30);
    std::thread::scope(|scope| {
        for by in ["p", "q", "r"] {
            let weft = &weft;
            scope.spawn(move || (0..10).for_each(|turn| assert!(publish(weft, by, 50 * turn, 50))));
        }
    });
    assert!(publish(&weft, "end", 0, 1));
    let all: Vec<Vec<String>> = sockets.iter_mut().map(|(socket, _)| heard_until(socket, "end 0")).collect();
    for heard in &all {
        for by in ["p", "q", "r"] {
            assert_eq!(numbers(heard, by), (0..500).collect::<Vec<_>>());
        }
        assert_eq!(heard, &all[0], "all see one order");
    }
}

/// How often a process has slept, and was woken.
fn woken(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a worker's status");
    let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    count.expect("a count").trim().parse().expect("a number")
}

#[test]
fn a_message_wakes_no_worker_without_subscribers() {
    let weft = rooms().with("--workers", "3").start();
    let mut sockets = crowd(&weft, 30);
    let (mut own, pid) = sockets.pop().expect("a connection");
    assert_eq!(ask(&mut own, "join own"), "true");
    let others: Vec<u32> = weft.workers().into_iter().filter(|worker| *worker != pid).collect();
    let before: Vec<u64> = others.iter().map(|pid| woken(*pid)).collect();
    // One after the other, so that each wakes whom it wakes.
    for number in 0..500 {
        own.send(&format!("say own {number}"));
        assert_eq!(own.text(), number.to_string());
    }
    for (pid, before) in others.iter().zip(before) {
        let times = woken(*pid) - before;
        assert!(times < 250, "{times} times for 500 messages of others");
    }
    // It has noticed none of these, and gets what comes next, as one that subscribes now does.
    let of_another = sockets.iter().position(|(_, worker)| *worker != pid).expect("one of another worker");
    let (mut late, _) = sockets.swap_remove(of_another);
    assert_eq!(ask(&mut late, "join own"), "true");
    assert!(publish(&weft, "end", 0, 1));
    for (socket, _) in &mut sockets {
        assert_eq!(heard_until(socket, "end 0"), Vec::<String>::new());
    }
    assert_eq!(heard_until(&mut late, "end 0"), Vec::<String>::new(), "nothing that was published before");
}

#[test]
fn when_workers_are_killed_the_others_miss_nothing() {
    let weft = mortal().with("--workers", "3").start();
    let mut sockets = crowd(&weft, 240);
    let (stop, published) = (AtomicBool::new(false), AtomicUsize::new(0));
    let victims = &weft.workers()[..2];
    // Which turns of a publisher were answered: only those are known to be published as a whole.
    let (sure, heard) = std::thread::scope(|scope| {
        let publishers: Vec<_> = ["p", "q"]
            .map(|by| {
                let (weft, stop, published) = (&weft, &stop, &published);
                scope.spawn(move || {
                    let mut sure = Vec::new();
                    for turn in 0.. {
                        if stop.load(Relaxed) {
                            break;
                        }
                        if publish(weft, by, 20 * turn, 20) {
                            sure.extend(20 * turn..20 * turn + 20);
                            published.fetch_add(1, Relaxed);
                        }
                    }
                    sure
                })
            })
            .into();
        let enough = |count| until("more is published", || (published.load(Relaxed) >= count).then_some(()));
        enough(20);
        let readers: Vec<_> = sockets
            .iter_mut()
            .map(|(socket, pid)| scope.spawn(move || (*pid, heard_until(socket, "end 0"))))
            .collect();
        for victim in victims {
            process::signal(*victim, Signal::KILL);
            enough(published.load(Relaxed) + 40);
        }
        stop.store(true, Relaxed);
        let sure: Vec<Vec<usize>> = publishers.into_iter().map(|thread| thread.join().unwrap()).collect();
        until("the end is published", || publish(&weft, "end", 0, 1).then_some(()));
        let heard: Vec<_> = readers.into_iter().map(|thread| thread.join().unwrap()).collect();
        (sure, heard)
    });
    let survivors: Vec<&Vec<String>> =
        heard.iter().filter(|(pid, _)| !victims.contains(pid)).map(|(_, heard)| heard).collect();
    assert!(survivors.len() > 10);
    for heard in &survivors {
        assert_eq!(heard, &survivors[0], "all survivors heard the same");
        for (by, sure) in ["p", "q"].iter().zip(&sure) {
            let numbers: BTreeSet<usize> = numbers(heard, by).into_iter().collect();
            assert!(sure.iter().all(|number| numbers.contains(number)), "{by}: some are missing");
        }
    }
    // Those of the dead have heard a part, without a gap.
    for (_, heard) in heard.iter().filter(|(pid, _)| victims.contains(pid)) {
        assert_eq!(heard[..], survivors[0][..heard.len()]);
    }
}

#[test]
fn a_reload_under_way_loses_no_message_for_those_who_are_connected() {
    let server = rooms().with("--workers", "2").with("--drain-timeout-ms", "6000");
    let server =
        server.with("--topics-history-max", "1000000").with("--websocket-queue-bytes-max", "8388608");
    let weft = server.start();
    let mut sockets = crowd(&weft, 200);
    let (mut labelled, ..) = enter(&weft, "/room");
    assert_eq!(ask(&mut labelled, "label all"), "true");
    let before: BTreeSet<u32> = weft.workers().into_iter().collect();
    let (stop, published) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut last_label = None;
    let heard = std::thread::scope(|scope| {
        let publisher = scope.spawn(|| {
            let mut turn = 0;
            while !stop.load(Relaxed) {
                assert!(publish(&weft, "p", 5 * turn, 5), "{}", weft.log());
                turn += 1;
                published.store(5 * turn, Relaxed);
            }
        });
        let readers: Vec<_> =
            sockets.iter_mut().map(|(socket, _)| scope.spawn(move || heard_until(socket, "never"))).collect();
        let labels = scope.spawn(|| heard_until(&mut labelled, "never"));
        until("it has begun", || (published.load(Relaxed) > 50).then_some(()));
        weft.signal(Signal::HUP);
        until("new workers", || weft.workers().iter().all(|pid| !before.contains(pid)).then_some(()));
        stop.store(true, Relaxed);
        publisher.join().unwrap();
        last_label = labels.join().unwrap().pop();
        readers.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    // Each has heard all of it up to the moment at which its connection was closed.
    for heard in &heard {
        assert_eq!(numbers(heard, "p"), (0..heard.len()).collect::<Vec<_>>());
        assert!(heard.len() > 50, "{}", heard.len());
    }
    // And finds the rest with the new workers.
    let last = last_label.expect("it has heard something");
    let (id, number) = (last.split(' ').next().unwrap(), last.rsplit(' ').next().unwrap());
    let (mut back, ..) = enter(&weft, "/room");
    back.send(&format!("resume all {id}"));
    for number in number.parse::<usize>().unwrap() + 1..published.load(Relaxed) {
        let text = back.text();
        assert!(text.ends_with(&format!("\np {number}")), "{number}: {text}");
    }
    assert_eq!(back.text(), "true");
}

#[test]
fn a_worker_that_stands_still_delays_nobody_for_ever() {
    let mut weft = rooms().with("--workers", "2").with("--topics-bytes", "65536").start();
    let mut sockets = crowd(&weft, 20);
    let still = sockets[0].1;
    process::signal(still, Signal::STOP);
    until("it stands still", || process::is_stopped(still).then_some(()));
    let position = sockets.iter().position(|(_, pid)| *pid != still).expect("one of the other worker");
    let (mut other, _) = sockets.swap_remove(position);
    other.send("flood all 300");
    expect_flood(&mut other, 300, true);
    weft.wait_for_log("nobody waits for it any more");
    process::signal(still, Signal::CONT);
    // Its clients are told that they have missed something.
    for (socket, _) in sockets.iter_mut().filter(|(_, pid)| *pid == still) {
        let mut last = socket.read();
        while last.0 == 0x81 {
            last = socket.read();
        }
        assert_eq!((last.0, &last.1[..2]), (0x88, &1013u16.to_be_bytes()[..]));
    }
    weft.wait_for_log("this worker has missed messages of topics");
    // It is as before.
    let (mut again, pid, _) =
        until("a connection of it", || Some(enter(&weft, "/room")).filter(|one| one.1 == still));
    assert_eq!((ask(&mut again, "join all"), pid), ("true".to_owned(), still));
    other.send("say all hello");
    assert_eq!((other.text(), again.text()), ("hello".to_owned(), "hello".to_owned()));
}

#[test]
fn a_publisher_that_is_killed_leaves_nothing_torn() {
    let weft = mortal().with("--workers", "2").start();
    let (mut stable, pid, _) = enter(&weft, "/room");
    assert_eq!(ask(&mut stable, "join all"), "true");
    for round in 0..5 {
        let (mut publisher, victim, _) = until("a connection of the other worker", || {
            Some(enter(&weft, "/room")).filter(|one| one.1 != pid)
        });
        publisher.send("flood all 100000");
        let first = stable.text();
        assert!(first.starts_with("1 ."), "{round}: {first}");
        process::signal(victim, Signal::KILL);
        stable.send("say all end");
        let mut expected = 2;
        loop {
            let text = stable.text();
            if text == "end" {
                break;
            }
            assert!(text.starts_with(&format!("{expected} .")) && text.len() == 1000, "{round}: {text}");
            expected += 1;
        }
        until("a new worker", || weft.workers().iter().all(|pid| *pid != victim).then_some(()));
    }
}

#[test]
fn who_comes_to_a_worker_that_lags_hears_nothing_again() {
    let server = rooms().with("--workers", "2").with("--websocket-queue-bytes-max", "8388608");
    let weft = server.with("--topics-history-max", "100000").start();
    let (mut here, pid, _) = enter(&weft, "/room");
    assert_eq!(ask(&mut here, "label all"), "true");
    let lagging = weft.workers().into_iter().find(|worker| *worker != pid).expect("another one");
    process::signal(lagging, Signal::STOP);
    until("it stands still", || process::is_stopped(lagging).then_some(()));
    // More than it delivers in one turn of its loop.
    here.send("flood all 3000");
    let mut last = String::new();
    while !last.contains("\n3000 .") {
        last = here.text();
    }
    let id = last.split(' ').next().expect("an id");
    // Some of them are the lagging worker's, which has still to deliver all of it.
    let mut back: Vec<Socket> = (0..20).map(|_| Socket::begin(&weft, "/room", "")).collect();
    back.iter_mut().for_each(|socket| socket.send(&format!("resume all {id}")));
    process::signal(lagging, Signal::CONT);
    let mut workers = BTreeSet::new();
    for socket in &mut back {
        socket.read_head(&weft);
        let greeting = socket.text();
        workers.insert(greeting.split(' ').next().expect("a pid").to_owned());
        assert_eq!(socket.text(), "true", "{greeting}: it has missed nothing");
    }
    assert_eq!(workers.len(), 2);
    here.send("say all end");
    for socket in &mut back {
        assert!(socket.text().ends_with("\nend"), "it has heard nothing twice");
    }
}
