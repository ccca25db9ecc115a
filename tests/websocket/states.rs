//! Messages that tell states: a client that does not keep up gets the newest of each key, and everything that has none.

use std::collections::HashMap;

use weft_tests::websocket::Socket;
use weft_tests::{Running, Server, command, until};

use crate::topics::enter;
use weft_tests::events::Events;

/// Together more than the kernel takes for a client that does not read.
const ROUNDS: usize = 600;
const STATES: [&str; 3] = ["copper", "silver", "gold"];

fn board(workers: &str) -> (Running, String) {
    let server = Server::new(include_str!("states.php").trim_start_matches("<?php"));
    let address = format!("admin+unix:{}", server.directory().join("admin.sock").display());
    let server = server.with("--listen", "127.0.0.1:0").with("--listen", &address);
    (server.with("--websocket-queue-bytes-max", "100KiB").with("--workers", workers).start(), address)
}

/// Publishes so much that messages wait for this connection.
fn flood(weft: &Running, id: &str) {
    assert_eq!(weft.get(&format!("/flood?rounds={ROUNDS}")).text(), "done");
    until("messages wait", || (weft.get(&format!("/waiting?id={id}")).text() != "0").then_some(()));
}

/// What was told up to the message `end`: of each state the last, the rounds of the trades, and how many messages in all.
fn told(mut next: impl FnMut() -> String) -> (HashMap<String, usize>, Vec<usize>, usize) {
    let (mut last, mut trades, mut count) = (HashMap::new(), Vec::new(), 0);
    loop {
        let text = next();
        if text == "end" {
            return (last, trades, count);
        }
        let mut words = text.split(' ');
        let (name, round) =
            (words.next().expect("a name"), words.next().expect("a round").parse().expect("one"));
        count += 1;
        if name == "trade" {
            trades.push(round);
        } else if let Some(before) = last.insert(name.to_owned(), round) {
            assert!(before < round, "{name}: {round} after {before}");
        }
    }
}

fn is_up_to_date((last, trades, count): (HashMap<String, usize>, Vec<usize>, usize)) {
    assert_eq!(last, STATES.map(|name| (name.to_owned(), ROUNDS)).into());
    assert_eq!(trades, (1..=ROUNDS / 50).map(|part| part * 50).collect::<Vec<_>>());
    assert!(count < STATES.len() * ROUNDS, "{count}: nothing was passed over");
}

#[test]
fn a_client_that_does_not_read_gets_the_newest_of_each_key() {
    let (weft, _) = board("2");
    let (mut socket, _, id) = enter(&weft, "/board");
    let (mut events, _) = Events::open(&weft, "/events");
    flood(&weft, &id);
    weft.get("/say?text=end");
    is_up_to_date(told(|| socket.text()));
    is_up_to_date(told(|| {
        let block = events.next_block().expect("an event");
        block.lines().find_map(|line| line.strip_prefix("data: ")).expect("its data").to_owned()
    }));
}

#[test]
fn whoever_publishes_names_the_key() {
    let (weft, address) = board("1");
    let (mut socket, _, id) = enter(&weft, "/board");
    flood(&weft, &id);
    weft.write(
        "script.php",
        "<?php Weft\\Topic::publish('prices', \"script $argv[1]\", key: 'a key & more');",
    );
    for number in ["1", "2"] {
        let said =
            weft.weft(&["publish", "prices", &format!("line {number}"), "--key", "line", "--to", &address]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let mut script = command::command(weft.directory());
        script.env("WEFT_TOPICS_PUBLISH_TO", &address).args(["php", "script.php", number]);
        assert_eq!(command::finish(&mut script).code, Some(0));
    }
    weft.get("/say?text=end");
    let (last, _, count) = told(|| socket.text());
    let of = |name: &str| last.get(name).copied();
    assert_eq!((of("line"), of("script")), (Some(2), Some(2)));
    assert!(count < STATES.len() * ROUNDS);
    let long = "k".repeat(256);
    let said = weft.weft(&["publish", "prices", "x", "--key", &long, "--to", &address]);
    let too_long = "the key of a message has at most 255 bytes";
    assert!(said.code == Some(1) && said.stderr.contains(too_long), "{}", said.stderr);
    let refused = weft.get(&format!("/long?id={id}")).json();
    assert_eq!(
        refused,
        serde_json::json!([too_long, "accepted", "The key of a message has at most 255 bytes"])
    );
}

/// What one connection hears of two messages with the same key that another worker sends to it while others wait.
fn told_by_another_worker(weft: &Running, socket: &mut Socket, pid: u32, id: &str) -> Vec<String> {
    flood(weft, id);
    // The first that is asked from another worker is the last to be heard.
    let mut asked = 0;
    until("another worker is asked", || {
        let answer = weft.get(&format!("/tell?id={id}")).json();
        assert_eq!(answer.as_array().expect("a list")[1..], [true, true, true].map(serde_json::Value::from));
        asked += 1;
        (answer[0] != pid).then_some(())
    });
    let (mut own, mut ends) = (Vec::new(), 0);
    while ends < asked {
        let text = socket.text();
        if text == "own end" {
            ends += 1;
        } else if let Some(number) = text.strip_prefix("own ") {
            own.push(number.to_owned());
        }
    }
    own
}

#[test]
fn a_message_to_one_connection_of_another_worker_has_a_key_too() {
    let (weft, _) = board("2");
    let (mut socket, pid, id): (Socket, u32, String) = enter(&weft, "/board");
    // What waits may be gone when they come: the kernel takes more, now and then, for a client that does not read.
    until("all but the last message is passed over", || {
        let own = told_by_another_worker(&weft, &mut socket, pid, &id);
        assert_eq!(own.last().map(String::as_str), Some("2"), "{own:?}");
        (own.len() == 1).then_some(())
    });
}
