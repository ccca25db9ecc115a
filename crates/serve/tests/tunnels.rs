//! WebSockets over real sockets: the handshake, messages, both ends of a connection, limits and deadlines.

mod common;

use std::io::Write as _;

use common::websocket::*;
use common::*;
use weft_proto::websocket::{CloseCode, Kind};
use weft_serve::{Overflow, Published, Sent, ServerLimits, StateKey, Subscribed, TunnelKey, TunnelLimits};

#[test]
fn a_dialogue_has_the_same_answer_however_its_bytes_are_split() {
    let server = echoing(ServerLimits::default());
    let dialogue = [
        ASK.as_bytes().to_vec(),
        masked(0x81, b"one"),
        masked(0x01, b"tw"),
        masked(0x89, b"?"),
        masked(0x80, b"o"),
        masked(0x82, &[0xFF, 0]),
    ]
    .concat();
    for at in 0..=dialogue.len() {
        let mut stream = server.connect();
        stream.write_all(&dialogue[..at]).unwrap();
        server.settle();
        stream.write_all(&dialogue[at..]).unwrap();
        assert_eq!(head(&mut stream), SWITCHED, "split at {at}");
        // A pong may overtake messages.
        let (pongs, messages): (Vec<_>, Vec<_>) =
            (0..4).map(|_| read(&mut stream)).partition(|(first, _)| *first == 0x8A);
        assert_eq!(pongs, [(0x8A, b"?".to_vec())], "split at {at}");
        let expected = [(0x81, b"one".to_vec()), (0x81, b"two".to_vec()), (0x82, vec![0xFF, 0])];
        assert_eq!(messages, expected, "split at {at}");
        let closing = close(4000, "bye");
        stream.write_all(&closing[..at % closing.len()]).unwrap();
        server.settle();
        stream.write_all(&closing[at % closing.len()..]).unwrap();
        assert_eq!(read_close(&mut stream), (4000, String::new()));
        ends(&mut stream);
        until_seen(&server, "closed 4000 bye");
        let expected = ["opened", "Text one", "Text two", "Binary \\xff\\x00", "closed 4000 bye"];
        assert_eq!(seen(&server), expected, "split at {at}");
    }
    server.until(|server| server.tunnels() == 0 && server.connections() == 0);
}

#[test]
fn handshakes_that_are_refused() {
    let server = echoing(ServerLimits::default());
    let answer = server.ask(ASK.replace("Version: 13", "Version: 8\r\nConnection: close"));
    assert!(
        answer.starts_with("HTTP/1.1 426 ") && answer.contains("Sec-WebSocket-Version: 13\r\n"),
        "{answer}"
    );
    let answer = server.ask(ASK.replace("dGhl", "\r\nConnection: close\r\nX: "));
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("Sec-WebSocket-Key"), "{answer}");
    let answer = server.ask(ASK.replace("websocket", "h2c\r\nConnection: close"));
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert_eq!(server.run(|server| server.tunnels()), 0);
}

#[test]
fn an_idle_tunnel_holds_no_stream_and_answers_again() {
    let server = echoing(ServerLimits::default());
    let mut streams: Vec<_> = (0..20).map(|_| open(&server)).collect();
    server.until(|server| server.idle() == 20);
    assert_eq!(server.run(|server| (server.stats.busy.get(), server.stats.tunnels.get())), (0, 20));
    for stream in &mut streams {
        stream.write_all(&masked(0x81, b"x")).unwrap();
        assert_eq!(read(stream), (0x81, b"x".to_vec()));
    }
    drop(streams);
    server.until(|server| server.tunnels() == 0 && server.stats.tunnels.get() == 0);
    assert_eq!(seen(&server).iter().filter(|line| *line == "closed 1006 ").count(), 20);
}

