//! The last messages of a topic, for clients that come for the first time: which they are, and that with what is published
//! from then on each comes once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use weft_tests::events::Events;
use weft_tests::websocket::Socket;
use weft_tests::{Running, process, until};

use crate::events::{publish, server, servers};
use crate::topics::{ask, enter, expect_flood, rooms};

fn say(socket: &mut Socket, topic: &str, count: usize) {
    for number in 0..count {
        socket.send(&format!("say {topic} {number}"));
    }
    // The commands of a connection are done in their order.
    ask(socket, "topics");
}

fn texts(socket: &mut Socket, count: usize) -> Vec<String> {
    (0..count).map(|_| socket.text()).collect()
}

#[test]
fn any_code_reads_the_last_messages_in_every_mode() {
    for (mode, server) in servers() {
        let weft = server.with("--workers", "2").with("--topics-history-max", "5").start();
        let read = |count: usize| weft.get(&format!("/history?count={count}")).json();
        assert_eq!(read(3), serde_json::json!([]), "{mode}");
        let ids: Vec<String> = (0..6)
            .map(|number| {
                publish(&weft, "/publish?topic=other", "not this one");
                publish(&weft, "/publish", number.to_string())
            })
            .collect();
        let last = read(3);
        for (at, message) in last.as_array().expect("a list").iter().enumerate() {
            assert_eq!(message["id"], ids[3 + at], "{mode}");
            assert_eq!((&message["data"], &message["binary"]), (&(3 + at).to_string().into(), &false.into()));
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("later than 1970").as_secs_f64();
            let age = now - message["time"].as_f64().expect("a time");
            assert!((-1.0..60.0).contains(&age), "{mode}: {age}");
        }
        assert_eq!(last.as_array().map(Vec::len), Some(3));
        assert_eq!(read(100).as_array().map(Vec::len), Some(5), "{mode}: topics_history_max");
        assert_eq!(read(0), serde_json::json!([]));
        publish(&weft, "/publish?binary=1", "bytes");
        let last = read(1);
        assert_eq!((&last[0]["data"], &last[0]["binary"]), (&"bytes".into(), &true.into()), "{mode}");
        assert_eq!(weft.get("/history?count=-1").status, 500, "{mode}");
    }
}

