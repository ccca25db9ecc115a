//! Child processes of requests: which descriptors they keep open, and what happens to children that nobody
//! waits for.

use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use weft_tests::services::Redis;
use weft_tests::{Running, Server, process, until};

/// `hold=PORT` opens a connection and a locked file, and ends when the connection says so. `start=HOW` starts a child
/// that outlives its request.
const BODY: &str = r#"
    if (isset($_GET['hold'])) {
        $connection = stream_socket_client("tcp://127.0.0.1:{$_GET['hold']}");
        $locked = fopen(__DIR__ . '/locked', 'c');
        flock($locked, LOCK_EX);
        fwrite($connection, 'x');
        fread($connection, 1);
        return 'let go';
    }
    switch ($_GET['start']) {
        case 'exec':
            return exec('sleep 600 >/dev/null 2>&1 & echo $!');
        case 'shell_exec':
            return trim(shell_exec('sleep 600 >/dev/null 2>&1 & echo $!'));
        case 'popen':
            $GLOBALS['kept'][] = $reads = popen('echo $$; exec sleep 600 2>&1', 'r');
            return trim(fgets($reads));
        case 'proc_open':
            $GLOBALS['kept'][] = $process = proc_open(['sleep', '600'], [], $pipes);
            return (string) proc_get_status($process)['pid'];
        case 'mail':
            mail('a@b', 'c', 'd');
            return trim(file_get_contents('mail.pid'));
    }
    $child = pcntl_fork();
    while ($child === 0) {
        sleep(600);
    }
    return (string) $child;
"#;

/// A request that holds the connection and the file of [`HOLDER`], and its peer.
struct Held {
    request: weft_tests::Client,
    peer: TcpStream,
}

fn hold(weft: &Running) -> Held {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut request = weft.connect();
    request.get(&format!("/?hold={}", listener.local_addr().unwrap().port()));
    let (mut peer, _) = listener.accept().unwrap();
    peer.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    peer.read_exact(&mut [0]).unwrap();
    Held { request, peer }
}

impl Held {
    /// Ends the request and checks that, once it is answered, its connection has closed and its lock is free.
    fn let_go(mut self, locked: &Path, how: &str) {
        let locked = File::open(locked).unwrap();
        assert!(
            matches!(locked.try_lock(), Err(TryLockError::WouldBlock)),
            "{how}: the request holds no lock"
        );
        self.peer.write_all(b"x").unwrap();
        assert_eq!(self.request.read().text(), "let go");
        assert_eq!(self.peer.read(&mut [0]).unwrap(), 0, "{how}");
        locked.try_lock().unwrap_or_else(|error| panic!("{how}: {error}"));
    }
}

/// Starts a child in each way while another request holds something, which it then releases.
fn keeps_nothing(weft: &Running, locked: &Path, ways: &[&str]) {
    for how in ways {
        let held = hold(weft);
        let child = weft.get(&format!("/?start={how}")).text();
        let child: u32 = child.parse().unwrap_or_else(|_| panic!("{how} has started nothing: {child}"));
        held.let_go(locked, how);
        assert!(process::is_alive(child), "{how}: its child has ended, so this shows nothing");
        process::signal(child, Signal::KILL);
    }
}

#[test]
fn a_child_of_one_request_keeps_no_connection_and_no_lock_of_another() {
    let server = Server::new(&format!("return function (): string {{ {BODY} }};"));
    let sendmail = server.directory().join("sendmail");
    let text = "cat >/dev/null\nsleep 600 >/dev/null 2>&1 &\necho $! > mail.pid\n";
    let setting = format!("sendmail_path=sh {}", sendmail.display());
    let weft = server.with_file("sendmail", text).with("--define", &setting).start();
    let ways = ["exec", "shell_exec", "popen", "proc_open", "mail", "pcntl_fork"];
    keeps_nothing(&weft, &weft.path("locked"), &ways);
}

