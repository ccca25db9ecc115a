//! Workers that block the loop, crash repeatedly, or share their load.

use std::collections::HashMap;

use rustix::process::Signal;
use weft_tests::{Server, process, until};

use crate::server;

/// A worker keeps opcache from restarting as long as it lives. Once the time is over, the next worker that starts would kill it.
#[test]
fn opcache_is_patient_with_workers_that_keep_it_from_restarting() {
    let app = "return fn () => ini_get('opcache.force_restart_timeout');";
    let seconds: u64 = Server::new(app).start().get("/").text().parse().expect("a number");
    assert!(seconds > 1_000_000, "{seconds}");
    let told = Server::new(app).with("--define", "opcache.force_restart_timeout=300").start();
    assert_eq!(told.get("/").text(), "300");
}

#[test]
fn the_watchdog_names_file_and_line_of_a_stuck_coroutine() {
    let app = "function busy() {\n  while (!is_file('enough')) {\n    clearstatcache();\n  }\n}\nreturn function () { busy(); return 'done'; };";
    // A busy machine may keep a worker waiting for 100 ms.
    let mut weft = Server::new(app).with("--watchdog-ms", "1000").start();
    let mut client = weft.connect();
    client.get("/");
    weft.wait_for_log("app.php:");
    weft.write("enough", "yes");
    assert_eq!(client.read().text(), "done");
    let log = weft.log();
    let line = log
        .lines()
        .find(|line| line.contains("WARN") && line.contains("app.php"))
        .unwrap_or_else(|| panic!("{log}"));
    // Lines 3 to 5 of the file are the loop.
    assert!((3..=5).any(|at| line.contains(&format!("app.php:{at}"))), "{line}");
    assert!(line.contains("request="), "the request is not named: {line}");
}

#[test]
fn the_watchdog_names_the_function_that_does_not_return() {
    let app = "return function () {\n  similar_text(str_repeat('ab', 60000), str_repeat('ba', 60000));\n};";
    let mut weft = Server::new(app).with("--watchdog-ms", "200").start();
    let mut client = weft.connect();
    client.get("/");
    weft.wait_for_log("ms: similar_text() at ");
    weft.wait_for_log("app.php:3; ");
}

#[test]
fn preemption_lets_others_run() {
    let app = "return function ($r) {
            if ($r->path() === '/other') { return 'other'; }
            file_put_contents('spinning', 'yes');
            for ($n = 0; !($n % 1000 === 0 && is_file('enough')); $n++) { if ($n % 1000 === 0) { clearstatcache(); } }
            return 'spun';
        };";
    let weft = Server::new(app).with("--preempt-ms", "5").with("--watchdog-ms", "0").start();
    let mut spinning: Vec<_> = (0..3).map(|_| weft.connect()).collect();
    for client in &mut spinning {
        client.get("/spin");
    }
    until("the loop to be held", || (weft.read("spinning") == "yes").then_some(()));
    for _ in 0..5 {
        assert_eq!(weft.get("/other").text(), "other");
    }
    weft.write("enough", "yes");
    for client in &mut spinning {
        assert_eq!(client.read().text(), "spun");
    }
}

/// Behind a check for interrupts, PHP's JIT may write an address into the counter, which then does not come to 0.
#[test]
fn a_loop_that_counts_down_ends_whoever_interrupts_it() {
    let app = r#"final class Hasher
        {
            public function hash(string $password, int $log): string
            {
                $count = 1 << $log;
                $hash = md5('a' . $password, true);
                do {
                    $hash = md5($hash . $password, true);
                } while (--$count);
                return bin2hex($hash);
            }
        }
        return fn () => (new Hasher())->hash('word', 16);"#;
    // So many interrupts come in the midst of the loop that some harm it, if any can.
    const AT_ONCE: usize = 8;
    const EACH: usize = 30;
    let right = Server::new(app).with("--watchdog-ms", "0").start().get("/").text();
    for jit in ["tracing", "function"] {
        for option in ["--preempt-ms", "--watchdog-ms"] {
            let server = Server::new(app).with(option, "1").with("--request-timeout-ms", "20000");
            // The file is new: opcache would not keep it, and there would be no JIT.
            let server = server.with("--define", "opcache.file_update_protection=0");
            let weft = server.with("--define", &format!("opcache.jit={jit}")).start();
            std::thread::scope(|scope| {
                for _ in 0..AT_ONCE {
                    scope.spawn(|| {
                        for _ in 0..EACH {
                            assert_eq!(weft.get("/").text(), right, "{option} 1, {jit}");
                        }
                    });
                }
            });
        }
    }
}

