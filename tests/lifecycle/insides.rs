//! What the numbers say of the inside of workers: loop lag, what connections do, instances and coroutines with their memory, and
//! calls that block.

use std::collections::HashMap;
use std::net::TcpStream;

use rustix::process::Signal;
use weft_tests::services::Authority;
use weft_tests::websocket::Socket;
use weft_tests::{Client, Running, Server, in_each_mode, process, until};

use crate::admin::{ask, metrics, samples, with_admin};

/// The samples of one metric whose labels have this part.
fn of<'a>(seen: &'a HashMap<String, f64>, name: &str, part: &str) -> Vec<(&'a str, f64)> {
    let is_of = |sample: &str| {
        sample.strip_prefix(name).is_some_and(|rest| rest.starts_with('{') && rest.contains(part))
    };
    seen.iter().filter(|(sample, _)| is_of(sample)).map(|(sample, value)| (sample.as_str(), *value)).collect()
}

fn state(seen: &HashMap<String, f64>, name: &str, state: &str) -> f64 {
    seen[&format!("{name}{{state=\"{state}\"}}")]
}

#[test]
fn what_holds_the_loop_is_its_lag() {
    const COMPUTES: &str = "return function ($r) {
        $until = hrtime(true) + 60_000_000;
        while ($r->path() === '/compute' && hrtime(true) < $until) {}
        return 'done';
    };";
    let weft = with_admin(Server::new(COMPUTES)).with("--workers", "1").start();
    let one = |seen: &HashMap<String, f64>, suffix: &str, part: &str| {
        of(seen, &format!("weft_worker_loop_lag_seconds_{suffix}"), part)[0].1
    };
    let longer =
        |seen: &HashMap<String, f64>| one(seen, "count", "worker=\"0\"") - one(seen, "bucket", "le=\"0.05\"");
    assert_eq!(weft.get("/").text(), "done");
    // A busy machine may have held it as well.
    let before = longer(&metrics(&weft));
    assert_eq!(weft.get("/compute").text(), "done");
    let seen = metrics(&weft);
    assert!(longer(&seen) >= before + 1.0, "{seen:?}");
    assert!(one(&seen, "sum", "worker=\"0\"") >= 0.06, "{seen:?}");
    let status = ask(&weft, "/status", None).json();
    assert!(status["workers"][0]["loop_lag"]["sum_ms"].as_f64().unwrap() >= 60.0, "{status}");
}

