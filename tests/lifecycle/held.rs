//! A page that holds its worker's thread in C code keeps nobody else waiting, and no request is lost or answered twice.
//!
//! The page opens a FIFO by a system call that no hook sees, so it holds the thread until the test opens the other end.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;
use weft_tests::services::Authority;
use weft_tests::{Client, Running, Server, command, in_each_mode, process, until};

use crate::admin::{address, metrics, with_admin};

/// What all pages share. `hold` holds the thread; `page` answers for a path.
const PAGES: &str = r#"
function hold(string $name): void
{
    $libc = FFI::cdef('long syscall(long number, ...);');
    file_put_contents(__DIR__ . "/$name.in", getmypid());
    $open = php_uname('m') === 'aarch64' ? 56 : 257;
    $libc->syscall($open, -100, __DIR__ . "/$name", 0);
}
function page(string $path, string $method, string $body): string
{
    if (preg_match('~^/hold/(\w+)~', $path, $match)) {
        hold($match[1]);
        return 'held';
    }
    if (preg_match('~^/slow/(\w+)~', $path, $match)) {
        touch(__DIR__ . "/$match[1].in");
        while (!is_file(__DIR__ . '/open')) {
            usleep(3000);
            clearstatcache();
        }
        return $match[1];
    }
    if (preg_match('~^/count/(\d+)~', $path, $match)) {
        file_put_contents(__DIR__ . '/counted', "$match[1]\n", FILE_APPEND | LOCK_EX);
        // A few ms to some tens of them, in C code.
        similar_text(str_repeat('ab', 100 * ($match[1] % 9)), str_repeat('ba', 300));
        return $match[1];
    }
    return $path . ' ' . $body . ' ' . getmypid();
}
"#;

/// The same pages in each mode, with one worker and at most this many further ones.
pub(crate) fn servers(extra: usize) -> [(&'static str, Server); 3] {
    in_each_mode(PAGES).map(|(mode, server)| {
        let server = server
            .with("-d", "ffi.enable=1")
            .with("--stuck-timeout-ms", "0")
            // A request that has begun stays: none may begin because the page that holds gave way before it did.
            .with("--slice-ms", "0")
            .with("--extra-workers-max", &extra.to_string());
        (mode, server)
    })
}

/// A request that holds a worker until [`Held::release`].
pub(crate) struct Held {
    client: Client,
    fifo: PathBuf,
}

impl Held {
    pub(crate) fn begin(weft: &Running, name: &str) -> Held {
        let fifo = fifo(weft, name);
        let mut client = weft.connect();
        client.get(&format!("/hold/{name}"));
        let entered = weft.path(&format!("{name}.in"));
        until("the page to hold its worker", || entered.exists().then_some(()));
        Held { client, fifo }
    }

    pub(crate) fn release(mut self) {
        assert!(!self.client.is_readable(), "it did not hold");
        open(&self.fifo);
        assert_eq!(self.client.read().text(), "held");
    }
}

fn fifo(weft: &Running, name: &str) -> PathBuf {
    let fifo = weft.path(name);
    mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    fifo
}

fn open(fifo: &Path) {
    drop(std::fs::OpenOptions::new().write(true).open(fifo).unwrap());
}

/// Whether a process has a socket that listens at this port (proc_net_tcp(5)).
fn listens(pid: u32, port: u16) -> bool {
    const LISTENS: &str = "0A";
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let listening = sockets.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_there = fields.get(1)?.ends_with(&format!(":{port:04X}")) && *fields.get(3)? == LISTENS;
        is_there.then(|| format!("socket:[{}]", fields[9]))
    });
    let listening: Vec<String> = listening.collect();
    let own = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    own.filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .any(|target| listening.iter().any(|socket| target.as_os_str() == socket.as_str()))
}

/// A worker that has been stopped cannot pass anything on, and its master cannot notice.
#[test]
fn a_further_worker_accepts_from_the_queues_of_others_whatever_these_do() {
    for (mode, server) in servers(1) {
        let weft = server.start();
        let first = weft.workers()[0];
        let held = Held::begin(&weft, "one");
        let further = until("a further worker", || weft.workers().into_iter().find(|pid| *pid != first));
        until("it to have the queue of the first", || listens(further, weft.address.port()).then_some(()));
        for pid in [weft.pid(), first] {
            process::signal(pid, Signal::STOP);
            // Its deputy might accept a connection, and stop then.
            until("the process to stop", || process::is_stopped(pid).then_some(()));
        }
        for _ in 0..5 {
            assert!(weft.get("/who").text().ends_with(&further.to_string()), "{mode}");
        }
        for pid in [first, weft.pid()] {
            process::signal(pid, Signal::CONT);
        }
        held.release();
    }
}

