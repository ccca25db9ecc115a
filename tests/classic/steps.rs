//! Slices of a few machine instructions: what holds a lock of others, or calls PHP code back from C code, stays whole.

#![cfg(target_arch = "x86_64")]

use std::thread;

use weft_tests::services::MariaDb;
use weft_tests::{Running, Server};

use crate::ask;

const JITS: [&str; 3] = ["off", "function", "tracing"];

/// A server whose slices end after at most 100 instructions of PHP code.
fn server(pages: &[(&str, &str)], jit: &str) -> Server {
    Server::of_docroot(pages)
        .with("--instances", "8")
        .with("--yield-at-instructions", "100")
        .with("--queue-timeout-ms", "100000")
        .with("--define", "opcache.file_update_protection=0")
        .with("--define", &format!("opcache.jit={jit}"))
}

/// What four requests at once say.
fn four(weft: &Running, page: &str) -> Vec<String> {
    thread::scope(|scope| {
        let asked: Vec<_> = (0..4)
            .map(|n| scope.spawn(move || ask(weft, "GET", &format!("/{page}?n={n}"), "").text()))
            .collect();
        asked.into_iter().map(|one| one.join().expect("a response")).collect()
    })
}

/// The cache's lock is held while `apcu_entry()` calls back.
const APCU: &str = r#"<?php
$n = (int) $_GET['n'];
apcu_add('count', 0);
for ($i = 0; $i < 5; $i++) {
    apcu_inc('count');
    $made = apcu_entry("entry$i", function (string $key): array { for ($j = 0, $sum = 0; $j < 20; $j++) { $sum += $j; } return [$key, $sum]; });
    if ($made !== ["entry$i", 190]) { echo 'wrong: ', json_encode($made); }
    apcu_store("own$n", array_fill(0, 20, $n * $i));
    if (apcu_fetch("own$n") !== array_fill(0, 20, $n * $i)) { echo 'wrong: own'; }
}
echo 'whole';
"#;

#[test]
fn apcu_is_whole() {
    for jit in JITS {
        let pages = [("apcu.php", APCU), ("count.php", "<?php echo apcu_fetch('count');")];
        let weft = server(&pages, jit).start();
        assert_eq!(four(&weft, "apcu.php"), ["whole"; 4], "{jit}: {}", weft.log());
        assert_eq!(ask(&weft, "GET", "/count.php", "").text(), "20", "{jit}");
    }
}

/// All compile the same files at the same time, each with functions that become hot.
const COMPILES: &str = r#"<?php
for ($i = 0; $i < 3; $i++) {
    $file = __DIR__ . "/made-$i.php";
    if (!is_file($file)) {
        $temporary = $file . $_GET['n'];
        file_put_contents($temporary, "<?php return new class { public array \$list = [1, 'two', [3]];
            function sum(int \$to): int { for (\$i = 0, \$s = $i; \$i < \$to; \$i++) { \$s += \$i; } return \$s; } };");
        rename($temporary, $file);
    }
    opcache_compile_file($file);
    $made = include $file;
    if ($made->sum(70) !== 2415 + $i || $made->list !== [1, 'two', [3]]) { echo 'wrong'; }
}
echo 'whole';
"#;

#[test]
fn opcache_is_whole() {
    for jit in JITS {
        let weft = server(&[("compiles.php", COMPILES)], jit).start();
        assert_eq!(four(&weft, "compiles.php"), ["whole"; 4], "{jit}: {}", weft.log());
        assert_eq!(four(&weft, "compiles.php"), ["whole"; 4], "{jit}: compiled already");
    }
}

/// Each of curl's callbacks, for a file that the same worker sends.
const CURL: &str = r#"<?php
$curl = curl_init("http://127.0.0.1:$_SERVER[SERVER_PORT]/data.txt");
[$body, $lines, $calls] = ['', 0, 0];
curl_setopt_array($curl, [
    CURLOPT_WRITEFUNCTION => function ($curl, string $part) use (&$body): int { $body .= $part; return strlen($part); },
    CURLOPT_HEADERFUNCTION => function ($curl, string $line) use (&$lines): int { $lines++; return strlen($line); },
    CURLOPT_NOPROGRESS => false,
    CURLOPT_XFERINFOFUNCTION => function () use (&$calls): int { $calls++; return 0; },
]);
$done = curl_exec($curl);
echo $done && md5($body) === md5_file(__DIR__ . '/data.txt') && $lines > 3 && $calls > 0 ? 'whole' : curl_error($curl);
"#;

#[test]
fn callbacks_of_curl_are_whole() {
    let data = "0123456789abcdef".repeat(20_000);
    for jit in JITS {
        let weft = server(&[("curl.php", CURL), ("data.txt", &data)], jit).start();
        assert_eq!(four(&weft, "curl.php"), ["whole"; 4], "{jit}: {}", weft.log());
    }
}

const POLLS: &str = r#"<?php
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$n = (int) $_GET['n'];
$links = [];
for ($i = 0; $i < 2; $i++) {
    $links[$i] = new mysqli('127.0.0.1', 'root', '', 'weft', (int) getenv('MYSQL_PORT'));
    $links[$i]->query("SELECT SLEEP(0.02), $n + $i AS sum", MYSQLI_ASYNC);
}
$sum = 0;
while ($links) {
    $read = $error = $reject = array_values($links);
    // It would say -1 or warn if a system call had ended early.
    $ready = mysqli_poll($read, $error, $reject, 10);
    if ($ready === false || $ready < 1) { exit("poll: $ready"); }
    foreach ($read as $link) {
        $sum += $link->reap_async_query()->fetch_object()->sum;
        $links = array_filter($links, fn ($other) => $other !== $link);
    }
}
echo $sum === 2 * $n + 1 ? 'whole' : "wrong: $sum";
"#;

#[test]
fn mysqli_poll_is_whole() {
    let database = MariaDb::start();
    for jit in JITS {
        let weft = server(&[("polls.php", POLLS)], jit)
            .with_variable("MYSQL_PORT", &database.port.to_string())
            .start();
        assert_eq!(four(&weft, "polls.php"), ["whole"; 4], "{jit}: {}", weft.log());
    }
}

/// The handler is called between two instructions of a loop, and in a wait.
const ALARM: &str = r#"<?php
pcntl_async_signals(true);
$rang = 0;
pcntl_signal(SIGALRM, function () use (&$rang): void { for ($i = 0; $i < 20; $i++) { } $rang += $i; });
pcntl_alarm(1);
for ($i = 0, $sum = 0; !$rang; $i++) { $sum += 3; }
if ($sum !== 3 * $i || $rang !== 20) { exit("wrong: $sum $i $rang"); }
pcntl_alarm(1);
$left = sleep(30);
echo $rang === 40 && $left > 20 ? 'whole' : "wrong: $rang $left";
"#;

#[test]
fn a_handler_of_an_alarm_is_whole() {
    let light = "<?php for ($i = 0, $sum = 0; $i < 100; $i++) { $sum += $i; } echo $sum;";
    for jit in JITS {
        let weft = server(&[("alarm.php", ALARM), ("light.php", light)], jit)
            .with_flag("--process-functions")
            .start();
        thread::scope(|scope| {
            let alarm = scope.spawn(|| ask(&weft, "GET", "/alarm.php", "").text());
            assert_eq!(four(&weft, "light.php"), ["4950"; 4], "{jit}");
            assert_eq!(alarm.join().expect("a response"), "whole", "{jit}: {}", weft.log());
        });
    }
}
