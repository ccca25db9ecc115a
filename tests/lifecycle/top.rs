//! `weft top`: what it shows of a running server, and which bound it names where one was put there on purpose.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde_json::{Value, json};
use weft_tests::command::Output;
use weft_tests::terminal::Terminal;
use weft_tests::{Client, Running, Server, until, weft};

use crate::admin::{address, with_admin};
use crate::insides::BLOCKS;

const APPLICATION: &str = "
$gate = new Weft\\Channel(0);
return static function (Weft\\Http\\Request $request) use ($gate): string {
    if ($request->path() === '/burn') { while (!is_file('enough')) { clearstatcache(); } }
    if ($request->path() === '/pool') { $gate->receive(); }
    if ($request->path() === '/open') { $gate->send(1); }
    return 'done';
};";

fn top(weft_running: &Running, more: &[&str]) -> Output {
    let at = format!("admin://{}", address(weft_running));
    let arguments = [&["top", "--once", "--seconds", "0.3", "--at", at.as_str()], more].concat();
    weft(weft_running.directory(), &arguments)
}

fn text(output: &Output) -> String {
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.stdout.clone()
}

fn object(weft_running: &Running) -> Value {
    serde_json::from_str(&text(&top(weft_running, &["--json"]))).unwrap()
}

#[test]
fn one_picture_is_printed_for_scripts() {
    let weft = with_admin(Server::new(APPLICATION)).start();
    for _ in 0..5 {
        assert_eq!(weft.get("/hello").text(), "done");
    }
    let page = text(&top(&weft, &[]));
    assert!(
        page.starts_with(&format!("weft {}  coroutine mode  ready  up ", env!("CARGO_PKG_VERSION"))),
        "{page}"
    );
    assert!(page.contains("\nheld back by: ") && page.contains("\n/hello "), "{page}");
    assert!(page.contains(&format!(" {} ready ", weft.workers()[0])), "{page}");
    assert!(!page.contains('\x1b'), "{page}");
    assert!(page.contains("\nconnections ") && page.contains(" handling 1"), "{page}");
    assert!(page.contains("\ncoroutines 0 parked") && page.contains(" LAG P99"), "{page}");
    let mut waits = weft.connect();
    waits.get("/pool");
    let in_flight = until("its request to be listed", || {
        let seen = object(&weft)["requests_in_flight"].clone();
        (seen["count"] == 1).then_some(seen)
    });
    assert_eq!(in_flight["oldest"][0]["what"], "GET /pool");
    assert!(text(&top(&weft, &[])).contains(" GET /pool "));
    let seen = object(&weft);
    assert_eq!((&seen["ready"], &seen["routes"][0]["route"]), (&true.into(), &"/hello".into()));
    assert_eq!(seen["workers"][0]["pid"].as_f64(), Some(f64::from(weft.workers()[0])));
}

#[test]
fn requests_that_wait_for_a_pool_of_one_are_seen_to_wait() {
    let weft = with_admin(Server::new(APPLICATION)).with("--coroutines-max", "2").start();
    let mut clients: Vec<_> = (0..3).map(|_| weft.connect()).collect();
    clients.iter_mut().for_each(|client| client.get("/pool"));
    let said = until("all places to be taken", || {
        let said = object(&weft)["held_back_by"].as_str()?.to_owned();
        said.starts_with("places: all 2 are taken").then_some(said)
    });
    assert!(said.contains("2 wait for coroutine") && said.contains("1 requests wait"), "{said}");
}

#[test]
fn a_handler_that_burns_the_processor_is_named() {
    let weft = with_admin(Server::new(APPLICATION)).with("--workers", "2").start();
    let mut client = weft.connect();
    client.get("/burn");
    until("the worker to be named", || {
        let said = object(&weft)["held_back_by"].as_str()?.to_owned();
        (said.contains("is held by one computation") || said.starts_with("the processor: worker"))
            .then_some(())
    });
    weft.write("enough", "");
    assert_eq!(client.read().text(), "done");
}

#[test]
fn calls_that_block_for_real_are_named() {
    let weft = with_admin(Server::new(BLOCKS)).with("--workers", "1").start();
    let (mut client, ends) = (weft.connect(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Relaxed) {
                client.get("/");
                assert_eq!(client.read().text(), "done");
            }
        });
        let said = until("the calls to be named", || {
            let said = object(&weft)["held_back_by"].as_str()?.to_owned();
            said.starts_with("calls block whole workers, ").then_some(said)
        });
        ends.store(true, Relaxed);
        assert!(said.ends_with(": weft doctor --extensions and the log name them"), "{said}");
        assert!(said.contains(" a second, most often usleep() at /"), "{said}");
    });
    assert!(weft.log().contains("usleep"), "{}", weft.log());
}