#[test]
fn the_log_says_where_a_worker_is_held_and_in_which_system_call() {
    for (_, server) in servers(0) {
        let mut weft = server.with("--watchdog-ms", "100").start();
        let held = Held::begin(&weft, "one");
        weft.wait_for_log("syscall() at ");
        weft.wait_for_log("; it is blocked in system call ");
        held.release();
    }
}

#[test]
fn connections_in_every_state_are_answered_while_the_worker_is_held() {
    for (mode, server) in servers(8) {
        let weft = server.start();
        let mut idle: Vec<Client> = (0..5).map(|_| weft.connect()).collect();
        for client in &mut idle {
            client.get("/before");
            assert!(client.read().text().starts_with("/before"), "{mode}");
        }
        let mut partial = weft.connect();
        partial.send("GET /part HT");
        let mut fresh = weft.connect();
        let held = Held::begin(&weft, "one");

        for client in &mut idle {
            client.get("/idle");
        }
        partial.send("TP/1.1\r\nHost: weft.test\r\n\r\n");
        fresh.get("/fresh");
        let mut posting = weft.connect();
        posting.post("/post", "text/plain", "a body");
        let mut pipelined = weft.connect();
        pipelined.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n");
        let mut closing = weft.connect();
        closing.send("GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");

        for client in &mut idle {
            assert!(client.read().text().starts_with("/idle "), "{mode}");
        }
        assert!(partial.read().text().starts_with("/part "), "{mode}");
        assert!(fresh.read().text().starts_with("/fresh "), "{mode}");
        assert!(posting.read().text().starts_with("/post a body"), "{mode}");
        assert!(pipelined.read().text().starts_with("/1 "), "{mode}");
        assert!(pipelined.read().text().starts_with("/2 "), "{mode}");
        assert!(closing.read().text().starts_with("/last "), "{mode}");
        // The held worker must not keep its end of it open.
        closing.expect_closed();
        held.release();
        // The connections live on where they are now.
        for client in idle.iter_mut().chain([&mut partial, &mut fresh, &mut posting]) {
            client.get("/after");
            assert!(client.read().text().starts_with("/after "), "{mode}");
        }
    }
}

#[test]
fn the_operator_is_answered_while_workers_are_held() {
    for (mode, server) in servers(8) {
        let weft = with_admin(server).with("--workers", "2").start();
        let connect = || Client::connect(address(&weft));
        let mut idle: Vec<Client> = (0..8).map(|_| connect()).collect();
        for client in &mut idle {
            client.get("/healthz");
            assert_eq!(client.read().text(), "alive\n", "{mode}");
        }
        let mut partial = connect();
        partial.send("GET /healthz HT");
        let first = Held::begin(&weft, "one");
        // Whoever has it waits for the worker that is held, and may be held itself meanwhile.
        let mut asking: Vec<Client> = (0..4).map(|_| connect()).collect();
        for client in &mut asking {
            client.send("GET /requests HTTP/1.1\r\nHost: localhost\r\n\r\n");
        }
        let second = Held::begin(&weft, "two");

        for client in &mut idle {
            client.get("/healthz");
            assert_eq!(client.read().text(), "alive\n", "{mode}");
        }
        partial.send("TP/1.1\r\nHost: weft.test\r\n\r\n");
        assert_eq!(partial.read().text(), "alive\n", "{mode}");
        for client in &mut asking {
            let seen = client.read().json();
            assert!(seen["silent"].as_array().is_some_and(|silent| !silent.is_empty()), "{mode}: {seen}");
        }
        second.release();
        first.release();
        // Connections that have moved are the operator's still.
        for client in idle.iter_mut().chain(&mut asking).chain([&mut partial]) {
            client.get("/readyz");
            assert_eq!(client.read().text(), "ready\n", "{mode}");
        }
        let counted = || metrics(&weft)["weft_requests_total"];
        until("both that held to be counted, and no others", || (counted() == 2.0).then_some(()));
    }
}

