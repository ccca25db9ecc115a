//! Presence of all hosts: who is there is known everywhere, and also who was at a host that is dead.

use std::collections::BTreeMap;

use rustix::process::Signal;
use weft_tests::{Running, process, until};

use crate::hosts::{Socket, ask, enter, host, join, know, link, pair};
use crate::messages::with_both;
use weft_tests::services::{Backplane, Kind};

type Present = BTreeMap<String, String>;

fn present(socket: &mut Socket) -> Present {
    // PHP writes an empty array as a list.
    serde_json::from_str(&ask(socket, "present room")).unwrap_or_default()
}

fn attend(weft: &Running, name: &str) -> (Socket, String) {
    let (mut socket, id) = enter(weft);
    assert_eq!(ask(&mut socket, "join room"), "true");
    assert_eq!(ask(&mut socket, &format!("attend room {name}")), "true");
    (socket, id)
}

fn watcher(weft: &Running) -> Socket {
    let (mut socket, _) = enter(weft);
    assert_eq!(ask(&mut socket, "join presence:room"), "true");
    socket
}

/// What a watcher is told next: whether somebody has come, who, and the connection.
fn told(socket: &mut Socket) -> (bool, String, String) {
    let said: serde_json::Value = serde_json::from_str(&socket.text()).expect("JSON");
    let text = |name: &str| said[name].as_str().map(str::to_owned);
    let (joined, id) = (text("joined"), text("id").expect("an id"));
    (joined.is_some(), joined.or_else(|| text("left")).expect("a name"), id)
}

fn who_is_there_is_known_on_every_host(kind: Kind) {
    let mut backplane = Backplane::start(kind);
    let (mut one, mut other) = pair(&backplane);
    let mut watching = watcher(&other);
    let (mut ada, ada_id) = attend(&one, "ada");
    assert_eq!(told(&mut watching), (true, "ada".to_owned(), ada_id.clone()));
    let (bob, bob_id) = attend(&other, "bob");
    assert_eq!(told(&mut watching), (true, "bob".to_owned(), bob_id.clone()));
    let both = Present::from([(ada_id.clone(), "ada".to_owned()), (bob_id.clone(), "bob".to_owned())]);
    until("both hosts know", || (present(&mut ada) == both && present(&mut watching) == both).then_some(()));
    // A host that comes later learns of them, in each of its workers.
    let later = join(host(&backplane));
    know(&later, 2);
    for _ in 0..4 {
        let (mut socket, _) = enter(&later);
        until("a later host knows", || (present(&mut socket) == both).then_some(()));
    }
    // A new link, and an outage, change nothing.
    process::signal(link(&other), Signal::KILL);
    other.wait_for_log_times("topics are shared with other hosts", 2);
    know(&other, 2);
    backplane.kill();
    one.wait_for_log("is not there");
    backplane.go_on();
    one.wait_for_log("is there again");
    drop(bob);
    assert_eq!(told(&mut watching), (false, "bob".to_owned(), bob_id));
    until("the other host knows", || (present(&mut ada).len() == 1).then_some(()));
    assert_eq!(ask(&mut ada, "leave room"), "true");
    assert_eq!(told(&mut watching), (false, "ada".to_owned(), ada_id));
    assert_eq!(present(&mut watching), Present::new());
}

fn with_a_host_its_people_go(kind: Kind) {
    let backplane = Backplane::start(kind);
    let (mut one, other) = pair(&backplane);
    let third = join(host(&backplane));
    know(&third, 2);
    let mut watching = watcher(&other);
    let (_ada, ada_id) = attend(&one, "ada");
    let (_eve, eve_id) = attend(&third, "eve");
    let come = [told(&mut watching), told(&mut watching)];
    assert!(come.iter().all(|(joined, ..)| *joined), "{come:?}");
    // One stops, and says so; one is killed as a whole.
    one.signal(Signal::TERM);
    assert!(one.wait().success());
    assert_eq!(told(&mut watching), (false, "ada".to_owned(), ada_id));
    for pid in [process::children(third.pid()), vec![third.pid()]].concat() {
        process::signal(pid, Signal::KILL);
    }
    assert_eq!(told(&mut watching), (false, "eve".to_owned(), eve_id));
    assert_eq!(present(&mut watching), Present::new());
}

with_both! {
    who_is_there_is_known_on_every_host
    with_a_host_its_people_go
}