#[test]
fn a_server_that_is_not_there_is_said_to_be_missing() {
    let server = Server::new(APPLICATION);
    let said = |arguments: &[&str]| {
        let output = weft(server.directory(), arguments);
        assert_ne!(output.code, Some(0));
        output.stderr
    };
    assert!(said(&["top", "--once"]).contains("no server is named: give --at"), "no address");
    let missing = said(&["top", "--once", "--at", "admin+unix:/nonexistent/admin.sock"]);
    assert!(missing.contains("no server listens at admin+unix:/nonexistent/admin.sock"), "{missing}");
    assert!(said(&["top", "--seconds", "0"]).contains("from 0.05 to 3600 seconds"));
}

#[test]
fn a_terminal_shows_views_that_keys_choose() {
    let mut weft = with_admin(Server::new(APPLICATION)).start();
    assert_eq!(weft.get("/hello").text(), "done");
    let mut waits = weft.connect();
    waits.get("/pool?secret=1");
    let at = format!("admin://{}", address(&weft));
    let mut terminal = Terminal::run(weft.directory(), &["top", "--seconds", "0.1", "--at", &at]);
    let pid = weft.workers()[0].to_string();
    terminal.wait_for("the overview", |shown| {
        let has = |text: &str| shown.lines().any(|line| line.contains(text));
        let row = |parts: [&str; 3]| shown.lines().any(|line| parts.iter().all(|part| line.contains(part)));
        let all =
            has("held back by: ") && row([&pid, "ready", "1"]) && row(["waits", "coroutine", "GET /pool"]);
        (shown.starts_with(" 1 overview") && all && has("/hello")).then_some(())
    });
    terminal.press("2");
    terminal.wait_for("the workers", |shown| {
        (shown.contains("STOLEN%") && !shown.contains("ROUTE")).then_some(())
    });
    terminal.press("5");
    terminal.wait_for("the requests", |shown| {
        (shown.contains("\nin flight: 1\n") && shown.contains("GET /pool") && !shown.contains("secret"))
            .then_some(())
    });
    terminal.press("\x1b[Z>>r");
    terminal.wait_for("the waits, by what has ended", |shown| {
        (shown.contains("WAIT FOR") && shown.contains("by ENDED/S, reversed")).then_some(())
    });
    weft.get("/open");
    assert_eq!(waits.read().text(), "done");
    weft.signal(rustix::process::Signal::TERM);
    terminal
        .wait_for("the server to be missed", |shown| shown.contains("no server listens at").then_some(()));
    assert!(weft.wait().success());
    terminal.press("q");
    let (status, is_as_before) = terminal.wait();
    assert!(status.success() && is_as_before, "{status}");
}

#[test]
fn the_live_page_is_told_the_same_sentence() {
    let weft = with_admin(Server::new(APPLICATION)).with("--coroutines-max", "2").start();
    let mut clients: Vec<_> = (0..3).map(|_| weft.connect()).collect();
    clients.iter_mut().for_each(|client| client.get("/pool"));
    let status = || crate::admin::ask(&weft, "/status", None).json();
    let (before, now) = until("all places to be taken", || {
        let (before, now) = (status(), status());
        (now["requests"]["queued"] == 1).then_some((before, now))
    });
    let post = |body: &str, token: &str| {
        let mut client = Client::connect(address(&weft));
        let length = body.len();
        client.send(format!(
            "POST /held-back-by HTTP/1.1\r\nHost: {token}\r\nContent-Length: {length}\r\n\r\n"
        ));
        client.send(body);
        client.read()
    };
    let answer = post(&json!({ "before": before, "now": now, "seconds": 1.0 }).to_string(), "x");
    let said = answer.json()["held_back_by"].as_str().expect("a sentence").to_owned();
    assert!(said.starts_with("places: all 2 are taken, and 2 wait for coroutine; 1 requests wait"), "{said}");
    assert_eq!(said, object(&weft)["held_back_by"], "as weft top says it");
    for wrong in
        ["", "{", "{}", r#"{"before":{},"now":{},"seconds":0}"#, r#"{"before":1,"now":{},"seconds":1}"#]
    {
        assert_eq!(post(wrong, "x").status, 400, "{wrong}");
    }
    assert_eq!(post("{}", "evil.example").status, 403, "a name that another site may have");
    assert_eq!(crate::admin::ask(&weft, "/held-back-by", None).status, 405);
}
