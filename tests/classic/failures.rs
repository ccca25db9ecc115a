//! Ten thousand requests. Every tenth one ends in a fatal error, an exit, a lack of memory or endless recursion, while
//! others wait in the middle of their scripts. Every request gets the right answer, and nothing is left behind.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use weft_tests::process::private_bytes;
use weft_tests::{Client, Response, Running, Server, until};

const REQUESTS: usize = 10_000;
/// The first requests fill caches, pools and stacks; memory is measured after them.
const WARM_UP: usize = 5_000;
const CLIENTS: usize = 16;
const PARKED: usize = 10;
const INSTANCES: u64 = 30;
const GROWTH_BYTES_MAX: u64 = 4 << 20;

/// Looks for everything that a request could see of another one, waits, and looks again.
const CALM: &str = r#"<?php
function state(): array
{
    return [
        'classes' => [class_exists('Left', false), function_exists('left'), defined('LEFT')],
        'settings' => [getenv('LEFT'), ini_get('precision'), ini_get('memory_limit'), error_reporting(), set_error_handler(null)],
        'process' => [basename(getcwd()), umask(), setlocale(LC_ALL, 0), date_default_timezone_get(), mb_internal_encoding()],
        'request' => [$GLOBALS['left'] ?? null, $_SESSION ?? null, $_POST, headers_list(), ob_get_level(), error_get_last()],
        'streams' => [stream_get_wrappers(), stream_get_filters(), libxml_use_internal_errors(), spl_autoload_functions()],
        'memory' => memory_get_usage() < 2 << 20,
        'included' => get_included_files(),
    ];
}
$before = state();
usleep(500 + $_GET['n'] * 37 % 2000);
echo $before === state() ? '' : 'changed: ', json_encode($before), " n=$_GET[n]";
"#;

/// Changes all of that, takes everything that a process can hold, and fails.
const FAILS: &str = r#"<?php
$left = 'left';
eval('class Left { public static $all = []; } function left() {}');
define('LEFT', 1);
putenv('LEFT=1');
ini_set('precision', '3');
error_reporting(E_ERROR | E_USER_ERROR);
set_error_handler(fn () => false);
chdir('/');
umask(0);
setlocale(LC_ALL, 'C.UTF-8');
date_default_timezone_set('Asia/Tokyo');
mb_internal_encoding('ISO-8859-1');
session_id('left' . $_GET['n']);
session_start();
$_SESSION['left'] = $_POST['left'] = 1;
header('X-Left: 1');
stream_wrapper_unregister('http');
stream_wrapper_register('left', ArrayObject::class);
stream_filter_register('left', php_user_filter::class);
libxml_use_internal_errors(true);
spl_autoload_register(fn () => false);
register_shutdown_function(fn () => usleep(200));
$file = tmpfile();
$lock = fopen(__DIR__ . '/../lock' . $_GET['n'] % 97, 'c');
$db = new PDO('sqlite:' . __DIR__ . '/../left.db', options: [PDO::ATTR_TIMEOUT => 20]);
$db->exec('BEGIN');
flock($lock, LOCK_EX);
$cycle = new stdClass; $cycle->self = $cycle; $cycle->db = $db;
$generator = (function () { try { yield 1; } finally { usleep(100); } })();
$generator->current();
ob_start();
echo 'said';
usleep($_GET['n'] * 53 % 1500);
function in_php($n) { return in_php($n + 1) + 1; }
function in_c($n) { return array_map('in_c', [$n + 1]); }
class Text { function __toString(): string { return "$this"; } }
switch ($_GET['how']) {
    case 'exit': exit(" $_GET[n]");
    case 'exit-below': array_map(fn ($n) => exit(" $n"), [$_GET['n']]);
    case 'exit-fiber': (new Fiber(function () { Fiber::suspend(exit(" $_GET[n]")); }))->start();
    case 'throw': throw new RuntimeException('thrown');
    case 'fatal': eval('class Left {}');
    case 'user': trigger_error('on purpose', E_USER_ERROR);
    case 'memory': ini_set('memory_limit', '6M'); $all = []; while (true) { $all[] = str_repeat('x', 1 << 16) . count($all); }
    case 'memory-once': str_repeat('x', 1 << 30);
    case 'recursion': ini_set('memory_limit', '8M'); in_php(0);
    case 'stack': ini_set('memory_limit', '-1'); in_c(0);
    case 'stack-text': ini_set('memory_limit', '-1'); (string) new Text;
    case 'stack-fiber': ini_set('memory_limit', '-1'); (new Fiber(fn () => in_c(0)))->start();
}
echo 'went on';
"#;

