//! Time slices: a script that computes delays no other, loses no step, and can be ended.

use std::thread;

use weft_tests::{Running, Server, until};

use crate::ask;

const JITS: [&str; 4] = ["disable", "off", "function", "tracing"];

/// A server with one worker, whose scripts are compiled from their first run on.
fn server(pages: &[(&str, &str)], jit: &str) -> Server {
    with_slices_of("8", pages, jit)
}

fn with_slices_of(slice_ms: &str, pages: &[(&str, &str)], jit: &str) -> Server {
    Server::of_docroot(pages)
        .with("--instances", "8")
        .with("--slice-ms", slice_ms)
        .with("--define", "opcache.file_update_protection=0")
        .with("--define", &format!("opcache.jit={jit}"))
}

/// Asks for a page that computes until `stop` exists; `light.php` must be answered meanwhile.
pub fn overtakes(weft: &Running, target: &str) {
    let _ = std::fs::remove_file(weft.path("public/stop"));
    let _ = std::fs::remove_file(weft.path("public/computing"));
    thread::scope(|scope| {
        let heavy = scope.spawn(|| ask(weft, "GET", target, ""));
        until("it to compute", || weft.path("public/computing").exists().then_some(()));
        for _ in 0..5 {
            assert_eq!(ask(weft, "GET", "/light.php", "").text(), "light");
        }
        weft.write("public/stop", "");
        assert_eq!(heavy.join().expect("a response").text(), "computed");
    });
}

/// Computes in PHP's own code, or in short calls of C code, which alone take no slice.
const HEAVY: &str = r#"<?php
function stopped(): bool { clearstatcache(); return is_file(__DIR__ . '/stop'); }
touch(__DIR__ . '/computing');
if ($_GET['kind'] === 'loop') {
    do { for ($i = 0, $sum = 0; $i < 300000; $i++) { $sum = ($sum * 31 + $i) & 0xffffff; } } while (!stopped());
} else {
    do { for ($i = 0; $i < 50; $i++) { $hash = md5(str_repeat('a', 100000)); } } while (!stopped());
}
echo 'computed';
"#;

#[test]
fn a_light_page_overtakes_one_that_computes() {
    for jit in JITS {
        for slice_ms in ["8", "0.1"] {
            let pages = [("heavy.php", HEAVY), ("light.php", "<?php echo 'light';")];
            let weft = with_slices_of(slice_ms, &pages, jit).start();
            overtakes(&weft, "/heavy.php?kind=loop");
            overtakes(&weft, "/heavy.php?kind=calls");
        }
    }
}

#[test]
fn a_light_page_is_answered_long_before_the_slice_of_one_that_computes_has_ended() {
    for jit in JITS {
        let pages = [("heavy.php", HEAVY), ("light.php", "<?php echo 'light';")];
        let weft = with_slices_of("60000", &pages, jit).start();
        overtakes(&weft, "/heavy.php?kind=loop");
        overtakes(&weft, "/heavy.php?kind=calls");
    }
}

#[test]
fn light_pages_without_end_leave_time_to_one_that_computes() {
    let heavy = "<?php for ($i = 0, $sum = 0; $i < 20000000; $i++) { $sum += $i & 7; } echo $sum;";
    let weft = server(&[("heavy.php", heavy), ("light.php", "<?php echo 'light';")], "function").start();
    let ended = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                    assert_eq!(ask(&weft, "GET", "/light.php", "").text(), "light");
                }
            });
        }
        let heavy = ask(&weft, "GET", "/heavy.php", "");
        ended.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(heavy.text(), "70000000");
    });
}

#[test]
fn in_resident_mode_too() {
    let worker = "<?php while (frankenphp_handle_request(function () {
        if (str_starts_with($_SERVER['REQUEST_URI'], '/light')) { echo 'light'; return; }
        touch('computing');
        do { for ($i = 0, $sum = 0; $i < 300000; $i++) { $sum += $i; } clearstatcache(); } while (!is_file('stop'));
        echo 'computed';
    }));";
    let weft = Server::of_docroot(&[("worker.php", worker)]);
    let script = weft.directory().join("public/worker.php");
    let weft = weft
        .with("--worker", script.to_str().expect("UTF-8"))
        .with("--instances", "2")
        .with("--slice-ms", "8")
        .start();
    overtakes(&weft, "/heavy");
}

