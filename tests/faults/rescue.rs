//! A worker that crashes gives away what others can answer, and answers the rest.

use std::collections::HashMap;

use rustix::process::Signal;
use weft_tests::{Client, Running, Server, in_each_mode, process, until};

const PAGES: &str = r#"
function page(string $path, string $method): string
{
    file_put_contents(__DIR__ . '/begun', "$method $path\n", FILE_APPEND | LOCK_EX);
    if (preg_match('~^/crash/(\w+)~', $path, $match)) {
        crash($match[1]);
    }
    if (str_starts_with($path, '/waits')) {
        while (!is_file(__DIR__ . '/gate')) {
            usleep(3000);
            clearstatcache();
        }
    }
    return $path . ' ' . $method;
}
function crash(string $how): void
{
    $libc = FFI::cdef('void abort(void); int raise(int signal);');
    match ($how) {
        'read' => FFI::cast('int *', FFI::new('long'))[0],
        'abort' => $libc->abort(),
        'bus' => $libc->raise(7),
    };
}
"#;

/// The same pages in each mode.
fn servers() -> [(&'static str, Server); 3] {
    in_each_mode(PAGES).map(|(mode, server)| {
        let server = server.with("--define", "ffi.enable=1");
        (mode, if mode == "coroutine" { server } else { server.with("--instances", "16") })
    })
}

/// How often each request has begun.
fn begun(weft: &Running) -> HashMap<String, usize> {
    let mut times = HashMap::new();
    for line in weft.read("begun").lines() {
        *times.entry(line.to_owned()).or_default() += 1;
    }
    times
}

fn begin(weft: &Running, target: &str) -> Client {
    let mut client = weft.connect();
    client.get(target);
    until("it to begin", || begun_at(weft, &format!("GET {target}")));
    client
}

fn begun_at(weft: &Running, line: &str) -> Option<()> {
    let text = std::fs::read_to_string(weft.path("begun")).ok()?;
    text.lines().any(|one| one == line).then_some(())
}

#[test]
fn safe_requests_are_answered_by_another_worker_and_others_once() {
    for (mode, server) in servers() {
        for how in ["read", "abort", "bus"] {
            let _ = std::fs::remove_file(server.directory().join("gate"));
            let (_, server) = servers().into_iter().find(|(name, _)| *name == mode).expect("it is there");
            let mut weft = server.start();
            let mut idle = weft.connect();
            idle.get("/before");
            assert_eq!(idle.read().text(), "/before GET", "{mode}");
            let mut safe: Vec<Client> = (0..5).map(|n| begin(&weft, &format!("/waits/{n}"))).collect();
            let mut head = weft.connect();
            head.send("HEAD /waits/head HTTP/1.1\r\nHost: a\r\n\r\n");
            let mut posting = weft.connect();
            posting.post("/waits/post", "text/plain", "a body");
            until("the other two to begin", || {
                begun_at(&weft, "HEAD /waits/head").and(begun_at(&weft, "POST /waits/post"))
            });
            let mut partial = weft.connect();
            partial.send("GET /part HT");
            let mut crashing = weft.connect();
            crashing.get(&format!("/crash/{how}?x=1"));
            assert_eq!(crashing.read().status, 502, "{mode}, {how}: {}", weft.log());
            assert_eq!(posting.read().status, 502, "{mode}, {how}");
            weft.write("gate", "open");
            for (n, client) in safe.iter_mut().enumerate() {
                let response = client.read();
                assert_eq!(response.status, 200, "{mode}, {how}: {}", weft.log());
                assert_eq!(response.text(), format!("/waits/{n} GET"), "{mode}, {how}");
                client.get("/again");
                assert_eq!(client.read().text(), "/again GET", "{mode}, {how}");
            }
            assert_eq!(head.read_of_head().status, 200, "{mode}, {how}");
            partial.send("TP/1.1\r\nHost: a\r\n\r\n");
            assert_eq!(partial.read().text(), "/part GET", "{mode}, {how}");
            idle.get("/after");
            assert_eq!(idle.read().text(), "/after GET", "{mode}, {how}");
            let times = begun(&weft);
            assert_eq!(times["POST /waits/post"], 1, "{mode}, {how}");
            assert!((0..5).all(|n| times[&format!("GET /waits/{n}")] == 2), "{mode}, {how}: {times:?}");
            weft.wait_for_log("crashes by SIG");
            let log = weft.log();
            assert!(log.contains(&format!("GET /crash/{how}?x=1")), "{mode}, {how}: {log}");
            assert!(log.contains("pages.inc:"), "{mode}, {how}: {log}");
        }
    }
}

#[test]
fn a_request_that_has_been_given_away_once_is_not_given_away_again() {
    for (mode, server) in servers() {
        let weft = server.start();
        let mut waiting = begin(&weft, "/waits/1");
        for round in 1..=2 {
            let worker = weft.workers()[0];
            let mut crashing = weft.connect();
            crashing.get("/crash/read");
            assert_eq!(crashing.read().status, 502, "{mode}");
            until("another worker", || (!weft.workers().contains(&worker)).then_some(()));
            if round == 1 {
                until("it to begin again", || (begun(&weft)["GET /waits/1"] == 2).then_some(()));
            }
        }
        assert_eq!(waiting.read().status, 502, "{mode}");
        assert_eq!(begun(&weft)["GET /waits/1"], 2, "{mode}");
        assert_eq!(weft.get("/still").text(), "/still GET", "{mode}");
    }
}

#[test]
fn requests_that_arrive_with_the_one_that_crashes_are_answered() {
    for (mode, server) in servers() {
        let weft = server.with("--workers", "2").start();
        let mut clients: Vec<Client> = (0..24).map(|_| weft.connect()).collect();
        for worker in weft.workers() {
            process::signal(worker, Signal::STOP);
            until("the worker to stop", || process::is_stopped(worker).then_some(()));
        }
        for (n, client) in clients.iter_mut().enumerate() {
            match n {
                7 => client.get("/crash/read"),
                n if n % 2 == 0 => client.post(&format!("/post/{n}"), "text/plain", "a body"),
                n => client.get(&format!("/get/{n}")),
            }
        }
        for worker in weft.workers() {
            process::signal(worker, Signal::CONT);
        }
        let statuses: Vec<u16> = clients.iter_mut().map(|client| client.read().status).collect();
        let times = begun(&weft);
        for (n, status) in statuses.into_iter().enumerate() {
            match n {
                7 => assert_eq!(status, 502, "{mode}"),
                // One that had begun in the worker that crashed cannot begin again.
                n if n % 2 == 0 => {
                    let begun = times.get(&format!("POST /post/{n}")).copied().unwrap_or_default();
                    assert!(
                        begun == 1 && [200, 502].contains(&status)
                            || begun == 0 && [502, 503].contains(&status),
                        "{mode}, {n}: {status}, {begun} times"
                    );
                }
                n => assert_eq!(status, 200, "{mode}, {n}: {}", weft.log()),
            }
        }
    }
}

#[test]
fn an_answer_that_has_begun_is_cut_off_and_not_repeated() {
    let app = "return function ($r) {
        if ($r->path() === '/crash') { FFI::cast('int *', FFI::new('long'))[0]; }
        if ($r->path() === '/pid') { return (string) getmypid(); }
        return new Weft\\Http\\Response(function ($writer): void {
            $writer->write('begun '); touch('streaming');
            while (!is_file('gate')) { usleep(3000); clearstatcache(); }
            $writer->write('ended');
        });
    };";
    let weft = Server::new(app).with("--define", "ffi.enable=1").start();
    let mut streaming = weft.connect();
    streaming.get("/stream");
    until("it to begin", || weft.path("streaming").exists().then_some(()));
    assert_eq!(streaming.read_head().status, 200);
    let mut crashing = weft.connect();
    crashing.get("/crash");
    assert_eq!(crashing.read().status, 502);
    let rest = String::from_utf8_lossy(&streaming.read_to_end()).into_owned();
    assert!(rest.contains("begun") && !rest.contains("ended") && !rest.contains("HTTP/1.1"), "{rest}");
    assert_eq!(weft.get("/pid").status, 200);
}
