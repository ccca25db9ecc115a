//! What is asked of all workers, and connections that are used from other workers than their own.

use rustix::process::Signal;
use weft_tests::{Running, process, until};

use crate::topics::{ask, enter, rooms};
use weft_tests::websocket::Socket;

/// Two connections of different workers, with their names.
fn two_workers(weft: &Running) -> [(Socket, u32, String); 2] {
    let one = enter(weft, "/room");
    let other = until("a connection of another worker", || {
        Some(enter(weft, "/room")).filter(|other| other.1 != one.1)
    });
    [one, other]
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn topics_of_all_workers_are_counted_and_listed() {
    let weft = rooms().with("--workers", "3").start();
    let [(mut ada, _, ada_id), (mut bob, _, bob_id)] = two_workers(&weft);
    for (socket, name) in [(&mut ada, "ada"), (&mut bob, "bob")] {
        assert_eq!(ask(socket, "join room:1"), "true");
        assert_eq!(ask(socket, &format!("join user:{name}")), "true");
        assert_eq!(ask(socket, &format!("set user {name}")), "true");
    }
    assert_eq!(ask(&mut ada, "count room:1"), "2");
    assert_eq!(ask(&mut ada, "count nothing"), "0");
    let mut who: Vec<String> = serde_json::from_str(&ask(&mut bob, "who room:1")).unwrap();
    who.sort();
    let mut both = [ada_id.clone(), bob_id.clone()];
    both.sort();
    assert_eq!(who, both);
    let sessions = json(&ask(&mut ada, "sessions room:1"));
    assert_eq!(sessions, serde_json::json!({ &ada_id: { "user": "ada" }, &bob_id: { "user": "bob" } }));
    assert_eq!(
        json(&ask(&mut ada, "list ")),
        serde_json::json!({ "room:1": 2, "user:ada": 1, "user:bob": 1 })
    );
    assert_eq!(json(&ask(&mut ada, "list user:b")), serde_json::json!({ "user:bob": 1 }));
    assert_eq!(ask(&mut ada, "dissolve room:1"), "2");
    assert_eq!(ask(&mut bob, "topics"), r#"["user:bob"]"#);
}

#[test]
fn a_connection_of_another_worker_is_used_by_its_name() {
    let weft = rooms().with("--workers", "2").start();
    let [(mut ada, _, _), (mut bob, bob_pid, id)] = two_workers(&weft);
    assert_eq!(ask(&mut ada, &format!("send {id} from ada")), "true");
    assert_eq!(bob.text(), "from ada");
    assert_eq!(ask(&mut ada, &format!("put {id} name Bob \u{e9}")), "true");
    assert_eq!(ask(&mut ada, &format!("get {id} name")), r#"["Bob \u00e9",{"name":"Bob \u00e9"}]"#);
    assert_eq!(ask(&mut ada, &format!("get {id} none")), r#"[null,{"name":"Bob \u00e9"}]"#);
    assert!(ask(&mut ada, &format!("large {id} x")).starts_with("ValueError: "));
    assert_eq!(ask(&mut ada, &format!("subscribe {id} news")), "true");
    assert_eq!(ask(&mut ada, &format!("subscriptions {id}")), r#"["news"]"#);
    ada.send("say news hello");
    assert_eq!(bob.text(), "hello");
    assert_eq!(ask(&mut ada, &format!("unsubscribe {id} news")), "true");
    assert_eq!(ask(&mut ada, &format!("unsubscribe {id} news")), "false");
    assert_eq!(ask(&mut ada, &format!("open {id}")), "[true,0]");
    assert_eq!(ask(&mut ada, &format!("close {id} 4001 enough")), "true");
    assert_eq!(bob.close(), (4001, "enough".to_owned()));
    bob.end();
    let gone = |ada: &mut Socket, id: &str| {
        until("it is closed", || (ask(ada, &format!("open {id}")) == "[false,0]").then_some(()));
        for command in ["send", "put", "subscribe", "unsubscribe"] {
            assert_eq!(ask(ada, &format!("{command} {id} a b")), "false");
        }
        assert_eq!(ask(ada, &format!("get {id} name")), "[null,[]]");
    };
    gone(&mut ada, &id);
    // A worker that is dead, and names that nobody has.
    let (_, _, second) = until("another", || Some(enter(&weft, "/room")).filter(|other| other.1 == bob_pid));
    process::signal(bob_pid, Signal::KILL);
    gone(&mut ada, &second);
    for name in ["1-w1", "nonsense", "", "-w"] {
        assert_eq!(ask(&mut ada, &format!("open {name}")), "[false,0]", "{name}");
    }
}

#[test]
fn who_does_not_answer_is_named() {
    let mut weft = rooms().with("--workers", "2").start();
    let [(mut ada, _, _), (_bob, still, id)] = two_workers(&weft);
    process::signal(still, Signal::STOP);
    until("it stands still", || process::is_stopped(still).then_some(()));
    assert!(ask(&mut ada, "count room").starts_with("Weft\\TimeoutException: Not all workers have answered"));
    weft.wait_for_log(&format!("workers have not answered a question within 2 s: {still}"));
    assert_eq!(ask(&mut ada, &format!("send {id} x")), "false");
    process::signal(still, Signal::CONT);
    assert_eq!(ask(&mut ada, "count room"), "0");
}

#[test]
fn a_long_answer_arrives_whole() {
    let weft = rooms().with("--workers", "2").start();
    let [(mut ada, pid, _), (mut bob, ..)] = two_workers(&weft);
    let mut others: Vec<Socket> = Vec::new();
    let mut expected = 0;
    let name = "n".repeat(200);
    while others.len() < 16 || expected < 500 {
        let (mut socket, own, _) = enter(&weft, "/room");
        if own != pid {
            for number in 0..60 {
                assert_eq!(ask(&mut socket, &format!("join {name}{}-{number}", others.len())), "true");
            }
            expected += 60;
        }
        others.push(socket);
    }
    for socket in [&mut ada, &mut bob] {
        assert_eq!(json(&ask(socket, "list n")).as_object().unwrap().len(), expected);
    }
}