/// Code that C code calls, destructors, generators, Fibers, loops: each checks its own result.
const CALLED: &str = r#"<?php
spl_autoload_register(function (string $class): void { work(40); eval("class $class { const A = 1; }"); });
function work(int $n): int { for ($i = 0, $x = 7; $i < $n; $i++) { $x = ($x * 1103515245 + $i) & 0x7fffffff; } return $x; }
function expect(bool $right, string $what): void { if (!$right) { echo "wrong: $what\n"; } }
class Ends { public static int $count = 0; public ?Ends $self = null; function __destruct() { work(20); self::$count++; } }
function numbers(int $n): Generator { for ($i = 0; $i < $n; $i++) { work(5); yield $i; } }
$seed = (int) $_GET['n'];
mt_srand($seed);
$name = "Class$seed";
$known = work(40);
for ($round = 0; $round < 2; $round++) {
    $list = array_map(fn () => mt_rand(), range(1, 30));
    $sorted = $list;
    sort($sorted);
    usort($list, function (int $a, int $b): int { work(3); return $a <=> $b; });
    expect($list === $sorted, 'usort');
    $text = preg_replace_callback('/\d/', function (array $m): string { work(5); return (string) (9 - $m[0]); }, '0123456789');
    expect($text === '9876543210', 'preg_replace_callback');
    expect(array_sum(iterator_to_array(numbers(40))) === 780, 'generator');
    $fiber = new Fiber(function (): int { $all = 0; for ($i = 0; $i < 20; $i++) { $all += work(5) % 2 + Fiber::suspend($i); } return $all; });
    for ($sum = $fiber->start(); !$fiber->isTerminated(); ) { $sum += $fiber->resume(0) ?? 0; }
    expect($sum === 190, "Fiber $sum");
    Ends::$count = 0;
    for ($i = 0; $i < 20; $i++) { $one = new Ends; $one->self = $one; }
    unset($one);
    gc_collect_cycles();
    expect(Ends::$count === 20, 'destructors');
    ob_start(function (string $out): string { work(40); return ''; });
    echo 'not seen';
    ob_end_flush();
    $tags = [];
    $parser = xml_parser_create();
    xml_set_element_handler($parser, function ($p, string $tag) use (&$tags): void { work(10); $tags[] = $tag; }, fn () => work(5));
    xml_parse($parser, '<a><b/><c/><d/></a>', true);
    expect($tags === ['A', 'B', 'C', 'D'], 'xml_parse');
    $db = new PDO('sqlite::memory:');
    $db->sqliteCreateFunction('twice', function (int $n): int { work(40); return 2 * $n; });
    expect($db->query('SELECT twice(twice(5))')->fetchColumn() == 20, 'SQLite');
    expect(constant("$name$round::A") === 1, 'autoload');
    try { (function () { work(40); throw new LogicException('x'); })(); } catch (LogicException $e) { expect($e->getMessage() === 'x', 'exception'); }
    expect(work(40) === $known, 'loop');
    $float = 0.5; for ($i = 0; $i < 300; $i++) { $float = $float * 1.5 - (int) ($float * 1.5); }
    $floats[] = $float;
    $text = ''; foreach (range(0, 500) as $i) { $text .= chr(97 + $i % 26); }
    expect(crc32($text) === 394975486, 'text ' . crc32($text));
}
expect(count(array_unique($floats)) === 1, 'floats');
register_shutdown_function(function (): void { work(40); echo 'end'; });
if ($seed % 2) { exit('exit '); }
echo 'exit ';
"#;

#[test]
fn code_is_interrupted_wherever_it_is() {
    for jit in JITS {
        let weft = server(&[("called.php", CALLED)], jit)
            .with_flag("--yield-at-calls")
            .with("--queue-timeout-ms", "100000")
            .start();
        thread::scope(|scope| {
            let weft = &weft;
            let pages: Vec<_> = (0..6)
                .map(|n| scope.spawn(move || ask(weft, "GET", &format!("/called.php?n={n}"), "")))
                .collect();
            for page in pages {
                assert_eq!(page.join().expect("a response").text(), "exit end", "{jit}");
            }
        });
        assert!(!weft.log().contains("was killed"), "{jit}: {}", weft.log());
    }
}