#[test]
fn a_broken_rule_is_answered_with_its_code() {
    let limits = TunnelLimits { message_bytes_max: 1000, ..TunnelLimits::default() };
    for (frame, code) in [
        (masked(0xC1, b"x"), 1002),
        (vec![0x81, 1, b'x'], 1002),
        (masked(0x81, b"\xff"), 1007),
        (masked(0x82, &[0; 1001]), 1009),
        (close(1005, ""), 1002),
    ] {
        let server = echoing(tunnels(limits));
        let mut stream = open(&server);
        stream.write_all(&[frame, masked(0x81, b"not read any more")].concat()).unwrap();
        assert_eq!(read_close(&mut stream).0, code);
        ends(&mut stream);
        drop(stream);
        server.until(|server| server.tunnels() == 0);
        let seen = seen(&server);
        assert!(seen.len() == 2 && seen[1].starts_with(&format!("closed {code} ")), "{seen:?}");
    }
}

#[test]
fn the_server_closes_and_waits_for_the_answer() {
    let server = echoing(ServerLimits::default());
    let mut stream = open(&server);
    let key = key(&server);
    let closed = server.run(move |server| {
        server.tunnel_send(key, Kind::Text, b"last", None);
        let first = server.tunnel_close(key, CloseCode(4001), "enough");
        (
            first,
            server.tunnel_close(key, CloseCode(4002), ""),
            server.tunnel_send(key, Kind::Text, b"later", None),
        )
    });
    assert_eq!(closed, (true, false, Sent::Gone));
    assert_eq!(read(&mut stream), (0x81, b"last".to_vec()));
    assert_eq!(read_close(&mut stream), (4001, "enough".to_owned()));
    // What was on its way is dropped.
    stream.write_all(&[masked(0x81, b"on its way"), close(4001, "")].concat()).unwrap();
    ends(&mut stream);
    until_seen(&server, "closed 4001 enough");
    assert_eq!(seen(&server), ["opened", "closed 4001 enough"]);
}

#[test]
fn a_close_frame_that_is_not_answered_ends_the_connection_in_time() {
    let server = echoing(tunnels(TunnelLimits { close_timeout_ms: 200, ..TunnelLimits::default() }));
    let mut stream = open(&server);
    let key = key(&server);
    server.run(move |server| server.tunnel_close(key, CloseCode::NORMAL, ""));
    assert_eq!(read_close(&mut stream).0, 1000);
    ends(&mut stream);
    until_seen(&server, "closed 1000 ");
}

#[test]
fn silence_is_answered_with_a_ping_and_then_with_the_end() {
    let limits = TunnelLimits { ping_ms: 200, ping_timeout_ms: 3_000, ..TunnelLimits::default() };
    let server = echoing(tunnels(limits));
    let mut stream = open(&server);
    for _ in 0..3 {
        assert_eq!(read(&mut stream), (0x89, vec![]));
        stream.write_all(&masked(0x8A, b"")).unwrap();
    }
    assert_eq!(read(&mut stream), (0x89, vec![]));
    ends(&mut stream);
    until_seen(&server, "closed 1006 ");
    assert_eq!(server.run(|server| server.stats.timed_out.get()), 1);
}

#[test]
fn a_peer_is_not_read_while_its_events_are_not_taken() {
    const COUNT: usize = 2_000;
    let server = holding(ServerLimits::default());
    let mut stream = open(&server);
    stream.set_nonblocking(true).unwrap();
    let message = masked(0x82, &[b'x'; 20_000]);
    let (mut sent, mut whole) = (0, vec![]);
    for _ in 0..COUNT {
        whole.extend_from_slice(&message);
    }
    // The server takes a bounded part of 40 MB, and the kernel's buffers the rest.
    server.until(|server| server.stats.messages_received.get() > 0 || server.tunnels() == 1);
    let mut refused = 0;
    while refused < 50 {
        match stream.write(&whole[sent..]) {
            Ok(count) => (sent, refused) = (sent + count, 0),
            Err(_) => {
                server.settle();
                refused += 1;
            }
        }
    }
    let taken = server.run(|server| server.stats.messages_received.get());
    assert!(taken <= 30 && sent < whole.len(), "{taken} messages were taken");
    release(&server);
    stream.set_nonblocking(false).unwrap();
    stream.write_all(&whole[sent..]).unwrap();
    server.until(|_| SEEN.with_borrow(|seen| seen.len() == COUNT + 1));
}

