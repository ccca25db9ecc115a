//! Topics: who gets what is published, in which form, and what a client that comes back gets.

use std::io::Write;

use weft_tests::{Running, Server};

use weft_tests::websocket::{Socket, frame};

/// A server of rooms.
pub fn rooms() -> Server {
    Server::new(include_str!("room.php").trim_start_matches("<?php"))
}

/// A connection, the process that has it, and its name.
pub fn enter(weft: &Running, path: &str) -> (Socket, u32, String) {
    let mut socket = Socket::open(weft, path);
    let said = socket.text();
    let (pid, name) = said.split_once(' ').expect("a pid and a name");
    (socket, pid.parse().expect("a pid"), name.to_owned())
}

/// Sends a command and returns its answer.
pub fn ask(socket: &mut Socket, command: &str) -> String {
    socket.send(command);
    socket.text()
}

/// Reads the messages of a flood; the answer to the command for it comes somewhere among or behind them.
pub fn expect_flood(socket: &mut Socket, count: usize, is_its_own: bool) {
    let mut answers = 0;
    let mut number = 1;
    while number <= count || answers < usize::from(is_its_own) {
        match socket.text() {
            answer if answer == "true" => answers += 1,
            text => {
                assert!(text.starts_with(&format!("{number} .")) && text.len() == 1000, "{number}: {text}");
                number += 1;
            }
        }
    }
}

fn room(weft: &Running, topic: &str) -> Socket {
    let (mut socket, ..) = enter(weft, "/room");
    assert_eq!(ask(&mut socket, &format!("join {topic}")), "true");
    socket
}

