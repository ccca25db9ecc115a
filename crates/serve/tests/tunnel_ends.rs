//! How WebSockets end: with their peer, with their handler, with the worker.

mod common;

use std::io::Write as _;

use common::websocket::*;
use common::*;
use weft_serve::{Sent, ServerLimits, TunnelLimits};

#[test]
fn a_worker_that_ends_tells_its_tunnels_one_after_another() {
    let server = echoing(tunnels(TunnelLimits { leave_ms: 1_000, ..TunnelLimits::default() }));
    let mut streams: Vec<_> = (0..10).map(|_| open(&server)).collect();
    let mut late = server.connect();
    late.write_all(&ASK.as_bytes()[..20]).unwrap();
    server.settle();
    server.run(|server| server.drain(0));
    late.write_all(&ASK.as_bytes()[20..]).unwrap();
    assert!(head(&mut late).starts_with("HTTP/1.1 503 "));
    assert_eq!(read_close(&mut streams[0]), (1001, "the server restarts".to_owned()));
    assert_eq!(server.run(|server| server.stats.tunnels.get()), 10, "the others are told later");
    // They can be used until then.
    streams[9].write_all(&masked(0x81, b"x")).unwrap();
    assert_eq!(read(&mut streams[9]), (0x81, b"x".to_vec()));
    for stream in &mut streams[1..] {
        assert_eq!(read_close(stream).0, 1001);
    }
    for mut stream in streams {
        stream.write_all(&close(1001, "")).unwrap();
        ends(&mut stream);
    }
    server.until(|server| server.tunnels() == 0);
}

#[test]
fn tunnels_stay_with_a_worker_that_keeps_them_until_it_is_told_to_leave_again() {
    let server = echoing(tunnels(TunnelLimits { leave_ms: 50, ..TunnelLimits::default() }));
    let mut streams: Vec<_> = (0..3).map(|_| open(&server)).collect();
    let hour = 3_600 * weft_rt::SECOND;
    server.run(move |server| server.drain(hour));
    let mut late = server.connect();
    late.write_all(ASK.as_bytes()).unwrap();
    assert!(head(&mut late).starts_with("HTTP/1.1 503 "), "others are turned away");
    for stream in &mut streams {
        stream.write_all(&masked(0x81, b"x")).unwrap();
        assert_eq!(read(stream), (0x81, b"x".to_vec()));
    }
    // Longer is not possible, sooner is.
    server.run(move |server| server.drain(2 * hour));
    server.run(|server| server.drain(0));
    for stream in &mut streams {
        assert_eq!(read_close(stream), (1001, "the server restarts".to_owned()));
    }
    for mut stream in streams {
        stream.write_all(&close(1001, "")).unwrap();
        ends(&mut stream);
    }
    server.until(|server| server.tunnels() == 0);
}

#[test]
fn an_event_that_cannot_be_handled_is_given_again() {
    let server = holding(ServerLimits::default());
    let mut stream = open(&server);
    let key = key(&server);
    for count in 1..=3 {
        server.until(move |_| HELD.with_borrow(Vec::len) == count);
        server.run(move |server| server.postpone_event(key));
    }
    server.until(|_| HELD.with_borrow(Vec::len) == 4);
    server.run(|server| {
        EVENTS.set(|server, key| see(server, key, true));
        see(server, HELD.take()[0], true);
    });
    stream.write_all(&masked(0x81, b"x")).unwrap();
    assert_eq!(read(&mut stream), (0x81, b"x".to_vec()));
    assert_eq!(seen(&server), ["opened", "Text x"]);
}

#[test]
fn what_a_peer_said_before_its_close_frame_is_answered_before_it_is() {
    let server = echoing(ServerLimits::default());
    let last =
        [masked(0x81, b"one"), masked(0x81, b"two"), close(4000, "bye"), masked(0x81, b"late")].concat();
    for at in 0..=last.len() {
        let mut stream = open(&server);
        stream.write_all(&last[..at]).unwrap();
        server.settle();
        // Once it has closed, the server may be gone.
        let _ = stream.write_all(&last[at..]);
        assert_eq!(read(&mut stream), (0x81, b"one".to_vec()), "split at {at}");
        assert_eq!(read(&mut stream), (0x81, b"two".to_vec()), "split at {at}");
        assert_eq!(read_close(&mut stream), (4000, String::new()), "split at {at}");
        until_seen(&server, "closed 4000 bye");
        assert_eq!(seen(&server), ["opened", "Text one", "Text two", "closed 4000 bye"], "split at {at}");
    }
}

#[test]
fn answers_to_a_peer_that_has_closed_stay_within_the_bound() {
    let limits = TunnelLimits { queue_bytes_max: 50_000, ..TunnelLimits::default() };
    let server = holding(tunnels(limits));
    let mut stream = open(&server);
    let key = key(&server);
    stream.write_all(&close(4000, "bye")).unwrap();
    server.until(|_| HELD.with_borrow(Vec::len) == 1);
    server.settle();
    assert_eq!(flood(&server, key), Sent::Overflowed);
    release(&server);
    let mut last = (0, vec![]);
    while last.0 != 0x88 {
        last = read(&mut stream);
    }
    assert_eq!(last.1[..2], 1013u16.to_be_bytes());
    server.until(|server| server.tunnels() == 0);
    let seen = seen(&server);
    assert!(
        seen == ["opened", "closed 4000 bye"]
            || seen == ["opened", "closed 1013 the client does not keep up"]
    );
}

#[test]
fn a_worker_whose_time_is_over_tells_its_handler_the_end_of_each_tunnel_that_it_knows() {
    let server = echoing(ServerLimits::default());
    let (mut silent, mut busy) = (open(&server), open(&server));
    server.until(|_| SEEN.with_borrow(Vec::len) == 2);
    server.run(|_| EVENTS.set(|_, key| HELD.with_borrow_mut(|held| held.push(key))));
    busy.write_all(&[masked(0x81, b"1"), masked(0x81, b"2"), masked(0x81, b"3")].concat()).unwrap();
    server.until(|server| server.stats.messages_received.get() == 3);
    // The handler does not know of this one yet.
    let mut new = open(&server);
    server.until(|_| HELD.with_borrow(Vec::len) == 2);
    server.run(|server| server.drain(0));
    assert_eq!(server.run(|server| server.cut_tunnels()), 3);
    for stream in [&mut silent, &mut busy] {
        assert_eq!(read_close(stream), (1001, "the server restarts".to_owned()));
        ends(stream);
    }
    ends(&mut new);
    // None of them has answered.
    server.run(|server| {
        EVENTS.set(|server, key| see(server, key, false));
        HELD.take().into_iter().for_each(|key| server.event_done(key));
    });
    server.until(|server| server.tunnels() == 0 && server.stats.tunnels.get() == 0);
    let end = "closed 1001 the server restarts";
    assert_eq!(seen(&server), ["opened", "opened", end, end]);
}