#[test]
fn events_of_one_tunnel_come_one_at_a_time_and_in_order() {
    let server = holding(tunnels(TunnelLimits { close_timeout_ms: 200, ..TunnelLimits::default() }));
    let mut stream = open(&server);
    stream.write_all(&[masked(0x81, b"1"), masked(0x81, b"2"), close(1000, "")].concat()).unwrap();
    // The handler is late: the peer is answered without it.
    assert_eq!(read_close(&mut stream).0, 1000);
    drop(stream);
    server.until(|server| server.connections() == 0);
    assert_eq!(
        server.run(|_| HELD.with_borrow(Vec::len)),
        1,
        "the next event waits for the end of the first"
    );
    let key = key(&server);
    let late = server.run(move |server| {
        (
            server.tunnel_send(key, Kind::Text, b"x", None),
            server.tunnel_is_open(key),
            server.tunnel_attribute(key, b"user"),
        )
    });
    assert_eq!(late, (Sent::Gone, false, Some(b"42".to_vec())));
    release(&server);
    server.until(|server| server.tunnels() == 0);
    assert_eq!(seen(&server), ["opened", "Text 1", "Text 2", "closed 1000 "]);
    let after = server.run(move |server| {
        (
            server.take_event(key).is_none(),
            server.tunnel_attribute(key, b"user"),
            server.subscribe(key, b"t", false),
        )
    });
    assert_eq!(after, (true, None, Subscribed::Gone));
}

#[test]
fn a_handler_is_told_when_a_client_has_caught_up() {
    let server = echoing(ServerLimits::default());
    server.run(|_| WANTS_DRAINED.set(true));
    let mut stream = open(&server);
    let key = key(&server);
    // What is taken at once is nothing to tell.
    stream.write_all(&masked(0x81, b"x")).unwrap();
    assert_eq!(read(&mut stream), (0x81, b"x".to_vec()));
    for _ in 0..2 {
        let count = server.run(move |server| {
            let body = vec![b'x'; 10_000];
            let count = (0..10_000).take_while(|_| {
                server.tunnel_waiting(key) < 200_000
                    && server.tunnel_send(key, Kind::Binary, &body, None) == Sent::Queued
            });
            count.count()
        });
        for _ in 0..count {
            assert_eq!(read(&mut stream).1.len(), 10_000);
        }
    }
    stream.write_all(&masked(0x81, b"y")).unwrap();
    assert_eq!(read(&mut stream), (0x81, b"y".to_vec()));
    let seen = seen(&server);
    assert_eq!(
        seen.iter().filter(|line| *line != "drained").collect::<Vec<_>>(),
        ["opened", "Text x", "Text y"]
    );
    assert!(seen.iter().filter(|line| *line == "drained").count() <= 2, "{seen:?}");
}

#[test]
fn a_client_that_does_not_read_is_closed_with_1013() {
    let limits = TunnelLimits { queue_bytes_max: 50_000, close_timeout_ms: 500, ..TunnelLimits::default() };
    let server = echoing(tunnels(limits));
    let stream = open(&server);
    assert_eq!(flood(&server, key(&server)), Sent::Overflowed);
    until_seen(&server, "closed 1013 the client does not keep up");
    assert_eq!(server.run(|server| server.stats.messages_dropped.get()), 1);
    drop(stream);
}

#[test]
fn messages_for_a_client_that_does_not_read_are_dropped() {
    let limits = TunnelLimits { queue_bytes_max: 50_000, ..TunnelLimits::default() };
    for (policy, outcome) in [(Overflow::DropNewest, Sent::Dropped), (Overflow::DropOldest, Sent::Queued)] {
        let server = echoing(tunnels(limits));
        server.run(move |_| POLICY.set(policy));
        let mut stream = open(&server);
        let key = key(&server);
        assert_eq!(flood(&server, key), outcome);
        assert!(server.run(move |server| server.tunnel_waiting(key)) <= 50_000);
        server.run(move |server| server.tunnel_close(key, CloseCode::NORMAL, ""));
        // What it then reads is whole, and fits the bound with what the kernel held.
        let mut count = 0;
        while read(&mut stream).0 == 0x82 {
            count += 1;
        }
        assert!(count < 10_000);
        stream.write_all(&close(1000, "")).unwrap();
        ends(&mut stream);
    }
}

