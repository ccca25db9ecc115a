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
    let running = Server::of_docroot(&[("owner.php", owner), ("other.php", other)])
        .with_flag("--process-functions")
        .with("--instances", "4")
        .start();
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

/// Programs start with default actions, although a worker ignores the signals that concern its master: a program keeps
/// what is ignored, and could not be ended.
#[test]
fn a_program_ignores_no_signal_whatever_starts_it_in_any_mode() {
    const PROGRAMS: &str = r#"
        $ask = "grep '^SigIgn' /proc/self/status";
        $opened = function (string|array $command): string {
            $process = proc_open($command, [1 => ['pipe', 'w']], $pipes);
            return fgets($pipes[1]);
        };
        $said = ['exec' => exec($ask), 'shell_exec' => shell_exec($ask), 'popen' => fgets(popen($ask, 'r')),
            'proc_open' => $opened($ask), 'a list' => $opened(['grep', '^SigIgn', '/proc/self/status'])];
        $file = tempnam(sys_get_temp_dir(), 'ignored');
        if (($child = pcntl_fork()) === 0) {
            pcntl_exec('/bin/sh', ['-c', "$ask >$file"]);
        }
        pcntl_waitpid($child, $status);
        $said['pcntl_exec'] = file_get_contents($file);
        unlink($file);
        $sleeps = proc_open(['sleep', '600'], [], $pipes);
        proc_terminate($sleeps);
        // Real-time signals belong to the C library.
        $ignored = fn (string $line) => hexdec(substr($line, -9)) & 0x7fffffff;
        return json_encode(array_map($ignored, $said) + ['ended by' => proc_close($sleeps)]);
    "#;
    const NONE: &str =
        r#"{"exec":0,"shell_exec":0,"popen":0,"proc_open":0,"a list":0,"pcntl_exec":0,"ended by":15}"#;
    let handler = format!("return function () {{ {PROGRAMS} }};");
    let page = format!("<?php echo (function () {{ {PROGRAMS} }})();");
    let servers = [
        Server::new(&handler),
        Server::new(&handler).with("--run-as", "resident"),
        Server::new(&handler).with("--run-as", "resident").with("--instances", "3"),
        Server::of_docroot(&[("index.php", &page)]).with_flag("--process-functions"),
        Server::of_docroot(&[("index.php", &page)]).with_flag("--process-functions").with("--instances", "1"),
    ];
    for server in servers {
        let running = server.start();
        for _ in 0..2 {
            assert_eq!(running.get("/").text(), NONE, "{}", running.log());
        }
    }
}