#[test]
fn a_worker_that_keeps_dying_is_started_later_and_later() {
    let mut weft = server().start();
    for round in 0..2 {
        // The answer shows that the worker serves; a crash during boot is a different case.
        assert_eq!(weft.get("/").status, 200);
        let worker = until("a worker", || weft.workers().first().copied());
        process::signal(worker, Signal::KILL);
        weft.wait_for_log_times("was killed by signal 9", round + 1);
        until("it to be gone", || (!process::is_alive(worker)).then_some(()));
    }
    weft.wait_for_log("worker 0 is started again in 1 s");
    // Meanwhile its connections wait in the queue.
    assert_eq!(weft.get("/").status, 200);
}

#[test]
fn connections_are_spread_evenly() {
    let weft = server().with("--workers", "2").start();
    let mut clients = Vec::new();
    let mut shares: HashMap<String, usize> = HashMap::new();
    for _ in 0..400 {
        let mut client = weft.connect();
        client.get("/");
        *shares.entry(client.read().text()).or_default() += 1;
        clients.push(client);
    }
    assert_eq!(shares.len(), 2, "{shares:?}");
    assert!(shares.values().all(|share| *share >= 120), "{shares:?}");
}

#[test]
fn a_worker_that_is_busy_does_not_keep_connections_from_the_other() {
    let weft = server().with("--workers", "2").start();
    let mut busy = weft.connect();
    busy.get("/?spin=enough");
    until("a worker to spin", || (weft.read("spinning") == "yes").then_some(()));
    let mut answered = 0;
    let mut clients: Vec<_> = (0..20).map(|_| weft.connect()).collect();
    for client in &mut clients {
        client.get("/");
    }
    until("some of them to be answered", || {
        answered = clients.iter_mut().map(|client| usize::from(client.is_readable())).sum();
        (answered >= 3).then_some(())
    });
    assert!(!busy.is_readable(), "the worker was not busy any more");
    weft.write("enough", "yes");
    assert_eq!(busy.read().status, 200);
}

/// An application that reports its worker, and does not become ready while the file `hold` exists.
const HELD: &str =
    "while (is_file('hold')) { usleep(1000); clearstatcache(); } return fn () => (string) getmypid();";

#[test]
fn connections_that_wait_for_a_dead_worker_are_served_by_the_others() {
    let mut weft = Server::new(HELD).with("--workers", "2").start();
    let workers = weft.workers();
    let (dead, living) = (workers[0], workers[1]);
    assert_eq!(weft.get("/").status, 200);
    let sockets = process::listening_sockets(living);
    process::signal(dead, Signal::STOP);
    until("it to stop", || process::is_stopped(dead).then_some(()));
    // Some of these are in that worker's queue, and it accepts none of them.
    let mut clients: Vec<_> = (0..40).map(|_| weft.connect()).collect();
    for client in &mut clients {
        client.get("/");
    }
    weft.write("hold", "yes");
    process::signal(dead, Signal::KILL);
    for client in &mut clients {
        assert_eq!(client.read().text(), living.to_string());
    }
    // New connections are not affected either.
    for _ in 0..40 {
        assert_eq!(weft.get("/").text(), living.to_string());
    }
    std::fs::remove_file(weft.path("hold")).unwrap();
    until("the replacement to serve", || (weft.get("/").text() != living.to_string()).then_some(()));
    until("each to have its own sockets", || (process::listening_sockets(living) == sockets).then_some(()));
    weft.wait_for_log("was killed by signal 9");
}

#[test]
fn a_reload_while_others_stand_in_gives_each_its_own_sockets() {
    let mut weft = Server::new(HELD).with("--workers", "2").start();
    let workers = weft.workers();
    let sockets = process::listening_sockets(workers[1]);
    weft.write("hold", "yes");
    process::signal(workers[0], Signal::KILL);
    until("the other to stand in", || (process::listening_sockets(workers[1]) > sockets).then_some(()));
    weft.signal(Signal::HUP);
    std::fs::remove_file(weft.path("hold")).unwrap();
    weft.wait_for_log("reload: generation 2 is ready");
    until("the old ones to go", || (weft.workers().len() == 2).then_some(()));
    for worker in weft.workers() {
        assert_eq!(process::listening_sockets(worker), sockets);
    }
    assert_eq!(weft.get("/").status, 200);
}