#[test]
fn a_new_subscriber_gets_the_last_messages_and_then_what_follows() {
    let weft = rooms().with("--workers", "2").start();
    let (mut ada, ada_pid, _) = enter(&weft, "/room");
    say(&mut ada, "a", 5);
    let (mut bob, ..) = enter(&weft, "/room");
    bob.send("recent a 3");
    assert_eq!(texts(&mut bob, 4), ["2", "3", "4", "true"]);
    ada.send("say a live");
    assert_eq!(bob.text(), "live");
    assert_eq!(ask(&mut bob, "recent a 3"), "true", "it has them");
    assert_eq!(ask(&mut ada, "history a 2"), r#"["4","live"]"#);
    // With labels, and so with an id to come back with.
    let (mut eve, ..) = enter(&weft, "/room");
    eve.send("recent-labelled a 1");
    let labelled = eve.text();
    let (label, text) = labelled.split_once('\n').expect("a label");
    let (id, topic) = label.split_once(' ').expect("an id");
    assert_eq!((topic, text, eve.text().as_str()), ("a", "live", "true"));
    ada.send("say a more");
    assert!(eve.text().ends_with(" a\nmore"));
    let (mut back, ..) = enter(&weft, "/room");
    back.send(&format!("resume-or-recent a {id}"));
    assert!(back.text().ends_with(" a\nmore"));
    assert_eq!(back.text(), "true");
    // Too late: it begins anew, and knows it.
    let (mut late, ..) = enter(&weft, "/room");
    late.send("resume-or-recent a 1-8");
    let heard = texts(&mut late, 3);
    assert!(heard[0].ends_with(" a\nlive") && heard[1].ends_with(" a\nmore"), "{heard:?}");
    assert_eq!(heard[2], "false");
    // Bytes come as bytes, and what a connection was left out of does not come to it.
    ada.send("others b from ada");
    ada.send("bytes b \u{1}");
    ada.send("recent b 5");
    let mut heard = [ada.read(), ada.read()];
    heard.sort();
    assert_eq!(heard, [(0x81, b"true".to_vec()), (0x82, vec![1])]);
    // A connection of another worker, by its name.
    let (mut kim, _, kim_id) = until("a connection of another worker", || {
        Some(enter(&weft, "/room")).filter(|(_, pid, _)| *pid != ada_pid)
    });
    assert_eq!(ask(&mut ada, &format!("subscribe-recent {kim_id} a 2")), "true");
    assert_eq!(texts(&mut kim, 2), ["live", "more"]);
    ada.send("say a last");
    assert_eq!(kim.text(), "last");
    assert_eq!(ask(&mut ada, "subscribe-recent 1-w1 a 2"), "false");
    assert_eq!(ask(&mut ada, "recent a -1"), "ValueError: The number of recent messages is 0 or more");
}

#[test]
fn the_last_messages_fit_into_half_of_a_queue_and_are_no_older_than_the_history() {
    let weft = rooms()
        .with("--websocket-queue-bytes-max", "65536")
        .with("--topics-history-ms", "400")
        .with("--workers", "1")
        .start();
    let (mut ada, ..) = enter(&weft, "/room");
    ada.send("flood a 200");
    expect_flood(&mut ada, 0, true);
    let (mut bob, ..) = enter(&weft, "/room");
    bob.send("recent a 200");
    // What the worker has still to deliver comes behind the answer.
    let (mut heard, mut recent) = (Vec::new(), None);
    while heard.last() != Some(&200) || recent.is_none() {
        match bob.text() {
            answer if answer == "true" => recent = Some(heard.len()),
            text => heard.push(text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)),
        }
    }
    assert_eq!(heard, (201 - heard.len()..=200).collect::<Vec<usize>>(), "the newest, without a gap");
    assert!(recent.is_some_and(|recent| (25..=32).contains(&recent)), "{recent:?}");
    until("they are too old", || (ask(&mut ada, "history a 5") == "[]").then_some(()));
    let (mut late, ..) = enter(&weft, "/room");
    assert_eq!(ask(&mut late, "recent a 5"), "true");
}

#[test]
fn a_stream_of_events_begins_with_the_last_messages() {
    for (mode, server) in servers() {
        let weft = server.with("--topics-history-max", "5").start();
        let (_, start) = Events::open(&weft, "/recent?recent=3&topics=news+other");
        let ids: Vec<String> = (0..4)
            .flat_map(|n| {
                let topics = ["/publish", "/publish?topic=other"];
                topics.map(|target| publish(&weft, target, n.to_string()))
            })
            .collect();
        // The last two of each, in the order of all.
        let mut events = Events::ask(&weft, "/recent?recent=2&topics=news+other", "");
        assert!(events.block().starts_with("retry: "), "{mode}");
        for (at, id) in ids.iter().enumerate().skip(4) {
            let topic = if at % 2 == 0 { "news" } else { "other" };
            assert_eq!(events.block(), format!("event: {topic}\nid: {id}\ndata: {}", at / 2), "{mode}");
        }
        let live = publish(&weft, "/publish", "live");
        assert_eq!(events.block(), format!("event: news\nid: {live}\ndata: live"));
        // One that comes back gets what it has missed, and one that is too late is told so first.
        let mut back = Events::resume(&weft, "/recent?recent=5", &ids[6]);
        assert_eq!(back.block(), format!("event: news\nid: {live}\ndata: live"));
        let mut late = Events::resume(&weft, "/recent?recent=1&topics=news+other", &start);
        assert!(late.block().starts_with("event: missed\n"), "{mode}");
        assert_eq!(late.block(), format!("event: other\nid: {}\ndata: 3", ids[7]));
        assert_eq!(late.block(), format!("event: news\nid: {live}\ndata: live"));
        // A state comes before them, and what is published while it is made is one of them.
        let mut state = Events::ask(&weft, "/state-and-recent", "");
        assert_eq!(state.block(), "event: state\ndata: the state", "{mode}");
        assert!(state.block().starts_with("retry: "));
        assert_eq!((state.event().0, state.event().0), ("live".to_owned(), "while it is made".to_owned()));
        // There is nothing to begin with.
        Events::open(&weft, "/recent?recent=3&topics=empty");
        assert_eq!(weft.get("/recent?recent=-1").status, 500, "{mode}");
    }
}

