//! What is published on any host: who gets it, how often, in which order, and what a client gets that moves.

use std::collections::BTreeMap;

use weft_tests::events::Events;
use weft_tests::until;

use crate::hosts::{Socket, ask, crowd, enter, host, join, know, pair, publish};
use weft_tests::services::{Backplane, Kind};

/// The next messages of a connection, by their publishers.
fn heard(socket: &mut Socket, count: usize) -> BTreeMap<String, Vec<usize>> {
    let mut heard: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for _ in 0..count {
        let text = socket.text();
        let (by, number) = text.rsplit_once(' ').expect("a publisher and a number");
        heard.entry(by.to_owned()).or_default().push(number.parse().expect("a number"));
    }
    heard
}

fn each_subscriber_of_each_host_gets_each_message_once_and_in_order(kind: Kind) {
    let backplane = Backplane::start(kind);
    let (one, other) = pair(&backplane);
    let mut third = join(host(&backplane).with("--topics-backplane-name", "another"));
    let mut sockets = [crowd(&one, 10), crowd(&other, 10)].concat_sockets();
    let mut stranger = crowd(&third, 1).remove(0);
    std::thread::scope(|scope| {
        for (weft, by) in [(&one, "p"), (&one, "q"), (&other, "r"), (&other, "s")] {
            scope.spawn(move || (0..10).for_each(|turn| drop(publish(weft, "all", by, 20 * turn, 20))));
        }
    });
    for socket in &mut sockets {
        let heard = heard(socket, 800);
        for by in ["p", "q", "r", "s"] {
            assert_eq!(heard[by], (0..200).collect::<Vec<_>>(), "{by}");
        }
    }
    // Nothing came twice: the next is the next.
    publish(&one, "all", "end", 0, 1);
    publish(&third, "all", "elsewhere", 0, 1);
    for socket in &mut sockets {
        assert_eq!(socket.text(), "end 0");
    }
    assert_eq!(stranger.text(), "elsewhere 0", "another name is another company");
    assert!(!third.log().contains("was not heard of"), "{}", third.log());
    assert!(third.is_alive());
}

trait Sockets {
    fn concat_sockets(self) -> Vec<Socket>;
}

impl<const N: usize> Sockets for [Vec<Socket>; N] {
    fn concat_sockets(self) -> Vec<Socket> {
        self.into_iter().flatten().collect()
    }
}

fn the_sender_is_left_out_and_bytes_are_bytes_on_every_host(kind: Kind) {
    let backplane = Backplane::start(kind);
    let (one, other) = pair(&backplane);
    let (mut here, mut there) = (crowd(&one, 1).remove(0), crowd(&other, 1).remove(0));
    here.send("others all not to me");
    assert_eq!(there.text(), "not to me");
    let (mut third, its_name) = enter(&other);
    assert_eq!(ask(&mut third, "join all"), "true");
    third.send(&format!("all-but all {its_name},1-w1 to two"));
    assert_eq!((here.text(), there.text()), ("to two".to_owned(), "to two".to_owned()));
    here.send(&format!("all-but all {its_name},1-w1 to two again"));
    assert_eq!((here.text(), there.text()), ("to two again".to_owned(), "to two again".to_owned()));
    drop(third);
    there.send("bytes all \u{1}\u{2}");
    assert_eq!(here.read(), (0x82, vec![1, 2]));
    assert_eq!(there.read(), (0x82, vec![1, 2]));
    let large = "x".repeat(300_000);
    here.send(&format!("say all {large}"));
    assert_eq!(there.text(), large);
}

/// The id of a labelled message, and what follows the label.
fn parts(message: &str) -> (String, String) {
    let (label, text) = message.split_once('\n').expect("a label");
    (label.split_once(' ').expect("an id and a topic").0.to_owned(), text.to_owned())
}

fn a_client_that_moves_to_another_host_gets_what_it_has_missed(kind: Kind) {
    let backplane = Backplane::start(kind);
    let (one, other) = pair(&backplane);
    let (mut here, _) = enter(&one);
    let (mut there, _) = enter(&other);
    for socket in [&mut here, &mut there] {
        assert_eq!(ask(socket, "label all"), "true");
    }
    let mut ids = Vec::new();
    for turn in 0..10 {
        publish(if turn % 2 == 0 { &one } else { &other }, "all", "p", turn, 1);
        let (at_one, at_other) = (parts(&here.text()), parts(&there.text()));
        assert_eq!(at_one.1, format!("p {turn}"));
        assert_eq!(at_other.1, at_one.1);
        let name = |id: &str| id.split(['.', '~']).next().expect("a name").to_owned();
        assert_eq!(name(&at_one.0), name(&at_other.0), "one name on all hosts");
        ids.push((at_one.0, at_other.0));
    }
    // From either host to either, after each message.
    for (last, (at_one, at_other)) in ids.iter().enumerate() {
        for id in [at_one, at_other] {
            for weft in [&one, &other] {
                let (mut back, _) = enter(weft);
                back.send(&format!("resume all {id}"));
                for missed in last + 1..10 {
                    let text = back.text();
                    assert_eq!(parts(&text).1, format!("p {missed}"), "after {last}, {id}: {text}");
                }
                assert_eq!(back.text(), "true", "after {last}, {id}");
            }
        }
    }
}