/// Blocks in one C function for longer than any test waits, if a request says so.
const STUCK: &str =
    "function compute() { return similar_text(str_repeat('ab', 200000), str_repeat('ba', 200000)); }
return function ($request) {
    if ($request->path() === '/stuck') { file_put_contents('spinning', 'yes'); return (string) compute(); }
    return (string) getmypid();
};";

#[test]
fn a_stuck_worker_is_replaced_and_its_place_in_the_code_is_logged() {
    let mut weft = Server::new(STUCK).with("--stuck-timeout-ms", "2000").start();
    let before = weft.workers();
    let mut stuck = weft.connect();
    stuck.get("/stuck");
    weft.wait_for_log("(stuck_timeout_ms) and is killed");
    let log = weft.log();
    let line = log.lines().find(|line| line.contains("(stuck_timeout_ms)")).unwrap();
    for part in ["similar_text() at ", "app.php:2", "GET /stuck for ", "it computes, in a C function"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert_ne!(weft.get("/").text(), before[0].to_string());
    assert_eq!(stuck.read().status, 504);
}

#[test]
fn a_worker_that_is_stopped_is_replaced_though_it_cannot_say_anything() {
    let mut weft = Server::new(STUCK).with("--stuck-timeout-ms", "2000").start();
    let worker = weft.workers()[0];
    assert_eq!(weft.get("/").status, 200);
    process::signal(worker, Signal::STOP);
    weft.wait_for_log("(stuck_timeout_ms) and is killed");
    assert_ne!(weft.get("/").text(), worker.to_string());
}

#[test]
fn connections_to_a_blocked_worker_are_served_by_the_others() {
    let weft = Server::new(STUCK).with("--workers", "2").with("--stuck-timeout-ms", "0").start();
    let mut stuck = weft.connect();
    stuck.get("/stuck");
    until("it to be stuck", || (weft.read("spinning") == "yes").then_some(()));
    let mut clients: Vec<_> = (0..40).map(|_| weft.connect()).collect();
    for client in &mut clients {
        client.get("/");
    }
    for client in &mut clients {
        assert_eq!(client.read().status, 200);
    }
    assert!(!stuck.is_readable());
    assert_eq!(weft.workers().len(), 2);
}

#[test]
fn a_classic_worker_that_is_stuck_names_its_script() {
    let script = "<?php if (isset($_GET['stuck'])) { echo similar_text(str_repeat('ab', 200000), str_repeat('ba', 200000)); } echo getmypid();";
    let mut weft = Server::of_docroot(&[("index.php", script)]).with("--stuck-timeout-ms", "2000").start();
    let mut stuck = weft.connect();
    stuck.get("/?stuck=1");
    weft.wait_for_log("(stuck_timeout_ms) and is killed: similar_text() at ");
    weft.wait_for_log("index.php:1; GET /");
    assert_eq!(weft.get("/").status, 200);
}

#[test]
fn channels_lose_nothing_although_coroutines_that_compute_are_preempted() {
    // Nearly all of the sender's time is in the library's code, whose receivers it wakes one after the other.
    let app = "use Weft\\{Channel, Scope};
        return function () {
            $sum = 0;
            Scope::run(function (Scope $scope) use (&$sum): void {
                $channels = array_map(fn () => new Channel(1), range(1, 2000));
                foreach ($channels as $channel) {
                    $scope->go(function () use ($channel, &$sum): void {
                        for ($i = 0; $i < 30; $i++) { $sum += $channel->receive(); }
                    });
                }
                for ($i = 0; $i < 30; $i++) { foreach ($channels as $channel) { $channel->send(1); } }
            });
            return (string) $sum;
        };";
    let weft = Server::new(app)
        .with("--preempt-ms", "1")
        .with("--watchdog-ms", "0")
        .with("--define", "opcache.jit=disable")
        .start();
    for _ in 0..3 {
        assert_eq!(weft.get("/").text(), "60000", "{}", weft.log());
    }
}
