//! A handler that forks: the child must not act as a second server.

use weft_tests::{Running, Server, until};

#[test]
fn a_child_of_a_handler_neither_answers_nor_serves() {
    let app = r#"return function ($r) {
            if ($r->path() !== '/fork') { return 'ok ' . getmypid(); }
            $pid = pcntl_fork();
            if ($pid === 0) {
                usleep(1000);
                file_put_contents('child', (string) getmypid());
                exit(7);
            }
            pcntl_waitpid($pid, $status);
            return json_encode([pcntl_wifexited($status), pcntl_wexitstatus($status), file_get_contents('child') === (string) $pid]);
        };"#;
    let weft = Server::new(app).start();
    let before = weft.get("/").text();
    let mut client = weft.connect();
    for _ in 0..5 {
        client.get("/fork");
        let response = client.read();
        assert_eq!(response.text(), "[true,7,true]");
        client.get("/");
        assert_eq!(client.read().text(), before, "the child answered in its parent's place");
    }
    assert!(!client.is_readable(), "somebody said more than was asked for");
}

#[test]
fn a_program_started_by_a_handler_inherits_no_connection() {
    let app = r#"return function ($r) {
            if ($r->path() === '/fds') { return shell_exec('ls -l /proc/self/fd'); }
            $GLOBALS['kept'][] = proc_open(['sleep', '600'], [], $pipes);
            return 'started';
        };"#;
    let weft = Server::new(app).start();
    let mut client = weft.connect();
    client.send("GET /start HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(client.read().text(), "started");
    // If the socket were open in the program as well, this end would never come.
    client.expect_closed();
    let fds = weft.get("/fds").text();
    assert!(!fds.contains("socket:"), "{fds}");
}

/// A child that takes the numbers of the descriptors closed in it, prints as much as a response streams, and reports
/// what has arrived at its own sockets.
const TAKES_NUMBERS: &str = r#"
    $pairs = [];
    for ($n = 0; $n < 700; $n++) {
        $pairs[] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    }
    $says = function () use ($pairs): void {
        $heard = 0;
        foreach (array_merge(...$pairs) as $socket) {
            stream_set_blocking($socket, false);
            $heard += strlen(stream_get_contents($socket, 1 << 20));
        }
        file_put_contents('heard.new', "the child has heard $heard bytes");
        rename('heard.new', 'heard');
        posix_kill(getmypid(), SIGKILL);
    };
"#;

/// A request forks, and so does another one from another connection: each gets its own answer, and nothing else.
fn says_nothing_to_anybody(weft: &Running, heard: &str) {
    let mut other = weft.connect();
    other.get("/");
    assert_eq!(other.read().text(), "parent");
    for _ in 0..2 {
        let mut client = weft.connect();
        client.get("/fork");
        assert_eq!(client.read().text(), "parent");
        let heard_at = weft.path(heard);
        until("the child", || heard_at.exists().then_some(()));
        assert_eq!(std::fs::read_to_string(&heard_at).unwrap(), "the child has heard 0 bytes");
        std::fs::remove_file(heard_at).unwrap();
        client.get("/");
        assert_eq!(client.read().text(), "parent");
        assert!(!client.is_readable() && !other.is_readable(), "somebody said more than was asked for");
    }
}

#[test]
fn a_child_that_answers_writes_to_no_number_of_the_servers_in_coroutine_mode() {
    let app = format!(
        r#"return function ($r) {{
            if ($r->path() !== '/fork' || pcntl_fork() > 0) {{ return 'parent'; }}
            {TAKES_NUMBERS}
            return (function () use ($says) {{
                for ($n = 0; $n < 30; $n++) {{ yield str_repeat('x', 10_000); }}
                $says();
            }})();
        }};"#
    );
    says_nothing_to_anybody(&Server::new(&app).start(), "heard");
}

#[test]
fn a_child_that_answers_writes_to_no_number_of_the_servers_in_classic_mode() {
    let script = format!(
        r#"<?php
        if ($_SERVER['REQUEST_URI'] !== '/fork' || pcntl_fork() > 0) {{ echo 'parent'; return; }}
        {TAKES_NUMBERS}
        for ($n = 0; $n < 30; $n++) {{ echo str_repeat('x', 10_000); flush(); }}
        $says();"#
    );
    let weft = Server::of_docroot(&[("index.php", &script)]).with_flag("--process-functions").start();
    says_nothing_to_anybody(&weft, "public/heard");
}

#[test]
fn a_childs_messages_and_uncaught_exceptions_are_in_the_log() {
    let app = r#"return function ($r) {
            switch (pcntl_fork()) {
                case 0:
                    error_log('said by the child');
                    if ($r->path() === '/throw') { throw new Exception('thrown in the child'); }
                    trigger_error('warned by the child', E_USER_WARNING);
                    exit(3);
                default:
                    pcntl_wait($status);
                    return (string) pcntl_wexitstatus($status);
            }
        };"#;
    let mut weft = Server::new(app).start();
    assert_eq!(weft.get("/").text(), "3");
    weft.wait_for_log("said by the child");
    weft.wait_for_log("warned by the child");
    weft.get("/throw");
    weft.wait_for_log_times("said by the child", 2);
    weft.wait_for_log("thrown in the child");
    let log = weft.log();
    let of_a_child = |line: &&str| line.contains(" child of worker 0[") && line.contains("by the child");
    assert_eq!(log.lines().filter(of_a_child).count(), 3, "{log}");
}

#[test]
fn children_log_and_end_though_they_are_forked_while_threads_of_the_worker_are_at_work() {
    // Each request makes the writers of both logs work. A lookup and a file's fsync make other threads work.
    let app = r#"return function ($r) {
            if ($r->path() === '/work') {
                for ($n = 0; $n < 50; $n++) {
                    error_log(str_repeat('x', 100));
                    gethostbyname('localhost');
                }
                return 'worked';
            }
            for ($n = 0; $n < 40; $n++) {
                if (($pid = pcntl_fork()) === 0) {
                    error_log('I am a child');
                    exit(0);
                }
                error_log('I am the parent');
                $ended += pcntl_waitpid($pid, $status) === $pid && $status === 0;
            }
            return (string) $ended;
        };"#
    .replace("for ($n = 0; $n < 40", "$ended = 0;\n            for ($n = 0; $n < 40");
    let mut weft = Server::new(&app).with("--access-log", "access.log").start();
    let mut workers: Vec<_> = (0..8).map(|_| weft.connect()).collect();
    for round in 1..=5 {
        workers.iter_mut().for_each(|client| client.get("/work"));
        let mut forks = [weft.connect(), weft.connect()];
        forks.iter_mut().for_each(|client| client.get("/fork"));
        forks.iter_mut().for_each(|client| assert_eq!(client.read().text(), "40"));
        workers.iter_mut().for_each(|client| assert_eq!(client.read().text(), "worked"));
        weft.wait_for_log_times("I am a child", round * 80);
    }
}
