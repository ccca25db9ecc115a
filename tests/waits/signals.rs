//! Signals of a worker's application: handlers run at once, also while every coroutine waits.

use rustix::process::Signal;
use weft_tests::{Server, process, until};

#[test]
fn a_handler_installed_at_boot_runs_while_all_requests_wait_and_ends_none_of_their_sleeps() {
    let running = Server::new(
        r#"pcntl_async_signals(true);
        pcntl_signal(SIGALRM, function () { file_put_contents(__DIR__ . '/signals', 'x', FILE_APPEND); });
        return function (Weft\Http\Request $request): string {
            file_put_contents(__DIR__ . '/waits', 'x', FILE_APPEND);
            $left = 0;
            while (!file_exists(__DIR__ . '/enough')) {
                $left += sleep(1);
            }
            return "left $left";
        };"#,
    )
    .start();
    let mut clients = [running.connect(), running.connect()];
    clients.iter_mut().for_each(|client| client.get("/"));
    until("both requests to wait", || (running.read("waits") == "xx").then_some(()));
    process::signal(running.workers()[0], Signal::ALARM);
    until("the handler", || (running.read("signals") == "x").then_some(()));
    process::signal(running.workers()[0], Signal::ALARM);
    until("the handler, again", || (running.read("signals") == "xx").then_some(()));
    running.write("enough", "");
    for client in &mut clients {
        assert_eq!(client.read().text(), "left 0");
    }
}

#[test]
fn a_handler_that_a_request_installed_interrupts_its_own_wait_only() {
    let running = Server::new(
        r#"pcntl_async_signals(true);
        return function (Weft\Http\Request $request): string {
            if ($request->path() === '/owner') {
                pcntl_signal(SIGALRM, function () use (&$seen) { $seen = true; });
            }
            file_put_contents(__DIR__ . '/waits', 'x', FILE_APPEND);
            $left = $request->path() === '/owner' ? sleep(20) : sleep(2);
            pcntl_signal(SIGALRM, SIG_IGN);
            return ($left > 0 ? 'interrupted' : 'slept') . (isset($seen) ? ', handled' : '');
        };"#,
    )
    .start();
    let mut clients = [running.connect(), running.connect()];
    clients[0].get("/owner");
    clients[1].get("/other");
    until("both requests to wait", || (running.read("waits") == "xx").then_some(()));
    // The first signals may arrive before it sleeps.
    until("the owner's answer", || {
        process::signal(running.workers()[0], Signal::ALARM);
        clients[0].is_readable().then_some(())
    });
    assert_eq!(clients[0].read().text(), "interrupted, handled");
    assert_eq!(clients[1].read().text(), "slept");
}

#[test]
fn an_exception_of_a_handler_that_interrupts_no_code_is_logged() {
    let mut running = Server::new(
        r#"pcntl_async_signals(true);
        pcntl_signal(SIGALRM, function () { throw new RuntimeException('nobody to interrupt'); });
        return fn (): string => 'alive';"#,
    )
    .start();
    let workers = running.workers();
    process::signal(workers[0], Signal::ALARM);
    running.wait_for_log("nobody to interrupt");
    assert_eq!(running.get("/").text(), "alive");
    assert_eq!(running.workers(), workers, "the worker has ended");
}

#[test]
fn a_handler_for_a_signal_of_the_servers_is_refused_and_the_signal_drains_whatever_the_mask() {
    let mut running = Server::new(
        r#"return function (): string {
            set_error_handler(function ($level, $message) use (&$warnings) { $warnings[] = $message; return true; });
            $taken = [];
            foreach ([SIGTERM, SIGQUIT, SIGINT, SIGHUP, SIGUSR1, SIGUSR2] as $signal) {
                $taken[] = pcntl_signal($signal, fn () => exit('a handler ran'));
            }
            pcntl_sigprocmask(SIG_SETMASK, []);
            $child = pcntl_fork();
            if ($child === 0) { // not a worker: its signals are its own
                pcntl_async_signals(true);
                pcntl_sigprocmask(SIG_SETMASK, []);
                pcntl_signal(SIGTERM, fn () => exit(7));
                posix_kill(getmypid(), SIGTERM);
                exit(8);
            }
            pcntl_waitpid($child, $status);
            return json_encode([$taken, count($warnings), $warnings[0], pcntl_wexitstatus($status)]);
        };"#,
    )
    .start();
    let said = running.get("/").json();
    assert_eq!(said[0], serde_json::json!([false, false, false, false, false, false]));
    assert_eq!((&said[1], &said[3]), (&6.into(), &7.into()), "{said}");
    let warning = said[2].as_str().unwrap_or_default();
    assert!(warning.contains("SIGTERM is weft's own in a worker"), "{warning}");
    let worker = running.workers()[0];
    process::signal(worker, Signal::TERM);
    until("another worker", || running.workers().first().is_some_and(|now| *now != worker).then_some(()));
    assert_eq!(running.get("/").status, 200);
    running.signal(Signal::TERM);
    running.wait();
    assert!(!running.log().contains("killed by signal"), "{}", running.log());
}

#[test]
fn with_instances_a_handler_waits_until_the_one_that_installed_it_runs() {
    let owner = r#"<?php
        pcntl_async_signals(true);
        pcntl_signal(SIGALRM, function ($signal, $info) { global $seen; $seen = $info['signo']; });
        touch('waits');
        $left = sleep(60);
        echo $left > 0 ? 'interrupted by ' : 'slept, ', $seen ?? 'nobody';"#;
    // Never parks, so its PHP instance is the active one when the signal arrives.
    let other = r#"<?php
        pcntl_async_signals(true);
        touch('runs');
        while (!file_exists('sent')) { clearstatcache(); }
        echo isset($seen) ? 'disturbed' : 'undisturbed';"#;
    let running =
        Server::of_docroot(&[("owner.php", owner), ("other.php", other)]).with("--instances", "4").start();
    let mut clients = [running.connect(), running.connect()];
    clients[0].get("/owner.php");
    until("the owner to wait", || running.path("public/waits").exists().then_some(()));
    clients[1].get("/other.php");
    until("the other to run", || running.path("public/runs").exists().then_some(()));
    process::signal(running.workers()[0], Signal::ALARM);
    running.write("public/sent", "");
    assert_eq!(clients[1].read().text(), "undisturbed");
    assert_eq!(clients[0].read().text(), format!("interrupted by {}", Signal::ALARM.as_raw()));
}
