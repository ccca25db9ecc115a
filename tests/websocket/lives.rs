//! Connections and the lives of workers: reload, stop, death; and the operator's limits.

use std::io::{Read, Write};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use weft_tests::events::Events;
use weft_tests::{Client, Running, Server, process, until};

use crate::server;
use crate::topics::{ask, enter, rooms};
use weft_tests::websocket::{Socket, frame};

#[test]
fn a_reload_closes_connections_with_1001_and_new_ones_meet_the_new_worker() {
    let mut weft = server().with("--drain-timeout-ms", "4000").start();
    let mut sockets: Vec<Socket> =
        (0..10).map(|number| Socket::open(&weft, &format!("/dialogue?user=u{number}"))).collect();
    for (number, socket) in sockets.iter_mut().enumerate() {
        assert_eq!(socket.text(), format!("hello u{number}"));
    }
    let before = weft.workers();
    weft.signal(Signal::HUP);
    for mut socket in sockets {
        assert_eq!(socket.close(), (1001, "the server restarts".to_owned()));
        socket.end();
    }
    until("the new worker", || (weft.workers() != before && weft.workers().len() == 1).then_some(()));
    let mut socket = Socket::open(&weft, "/dialogue?user=new");
    assert_eq!(socket.text(), "hello new");
    weft.signal(Signal::TERM);
    assert_eq!(socket.close().0, 1001);
    socket.end();
    assert!(weft.wait().success(), "{}", weft.log());
}

fn reload(weft: &mut Running, generation: u32) {
    weft.signal(Signal::HUP);
    weft.wait_for_log(&format!("reload: generation {generation} is ready"));
}

fn closes_and_ends(mut socket: Socket) {
    assert_eq!(socket.close(), (1001, "the server restarts".to_owned()));
    socket.end();
}

#[test]
fn connections_stay_with_the_old_worker_as_long_as_they_may() {
    let server = rooms().with("--workers", "1").with("--drain-timeout-ms", "4000");
    let mut weft = server.with("--reload-keep-ms", "3600000").start();
    let (mut first, first_pid, first_id) = enter(&weft, "/room");
    assert_eq!(ask(&mut first, "join news"), "true");
    let mut events = Events::open(&weft, "/events").0;
    reload(&mut weft, 2);
    let (mut second, second_pid, _) = enter(&weft, "/room");
    assert!(first_pid != second_pid && weft.workers().contains(&first_pid), "{:?}", weft.workers());
    // It hears what is published there, can be asked from there, and publishes itself.
    assert_eq!(ask(&mut second, "join news"), "true");
    second.send("say news from the new one");
    assert_eq!((first.text(), second.text()), ("from the new one".into(), "from the new one".into()));
    assert_eq!(ask(&mut second, &format!("send {first_id} to the old one")), "true");
    assert_eq!(first.text(), "to the old one");
    first.send("say all for everybody");
    assert!(events.block().ends_with("data: for everybody"));
    assert_eq!(ask(&mut second, "count news"), "2");
    // With the next reload only the last generation stays.
    reload(&mut weft, 3);
    closes_and_ends(first);
    until("the first worker ends", || (!weft.workers().contains(&first_pid)).then_some(()));
    assert_eq!(ask(&mut second, "count news"), "1");
    // A server that stops keeps nobody.
    weft.signal(Signal::TERM);
    closes_and_ends(second);
    assert!(weft.wait().success(), "{}", weft.log());
}