#[test]
fn clients_that_speak_tls_are_answered_while_the_worker_is_held() {
    for (mode, server) in servers(8) {
        Authority::new(server.directory()).certify("a", "DNS:a.example", 9);
        let server = server.with("--listen", "https://127.0.0.1:0").with("--listen", "127.0.0.1:0");
        let weft = server
            .with("--tls-certificates", "a.pem")
            .with("--tls-keys", "a.key")
            .with_flag("--tls-redirect")
            .start();
        let [tls, plain] = weft.addresses()[..] else { panic!("two addresses: {}", weft.log()) };
        let curl = |path: &str| {
            let mut curl = Command::new("curl");
            curl.current_dir(weft.directory()).args(["-sS", "--cacert", "ca.pem", "--connect-to"]);
            command::finish(curl.args([format!("::{tls}"), format!("https://a.example{path}")])).stdout
        };
        let fifo = fifo(&weft, "one");
        std::thread::scope(|scope| {
            let held = scope.spawn(|| curl("/hold/one"));
            until("the page to hold its worker", || weft.path("one.in").exists().then_some(()));
            for _ in 0..5 {
                assert!(curl("/fresh").starts_with("/fresh "), "{mode}");
                // Whoever answers sends clients to the same place.
                let mut client = Client::connect(plain);
                client.send("GET /moved HTTP/1.1\r\nHost: a.example\r\n\r\n");
                let told = client.read();
                let to = format!("https://a.example:{}/moved", tls.port());
                assert_eq!((told.status, told.header("location")), (301, Some(to.as_str())), "{mode}");
            }
            assert!(!held.is_finished(), "{mode}: it did not hold");
            open(&fifo);
            assert_eq!(held.join().expect("curl ends"), "held", "{mode}");
        });
    }
}

#[test]
fn requests_that_arrive_together_with_the_one_that_holds_are_answered() {
    for (mode, server) in servers(8) {
        let weft = server.start();
        let fifo = fifo(&weft, "one");
        let worker = weft.workers()[0];
        let mut clients: Vec<Client> = (0..10).map(|_| weft.connect()).collect();
        // All of it is there when the worker looks: it reads the requests of one turn before it begins the first.
        process::signal(worker, Signal::STOP);
        until("the worker to stop", || process::is_stopped(worker).then_some(()));
        clients[0].get("/hold/one");
        for client in &mut clients[1..] {
            client.get("/together");
        }
        process::signal(worker, Signal::CONT);
        for client in &mut clients[1..] {
            assert!(client.read().text().starts_with("/together "), "{mode}");
        }
        assert!(!clients[0].is_readable(), "{mode}: it did not hold");
        open(&fifo);
        assert_eq!(clients[0].read().text(), "held", "{mode}");
    }
}

#[test]
fn who_waits_for_a_share_in_a_held_worker_has_it_in_another() {
    for (mode, server) in servers(8) {
        let instances = if mode == "coroutine" { server } else { server.with("--instances", "8") };
        let weft = instances.with("--shares", "path /slow 1").start();
        let mut slow = ["first", "second"].map(|name| {
            let mut client = weft.connect();
            client.get(&format!("/slow/{name}"));
            // Its worker has read it when it answers who came later.
            assert!(weft.get("/").text().starts_with('/'), "{mode}");
            client
        });
        let held = Held::begin(&weft, "one");
        let begun = |name: &str| weft.path(&format!("{name}.in")).exists();
        until("another worker to begin it", || begun("second").then_some(()));
        assert!(begun("first"), "{mode}");
        weft.write("open", "");
        assert_eq!(slow[1].read().text(), "second", "{mode}");
        held.release();
        assert_eq!(slow[0].read().text(), "first", "{mode}");
    }
}

#[test]
fn there_are_no_more_workers_than_allowed_and_they_go_when_they_are_idle() {
    let [(_, server), ..] = servers(2);
    let weft = server.start();
    let held: Vec<Held> = ["a", "b", "c"].map(|name| Held::begin(&weft, name)).into();
    assert_eq!(weft.workers().len(), 3);
    let mut waiting = weft.connect();
    waiting.get("/waits");
    for one in held {
        one.release();
    }
    assert!(waiting.read().text().starts_with("/waits "));
    until("the further ones to go", || (weft.workers().len() == 1).then_some(()));
    assert!(weft.get("/still").text().starts_with("/still "));
}

