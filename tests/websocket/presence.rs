//! Presence: who is there, and who is told of those who come and go.

use std::collections::BTreeMap;

use rustix::process::Signal;
use weft_tests::events::Events;
use weft_tests::{Running, process, until};

use crate::bus::mortal;
use crate::events::servers;
use crate::topics::{ask, enter, rooms};
use weft_tests::websocket::{Socket, frame};

type Present = BTreeMap<String, String>;

fn present(socket: &mut Socket) -> Present {
    // PHP writes an empty array as a list.
    serde_json::from_str(&ask(socket, "present room")).unwrap_or_default()
}

/// What a watcher is told next: whether somebody has come, who, and the connection.
fn told(socket: &mut Socket) -> (bool, String, String) {
    let said: serde_json::Value = serde_json::from_str(&socket.text()).expect("JSON");
    let text = |name: &str| said[name].as_str().map(str::to_owned);
    let (joined, id) = (text("joined"), text("id").expect("an id"));
    (joined.is_some(), joined.or_else(|| text("left")).expect("a name"), id)
}

fn attend(weft: &Running, name: &str) -> (Socket, u32, String) {
    let (mut socket, pid, id) = enter(weft, "/room");
    assert_eq!(ask(&mut socket, "join room"), "true");
    assert_eq!(ask(&mut socket, &format!("attend room {name}")), "true");
    (socket, pid, id)
}

fn watcher(weft: &Running) -> (Socket, u32) {
    let (mut socket, pid, _) = enter(weft, "/room");
    assert_eq!(ask(&mut socket, "join presence:room"), "true");
    (socket, pid)
}

#[test]
fn those_who_watch_are_told_who_comes_and_goes() {
    let weft = rooms().with("--workers", "2").start();
    let (mut watcher, _) = watcher(&weft);
    assert_eq!(ask(&mut watcher, "attend room nobody"), "false", "it has not subscribed");
    assert_eq!(ask(&mut watcher, "attend  x"), ask(&mut watcher, "attend room "));
    let mut all: Vec<(Socket, u32, String)> = Vec::new();
    for name in ["ada", "bob", "eve", "kim"] {
        let one = attend(&weft, name);
        assert_eq!(told(&mut watcher), (true, name.to_owned(), one.2.clone()));
        all.push(one);
    }
    let names: Present = all
        .iter()
        .zip(["ada", "bob", "eve", "kim"])
        .map(|(one, name)| (one.2.clone(), name.to_owned()))
        .collect();
    assert_eq!(present(&mut watcher), names);
    for (socket, ..) in &mut all {
        until("it knows them, too", || (present(socket) == names).then_some(()));
    }
    // By the end of the subscription, a close frame, the end of the connection, and all at once.
    let mut gone =
        |name: &str, id: &str| assert_eq!(told(&mut watcher), (false, name.to_owned(), id.to_owned()));
    let (mut ada, _, ada_id) = all.remove(0);
    assert_eq!(ask(&mut ada, "leave room"), "true");
    gone("ada", &ada_id);
    let (mut bob, _, bob_id) = all.remove(0);
    std::io::Write::write_all(&mut bob.stream, &frame(0x88, b"\x03\xe8")).unwrap();
    gone("bob", &bob_id);
    let (eve, _, eve_id) = all.remove(0);
    drop(eve);
    gone("eve", &eve_id);
    let (_kim, _, kim_id) = all.remove(0);
    assert_eq!(ask(&mut ada, "dissolve room"), "1");
    gone("kim", &kim_id);
    assert_eq!(present(&mut watcher), Present::new());
}

#[test]
fn when_a_worker_is_killed_its_people_have_gone_once() {
    let weft = mortal().with("--workers", "3").start();
    let (mut watcher, stays) = watcher(&weft);
    let people: Vec<(Socket, u32, String)> =
        (0..60).map(|number| attend(&weft, &format!("p{number}"))).collect();
    let mut there = Present::new();
    for _ in &people {
        let (joined, name, id) = told(&mut watcher);
        assert!(joined && there.insert(id, name).is_none());
    }
    let victims: Vec<u32> = weft.workers().into_iter().filter(|pid| *pid != stays).collect();
    for victim in victims {
        let before = weft.workers();
        process::signal(victim, Signal::KILL);
        for _ in people.iter().filter(|(_, pid, _)| *pid == victim) {
            let (joined, name, id) = told(&mut watcher);
            assert!(!joined);
            assert_eq!(there.remove(&id), Some(name), "nobody goes twice");
        }
        until("a new worker", || {
            (weft.workers().len() == 3 && !weft.workers().contains(&victim)).then_some(())
        });
        // It learns from the others who is there.
        let (mut newcomer, ..) = until("a connection of it", || {
            Some(enter(&weft, "/room")).filter(|one| !before.contains(&one.1))
        });
        until("it knows them", || (present(&mut newcomer) == there).then_some(()));
    }
    let left: Vec<&String> = people.iter().filter(|(_, pid, _)| *pid == stays).map(|(_, _, id)| id).collect();
    assert!(!left.is_empty() && there.len() == left.len() && left.iter().all(|id| there.contains_key(*id)));
    assert_eq!(present(&mut watcher), there);
}

/// What a stream is told next of those who come and go.
fn told_stream(events: &mut Events) -> (bool, String) {
    let said: serde_json::Value = serde_json::from_str(&events.event().0).expect("JSON");
    let text = |name: &str| said[name].as_str().map(str::to_owned);
    (said["joined"].is_string(), text("joined").or_else(|| text("left")).expect("a name"))
}

#[test]
fn streams_of_events_are_present_until_they_end_in_every_mode() {
    for (mode, server) in servers() {
        let mut weft = server.with("--workers", "2").start();
        let who = || weft.get("/who").json();
        let (mut ada, _) = Events::open(&weft, "/present?name=ada");
        assert_eq!(told_stream(&mut ada), (true, "ada".to_owned()), "{mode}");
        let others = ["bob", "eve", "kim"].map(|name| {
            let events = Events::open(&weft, &format!("/present?name={name}")).0;
            assert_eq!(told_stream(&mut ada), (true, name.to_owned()), "{mode}");
            events
        });
        until("all are there", || (who().as_array().map(Vec::len) == Some(4)).then_some(()));
        let seven =
            || weft.get("/who?topic=7").json() == serde_json::json!(["seven", "seven", "seven", "seven"]);
        until("a topic whose name is a number has them, too", || seven().then_some(()));
        for (events, name) in others.into_iter().zip(["bob", "eve", "kim"]) {
            drop(events);
            assert_eq!(told_stream(&mut ada), (false, name.to_owned()), "{mode}");
        }
        until("they have gone", || (who() == serde_json::json!(["ada"])).then_some(()));
        for target in ["/nowhere", "/nameless"] {
            assert_eq!(weft.get(target).status, 500, "{mode} {target}");
        }
        // A worker that ends takes its people along.
        weft.signal(rustix::process::Signal::HUP);
        while ada.next_block().is_some() {}
        until("nobody is there", || (weft.get("/who").json() == serde_json::json!([])).then_some(()));
        assert!(weft.is_alive());
    }
}