#[test]
fn what_is_published_goes_to_those_who_have_subscribed() {
    let weft = rooms().start();
    let (mut ada, mut bob, mut eve) = (room(&weft, "a"), room(&weft, "a"), room(&weft, "b"));
    ada.send("say a hello");
    assert_eq!((ada.text(), bob.text()), ("hello".to_owned(), "hello".to_owned()));
    ada.send("others a to others");
    ada.send("others b to eve");
    ada.send("bytes a \u{1}\u{2}");
    assert_eq!(bob.text(), "to others");
    assert_eq!(bob.read(), (0x82, vec![1, 2]));
    assert_eq!(ada.read(), (0x82, vec![1, 2]));
    assert_eq!(eve.text(), "to eve");
    assert_eq!(ask(&mut bob, "leave a"), "true");
    assert_eq!(ask(&mut bob, "leave a"), "false");
    ada.send("say a last");
    assert_eq!(ada.text(), "last");
    assert_eq!(ask(&mut bob, "topics"), "[]");
    // Nobody has subscribed: no error.
    ada.send("say nobody hello");
    assert_eq!(ask(&mut ada, "topics"), r#"["a"]"#);
}

#[test]
fn names_messages_and_counts_have_bounds() {
    let weft = rooms().with("--topics-bytes", "65536").start();
    let mut socket = room(&weft, "a");
    let wrong = "ValueError: a topic's name is UTF-8, has 1 to 255 bytes, and no control characters";
    for name in ["", &"n".repeat(256), "a\tb", "a\u{85}b"] {
        assert_eq!(ask(&mut socket, &format!("join {name}")), wrong, "{name:?}");
        assert_eq!(ask(&mut socket, &format!("say {name} x")), wrong, "{name:?}");
    }
    assert_eq!(ask(&mut socket, &format!("join {}", "n".repeat(255))), "true");
    let said = ask(&mut socket, &format!("say a {}", "x".repeat(8192)));
    assert_eq!(said, "ValueError: a message to this topic has at most 8159 bytes, an eighth of topics_bytes");
    socket.send(&format!("say a {}", "x".repeat(8159)));
    assert_eq!(socket.text().len(), 8159);
    let (mut other, ..) = enter(&weft, "/room");
    assert_eq!(ask(&mut other, "many"), "ValueError: A connection has at most 64 topics");
}

#[test]
fn labelled_messages_can_be_resumed() {
    let weft = rooms().with("--topics-history-max", "5").start();
    let (mut ada, ..) = enter(&weft, "/room");
    assert_eq!(ask(&mut ada, "label a b"), "true");
    let mut plain = room(&weft, "a");
    for number in 0..4 {
        plain.send(&format!("say a {number}"));
        plain.send(&format!("say other {number}"));
        assert_eq!(plain.text(), number.to_string());
    }
    let labelled: Vec<String> = (0..4).map(|_| ada.text()).collect();
    let ids: Vec<&str> = labelled.iter().map(|message| message.split(' ').next().unwrap()).collect();
    for (number, (message, id)) in labelled.iter().zip(&ids).enumerate() {
        assert_eq!(*message, format!("{id} a\n{number}"));
    }
    // One that comes back gets what followed, and then what is new, each message once.
    let (mut back, ..) = enter(&weft, "/room");
    back.send(&format!("resume a {}", ids[1]));
    assert_eq!((back.text(), back.text()), (labelled[2].clone(), labelled[3].clone()));
    assert_eq!(back.text(), "true");
    plain.send("say a 4");
    assert!(back.text().ends_with(" a\n4"));
    let (mut later, ..) = enter(&weft, "/room");
    later.send(&format!("resume other {}", ids[3]));
    assert!(later.text().ends_with(" other\n3"));
    assert_eq!(later.text(), "true");
    // Of an earlier start, no id, too many.
    for id in ["1-8", "nonsense", ""] {
        assert_eq!(ask(&mut later, &format!("resume a {id}")), "false", "{id}");
    }
    for number in 5..7 {
        plain.send(&format!("say a {number}"));
        assert!(later.text().ends_with(&format!(" a\n{number}")));
    }
    let (mut late, ..) = enter(&weft, "/room");
    assert_eq!(ask(&mut late, &format!("resume a {}", ids[0])), "false");
    plain.send("say a new");
    assert!(late.text().ends_with(" a\nnew"));
}

#[test]
fn a_message_leaves_out_whom_it_names_in_whichever_worker_they_are() {
    let weft = rooms().with("--workers", "3").start();
    let mut all: Vec<(Socket, u32, String)> = (0..12).map(|_| enter(&weft, "/room")).collect();
    for (socket, ..) in &mut all {
        assert_eq!(ask(socket, "join all"), "true");
    }
    let workers: std::collections::BTreeSet<u32> = all.iter().map(|(_, pid, _)| *pid).collect();
    assert!(workers.len() > 1, "of several workers");
    let excluded: Vec<String> = all[..9].iter().map(|(.., name)| name.clone()).collect();
    // A name of nobody is no error.
    let names = format!("{},gone-w1,nonsense", excluded.join(","));
    all[0].0.send(&format!("all-but all {names} for three"));
    let second = all[1].2.clone();
    all[0].0.send(&format!("all-but all {second} for eleven"));
    all[0].0.send("say all for all");
    for (at, (socket, ..)) in all.iter_mut().enumerate() {
        let heard: Vec<String> =
            (0..if at < 9 { 2 } else { 3 } - usize::from(at == 1)).map(|_| socket.text()).collect();
        let expected = match at {
            1 => &["for all"][..],
            0..9 => &["for eleven", "for all"],
            _ => &["for three", "for eleven", "for all"],
        };
        assert_eq!(heard, expected, "{at}");
    }
    let many = vec!["1-w1"; 501].join(",");
    let said = ask(&mut all[0].0, &format!("all-but all {many} x"));
    assert_eq!(said, "ValueError: a message leaves out at most 500 connections");
}

#[test]
fn a_publisher_that_is_faster_than_all_loses_nothing() {
    let weft = rooms().with("--topics-bytes", "65536").start();
    let (mut ada, mut bob) = (room(&weft, "a"), room(&weft, "a"));
    bob.send("flood a 3000");
    std::thread::scope(|scope| {
        scope.spawn(|| expect_flood(&mut ada, 3000, false));
        expect_flood(&mut bob, 3000, true);
    });
}

#[test]
fn a_subscriber_that_does_not_read_delays_nobody() {
    let weft = rooms().with("--websocket-queue-bytes-max", "65536").start();
    let stuck = room(&weft, "a");
    let (mut tolerant, ..) = enter(&weft, "/tolerant");
    assert_eq!(ask(&mut tolerant, "join a"), "true");
    let mut ada = room(&weft, "a");
    // No more at once than her queue has room for.
    for _ in 0..200 {
        ada.send("flood a 60");
        expect_flood(&mut ada, 60, true);
    }
    // The one is closed for it, the other has lost some.
    let mut stuck = stuck;
    let mut last = stuck.read();
    while last.0 == 0x81 {
        last = stuck.read();
    }
    assert_eq!((last.0, &last.1[..2]), (0x88, &1013u16.to_be_bytes()[..]));
    tolerant.stream.write_all(&frame(0x81, b"topics")).unwrap();
    let mut read = 0;
    while tolerant.text() != r#"["a"]"# {
        read += 1;
    }
    assert!(0 < read && read < 12_000, "{read}");
}