fn a_stream_of_events_goes_on_at_another_host(kind: Kind) {
    let backplane = Backplane::start(kind);
    let (one, other) = pair(&backplane);
    let (mut here, start) = Events::open(&one, "/events");
    let (mut there, _) = Events::open(&other, "/events");
    let mut ids = vec![start];
    for turn in 0..6 {
        publish(if turn % 2 == 0 { &one } else { &other }, "all", "p", turn, 1);
        let (text, id) = here.event();
        assert_eq!(text, format!("p {turn}"));
        assert_eq!(there.event().0, text);
        ids.push(id);
    }
    for (known, id) in ids.iter().enumerate() {
        for weft in [&one, &other] {
            let mut back = Events::resume(weft, "/events", id);
            for missed in known..6 {
                assert_eq!(back.event().0, format!("p {missed}"), "after {known}, {id}");
            }
        }
    }
}

fn who_asks_a_host_that_cannot_know_is_too_late(kind: Kind) {
    // It keeps nothing, so a host that starts later knows nothing of what was before.
    let backplane = Backplane::start(kind);
    let without = || host(&backplane).with("--topics-backplane-history", "false");
    let one = join(without());
    let (mut here, _) = enter(&one);
    assert_eq!(ask(&mut here, "label all"), "true");
    publish(&one, "all", "p", 0, 2);
    let ids: Vec<String> = (0..2).map(|_| parts(&here.text()).0).collect();
    let later = join(without());
    know(&later, 1);
    let resume = |id: &str| ask(&mut enter(&later).0, &format!("resume all {id}"));
    assert_eq!(resume(&ids[0]), "false", "it has missed one, which is not here");
    assert_eq!(resume(&ids[1]), "true", "it has missed nothing");
    assert_eq!(resume("1234-5678"), "false");
    assert_eq!(resume("nonsense"), "false");
    publish(&one, "all", "p", 2, 1);
    until("it has come", || (parts(&here.text()).1 == "p 2").then_some(()));
    let (mut back, _) = enter(&later);
    back.send(&format!("resume all {}", ids[1]));
    let mut texts = vec![back.text(), back.text()];
    texts.sort();
    assert!(texts[0].ends_with("\np 2") && texts[1] == "true", "{texts:?}");
}

fn a_host_that_starts_later_has_the_history(kind: Kind) {
    let backplane = Backplane::start(kind);
    let one = join(host(&backplane));
    let (mut here, _) = enter(&one);
    assert_eq!(ask(&mut here, "label all"), "true");
    publish(&one, "all", "p", 0, 5);
    let ids: Vec<String> = (0..5).map(|_| parts(&here.text()).0).collect();
    let later = join(host(&backplane));
    know(&later, 1);
    let (mut back, _) = enter(&later);
    back.send(&format!("resume all {}", ids[1]));
    for missed in 2..5 {
        assert_eq!(parts(&back.text()).1, format!("p {missed}"));
    }
    assert_eq!(back.text(), "true");
    // Also once the host is gone on which they were published.
    drop(one);
    let last = join(host(&backplane));
    know(&last, 1);
    let (mut back, _) = enter(&last);
    back.send(&format!("resume all {}", ids[3]));
    assert_eq!(parts(&back.text()).1, "p 4");
    assert_eq!(back.text(), "true");
}

fn of_the_past_too_only_the_newest_of_a_key_is_sent_on_every_host(kind: Kind) {
    let backplane = Backplane::start(kind);
    let (one, two) = pair(&backplane);
    let ((mut here, _), (mut there, _)) = (enter(&one), enter(&two));
    assert_eq!(ask(&mut there, "label all"), "true");
    for command in
        ["say all first", "state all gold 1", "say all trade", "state all gold 2", "state all iron 1"]
    {
        here.send(command);
    }
    let first = parts(&there.text()).0;
    // Who keeps up, and does not ask for it, gets all of them.
    let heard: Vec<String> = (0..4).map(|_| parts(&there.text()).1).collect();
    assert_eq!(heard, ["gold 1", "trade", "gold 2", "iron 1"]);
    let newest = ["gold 2", "trade", "iron 1"];
    for weft in [&one, &two] {
        let mut late = Socket::open(weft, "/newest");
        late.text();
        late.send("recent all 4");
        assert_eq!(newest.map(|_| late.text()), newest);
        assert_eq!(late.text(), "true");
        let mut back = Socket::open(weft, "/newest");
        back.text();
        back.send(&format!("resume all {first}"));
        assert_eq!(newest.map(|_| parts(&back.text()).1), newest);
        assert_eq!(back.text(), "true");
    }
}

macro_rules! with_both {
    ($($name:ident)*) => {
        mod redis {
            $(#[test] fn $name() { super::$name(super::Kind::Redis) })*
        }
        mod nats {
            $(#[test] fn $name() { super::$name(super::Kind::Nats) })*
        }
    };
}
pub(crate) use with_both;

with_both! {
    each_subscriber_of_each_host_gets_each_message_once_and_in_order
    the_sender_is_left_out_and_bytes_are_bytes_on_every_host
    a_client_that_moves_to_another_host_gets_what_it_has_missed
    a_stream_of_events_goes_on_at_another_host
    who_asks_a_host_that_cannot_know_is_too_late
    a_host_that_starts_later_has_the_history
    of_the_past_too_only_the_newest_of_a_key_is_sent_on_every_host
}
