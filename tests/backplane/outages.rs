//! What happens when the backplane, the link or a host is killed: nothing is lost that a dead process did not hold, and
//! nothing comes twice.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use rustix::process::Signal;
use weft_tests::{Running, process, until};

use crate::hosts::{
    Socket, ask, crowd, enter, host, host_at, is_ready, join, know, link, metric, pair, publish,
};
use crate::messages::with_both;
use weft_tests::services::{Backplane, Kind};

const GONE: &str = "is not there";
const BACK: &str = "is there again";

fn expect(socket: &mut Socket, by: &str, numbers: std::ops::Range<usize>) {
    for number in numbers {
        assert_eq!(socket.text(), format!("{by} {number}"));
    }
}

fn while_the_backplane_is_dead_a_host_goes_on_alone_and_then_catches_up(kind: Kind) {
    let mut backplane = Backplane::start(kind);
    let (mut one, mut other) = pair(&backplane);
    let (mut here, mut there) = (crowd(&one, 5), crowd(&other, 5));
    for round in 0..2 {
        backplane.kill();
        for weft in [&mut one, &mut other] {
            weft.wait_for_log_times(GONE, round + 1);
            assert_eq!(metric(weft, "weft_backplane_connected"), 0.0);
            assert!(is_ready(weft), "a host without others is still a host");
        }
        publish(&one, "all", "p", 0, 100);
        publish(&other, "all", "q", 0, 100);
        here.iter_mut().for_each(|socket| expect(socket, "p", 0..100));
        there.iter_mut().for_each(|socket| expect(socket, "q", 0..100));
        backplane.go_on();
        here.iter_mut().for_each(|socket| expect(socket, "q", 0..100));
        there.iter_mut().for_each(|socket| expect(socket, "p", 0..100));
        for weft in [&mut one, &mut other] {
            weft.wait_for_log_times(BACK, round + 1);
            until("it is connected", || (metric(weft, "weft_backplane_connected") == 1.0).then_some(()));
        }
    }
    publish(&one, "all", "end", 0, 1);
    for socket in here.iter_mut().chain(&mut there) {
        assert_eq!(socket.text(), "end 0");
    }
    for weft in [&one, &other] {
        let log = weft.log();
        assert_eq!(
            (log.matches(GONE).count(), log.matches(BACK).count()),
            (2, 2),
            "each is said once: {log}"
        );
        assert!(log.contains(&format!("the backplane {} is not there", backplane.shown())), "{log}");
        assert!(!log.contains("se-cret"), "{log}");
        assert_eq!(metric(weft, "weft_backplane_gaps_total"), 0.0, "{log}");
        assert_eq!(metric(weft, "weft_backplane_dropped_messages_total"), 0.0);
    }
}

/// What a subscriber hears up to a message, by one publisher.
fn numbers_until(socket: &mut Socket, last: &str) -> Vec<usize> {
    let mut numbers = Vec::new();
    loop {
        let text = socket.text();
        if text == last {
            return numbers;
        }
        numbers.push(text.strip_prefix("p ").expect("of the publisher").parse().expect("a number"));
    }
}

/// Publishes on one host while something is done; returns how many.
fn publish_during(weft: &Running, what: impl FnOnce(&AtomicUsize)) -> usize {
    let (stop, published) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Relaxed) {
                publish(weft, "all", "p", published.load(Relaxed), 5);
                published.fetch_add(5, Relaxed);
            }
        });
        what(&published);
        stop.store(true, Relaxed);
    });
    published.load(Relaxed)
}

fn more(published: &AtomicUsize) {
    let enough = published.load(Relaxed) + 100;
    until("more is published", || (published.load(Relaxed) >= enough).then_some(()));
}

/// All subscribers of all hosts have heard all of it once, in order.
fn expect_all(sockets: &mut [Socket], weft: &Running, count: usize) {
    publish(weft, "all", "end", 0, 1);
    for socket in sockets {
        assert_eq!(numbers_until(socket, "end 0"), (0..count).collect::<Vec<_>>());
    }
}

fn a_backplane_that_is_killed_again_and_again_loses_nothing(kind: Kind) {
    let mut backplane = Backplane::start(kind);
    let (one, mut other) = pair(&backplane);
    let mut sockets = crowd(&other, 20);
    sockets.extend(crowd(&one, 5));
    let count = publish_during(&one, |published| {
        for round in 1..=3 {
            more(published);
            backplane.kill();
            other.wait_for_log_times(GONE, round);
            more(published);
            backplane.go_on();
            other.wait_for_log_times(BACK, round);
        }
        more(published);
    });
    expect_all(&mut sockets, &one, count);
}