#[test]
fn a_further_worker_that_computes_does_not_go_in_place_of_one_that_is_free() {
    let [(_, server), ..] = servers(2);
    let mut weft = server.with("--log-level", "debug").start();
    let held = ["a", "b", "c"].map(|name| Held::begin(&weft, name));
    let workers = weft.workers();
    assert_eq!(workers.len(), 3);
    let pid_of = |name: &str| {
        let said = || std::fs::read_to_string(weft.path(&format!("{name}.in"))).ok()?.parse::<u32>().ok();
        until("the page to name its worker", said)
    };
    // The one that was forked last comes last.
    let (newest, others): (Vec<_>, Vec<_>) =
        held.into_iter().zip(["a", "b", "c"]).partition(|(_, name)| pid_of(name) == workers[2]);
    others.into_iter().for_each(|(one, _)| one.release());
    let is_not_needed = |pid: u32| format!("(pid {pid}, generation 1) is not needed any more");
    weft.wait_for_log(&is_not_needed(workers[1]));
    assert!(!weft.log().contains(&is_not_needed(workers[2])), "it computes");
    newest.into_iter().for_each(|(one, _)| one.release());
}

/// What a process has used of the processor (Documentation/scheduler/sched-stats.rst).
fn used(pid: u32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
    Duration::from_nanos(text.split(' ').next().and_then(|used| used.parse().ok()).unwrap())
}

#[test]
fn the_master_rests_while_the_only_further_worker_computes() {
    // Twice as long as more workers than needed have to be free before one ends.
    const WATCHED: Duration = Duration::from_secs(2);
    let [(_, server), ..] = servers(1);
    let weft = server.with("--workers", "2").start();
    let [first, second, further] = ["a", "b", "c"].map(|name| Held::begin(&weft, name));
    assert_eq!(weft.workers().len(), 3);
    first.release();
    second.release();
    let (begun, before) = (Instant::now(), used(weft.pid()));
    while begun.elapsed() < WATCHED {
        assert!(weft.get("/who").text().starts_with("/who "));
    }
    let used = used(weft.pid()) - before;
    assert!(used < WATCHED / 20, "the master has used {used:?} of {WATCHED:?}");
    further.release();
}

#[test]
fn a_held_worker_that_is_told_to_stop_loses_nothing_that_waits_for_it() {
    let [(_, server), ..] = servers(1);
    let mut weft = server.start();
    let one = Held::begin(&weft, "one");
    let two = Held::begin(&weft, "two");
    // Nobody is free: these wait between the workers, or in the accept queue of the first.
    let mut waiting: Vec<Client> = (0..20).map(|_| weft.connect()).collect();
    for client in &mut waiting {
        client.get("/waits");
    }
    weft.signal(Signal::TERM);
    weft.wait_for_log("stopping: ");
    one.release();
    two.release();
    for client in &mut waiting {
        assert!(client.read().text().starts_with("/waits "));
    }
    assert!(weft.wait().success());
}

#[test]
fn under_load_with_many_such_pages_each_request_is_answered_once() {
    for (mode, server) in servers(4) {
        let weft = server.with("--workers", "2").start();
        const CLIENTS: usize = 12;
        const EACH: usize = 40;
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let weft = &weft;
                scope.spawn(move || {
                    let mut connection = weft.connect();
                    for n in 0..EACH {
                        let number = client * EACH + n;
                        // Some connections end here and there, as clients do.
                        if number.is_multiple_of(7) {
                            connection = weft.connect();
                        }
                        connection.get(&format!("/count/{number}"));
                        assert_eq!(connection.read().text(), number.to_string(), "{mode}");
                    }
                });
            }
        });
        let mut counted: HashMap<usize, usize> = HashMap::new();
        for line in weft.read("counted").lines().chain(weft.read("public/counted").lines()) {
            *counted.entry(line.parse().unwrap()).or_default() += 1;
        }
        assert_eq!(counted.len(), CLIENTS * EACH, "{mode}");
        assert!(counted.values().all(|times| *times == 1), "{mode}: {counted:?}");
    }
}
