//! Conversations: a coroutine has a connection to itself; and services that wait until a client has caught up.

use std::io::Write;

use rustix::process::Signal;
use serde_json::json;

use crate::server;
use weft_tests::websocket::{Socket, frame};

fn talk(weft: &weft_tests::Running, user: &str) -> Socket {
    let mut socket = Socket::open(weft, &format!("/talk?user={user}"));
    assert_eq!(socket.text(), format!("who are you, {user}?"));
    socket.send("me");
    socket
}

#[test]
fn a_dialogue_from_its_beginning_to_its_end() {
    let weft = server().start();
    let mut socket = talk(&weft, "ada");
    socket.send("hello");
    assert_eq!(socket.text(), "me: hello");
    socket.stream.write_all(&frame(0x82, b"\xff")).unwrap();
    assert_eq!(socket.read(), (0x82, b"me: \xff".to_vec()));
    // What comes with the close frame is answered before it is.
    let last = [frame(0x81, b"one"), frame(0x81, b"two"), frame(0x88, b"\x0f\xa0bye")].concat();
    socket.stream.write_all(&last).unwrap();
    assert_eq!((socket.text(), socket.text()), ("me: one".to_owned(), "me: two".to_owned()));
    assert_eq!(socket.close(), (4000, String::new()));
    socket.end();
    weft.calls_until(r#"conversation ada [4000,"bye"]"#);
    assert_eq!(weft.get("/kept-socket").json(), json!([false, null, true]));
    assert_eq!(weft.get("/coroutines").text(), "1", "only the request itself");
}

#[test]
fn a_client_that_vanishes_ends_the_conversation() {
    let weft = server().start();
    drop(talk(&weft, "ada"));
    weft.calls_until(r#"conversation ada [1006,""]"#);
    // Before its first word, too.
    drop(Socket::open(&weft, "/talk?user=bob"));
    weft.calls_until(r#"conversation bob [1006,""]"#);
}

#[test]
fn whatever_ends_the_coroutine_closes_the_connection() {
    let mut weft = server().start();
    for (word, code) in [("throw", 1011), ("exit", 1011), ("leave so", 4001)] {
        let mut socket = talk(&weft, "ada");
        socket.send(word);
        assert_eq!(socket.close().0, code, "{word}");
        socket.end();
    }
    weft.wait_for_log("thrown in a conversation");
    // One that returns at once.
    let mut socket = Socket::open(&weft, "/talk?user=bob");
    assert_eq!(socket.text(), "who are you, bob?");
    socket.stream.write_all(&frame(0x88, b"\x03\xe8")).unwrap();
    assert_eq!(socket.close().0, 1000);
    socket.end();
    let mut socket = talk(&weft, "eve");
    socket.send("still served");
    assert_eq!(socket.text(), "me: still served");
}

#[test]
fn waits_have_timeouts_and_lose_no_message() {
    let weft = server().start();
    let mut socket = talk(&weft, "ada");
    socket.send("wait 0.05");
    assert_eq!(socket.text(), "No message came within 0.05 seconds");
    socket.send("wait 60");
    socket.send("this");
    assert_eq!(socket.text(), "came: this");
    socket.send("timeout 0.05");
    assert_eq!(socket.text(), "Not done within 0.05 seconds");
    socket.send("second");
    assert_eq!(socket.text(), r"Weft\TimeoutException");
    socket.send("after all");
    assert_eq!(socket.text(), "me: after all");
}

#[test]
fn a_conversation_is_not_bound_by_the_time_of_a_request() {
    let weft = server().with("--request-timeout-ms", "300").start();
    let mut socket = talk(&weft, "ada");
    socket.send("wait 2");
    assert_eq!(socket.text(), "No message came within 2 seconds");
}

#[test]
fn a_conversation_waits_until_its_client_has_caught_up() {
    let weft = server().start();
    let mut socket = talk(&weft, "ada");
    socket.send("flood");
    for _ in 0..2_000 {
        assert_eq!(socket.read().1.len(), 10_000);
    }
    assert_eq!(socket.text(), "sent 2000");
}

#[test]
fn a_service_is_told_when_its_client_has_caught_up() {
    let weft = server().start();
    let mut socket = Socket::open(&weft, "/patient");
    socket.send("go");
    for number in 0..3_000 {
        let (_, payload) = socket.read();
        assert!(payload.starts_with(number.to_string().as_bytes()), "{number}");
    }
    let calls = weft.calls_until("waits at 3000");
    assert!(calls.len() > 2, "{calls:?}");
}

#[test]
fn more_conversations_than_tasks_are_turned_away() {
    let mut weft = server().with("--tasks-max", "2").start();
    let sockets: Vec<Socket> = (0..2).map(|_| talk(&weft, "ada")).collect();
    let mut third = Socket::open(&weft, "/talk?user=bob");
    assert_eq!(third.close().0, 1013);
    third.end();
    weft.wait_for_log("tasks_max");
    drop(sockets);
    weft.calls_until(r#"conversation ada [1006,""]"#);
}

#[test]
fn a_worker_that_ends_ends_its_conversations() {
    let mut weft = server().with("--drain-timeout-ms", "4000").start();
    let mut polite = talk(&weft, "ada");
    let silent = talk(&weft, "bob");
    polite.send("x");
    assert_eq!(polite.text(), "me: x");
    weft.signal(Signal::TERM);
    assert_eq!(polite.close(), (1001, "the server restarts".to_owned()));
    polite.end();
    assert!(weft.wait().success(), "{}", weft.log());
    drop(silent);
}