/// The ways to fail, the status of each, and the text of its response. Without memory, PHP drops the output it has
/// buffered.
const WAYS: [(&str, u16, &str); 12] = [
    ("exit", 200, "said N"),
    ("exit-below", 200, "said N"),
    ("exit-fiber", 200, "said N"),
    ("throw", 500, "said"),
    ("fatal", 500, "said"),
    ("user", 500, "said"),
    ("memory", 500, ""),
    ("memory-once", 500, ""),
    ("recursion", 500, ""),
    ("stack", 500, "said"),
    ("stack-text", 500, "said"),
    ("stack-fiber", 500, "said"),
];

/// Prints its identity before and after the gate opens. It waits for the gate in a loop of short waits, or for a lock
/// that another process holds.
const PARKED_PAGE: &str = r#"<?php
class Own { public static $n; }
Own::$n = $_GET['n'];
putenv("OWN=$_GET[n]");
chdir(__DIR__ . '/' . ($_GET['n'] % 3 + 1));
ob_start();
echo "parked $_GET[n]";
file_put_contents(__DIR__ . "/../parked$_GET[n]", 'yes');
if ($_GET['n'] % 2) {
    flock(fopen(__DIR__ . '/../gate', 'c'), LOCK_SH);
} else {
    while (!is_file(__DIR__ . '/../opened')) { usleep(20_000); clearstatcache(); }
}
echo ' ', Own::$n, ' ', getenv('OWN'), ' ', basename(getcwd());
"#;

fn server() -> Server {
    let files = [
        ("calm.php", CALM),
        ("fails.php", FAILS),
        ("parked.php", PARKED_PAGE),
        ("1/x", ""),
        ("2/x", ""),
        ("3/x", ""),
    ];
    let server = Server::of_docroot(&files).with("--instances", &INSTANCES.to_string());
    let own = server.directory().join("tmp");
    std::fs::create_dir(&own).expect("a new directory");
    let own = own.display();
    ["session.save_path", "sys_temp_dir", "upload_tmp_dir"]
        .iter()
        .fold(server, |server, name| server.with("--define", &format!("{name}={own}")))
        .with("--define", "display_errors=0")
        .with("--define", "log_errors_max_len=200")
}

/// Requests that wait until the gate is opened, and the lock that some of them wait for.
struct Parked {
    clients: Vec<Client>,
    gate: std::fs::File,
}

impl Parked {
    fn park(weft: &Running) -> Parked {
        let gate = std::fs::File::create(weft.path("gate")).expect("a file of the test's own");
        gate.lock().expect("nobody else holds it");
        let mut clients: Vec<_> = (0..PARKED).map(|_| weft.connect()).collect();
        for (n, client) in clients.iter_mut().enumerate() {
            client.get(&format!("/parked.php?n={n}"));
        }
        let all = || (0..PARKED).all(|n| weft.path(&format!("parked{n}")).exists());
        until("all to be parked", || all().then_some(()));
        Parked { clients, gate }
    }

    fn release(mut self, weft: &Running) {
        assert!(self.clients.iter_mut().all(|client| !client.is_readable()), "nobody is answered before");
        weft.write("opened", "yes");
        drop(self.gate);
        for (n, client) in self.clients.iter_mut().enumerate() {
            let expected = format!("parked {n} {n} {n} {}", n % 3 + 1);
            assert_eq!(client.read().text(), expected);
        }
    }
}

