//! What a service sees, and what it can do.

use std::io::{Read, Write};

use rustix::process::Signal;
use serde_json::json;
use weft_tests::{Running, process, until};

use crate::server;
use weft_tests::websocket::{Socket, frame, handshake};

#[test]
fn a_connection_from_its_handshake_to_its_end() {
    let weft = server().start();
    let mut socket = Socket::ask(&weft, "/dialogue?user=ada", "Sec-WebSocket-Protocol: chat.v2\r\n");
    let head = socket.head.to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 101 switching protocols\r\n"), "{head}");
    for line in
        ["upgrade: websocket", "connection: upgrade", "sec-websocket-protocol: chat.v2", "set-cookie: a=b"]
    {
        assert!(head.contains(&format!("\r\n{line}\r\n")), "{head}");
    }
    // Only the server's own, whatever the service says.
    assert_eq!(socket.head.matches("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n").count(), 1);
    assert!(!head.contains("nonsense"), "{head}");
    assert_eq!(socket.text(), "hello ada");
    socket.send("some text");
    assert_eq!(socket.text(), "some text");
    socket.stream.write_all(&frame(0x82, b"\xff\x00")).unwrap();
    assert_eq!(socket.read(), (0x82, vec![0xFF, 0]));
    socket.send("remember this");
    socket.send("note");
    assert_eq!(socket.text(), "note this");
    socket.stream.write_all(&frame(0x88, b"\x03\xe9going")).unwrap();
    assert_eq!(socket.close(), (1001, String::new()));
    assert_eq!(socket.stream.read(&mut [0]).unwrap(), 0);
    let calls = weft.calls_until("[false,false,false]");
    let expected = [
        "opened ada",
        "ada text 9",
        "ada binary 2",
        "ada text 13",
        "ada text 4",
        "closed ada 1001 going",
        "[false,false,false]",
    ];
    assert_eq!(calls, expected);
}

fn status_of(weft: &Running, target: &str, lines: &str) -> String {
    let head = Socket::ask(weft, target, lines).head;
    head.split(' ').nth(1).map(str::to_owned).unwrap_or_default()
}

#[test]
fn who_may_connect() {
    let mut weft = server().start();
    let status = |target: &str, lines: &str| status_of(&weft, target, lines);
    let head = Socket::ask(&weft, "/dialogue", "").head;
    assert!(head.starts_with("HTTP/1.1 401 ") && head.contains("WWW-Authenticate: Custom\r\n"), "{head}");
    assert_eq!(status("/dialogue?user=refused", ""), "403");
    assert_eq!(status("/dialogue?user=plain", ""), "101");
    // What a service gets wrong is its own error, and the log says which.
    assert_eq!(status("/dialogue?user=large", ""), "500");
    assert_eq!(status("/dialogue?user=other-protocol", "Sec-WebSocket-Protocol: chat.v2\r\n"), "500");
    assert_eq!(status("/dialogue?user=thrown", ""), "500");
    for text in ["at most 16 names and 1024 bytes", "does not offer this subprotocol", "authorise has thrown"]
    {
        weft.wait_for_log(text);
    }
    let status = |target: &str, lines: &str| status_of(&weft, target, lines);
    for (origin, expected) in [
        ("http://localhost", "101"),
        ("https://friend.example", "101"),
        ("https://enemy.example", "403"),
        ("null", "403"),
    ] {
        assert_eq!(status("/dialogue?user=ada", &format!("Origin: {origin}\r\n")), expected, "{origin}");
    }
}

#[test]
fn other_requests_go_to_the_handler() {
    let weft = server().start();
    assert_eq!(weft.get("/other").text(), "page /other\n");
    assert_eq!(weft.get("/dialogue?user=ada").text(), "page /dialogue\n");
    let answer = weft.say(handshake("/other", "Connection: close\r\n"));
    assert_eq!((answer.status, answer.text()), (200, "page /other\n".to_owned()));
    let answer = weft.say(handshake("/dialogue?user=a", "").replace("Version: 13", "Version: 7"));
    assert_eq!((answer.status, answer.header("Sec-WebSocket-Version")), (426, Some("13")));
    let answer = weft.say(handshake("/dialogue?user=a", "").replace("dGhl", ""));
    assert_eq!(answer.status, 400);
    let answer = weft.say(handshake("/dialogue?user=a", "Content-Length: 1\r\n") + "x");
    assert_eq!(answer.status, 400);
    assert_eq!(weft.get("/calls").json(), json!([]));
}

#[test]
fn calls_of_one_connection_are_in_order_and_delay_no_other() {
    let weft = server().start();
    let mut slow = Socket::open(&weft, "/dialogue?user=slow");
    let mut quick = Socket::open(&weft, "/dialogue?user=quick");
    assert_eq!((slow.text(), quick.text()), ("hello slow".to_owned(), "hello quick".to_owned()));
    slow.send("wait 500");
    for number in 0..20 {
        slow.send(&format!("{number}"));
    }
    for number in 0..20 {
        quick.send(&format!("{number}"));
        assert_eq!(quick.text(), format!("{number}"));
    }
    assert_eq!(slow.text(), "wait 500");
    for number in 0..20 {
        assert_eq!(slow.text(), format!("{number}"));
    }
}

