//! A page that computes in C code, or is in a system call when its time slice ends.

use std::thread;

use weft_tests::{Server, until};

use crate::ask;
use crate::slices::overtakes;

/// One call of C code that lasts for seconds.
const CALLS: [(&str, &str); 4] = [
    ("preg_match", "preg_match('/^(a+)+$/', str_repeat('a', 31) . 'b')"),
    ("gzencode", "gzencode(str_repeat(random_bytes(1 << 20), 128), 9)"),
    ("imagescale", "imagescale(imagecreatetruecolor(1500, 1500), 9000, 9000, IMG_BICUBIC)"),
    ("password_hash", "password_hash('secret', PASSWORD_BCRYPT, ['cost' => 16])"),
];

#[test]
fn a_light_page_is_answered_while_one_worker_is_in_a_long_call_of_c_code() {
    for (name, call) in CALLS {
        let heavy = format!(
            "<?php touch(__DIR__ . '/computing'); {call}; touch(__DIR__ . '/ended'); echo 'computed';"
        );
        let pages = [("heavy.php", heavy.as_str()), ("light.php", "<?php echo 'light';")];
        let weft = Server::of_docroot(&pages)
            .with("--extra-workers-max", "2")
            // A light page that has begun stays with its worker: none may begin in between.
            .with("--slice-ms", "0")
            .with("--define", "pcre.jit=0")
            .with("--define", "pcre.backtrack_limit=1000000000")
            .with("--define", "memory_limit=2G")
            .start();
        let mut heavy = weft.connect();
        heavy.get("/heavy.php");
        until("it to compute", || weft.path("public/computing").exists().then_some(()));
        for _ in 0..5 {
            assert_eq!(ask(&weft, "GET", "/light.php", "").text(), "light", "{name}");
        }
        assert!(!weft.path("public/ended").exists(), "{name} was too short to show anything");
    }
}

/// System calls that a signal would end: the kernel restarts none of them, whatever the flags of its handler.
const WAITS: &str = r#"<?php
function stopped(): bool { clearstatcache(); return is_file(__DIR__ . '/stop'); }
touch(__DIR__ . '/computing');
$libc = FFI::cdef('long syscall(long number, ...); struct time { long seconds; long parts; }; struct event { char bytes[16]; };');
$poll = 7; $select = 23; $nanosleep = 35; $epoll_wait = 232;
$epoll = $libc->syscall(213, 1);
$event = $libc->new('struct event');
do {
    $time = $libc->new('struct time');
    $time->parts = 12000;
    $short = $libc->new('struct time');
    $short->parts = 12000000;
    $results = [
        'poll' => $libc->syscall($poll, null, 0, 12),
        'select' => $libc->syscall($select, 0, null, null, null, FFI::addr($time)),
        'nanosleep' => $libc->syscall($nanosleep, FFI::addr($short), null),
        'epoll_wait' => $libc->syscall($epoll_wait, $epoll, FFI::addr($event), 1, 12),
    ];
    if (array_filter($results)) { echo 'ended early: ', json_encode($results); exit; }
} while (!stopped());
echo 'computed';
"#;

#[test]
#[cfg(target_arch = "x86_64")]
fn no_system_call_ends_early_because_a_slice_ends() {
    // All of its time is in system calls, so that is where its slices end.
    let weft = Server::of_docroot(&[("waits.php", WAITS), ("light.php", "<?php echo 'light';")])
        .with("--instances", "8")
        .with("--define", "ffi.enable=1")
        .start();
    overtakes(&weft, "/waits.php");
}

/// Calls of PHP and of a client library that wait, on a worker that is never idle.
const LIBRARIES: &str = r#"<?php
for ($round = 0; $round < 10; $round++) {
    if (usleep(3000) !== null) { echo "usleep\n"; }
    if (time_nanosleep(0, 3000000) !== true) { echo "time_nanosleep\n"; }
    [$one, $other] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $read = [$one]; $none = null;
    if (stream_select($read, $none, $none, 0, 3000) !== 0) { echo "stream_select\n"; }
    $pipe = popen('sleep 0.01; echo out', 'r');
    if (fgets($pipe) !== "out\n" || pclose($pipe) !== 0) { echo "popen\n"; }
    for ($i = 0, $sum = 0; $i < 200000; $i++) { $sum += $i; }
}
echo 'whole';
"#;

#[test]
fn waits_of_php_are_whole_beside_pages_that_compute() {
    let heavy = "<?php touch(__DIR__ . '/computing');
        do { for ($i = 0; $i < 300000; $i++) { } clearstatcache(); } while (!is_file(__DIR__ . '/stop')); echo 'computed';";
    let pages = [("heavy.php", heavy), ("waits.php", LIBRARIES)];
    let weft = Server::of_docroot(&pages).with("--instances", "8").start();
    thread::scope(|scope| {
        let weft = &weft;
        let heavy: Vec<_> =
            (0..2).map(|_| scope.spawn(move || ask(weft, "GET", "/heavy.php", "").text())).collect();
        until("it to compute", || weft.path("public/computing").exists().then_some(()));
        let waits: Vec<_> =
            (0..3).map(|_| scope.spawn(move || ask(weft, "GET", "/waits.php", "").text())).collect();
        for page in waits {
            assert_eq!(page.join().expect("a response"), "whole");
        }
        weft.write("public/stop", "");
        for page in heavy {
            assert_eq!(page.join().expect("a response"), "computed");
        }
    });
}
