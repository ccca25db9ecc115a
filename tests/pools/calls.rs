//! How many system calls a request of three queries makes, and one of a Redis command, counted by strace between two
//! requests that mark the log.
//!
//! Must not measure time: a traced server is many times slower, only its calls are true.

use std::collections::BTreeMap;
use std::path::Path;

use weft_tests::command::{binary, write_program};
use weft_tests::{Client, Server};

use crate::environment::environment;

const APP: &str = r##"
use Weft\Http\Request;

$options = [PDO::ATTR_EMULATE_PREPARES => false];
$dsn = 'mysql:host=127.0.0.1;dbname=weft;port=' . getenv('MARIADB_PORT');
$db = new Weft\Database\SharedPdo($dsn, 'root', '', $options, max: 8, waitTimeout: 60);
$table = 'calls_' . getmypid();
$db->exec("CREATE OR REPLACE TABLE $table (id INT PRIMARY KEY, name VARCHAR(50))");
$db->exec("INSERT INTO $table SELECT seq, CONCAT('item ', seq) FROM seq_1_to_100");

return static function (Request $request) use ($db, $table): string {
    if ($request->path() !== '/') {
        return file_exists($request->path()) ? 'a file' : 'noted';
    }
    $found = [];
    foreach ([1, 2] as $id) {
        $statement = $db->prepare("SELECT * FROM $table WHERE id = ?");
        $statement->execute([$id]);
        $found[] = $statement->fetch(PDO::FETCH_ASSOC)['name'];
    }
    $statement = $db->prepare("SELECT * FROM $table LIMIT 5");
    $statement->execute();

    return implode(', ', $found) . ' and ' . count($statement->fetchAll());
};
"##;

/// Connections that send their requests at once.
const CLIENTS: usize = 8;
const ROUNDS: usize = 25;
/// So often a client library asks while it connects.
const ASKS_PER_CONNECTION: f64 = 4.0;

/// Four sends and four receives (the request, its answer and three queries), and nothing that asks whether a connection is
/// ready. How many requests share one wait of the loop depends on when they come.
pub fn of_three_queries() {
    check(APP, "shared", "item 1, item 2 and 5", (4.1, 4.1));
}

const REDIS: &str = r##"
use Weft\Http\Request;

$pool = new Weft\Redis\RedisPool('127.0.0.1', (int) getenv('REDIS_PORT'), max: 8);
$key = 'calls_' . getmypid();

return static fn (Request $request): string => $request->path() !== '/' ? (file_exists($request->path()) ? 'a file' : 'noted')
    : $pool->with(static fn (Redis $redis) => $redis->get($key) === false ? 'nothing' : 'something');
"##;

/// A command is one send and one receive. phpredis peeks whether the connection is still there before it sends and before it
/// receives; the loop has just been told. Where strace slows the worker down so much that what it was told is too old, it asks:
/// hence one more here, and two more if it always did.
pub fn of_a_redis_command() {
    check(REDIS, "clients", "nothing", (3.1, 2.1));
}

const BATCH: &str = r##"
use Weft\Http\Request;

$dsn = 'mysql:host=127.0.0.1;dbname=weft;port=' . getenv('MARIADB_PORT');
$db = new Weft\Database\SharedPdo($dsn, 'root', '', max: 8, waitTimeout: 60);
$table = 'batches_' . getmypid();
$db->exec("CREATE OR REPLACE TABLE $table (id INT PRIMARY KEY, name VARCHAR(50))");
$db->exec("INSERT INTO $table SELECT seq, CONCAT('item ', seq) FROM seq_1_to_100");

return static function (Request $request) use ($db, $table): string {
    if ($request->path() !== '/') {
        return file_exists($request->path()) ? 'a file' : 'noted';
    }
    $one = "SELECT name FROM $table WHERE id = ?";
    [[$first], [$second], $five] = $db->batch([[$one, [1]], [$one, [2]], "SELECT * FROM $table LIMIT 5"]);

    return $first['name'] . ', ' . $second['name'] . ' and ' . count($five);
};
"##;

/// Three queries at once are one send and one receive; the request and its answer are the others. On a busy machine an answer may
/// come in two parts; if each did, or each query had its own, it would be a receive more for every request.
pub fn of_a_batch() {
    check(BATCH, "shared", "item 1, item 2 and 5", (2.4, 2.1));
}

/// Each request makes at most so many receives and sends, asks nothing, and registers nothing.
fn check(app: &str, servers: &str, answer: &str, (receives_max, sends_max): (f64, f64)) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let log = directory.path().join("log");
    run(app, servers, answer, directory.path(), &log);
    let log = std::fs::read_to_string(&log).expect("strace has written it");
    let calls = between_marks(&log);
    let per_request = |names: &[&str]| {
        let sum: usize = names.iter().map(|name| calls.get(*name).copied().unwrap_or(0)).sum();
        sum as f64 / (CLIENTS * ROUNDS) as f64
    };
    // A connection that is opened while calls are counted has to be waited for, and its server's greeting and answers.
    // One that was begun before asks for its outcome now.
    let opened = per_request(&["connect"]).max(per_request(&["getsockopt"])) * ASKS_PER_CONNECTION;
    let asks = per_request(&["poll", "ppoll", "select", "pselect6"]) - opened;
    assert!(asks <= 0.05, "{asks} calls per request ask whether a connection is ready: {calls:?}");
    let (receives, sends) =
        (per_request(&["recvfrom", "recvmsg", "read"]), per_request(&["sendto", "write"]));
    assert!(
        receives <= receives_max && sends <= sends_max,
        "{receives} receives and {sends} sends per request: {calls:?}"
    );
    let registers = per_request(&["epoll_ctl"]);
    assert!(registers <= 0.1, "{registers} registrations per request: {calls:?}");
}

/// Sends the requests to a server that strace watches.
fn run(app: &str, servers: &str, answer: &str, directory: &Path, log: &Path) {
    let traced = directory.join("traced");
    let script =
        format!("#!/bin/sh\nexec strace -f -qq -s 64 -o {} {} \"$@\"\n", log.display(), binary().display());
    write_program(&traced, script.as_bytes());
    let server = environment(servers)
        .iter()
        .fold(Server::new(app), |server, (name, value)| server.with_variable(name, value))
        .run_by(&traced)
        .start();
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| Client::connect(server.address)).collect();
    let mut round = || {
        clients.iter_mut().for_each(|client| client.get("/"));
        for client in &mut clients {
            assert_eq!(client.read().text(), answer);
        }
    };
    // Each connection to the server is open and has been waited for.
    (0..5).for_each(|_| round());
    assert_eq!(server.get("/counted-from-here").text(), "noted");
    (0..ROUNDS).for_each(|_| round());
    assert_eq!(server.get("/counted-to-here").text(), "noted");
}

/// The calls of the worker between the two marks in strace's log, by name.
fn between_marks(log: &str) -> BTreeMap<&str, usize> {
    let mark =
        |name: &str| log.lines().position(|line| line.contains(name)).expect("each mark is in the log");
    let lines: Vec<_> = log.lines().collect();
    let (from, to) = (mark("\"/counted-from-here\""), mark("\"/counted-to-here\""));
    let worker = lines[from].split_whitespace().next().expect("a line begins with its process");
    let mut calls = BTreeMap::new();
    for line in &lines[from + 1..to] {
        let Some((process, rest)) = line.split_once(' ') else { continue };
        // The second half of a call that another process interrupted in the log begins with "<...".
        if let Some((name, _)) = rest.trim_start().split_once('(').filter(|_| process == worker)
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            *calls.entry(name).or_default() += 1;
        }
    }
    calls
}