#[test]
fn a_child_of_one_instance_keeps_no_connection_and_no_lock_of_another() {
    let script = format!("<?php echo (function (): string {{ {BODY} }})();");
    let weft = Server::of_docroot(&[("index.php", &script)]).with_flag("--process-functions").start();
    // A stream of popen() that is left open is closed with its request, which waits for the command.
    keeps_nothing(&weft, &weft.path("public/locked"), &["exec", "shell_exec", "proc_open", "pcntl_fork"]);
}

#[test]
fn a_forked_child_has_every_file_that_its_request_has_opened() {
    let app = r"return function (): string {
        $files = array_map(static fn () => tmpfile(), range(1, 32));
        $child = pcntl_fork();
        if ($child === 0) {
            exit(count(array_filter($files, static fn ($file) => (fstat($file)['mode'] & 0170000) !== 0100000)));
        }
        pcntl_waitpid($child, $status);
        return pcntl_wexitstatus($status) . ' missing';
    };";
    let weft = Server::new(app).start();
    // The first connection gets the lowest number that is free when the worker begins to serve, which must be free again
    // when the second asks.
    let [mut first, mut second] = [weft.connect(), weft.connect()];
    for client in [&mut first, &mut second] {
        client.get("/");
        assert_eq!(client.read().text(), "0 missing");
    }
    first.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(first.read().text(), "0 missing");
    first.expect_closed();
    drop(first);
    second.get("/");
    assert_eq!(second.read().text(), "0 missing");
}

#[test]
fn a_database_sees_the_end_of_a_connection_though_another_request_has_started_a_child() {
    let redis = Redis::start();
    let app = r#"return function (): string {
        $redis = new Redis();
        $redis->connect('127.0.0.1', (int) getenv('REDIS_PORT'));
        if (isset($_GET['hold'])) {
            $redis->client('setname', 'held');
            file_put_contents('held', '');
            while (!file_exists('end')) {
                usleep(1000);
            }
            return 'ended';
        }
        if (isset($_GET['start'])) {
            return exec('sleep 600 >/dev/null 2>&1 & echo $!');
        }
        return json_encode(array_column($redis->client('list'), 'name'));
    };"#;
    let weft = Server::new(app).with_variable("REDIS_PORT", &redis.port.to_string()).start();
    let mut holder = weft.connect();
    holder.get("/?hold");
    until("the connection", || weft.path("held").exists().then_some(()));
    let child: u32 = weft.get("/?start").text().parse().unwrap();
    assert!(weft.get("/").text().contains("held"));
    weft.write("end", "");
    assert_eq!(holder.read().text(), "ended");
    until("the database to see its end", || (!weft.get("/").text().contains("held")).then_some(()));
    process::signal(child, Signal::KILL);
}

#[test]
fn a_forked_child_writes_to_the_log_that_another_request_has_opened_but_its_programs_do_not_have_it() {
    let app = r#"return function (): string {
        static $log, $peer;
        if (isset($_GET['hold'])) {
            $log = fopen('log', 'a');
            [$peer, $other] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
            while (!file_exists('end')) {
                usleep(1000);
            }
            return (string) fread($other, 100);
        }
        $child = pcntl_fork();
        if ($child === 0) {
            $said = @fwrite($peer, 'from the child');
            fwrite($log, 'said ' . json_encode($said) . ', ');
            $open = fn ($what) => str_contains(shell_exec('ls -l /proc/self/fd'), $what) ? 'inherited' : 'not inherited';
            fwrite($log, $open('/log') . ', ' . $open('socket:'));
            exit(0);
        }
        pcntl_waitpid($child, $status);
        fwrite($peer, 'from the parent');
        return file_get_contents('log');
    };"#;
    let weft = Server::new(app).start();
    let mut holder = weft.connect();
    holder.get("/?hold");
    until("the log", || weft.path("log").exists().then_some(()));
    assert_eq!(weft.get("/").text(), "said false, not inherited, not inherited");
    weft.write("end", "");
    assert_eq!(holder.read().text(), "from the parent");
}