/// The page that must show nothing of other requests, as it should be for `n`.
fn calm(expected: &str, n: usize, response: &Response) {
    assert_eq!((response.status, response.text()), (200, format!("{expected} n={n}")), "request {n}");
    assert_eq!(response.header("x-left"), None);
}

fn failed(n: usize, response: &Response) {
    let (how, status, body) = WAYS[n / 10 % WAYS.len()];
    let expected = (status, body.replace('N', &n.to_string()));
    assert_eq!((response.status, response.text()), expected, "{how}");
    assert_eq!(response.header("x-left"), Some("1"), "{how}: {response:?}");
}

/// Sends the requests number `from` to `to`, from many clients at once.
fn ask_all(weft: &Running, expected: &str, from: usize, to: usize) {
    let next = AtomicUsize::new(from);
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = weft.connect();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= to {
                        return;
                    }
                    let fails = n % 10 == 9;
                    let how = WAYS[n / 10 % WAYS.len()].0;
                    let target = if fails {
                        format!("/fails.php?n={n}&how={how}")
                    } else {
                        format!("/calm.php?n={n}")
                    };
                    client.get(&target);
                    let response = client.read();
                    if fails {
                        failed(n, &response)
                    } else {
                        calm(expected, n, &response)
                    }
                    if response.header("connection") == Some("close") {
                        client = weft.connect();
                    }
                }
            });
        }
    });
}

fn descriptors(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd")).expect("it lives").count()
}

/// The names in a directory, except those of sessions, which outlive their requests.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("a directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| !name.starts_with("sess_")).collect()
}

/// The memory that an idle worker may have for each of its instances, on top of what it had at its start.
const INSTANCE_BYTES_MAX: u64 = 512 << 10;

/// The worker's memory after its instances have returned what the deepest stacks and the largest heaps held.
fn idle_bytes(worker: u32, bytes_max: u64) -> u64 {
    until("the worker to give its memory back", || {
        let bytes = private_bytes(worker);
        (bytes <= bytes_max).then_some(bytes)
    })
}

/// Starts a server, parks requests, and asks for the page that looks around.
fn begin(server: Server) -> (Running, String, Parked) {
    let weft = server.start();
    let first = weft.get("/calm.php?n=0").text();
    let expected = first.strip_suffix(" n=0").expect("its number at the end").to_owned();
    assert!(expected.starts_with("{\"classes\":[false,false,false]"), "{expected}");
    let parked = Parked::park(&weft);
    (weft, expected, parked)
}

fn end(weft: &Running, worker: &[u32], parked: Parked) {
    parked.release(weft);
    assert_eq!(weft.workers(), worker, "the worker was replaced");
    assert_eq!(names(&weft.path("tmp")), [""; 0]);
    let log = weft.log();
    assert!(!log.contains("instances:") && !log.contains("panicked"), "{log}");
}

#[test]
fn a_failure_in_every_tenth_of_ten_thousand_leaves_nothing_behind_while_others_wait() {
    let (weft, expected, parked) = begin(server().with("--instances-idle-ms", "500"));
    let worker = weft.workers();
    let bytes = private_bytes(worker[0]) + INSTANCES * INSTANCE_BYTES_MAX;
    ask_all(&weft, &expected, 0, WARM_UP);
    let (bytes, open) = (idle_bytes(worker[0], bytes), descriptors(worker[0]));
    ask_all(&weft, &expected, WARM_UP, REQUESTS);
    idle_bytes(worker[0], bytes + GROWTH_BYTES_MAX);
    assert!(descriptors(worker[0]) <= open, "{open} descriptors before, {}", descriptors(worker[0]));
    end(&weft, &worker, parked);
}

#[test]
fn a_yield_at_every_call_leaves_the_worker_unchanged() {
    let (weft, expected, parked) =
        begin(server().with_flag("--verify-instances").with_flag("--yield-at-calls"));
    let worker = weft.workers();
    ask_all(&weft, &expected, 0, 240);
    end(&weft, &worker, parked);
}