/// Each connection is held in one state.
#[test]
fn connections_are_counted_by_what_they_do() {
    const APPLICATION: &str = "
final class Sink extends Weft\\WebSocket\\Service
{
    public function message(Weft\\WebSocket\\Connection $connection, string $message, bool $binary): void {}
}
return new Weft\\Application(static function (Weft\\Http\\Request $request): string {
    while ($request->path() === '/wait' && !is_file('gate')) { usleep(1000); clearstatcache(); }
    return $request->path() === '/large' ? str_repeat('x', 64 << 20) : 'done';
}, ['/sink' => new Sink()]);";
    const STATES: [&str; 9] = [
        "idle",
        "reading_head",
        "reading_body",
        "handling",
        "waiting",
        "writing",
        "tls_handshake",
        "http2",
        "tunnel",
    ];
    let server = with_admin(Server::new(APPLICATION)).with("--listen", "https://127.0.0.1:0");
    Authority::new(server.directory()).certify("a", "DNS:a.example", 9);
    let server = server.with("--tls-certificates", "a.pem").with("--tls-keys", "a.key");
    let weft = server.with("--workers", "1").with("--coroutines-max", "1").start();
    let count = |name: &str| state(&metrics(&weft), "weft_connections_by_state", name);
    let _websocket = Socket::open(&weft, "/sink");
    let _idle = weft.connect();
    let mut large = weft.connect();
    large.get("/large");
    until("the large answer to wait for its client", || (count("writing") == 1.0).then_some(()));
    let parts = ["GET / HTTP/1.1\r\nHo", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 90000\r\n\r\nx"];
    let mut begun = parts.map(|part| {
        let mut client = weft.connect();
        client.send(part);
        client
    });
    let mut http2 = weft.connect();
    http2.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    let log = weft.log();
    let https =
        log.lines().find_map(|line| line.strip_prefix("weft: listening on https://")).expect("it says where");
    let _handshake = TcpStream::connect(https).expect("it listens");
    let mut waits = [weft.connect(), weft.connect()];
    waits[0].get("/wait");
    until("the first to run", || (count("handling") == 2.0).then_some(()));
    waits[1].get("/wait");
    until("each connection to be counted", || {
        let seen = metrics(&weft);
        // The connection that asks is of the operator, and is handled as well.
        let is_so = |name: &str| {
            state(&seen, "weft_connections_by_state", name) == if name == "handling" { 2.0 } else { 1.0 }
        };
        STATES.into_iter().all(is_so).then_some(())
    });
    let status = ask(&weft, "/status", None).json();
    assert_eq!(status["connections"]["by_state"]["waiting"], 1, "{status}");
    assert_eq!(status["workers"][0]["connections_by_state"]["tunnel"], 1, "{status}");
    weft.write("gate", "open");
    waits.iter_mut().for_each(|client| assert_eq!(client.read().text(), "done"));
    begun[0].send("st: a\r\n\r\n");
    assert_eq!(begun[0].read().text(), "done");
    until("nothing to be read", || (count("reading_head") + count("waiting") == 0.0).then_some(()));
}

#[test]
fn a_header_that_is_expected_and_an_end_that_lingers_are_states() {
    let weft = with_admin(Server::new("return fn ($r) => 'done';"))
        .with("--proxy-protocol", "127.0.0.1:0")
        .with("--trust-proxies", "127.0.0.0/8")
        .start();
    let count = |name: &str| state(&metrics(&weft), "weft_connections_by_state", name);
    let mut client = weft.connect();
    until("a header to be expected", || (count("proxy_header") == 1.0).then_some(()));
    client.send("PROXY TCP4 203.0.113.9 192.0.2.1 4711 80\r\nnonsense\r\n\r\n");
    assert_eq!(client.read().status, 400);
    until("the connection to linger", || (count("closing") == 1.0).then_some(()));
}

#[test]
fn a_request_that_waits_for_its_share_is_queued_and_a_worker_that_ends_drains_its_connections() {
    const WAITS: &str = "return function ($r) {
        while ($r->path() === '/wait' && !is_file('gate')) { usleep(1000); clearstatcache(); }
        return 'done';
    };";
    let weft = with_admin(Server::new(WAITS)).with("--workers", "1").with("--shares", "path /wait 1").start();
    let is_so = |seen: &HashMap<String, f64>, expected: &[(&str, f64)]| {
        expected.iter().all(|(name, count)| state(seen, "weft_connections_by_state", name) == *count)
    };
    let _idle = weft.connect();
    let mut waits = [weft.connect(), weft.connect()];
    waits.iter_mut().for_each(|client| client.get("/wait"));
    // The connection that asks is handled as well.
    until("one of them to wait for the other", || {
        is_so(&metrics(&weft), &[("queued", 1.0), ("handling", 2.0), ("idle", 1.0)]).then_some(())
    });
    let mut operator = Client::connect(crate::admin::address(&weft));
    weft.signal(Signal::TERM);
    until("the idle one to be about to be closed", || {
        operator.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        let seen = samples(&operator.read());
        is_so(&seen, &[("draining", 1.0), ("queued", 1.0), ("idle", 0.0)]).then_some(())
    });
    weft.write("gate", "open");
    waits.iter_mut().for_each(|client| assert_eq!(client.read().text(), "done"));
}