/// `open` opens a file, locks it once `lock` exists, starts a program with `heir`, and ends with the file still locked.
/// `fork` starts a child that outlives its request.
const LOCKS_LATER: &str = r#"
    $in = fn (string $name) => __DIR__ . "/$name";
    $until = function (string $name) use ($in): void {
        while (!file_exists($in($name))) {
            usleep(1000);
        }
    };
    if (isset($_GET['open'])) {
        $file = fopen($in('locked'), 'c');
        touch($in('opened'));
        $until('lock');
        flock($file, LOCK_EX);
        $pid = isset($_GET['heir']) ? exec('sleep 600 >/dev/null 2>&1 & echo $!') : '0';
        touch($in('locks'));
        $until('end');
        fclose($file);
        return $pid;
    }
    $child = pcntl_fork();
    while ($child === 0) {
        sleep(600);
    }
    return (string) $child;
"#;

/// A file is opened, then another request forks, then the file is locked. Returns whether the lock is free when its
/// request is answered, and ends the processes that the two started.
fn is_free_then(weft: &Running, directory: &str, open: &str) -> bool {
    let path = |name: &str| weft.path(&format!("{directory}{name}"));
    let exists = |name: &str| until(name, || path(name).exists().then_some(()));
    let mut request = weft.connect();
    request.get(open);
    exists("opened");
    let child: u32 = weft.get("/").text().parse().unwrap();
    weft.write(&format!("{directory}lock"), "");
    exists("locks");
    let locked = File::open(path("locked")).unwrap();
    assert!(matches!(locked.try_lock(), Err(TryLockError::WouldBlock)), "the request holds no lock");
    weft.write(&format!("{directory}end"), "");
    let heir: u32 = request.read().text().parse().unwrap();
    assert!(process::is_alive(child), "the child has ended, so this shows nothing");
    let free = locked.try_lock().is_ok();
    for pid in [child, heir] {
        if pid > 0 {
            process::signal(pid, Signal::KILL);
        }
    }
    until("the lock to be free when all have ended", || (free || locked.try_lock().is_ok()).then_some(()));
    free
}

#[test]
fn a_lock_that_is_taken_after_another_request_has_forked_ends_with_its_request() {
    let weft = Server::new(&format!("return function (): string {{ {LOCKS_LATER} }};")).start();
    assert!(is_free_then(&weft, "", "/?open"), "the child of another request holds the lock");
}

#[test]
fn a_lock_that_is_taken_after_another_instance_has_forked_ends_with_its_request() {
    let script = format!("<?php echo (function (): string {{ {LOCKS_LATER} }})();");
    let weft = Server::of_docroot(&[("index.php", &script)]).with_flag("--process-functions").start();
    assert!(is_free_then(&weft, "public/", "/?open"), "the child of another request holds the lock");
}

#[test]
fn a_lock_lives_on_in_a_program_that_its_request_has_started() {
    let weft = Server::new(&format!("return function (): string {{ {LOCKS_LATER} }};")).start();
    assert!(!is_free_then(&weft, "", "/?open&heir"), "the program that has the file has lost its lock");
}

/// The state of a process, as in proc_pid_stat(5); `None` if the pid does not exist.
fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

fn gone(pid: u32, what: &str) {
    until(&format!("{what} to be gone, with nothing asked meanwhile"), || state(pid).is_none().then_some(()));
}

#[test]
fn a_command_whose_request_is_cancelled_is_reaped_when_it_ends() {
    let app = r#"return function (): string {
        $tell = "echo \$\$ > {$_GET['how']}; ";
        match ($_GET['how']) {
            'exec' => exec("$tell sleep 600"),
            'shell_exec' => shell_exec("$tell sleep 600"),
            'pclose' => pclose(popen("$tell exec sleep 600", 'w')),
            // These are not ended, as under php-fpm.
            'proc_close' => proc_close(proc_open("$tell exec sleep 600", [], $pipes)),
            'proc_open' => [proc_open("$tell exec sleep 600", [['pipe', 'r'], ['pipe', 'w']], $pipes), fgets($pipes[1])],
        };
        return 'not cancelled';
    };"#;
    // Long enough for each to start.
    let weft = Server::new(app).with("--request-timeout-ms", "2000").start();
    let ways = ["exec", "shell_exec", "pclose", "proc_close", "proc_open"];
    let mut requests = ways.map(|how| (how, weft.connect()));
    requests.iter_mut().for_each(|(how, request)| request.get(&format!("/?how={how}")));
    let pids = ways.map(|how| {
        until("the command", || std::fs::read_to_string(weft.path(how)).ok()?.trim().parse::<u32>().ok())
    });
    for ((how, request), pid) in requests.iter_mut().zip(pids) {
        assert_eq!(request.read().status, 504, "{how}");
        if how.starts_with("proc") {
            assert!(matches!(state(pid), Some('S' | 'R')), "{how}: {:?}", state(pid));
            process::signal(pid, Signal::KILL);
        }
        gone(pid, how);
    }
}