#[test]
fn a_client_that_does_not_read_gets_the_newest_of_each_state_and_all_that_is_of_none() {
    const STATES: usize = 5;
    const ROUNDS: usize = 2_000;
    let limits = TunnelLimits { queue_bytes_max: 50_000, ..TunnelLimits::default() };
    let server = echoing(tunnels(limits));
    server.run(|_| POLICY.set(Overflow::KeepNewest));
    let mut stream = open(&server);
    let key = key(&server);
    let told = |state: usize, round: usize| format!("{state} {round} {}", "x".repeat(2_000));
    // Twenty megabytes, of which the kernel takes a part.
    server.run(move |server| {
        assert_eq!(server.subscribe(key, b"states", false), Subscribed::Yes);
        for round in 0..ROUNDS {
            for state in 0..STATES {
                let (text, name) = (told(state, round), state.to_string());
                let state = StateKey::of(b"states", name.as_bytes());
                assert_eq!(
                    server.publish(&Published { state, ..published(b"states", text.as_bytes(), &[]) }),
                    1
                );
            }
            if round % 100 == 0 {
                let own = format!("own {round}");
                assert_eq!(server.tunnel_send(key, Kind::Text, own.as_bytes(), None), Sent::Queued);
            }
            server.turn(weft_rt::clock::now());
        }
        assert!(server.tunnel_waiting(key) <= 50_000);
        let end = format!("own {ROUNDS}");
        assert_eq!(server.tunnel_send(key, Kind::Text, end.as_bytes(), None), Sent::Queued);
    });
    let (mut last, mut own) = ([None; STATES], Vec::new());
    while own.last() != Some(&ROUNDS) {
        let text = String::from_utf8(read(&mut stream).1).unwrap();
        let mut words = text.split(' ');
        let (state, round) = (words.next().unwrap(), words.next().unwrap().parse::<usize>().unwrap());
        if state == "own" {
            own.push(round);
            continue;
        }
        let state: usize = state.parse().unwrap();
        assert!(last[state].is_none_or(|before| before < round), "{state}: {round} after {last:?}");
        last[state] = Some(round);
    }
    assert_eq!(last, [Some(ROUNDS - 1); STATES]);
    assert_eq!(own, (0..=ROUNDS).step_by(100).collect::<Vec<_>>());
}

#[test]
fn a_queue_that_is_full_of_newest_states_closes_its_tunnel() {
    let limits = TunnelLimits { queue_bytes_max: 50_000, ..TunnelLimits::default() };
    let server = echoing(tunnels(limits));
    server.run(|_| POLICY.set(Overflow::KeepNewest));
    let stream = open(&server);
    let key = key(&server);
    let sent = server.run(move |server| {
        let name = |number: usize| number.to_string();
        let mut states = (0..10_000).map(|number| StateKey::of(b"", name(number).as_bytes()));
        states.find_map(|state| {
            let sent = server.tunnel_send(key, Kind::Binary, &[b'x'; 10_000], state);
            (sent != Sent::Queued).then_some(sent)
        })
    });
    assert_eq!(sent, Some(Sent::Overflowed));
    until_seen(&server, "closed 1013 the client does not keep up");
    drop(stream);
}

fn published<'a>(topic: &'a [u8], payload: &'a [u8], except: &'a [TunnelKey]) -> Published<'a> {
    Published { topic, kind: Kind::Text, payload, state: None, id: &|| b"id".to_vec(), except }
}

#[test]
fn what_is_published_reaches_the_subscribers() {
    let server = echoing(ServerLimits::default());
    let mut streams: Vec<_> = (0..10).map(|_| open(&server)).collect();
    let keys = server.run(|_| KEYS.with_borrow(Vec::clone));
    let first = keys[0];
    let count = server.run(move |server| {
        for key in &keys[..9] {
            assert_eq!(server.subscribe(*key, b"news", false), Subscribed::Yes);
        }
        assert_eq!(server.subscribe(keys[7], b"news", true), Subscribed::Yes);
        assert!(server.unsubscribe(keys[8], b"news") && !server.unsubscribe(keys[8], b"news"));
        assert_eq!(server.publish(&published(b"nothing", b"x", &[])), 0);
        server.publish(&published(b"news", b"hello", &[first]))
    });
    assert_eq!(count, 7);
    for stream in &mut streams[1..7] {
        assert_eq!(read(stream), (0x81, b"hello".to_vec()));
    }
    assert_eq!(read(&mut streams[7]), (0x81, b"id news\nhello".to_vec()));
    // The others get nothing: the next frame is their own.
    for place in [0, 8, 9] {
        streams[place].write_all(&masked(0x81, b"own")).unwrap();
        assert_eq!(read(&mut streams[place]), (0x81, b"own".to_vec()));
    }
}