#[test]
fn streams_are_counted_apart_from_their_connection() {
    let weft = with_admin(Server::new("return fn ($r) => 'done';")).start();
    let mut client = weft.connect();
    // A request whose body is missing: POST / of a, as HPACK's static table has it (RFC 7541, appendix A), with END_HEADERS.
    let fields = b"\x83\x84\x86\x41\x01a\x0f\x0d\x0590000";
    let head = [&[0, 0, fields.len() as u8, 1, 4, 0, 0, 0, 1][..], fields].concat();
    client.send([&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"[..], &head].concat());
    until("its stream to wait for the body", || {
        let seen = metrics(&weft);
        let is_read = state(&seen, "weft_http2_streams_by_state", "reading_body") == 1.0;
        (is_read && state(&seen, "weft_connections_by_state", "http2") == 1.0).then_some(())
    });
}

#[test]
fn instances_and_coroutines_are_counted_with_their_memory() {
    const PAGES: &str = "
function page(string $path): string
{
    while ($path === '/wait' && !is_file(__DIR__ . '/gate') && !is_file(__DIR__ . '/../gate')) {
        usleep(1000);
        clearstatcache();
    }
    return 'done';
}";
    for (mode, server) in in_each_mode(PAGES) {
        let weft = with_admin(server).with("--workers", "1").start();
        let has_instances = mode != "coroutine";
        let mut client = weft.connect();
        client.get("/wait");
        until("the request to wait", || {
            let seen = metrics(&weft);
            let parked = state(&seen, "weft_coroutines_by_state", "parked") == 1.0;
            let is_busy = state(&seen, "weft_instances", "busy") == f64::from(u8::from(has_instances));
            let heap = state(&seen, "weft_instance_memory_bytes", "busy");
            let stack = state(&seen, "weft_coroutine_stack_bytes", "live");
            (parked && is_busy && stack >= 4096.0 && (heap >= 4096.0) == has_instances).then_some(())
        });
        weft.write("gate", "open");
        assert_eq!(client.read().text(), "done", "{mode}");
        until("it to be kept", || {
            let seen = metrics(&weft);
            let idle = state(&seen, "weft_coroutines_by_state", "idle") >= 1.0;
            let stack = state(&seen, "weft_coroutine_stack_bytes", "idle");
            let is_idle = (state(&seen, "weft_instances", "idle") >= 1.0) == has_instances;
            let busy = state(&seen, "weft_instances", "busy");
            (idle && is_idle && stack >= 4096.0 && busy == 0.0).then_some(())
        });
        let status = ask(&weft, "/status", None).json();
        assert_eq!(status["instances"].is_object(), has_instances, "{mode}: {status}");
        assert!(status["coroutines"]["idle_stack_bytes"].as_u64().unwrap() > 0, "{mode}: {status}");
    }
}

/// PHP lets nothing leave while a function of ticks runs, so what waits in one holds the whole worker.
pub(crate) const BLOCKS: &str = "
declare(ticks=1);
return static function (Weft\\Http\\Request $request): string {
    $blocks = static function (): void {
        usleep(1000);
    };
    register_tick_function($blocks);
    $done = 'done';
    unregister_tick_function($blocks);
    return $done;
};";

/// The line of `app.php` that has this code.
pub(crate) fn line_of(weft: &Running, code: &str) -> usize {
    weft.read("app.php").lines().position(|line| line.contains(code)).expect("the application has it") + 1
}

#[test]
fn a_call_that_blocks_is_named_with_its_place_also_when_its_worker_has_ended() {
    let mut weft = with_admin(Server::new(BLOCKS)).with("--workers", "1").start();
    assert_eq!(weft.get("/").text(), "done");
    let line = line_of(&weft, "usleep(1000)");
    let blocked = |weft: &Running| -> f64 {
        let seen = metrics(weft);
        let sum = |part: &str| -> f64 {
            of(&seen, "weft_blocking_function_calls_total", part).iter().map(|(_, count)| count).sum()
        };
        assert_eq!(sum(""), seen["weft_blocking_calls_total"], "{seen:?}");
        sum(&format!("/app.php\",line=\"{line}\""))
    };
    let before = blocked(&weft);
    assert!(before >= 1.0, "{:?}", metrics(&weft));
    let status = ask(&weft, "/status", None).json();
    let first = &status["blocking_calls_at"][0];
    assert!(first["function"] == "usleep" && first["line"] == line, "{status}");
    process::signal(weft.workers()[0], Signal::KILL);
    weft.wait_for_log("was killed by signal 9");
    until("another worker to say so", || {
        Client::try_connect(crate::admin::address(&weft)).ok()?;
        (blocked(&weft) == before).then_some(())
    });
}