#[test]
fn a_child_that_a_request_leaves_behind_is_reaped_and_its_status_kept_for_who_asks() {
    let app = r#"$boot = pcntl_fork();
    if ($boot === 0) {
        pcntl_exec('/bin/sh', ['-c', 'exit 9']);
    }
    return function () use ($boot): string {
        switch (strtok($_SERVER['REQUEST_URI'], '?')) {
            case '/fork':
                if (($child = pcntl_fork()) === 0) {
                    pcntl_exec('/bin/sh', ['-c', 'while ! test -e end; do sleep 0.01; done; exit 7']);
                }
                return (string) $child;
            case '/open':
                $GLOBALS['kept'] = proc_open('while ! test -e end; do sleep 0.01; done; exit 8', [], $pipes);
                return (string) proc_get_status($GLOBALS['kept'])['pid'];
            case '/close':
                return (string) proc_close($GLOBALS['kept']);
            case '/any':
                $any = pcntl_wait($status);
                return ($any === $boot ? 'boot' : $any) . ' ' . ($any > 0 ? pcntl_wexitstatus($status) : '');
        }
        $pid = (int) $_GET['pid'];
        $first = pcntl_waitpid($pid, $status) === $pid ? pcntl_wexitstatus($status) : 'lost';
        return $first . ' ' . pcntl_waitpid($pid, $status);
    };"#;
    let weft = Server::new(app).start();
    assert_eq!(weft.get("/any").text(), "boot 9");
    let forked: u32 = weft.get("/fork").text().parse().unwrap();
    let opened: u32 = weft.get("/open").text().parse().unwrap();
    weft.write("end", "");
    gone(forked, "the forked child");
    gone(opened, "the opened one");
    assert_eq!(weft.get(&format!("/wait?pid={forked}")).text(), "7 -1");
    assert_eq!(weft.get("/close").text(), "8");
    let last: u32 = weft.get("/fork").text().parse().unwrap();
    gone(last, "the last one");
    assert_eq!(weft.get("/any").text(), format!("{last} 7"));
    assert_eq!(weft.get("/any").text(), "-1 ");
}

#[test]
fn a_request_waits_for_any_of_its_own_children_while_others_have_theirs() {
    let app = r#"return function (): string {
        if (isset($_GET['command'])) {
            exec('while ! test -e end; do sleep 0.01; done; exit 3', $output, $code);
            return (string) $code;
        }
        foreach ([4, 5] as $code) {
            if (pcntl_fork() === 0) {
                pcntl_exec('/bin/sh', ['-c', "exit $code"]);
            }
        }
        $codes = [];
        while (pcntl_wait($status) > 0) {
            $codes[] = pcntl_wexitstatus($status);
        }
        sort($codes);
        file_put_contents('end', '');
        usleep(100_000); // its command has ended: a wait for any child could take its status
        return implode(' ', $codes) . ' ' . pcntl_wait($status);
    };"#;
    let weft = Server::new(app).start();
    let mut command = weft.connect();
    command.get("/?command");
    until("the command", || {
        weft.workers().iter().any(|&worker| !process::children(worker).is_empty()).then_some(())
    });
    assert_eq!(weft.get("/").text(), "4 5 -1");
    assert_eq!(command.read().text(), "3");
}