#[test]
fn what_many_get_is_sent_in_parts_and_a_message_of_ones_own_at_once() {
    const MANY: usize = 300;
    let server = echoing(ServerLimits::default());
    let mut streams: Vec<_> = (0..MANY).map(|_| open(&server)).collect();
    let keys = server.run(|_| KEYS.with_borrow(Vec::clone));
    let (own_waits, waiting) = server.run(move |server| {
        let last = keys[MANY - 1];
        let waits = |key: &TunnelKey| server.tunnel_waiting(*key) > 0;
        keys.iter().for_each(|key| assert_eq!(server.subscribe(*key, b"news", false), Subscribed::Yes));
        assert_eq!(server.publish(&published(b"news", &[b'x'; 5_000], &[])), MANY);
        assert_eq!(server.tunnel_send(last, Kind::Text, b"own", None), Sent::Queued);
        server.turn(weft_rt::clock::now());
        (waits(&last), keys.iter().filter(|key| waits(key)).count())
    });
    assert!(!own_waits, "it waits behind the others");
    assert!(0 < waiting && waiting < MANY, "{waiting} of {MANY} wait after a turn");
    for stream in &mut streams {
        assert_eq!(read(stream).1.len(), 5_000);
    }
    assert_eq!(read(&mut streams[MANY - 1]), (0x81, b"own".to_vec()));
}

#[test]
fn what_many_get_is_sent_to_all_at_once_when_more_comes_before_the_last_has_it() {
    const MANY: usize = 300;
    let server = echoing(ServerLimits::default());
    let mut streams: Vec<_> = (0..MANY).map(|_| open(&server)).collect();
    let keys = server.run(|_| KEYS.with_borrow(Vec::clone));
    let waiting = server.run(move |server| {
        let waiting = || keys.iter().filter(|key| server.tunnel_waiting(**key) > 0).count();
        let tell = |what| {
            server.publish(&published(b"news", what, &[]));
            server.turn(weft_rt::clock::now());
            waiting()
        };
        keys.iter().for_each(|key| assert_eq!(server.subscribe(*key, b"news", false), Subscribed::Yes));
        (tell(&[b'x'; 5_000]), tell(b"more"))
    });
    assert!(waiting.0 > 0 && waiting.1 == 0, "{waiting:?} wait after each turn");
    for stream in &mut streams {
        assert_eq!(read(stream).1.len(), 5_000);
        assert_eq!(read(stream), (0x81, b"more".to_vec()));
    }
}

/// Bytes that the kernel keeps of what the server has sent to this client (proc_net_tcp(5), tx_queue).
fn kept_by_kernel(client: &std::net::TcpStream) -> u64 {
    let ports = [client.peer_addr().unwrap().port(), client.local_addr().unwrap().port()];
    let ends = ports.map(|port| format!(":{port:04X}"));
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.into_iter().find(|row| row[1].ends_with(&ends[0]) && row[2].ends_with(&ends[1]));
    u64::from_str_radix(row.expect("the server's end")[4].split(':').next().unwrap(), 16).unwrap()
}

#[test]
fn the_kernel_keeps_little_for_a_client_that_does_not_read() {
    let limits = TunnelLimits { queue_bytes_max: 100_000, ..TunnelLimits::default() };
    let server = echoing(tunnels(limits));
    server.run(|_| POLICY.set(Overflow::DropOldest));
    let stream = open(&server);
    let key = key(&server);
    // Each time as much as its queue has room for, which the kernel gets before the next time.
    for _ in 0..200 {
        server.run(move |server| {
            for _ in 0..3 {
                assert_eq!(server.tunnel_send(key, Kind::Binary, &[b'x'; 10_000], None), Sent::Queued);
            }
        });
    }
    let kept = kept_by_kernel(&stream);
    assert!(kept < 200_000, "{kept} bytes, of which none is on its way");
}