#[test]
fn when_the_time_is_over_connections_leave_and_requests_have_none_of_it() {
    let mut weft = rooms().start();
    weft.write_application(
        r"
        final class Echoes extends Weft\WebSocket\Service {
            public function message(Weft\WebSocket\Connection $c, string $m, bool $b): void { $c->send($m); }
        }
        final class Talks extends Weft\WebSocket\Conversation {
            public function converse(Weft\WebSocket\Socket $s): void {
                foreach ($s as $message) { $s->send($message->data); }
            }
        }
        return new Weft\Application(function ($request) {
            if ($request->path() !== '/sleep') { return 'x'; }
            touch('sleeps');
            sleep(60);
        }, ['/echo' => new Echoes(), '/talk' => new Talks()]);",
    );
    weft.write("weft.toml", "[server]\nreload_keep_ms = 3000\ndrain_timeout_ms = 1000\n");
    reload(&mut weft, 2);
    let (mut socket, mut talk) = (Socket::open(&weft, "/echo"), Socket::open(&weft, "/talk"));
    let mut client = Client::connect(weft.address);
    client.send("GET /sleep HTTP/1.1\r\nHost: a\r\n\r\n");
    until("the page sleeps", || weft.path("sleeps").exists().then_some(()));
    reload(&mut weft, 3);
    // The request ends after a second, long before the connection.
    assert_eq!(client.read().status, 503);
    for socket in [&mut socket, &mut talk] {
        socket.send("still there");
        assert_eq!(socket.text(), "still there");
    }
    closes_and_ends(socket);
    closes_and_ends(talk);
    weft.signal(Signal::TERM);
    assert!(weft.wait().success(), "{}", weft.log());
}

#[test]
fn closed_is_called_for_each_connection_before_its_worker_ends() {
    let mut weft = server().with("--drain-timeout-ms", "2000").start();
    weft.write_application(
        r"
        final class Last extends Weft\WebSocket\Service {
            public function message(Weft\WebSocket\Connection $c, string $m, bool $b): void { sleep(60); }
            public function closed(Weft\WebSocket\Connection $c, int $code, string $reason): void {
                file_put_contents(__DIR__ . '/closed', $code, FILE_APPEND);
            }
        }
        return new Weft\Application(fn () => 'x', ['/last' => new Last()]);",
    );
    weft.signal(Signal::HUP);
    weft.wait_for_log("reload: generation 2 is ready");
    until("the new application", || (weft.get("/").text() == "x").then_some(()));
    // One that is silent, one whose service has more to do than it has time for, one that is well-behaved.
    let silent = Socket::open(&weft, "/last");
    let mut busy = Socket::open(&weft, "/last");
    (0..5).for_each(|_| busy.send("sleep"));
    let mut polite = Socket::open(&weft, "/last");
    weft.signal(Signal::TERM);
    assert_eq!(polite.close().0, 1001);
    polite.end();
    weft.wait();
    drop((silent, busy));
    assert_eq!(weft.read("closed"), "100110011001");
}

#[test]
fn the_death_of_a_worker_ends_its_connections_and_no_other() {
    let weft = server().with("--workers", "2").start();
    let mut sockets: Vec<Socket> = (0..24).map(|_| Socket::open(&weft, "/dialogue?user=u")).collect();
    for socket in &mut sockets {
        assert_eq!(socket.text(), "hello u");
    }
    let victim = weft.workers()[0];
    kill_process(Pid::from_raw(victim as i32).expect("a pid"), Signal::KILL).expect("it is alive");
    let (mut ended, mut alive) = (0, 0);
    for socket in &mut sockets {
        // Those of the dead worker may be reset while they are written to.
        let _ = socket.stream.write_all(&frame(0x81, b"x"));
        match socket.stream.read(&mut [0]) {
            Ok(1) => alive += 1,
            _ => ended += 1,
        }
    }
    assert!(ended > 0 && alive > 0, "{ended} ended, {alive} are alive");
    until("another worker", || (weft.workers().len() == 2 && weft.workers()[0] != victim).then_some(()));
    assert_eq!(Socket::open(&weft, "/dialogue?user=later").text(), "hello later");
}

#[test]
fn a_worker_that_crashes_closes_its_connections_with_1011() {
    let app = r"
        final class Mute extends Weft\WebSocket\Service {
            public function message(Weft\WebSocket\Connection $c, string $m, bool $b): void {
                match ($m) {
                    'crash' => FFI::cast('int *', FFI::new('long'))[0],
                    'much' => $c->send(str_repeat('x', 1 << 20)),
                    default => $c->send($m),
                };
            }
        }
        return new Weft\Application(fn () => 'x', ['/mute' => new Mute()]);";
    let mut weft = Server::new(app).with("-d", "ffi.enable=1").start();
    let worker = weft.workers();
    let mut silent: Vec<Socket> = (0..5).map(|_| Socket::open(&weft, "/mute")).collect();
    // One that reads nothing, so that nothing more can be said to it.
    let mut deaf = Socket::open(&weft, "/mute");
    (0..6).for_each(|_| deaf.send("much"));
    let mut crashing = Socket::open(&weft, "/mute");
    crashing.send("still there");
    assert_eq!(crashing.text(), "still there");
    crashing.send("crash");
    for socket in silent.iter_mut().chain([&mut crashing]) {
        assert_eq!(socket.close(), (1011, "the worker has failed".to_owned()), "{}", weft.log());
    }
    weft.wait_for_log("was killed by signal 11 (SIGSEGV)");
    until("another worker", || (weft.workers() != worker && weft.workers().len() == 1).then_some(()));
    let mut rest = Vec::new();
    // What was not read when its worker died may be lost.
    let _ = deaf.stream.read_to_end(&mut rest);
    let mut socket = Socket::open(&weft, "/mute");
    socket.send("again");
    assert_eq!(socket.text(), "again");
}