/// Counts down to 0, as phpass does: where a step is repeated behind a check of the VM's, the count passes 0, and the loop has no end.
const COUNTS_DOWN: &str = r#"<?php
final class Hasher
{
    function hash(string $password, string $salt): string
    {
        $count = 1 << 13;
        $hash = md5($salt . $password, true);
        do {
            $hash = md5($hash . $password, true);
        } while (--$count);
        return bin2hex($hash);
    }
}
set_time_limit(5);
$hasher = new Hasher();
echo $hasher->hash('word', 'a'), $hasher->hash('word', 'b'), $hasher->hash('word', 'c');
"#;

#[test]
fn a_loop_that_counts_down_ends() {
    const AT_ONCE: usize = 8;
    const EACH: usize = 40;
    for jit in JITS {
        let weft = with_slices_of("1", &[("down.php", COUNTS_DOWN)], jit).start();
        let expected = ask(&weft, "GET", "/down.php", "").text();
        assert_eq!(expected.len(), 3 * 32, "{jit}: {expected}");
        thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        assert_eq!(ask(&weft, "GET", "/down.php", "").text(), expected, "{jit}");
                    }
                });
            }
        });
    }
}

#[test]
fn a_time_limit_is_reached_by_scripts_that_compute_a_little_at_a_time() {
    let page = r#"<?php
set_time_limit(1);
while (true) {
    for ($i = 0; $i < 20000; $i++) { }
    usleep(1);
}
"#;
    let weft = server(&[("index.php", page)], "off").with("--define", "display_errors=1").start();
    thread::scope(|scope| {
        let weft = &weft;
        let pages = [0, 1].map(|_| scope.spawn(move || ask(weft, "GET", "/", "").text()));
        for page in pages {
            let text = page.join().expect("a response");
            assert!(text.contains("Maximum execution time of 1 second exceeded"), "{text}");
        }
    });
}

#[test]
fn a_time_limit_counts_what_the_script_itself_computes() {
    let page = r#"<?php
set_time_limit((int) $_GET['limit']);
register_shutdown_function(function (): void { touch(__DIR__ . "/ended-$_GET[n]"); });
touch(__DIR__ . "/began-$_GET[n]");
for ($i = 0; ; $i++) {
    if ($i % 100000 === 0) {
        clearstatcache();
        if ($_GET['n'] === '0' && is_file(__DIR__ . '/ended-1') && is_file(__DIR__ . '/ended-2') && is_file(__DIR__ . '/ended-3')) { break; }
    }
}
echo 'lived';
"#;
    let weft = server(&[("index.php", page)], "tracing").with("--define", "display_errors=1").start();
    thread::scope(|scope| {
        let weft = &weft;
        // It computes as much as each of the others, and less than all of them.
        let pages: Vec<_> = [(0, 3), (1, 1), (2, 1), (3, 1)]
            .map(|(n, limit)| {
                scope.spawn(move || ask(weft, "GET", &format!("/?n={n}&limit={limit}"), "").text())
            })
            .into_iter()
            .collect();
        for (n, page) in pages.into_iter().enumerate() {
            let text = page.join().expect("a response");
            if n == 0 {
                assert_eq!(text, "lived");
            } else {
                assert!(text.contains("Maximum execution time of 1 second exceeded"), "{text}");
            }
        }
    });
}

#[test]
fn a_request_that_computes_ends_at_its_time_limit() {
    let endless = "<?php set_time_limit(0); ignore_user_abort(true);
        try { for ($i = 0; ; $i++) { $i &= 0xffff; } } finally { touch(__DIR__ . '/finally'); }";
    let stubborn = "<?php set_time_limit(0);
        for (;;) { try { for ($i = 0; ; $i++) { $i &= 0xffff; } } catch (Throwable) { } }";
    let pages = [("endless.php", endless), ("stubborn.php", stubborn), ("light.php", "<?php echo 'light';")];
    for jit in JITS {
        let weft = server(&pages, jit).with("--request-timeout-ms", "1000").start();
        assert_eq!(ask(&weft, "GET", "/endless.php", "").status, 504, "{jit}");
        // The answer is sent when the time is over, and the script ends then.
        until("the script to end", || weft.path("public/finally").exists().then_some(()));
        assert_eq!(ask(&weft, "GET", "/stubborn.php", "").status, 504, "{jit}");
        assert_eq!(ask(&weft, "GET", "/light.php", "").text(), "light");
    }
}