#[test]
fn idle_connections_have_no_coroutine_and_each_event_a_state_of_its_own() {
    let weft = server().start();
    let mut sockets: Vec<Socket> =
        (0..50).map(|number| Socket::open(&weft, &format!("/dialogue?user=u{number}"))).collect();
    for (number, socket) in sockets.iter_mut().enumerate() {
        assert_eq!(socket.text(), format!("hello u{number}"));
    }
    assert_eq!(weft.get("/coroutines").text(), "1", "only the request itself");
    sockets[7].send("state");
    assert_eq!(sockets[7].text(), "[[],null,1]");
}

#[test]
fn what_a_service_throws_closes_its_connection_only() {
    let mut weft = server().start();
    let mut other = Socket::open(&weft, "/dialogue?user=other");
    assert_eq!(other.text(), "hello other");
    for (word, expected) in [("throw", 1011), ("close enough", 4000)] {
        let mut socket = Socket::open(&weft, "/dialogue?user=ada");
        assert_eq!(socket.text(), "hello ada");
        socket.send(word);
        assert_eq!(socket.close().0, expected, "{word}");
        socket.end();
    }
    weft.wait_for_log("Uncaught LogicException: thrown for ada");
    weft.calls_until("closed ada 1011 ");
    weft.calls_until("closed ada 4000 enough");
    // exit() ends the method, no more.
    other.send("exit");
    other.send("still there");
    assert_eq!(other.text(), "still there");
}

/// A worker takes events that have come together one after the other on one coroutine.
#[test]
fn events_that_come_together_end_each_in_its_own_way() {
    const WORDS: [&str; 6] = ["plain", "throw", "exit", "wait 200", "state", "close enough"];
    let weft = server().start();
    let mut sockets: Vec<(usize, Socket)> = (0..60)
        .map(|number| (number % WORDS.len(), Socket::open(&weft, &format!("/dialogue?user=u{number}"))))
        .collect();
    for (number, (_, socket)) in sockets.iter_mut().enumerate() {
        assert_eq!(socket.text(), format!("hello u{number}"));
    }
    let [worker] = weft.workers()[..] else { panic!("one worker: {:?}", weft.workers()) };
    process::signal(worker, Signal::STOP);
    until("the worker to be stopped", || process::is_stopped(worker).then_some(()));
    for (word, socket) in &mut sockets {
        socket.send(WORDS[*word]);
    }
    process::signal(worker, Signal::CONT);
    for (word, socket) in &mut sockets {
        match WORDS[*word] {
            "throw" => assert_eq!(socket.close().0, 1011),
            "close enough" => assert_eq!(socket.close().0, 4000),
            // No state is another's: this request has none, and is of no task.
            "state" => assert!(socket.text().starts_with("[[],null,")),
            "exit" => {
                socket.send("still there");
                assert_eq!(socket.text(), "still there");
            }
            said => assert_eq!(socket.text(), said),
        }
    }
}

#[test]
fn what_must_not_be_sent_or_kept_is_refused_with_its_reason() {
    let weft = server().start();
    let mut socket = Socket::open(&weft, "/dialogue?user=ada");
    assert_eq!(socket.text(), "hello ada");
    for (what, reason) in [
        ("code", "1005 is no code for a close frame"),
        ("reason", "at most 123 bytes"),
        ("text", "A text message is UTF-8"),
        ("attribute", "at most 16 names and 1024 bytes"),
    ] {
        socket.send(&format!("try {what}"));
        let said = socket.text();
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn a_connection_is_a_value_that_outlives_it() {
    let weft = server().start();
    let mut socket = Socket::open(&weft, "/dialogue?user=ada");
    assert_eq!(socket.text(), "hello ada");
    assert_eq!(weft.get("/kept").json(), json!({"ada": [true, "ada", true, true]}));
    assert_eq!(socket.text(), "from http");
    drop(socket);
    weft.calls_until("closed ada 1006 ");
    assert_eq!(weft.get("/kept").json(), json!({"ada": [false, null, false, true]}));
    assert_eq!(weft.get("/foreign").json(), json!(false));
    // The next connection in its place is another one.
    let mut next = Socket::open(&weft, "/dialogue?user=bob");
    assert_eq!(next.text(), "hello bob");
    let kept = weft.get("/kept").json();
    assert_eq!((&kept["ada"][0], &kept["bob"][0]), (&json!(false), &json!(true)));
}

#[test]
fn a_client_that_does_not_read_costs_a_bounded_number_of_bytes() {
    let weft = server().start();
    let mut socket = Socket::open(&weft, "/slow");
    socket.send("go");
    weft.calls_until("sent less than 100000: true true");
    // The others are served meanwhile, and what was accepted arrives.
    assert_eq!(weft.get("/x").text(), "page /x\n");
    assert_eq!(socket.read().1.len(), 10_000);
}