/// The numbers of a publisher, one after the other, up to the end.
fn expect_no_gap(first: usize, mut next: impl FnMut() -> String) -> usize {
    let mut expected = first;
    loop {
        let text = next();
        if text == "end 0" {
            return expected - first;
        }
        assert_eq!(text, format!("p {expected}"), "after {}", expected - first);
        expected += 1;
    }
}

fn number_of(text: &str) -> usize {
    text.strip_prefix("p ").and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

fn publish_numbers(weft: &Running, stop: &AtomicBool, published: &AtomicUsize) {
    let mut client = weft.connect();
    for turn in 0.. {
        if stop.load(Relaxed) {
            return assert_eq!(weft.get("/publish?topic=all&by=end&from=0&count=1").status, 200);
        }
        client.get(&format!("/publish?topic=all&by=p&from={}&count=20", 20 * turn));
        assert_eq!(client.read().status, 200);
        published.fetch_add(20, Relaxed);
    }
}

#[test]
fn who_comes_while_much_is_published_gets_each_message_once() {
    let weft = rooms().with("--workers", "3").start();
    let (stop, published) = (AtomicBool::new(false), AtomicUsize::new(0));
    let enough = |count| until("more is published", || (published.load(Relaxed) >= count).then_some(()));
    std::thread::scope(|scope| {
        scope.spawn(|| publish_numbers(&weft, &stop, &published));
        enough(100);
        let mut readers = Vec::new();
        for round in 0..40 {
            let weft = &weft;
            readers.push(scope.spawn(move || {
                let (mut socket, ..) = enter(weft, "/room");
                let mut answers = 0;
                socket.send("recent all 3");
                let mut next = || loop {
                    match socket.text() {
                        answer if answer == "true" => answers += 1,
                        text => return text,
                    }
                };
                let first = number_of(&next());
                expect_no_gap(first + 1, next)
            }));
            readers.push(scope.spawn(move || {
                let mut events = Events::ask(weft, "/recent", "");
                let first = number_of(&events.event().0);
                expect_no_gap(first + 1, || events.event().0)
            }));
            enough(100 + 40 * round);
        }
        enough(published.load(Relaxed) + 200);
        stop.store(true, Relaxed);
        let counts: Vec<usize> =
            readers.into_iter().map(|reader| reader.join().expect("its answer")).collect();
        assert!(counts.iter().filter(|count| **count > 100).count() > 40, "{counts:?}");
    });
}

#[test]
fn the_last_messages_are_there_after_a_reload_and_the_death_of_a_worker() {
    let mut weft = server().with("--workers", "2").with("--define", "opcache.enable=0").start();
    publish(&weft, "/publish", "before");
    let before = weft.workers();
    weft.signal(Signal::HUP);
    until("other workers", || {
        let now = weft.workers();
        (now.len() == 2 && now.iter().all(|pid| !before.contains(pid))).then_some(())
    });
    let after = weft.workers();
    process::signal(after[0], Signal::KILL);
    until("another worker", || {
        let now = weft.workers();
        (now.len() == 2 && !now.contains(&after[0])).then_some(())
    });
    let mut events = Events::ask(&weft, "/recent?recent=3", "");
    assert!(events.block().starts_with("retry: "));
    assert!(events.block().ends_with("\ndata: before"));
    assert!(weft.is_alive());
}