fn a_link_that_is_killed_is_replaced_and_loses_nothing(kind: Kind) {
    let backplane = Backplane::start(kind);
    let (mut one, mut other) = pair(&backplane);
    let mut sockets = crowd(&other, 20);
    sockets.extend(crowd(&one, 5));
    let publisher = one.address;
    let count = {
        let (stop, published) = (AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    let mut client = weft_tests::Client::connect(publisher);
                    let from = published.load(Relaxed);
                    client.send(format!(
                        "GET /publish?topic=all&by=p&from={from}&count=5 HTTP/1.1\r\nHost: a\r\n\r\n"
                    ));
                    assert_eq!(client.read().status, 200);
                    published.fetch_add(5, Relaxed);
                }
            });
            for weft in [&mut one, &mut other] {
                more(&published);
                process::signal(link(weft), Signal::KILL);
                weft.wait_for_log("the link to other hosts has died");
                weft.wait_for_log_times("topics are shared with other hosts", 2);
                more(&published);
            }
            stop.store(true, Relaxed);
        });
        published.load(Relaxed)
    };
    expect_all(&mut sockets, &one, count);
}

fn a_reload_of_a_host_loses_nothing(kind: Kind) {
    let backplane = Backplane::start(kind);
    let (mut one, other) = pair(&backplane);
    let mut sockets = crowd(&other, 10);
    let before = link(&one);
    let count = publish_during(&other, |published| {
        more(published);
        one.signal(Signal::HUP);
        one.wait_for_log("generation 2 is ready");
        more(published);
    });
    expect_all(&mut sockets, &other, count);
    assert_ne!(link(&one), before, "the new code has a link of its own");
    one.wait_for_log_times("topics are shared with other hosts", 2);
    let mut here = crowd(&one, 1);
    publish(&other, "all", "p", 0, 1);
    expect(&mut here[0], "p", 0..1);
    publish(&one, "all", "p", 1, 1);
    expect(&mut here[0], "p", 1..2);
    expect(&mut sockets[0], "p", 0..2);
}

fn what_waits_for_the_backplane_has_a_bound_and_what_is_dropped_is_counted(kind: Kind) {
    let mut backplane = Backplane::start(kind);
    let small = || host(&backplane).with("--topics-bytes", "65536");
    let (mut one, mut other) = (join(small()), join(small()));
    know(&other, 1);
    let mut there = crowd(&other, 1).remove(0);
    backplane.kill();
    one.wait_for_log(GONE);
    let (mut here, _) = enter(&one);
    assert_eq!(ask(&mut here, "flood all 300"), "true");
    until("some are dropped", || {
        (metric(&one, "weft_backplane_dropped_messages_total") > 200.0).then_some(())
    });
    let dropped = metric(&one, "weft_backplane_dropped_messages_total") as usize;
    backplane.go_on();
    // The newest come, and that others are missing is known.
    for number in dropped + 1..=300 {
        let text = there.text();
        assert!(text.starts_with(&format!("{number} .")), "{number}: {text}");
    }
    other.wait_for_log("were missed, and the backplane has not kept them");
    assert_eq!(metric(&other, "weft_backplane_gaps_total"), 1.0);
}

with_both! {
    while_the_backplane_is_dead_a_host_goes_on_alone_and_then_catches_up
    a_backplane_that_is_killed_again_and_again_loses_nothing
    a_link_that_is_killed_is_replaced_and_loses_nothing
    a_reload_of_a_host_loses_nothing
    what_waits_for_the_backplane_has_a_bound_and_what_is_dropped_is_counted
}

#[test]
fn nats_without_jetstream_is_said_and_used() {
    let mut backplane = Backplane::start_with(Kind::Nats, &[]);
    let (mut one, mut other) = pair(&backplane);
    one.wait_for_log("keeps no messages for hosts that were cut off");
    one.wait_for_log("start NATS with JetStream (-js), or set topics.backplane_history = false");
    let (mut here, mut there) = (crowd(&one, 1).remove(0), crowd(&other, 1).remove(0));
    publish(&one, "all", "p", 0, 100);
    expect(&mut there, "p", 0..100);
    backplane.kill();
    one.wait_for_log(GONE);
    publish(&one, "all", "p", 100, 10);
    expect(&mut here, "p", 0..110);
    // Nobody keeps the last message for a host that is not there again.
    other.wait_for_log(GONE);
    backplane.go_on();
    one.wait_for_log(BACK);
    other.wait_for_log(BACK);
    know(&one, 1);
    know(&other, 1);
    publish(&one, "all", "end", 0, 1);
    // What was sent before the other host was back is lost, and counted; what comes is in order.
    let mut heard = Vec::new();
    loop {
        match there.text() {
            text if text == "end 0" => break,
            text => heard.push(text),
        }
    }
    assert!(heard.is_empty() || heard == (100..110).map(|number| format!("p {number}")).collect::<Vec<_>>());
    let gaps = metric(&other, "weft_backplane_gaps_total");
    assert_eq!(gaps > 0.0, heard.is_empty(), "{gaps} {heard:?}");
}

#[test]
fn a_wrong_password_is_said_and_tried_again() {
    let backplane = Backplane::start(Kind::Redis);
    let wrong = backplane.url().replace("se-cret", "another");
    let mut weft = host_at(&wrong).start();
    weft.wait_for_log(GONE);
    assert!(!weft.log().contains("another"), "{}", weft.log());
    let mut here = crowd(&weft, 1).remove(0);
    publish(&weft, "all", "p", 0, 3);
    expect(&mut here, "p", 0..3);
    backplane.redis(&["config", "set", "requirepass", "another"]);
    weft.wait_for_log(BACK);
}