#[test]
fn an_event_that_runs_too_long_is_cancelled() {
    let mut weft = server().with("--request-timeout-ms", "2000").start();
    let mut socket = Socket::open(&weft, "/dialogue?user=ada");
    assert_eq!(socket.text(), "hello ada");
    socket.send("sleep");
    assert_eq!(socket.close().0, 1011);
    socket.end();
    weft.calls_until("closed ada 1011 ");
    weft.wait_for_log("is cancelled: it has run longer than request_timeout_ms");
    weft.wait_for_log("an event of the WebSocket connection ");
}

#[test]
fn a_fatal_error_costs_the_connection_and_then_the_worker() {
    let mut weft = server().start();
    let before = weft.workers();
    let mut socket = Socket::open(&weft, "/dialogue?user=ada");
    assert_eq!(socket.text(), "hello ada");
    socket.send("fatal");
    assert_eq!(socket.close().0, 1011);
    socket.end();
    weft.wait_for_log("Allowed memory size");
    until("another worker", || (weft.workers() != before && weft.workers().len() == 1).then_some(()));
}

#[test]
fn the_operators_limits_hold() {
    let weft = server().with("--websocket-message-bytes-max", "1000").start();
    let mut socket = Socket::open(&weft, "/dialogue?user=ada");
    assert_eq!(socket.text(), "hello ada");
    socket.stream.write_all(&frame(0x81, &[b'x'; 1000])).unwrap();
    assert_eq!(socket.text().len(), 1000);
    socket.stream.write_all(&frame(0x81, &[b'x'; 1001])).unwrap();
    assert_eq!(socket.close().0, 1009);
}

#[test]
fn a_silent_client_is_pinged_and_then_given_up() {
    let server = server().with("--websocket-ping-ms", "200").with("--websocket-ping-timeout-ms", "300");
    let weft = server.start();
    let mut silent = Socket::open(&weft, "/dialogue?user=bob");
    assert_eq!(silent.text(), "hello bob");
    assert_eq!(silent.read(), (0x89, vec![]));
    assert_eq!(silent.stream.read(&mut [0]).unwrap(), 0);
    weft.calls_until("closed bob 1006 ");
}

#[test]
fn who_has_answered_a_ping_is_not_given_up_by_a_worker_that_is_late() {
    const CLIENTS: usize = 200; // more than a worker hears of at once
    const LATE: Duration = Duration::from_secs(3);
    let server = server().with("--websocket-ping-ms", "300").with("--websocket-ping-timeout-ms", "3000");
    let weft = server.start();
    let mut sockets: Vec<Socket> =
        (0..CLIENTS).map(|number| Socket::open(&weft, &format!("/dialogue?user=u{number}"))).collect();
    for socket in &mut sockets {
        socket.text();
        assert_eq!(socket.read(), (0x89, vec![]));
    }
    let worker = weft.workers()[0];
    process::signal(worker, Signal::STOP);
    until("the worker to stop", || process::is_stopped(worker).then_some(()));
    for socket in &mut sockets {
        socket.stream.write_all(&frame(0x8a, &[])).unwrap();
    }
    std::thread::sleep(LATE); // the worker's lateness is what is tested
    process::signal(worker, Signal::CONT);
    for socket in &mut sockets {
        socket.send("still here");
        let heard = std::iter::repeat_with(|| socket.read()).find(|(first, _)| *first != 0x89);
        assert_eq!(heard.map(|(first, _)| first), Some(0x81));
    }
}
