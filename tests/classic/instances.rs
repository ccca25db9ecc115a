//! Several PHP instances in one worker: a request that waits does not delay the others, and requests see
//! nothing of each other.

use std::thread;

use weft_tests::{Response, Running, Server, until};

use crate::ask;

const WAITS: &str = r#"<?php
class Seen { public static array $all = []; }
putenv("NUMBER=$_GET[n]");
ini_set('precision', (string) $_GET['n']);
touch(__DIR__ . "/here-$_GET[n]");
while (count(glob(__DIR__ . '/here-*')) < ($_GET['meet'] ?? 0)) {
    usleep(5_000); // would never end if the requests ran one after another
}
for ($i = 0; $i < 4; $i++) {
    Seen::$all[] = $_GET['n'];
    usleep(50_000);
}
echo implode(',', array_unique(Seen::$all)), ' ', getenv('NUMBER'), ' ', ini_get('precision'), ' ', getmypid();
"#;

/// On a busy machine a request may wait long for an instance.
fn server(files: &[(&str, &str)], instances: &str) -> Server {
    with_queue(files, instances, "100000")
}

fn with_queue(files: &[(&str, &str)], instances: &str, timeout_ms: &str) -> Server {
    Server::of_docroot(files).with("--instances", instances).with("--queue-timeout-ms", timeout_ms)
}

/// Requests all targets at once.
fn all(weft: &Running, targets: impl Iterator<Item = String>) -> Vec<Response> {
    thread::scope(|scope| {
        let asked: Vec<_> =
            targets.map(|target| scope.spawn(move || ask(weft, "GET", &target, ""))).collect();
        asked.into_iter().map(|one| one.join().expect("a response")).collect()
    })
}

#[test]
fn requests_wait_together_in_one_process() {
    let weft = server(&[("index.php", WAITS)], "30").start();
    let responses = all(&weft, (1..=30).map(|n| format!("/?n={n}&meet=30")));
    let mut processes: Vec<String> = Vec::new();
    for (n, response) in (1..=30).zip(&responses) {
        let text = response.text();
        let (said, process) = text.rsplit_once(' ').expect("a process id at the end");
        assert_eq!(said, format!("{n} {n} {n}"));
        processes.push(process.to_owned());
    }
    processes.dedup();
    assert_eq!(processes.len(), 1, "one worker: {processes:?}");
}

#[test]
fn beyond_the_instances_requests_queue_and_then_get_503() {
    let waits = "<?php touch(__DIR__ . \"/here-$_GET[n]\"); while (!file_exists(__DIR__ . '/go')) { usleep(5_000); } echo 'done';";
    let files = [("index.php", waits), ("quick.php", "<?php echo 'quick';")];
    let weft = with_queue(&files, "2", "300").with("--queue-max", "1").start();
    let mut running = [weft.connect(), weft.connect()];
    for (n, client) in running.iter_mut().enumerate() {
        client.get(&format!("/?n={n}"));
        until("it to run", || weft.path(&format!("public/here-{n}")).exists().then_some(()));
    }
    for response in all(&weft, (2..6).map(|n| format!("/?n={n}"))) {
        assert_eq!(response.status, 503, "{response:?}");
    }
    weft.write("public/go", "");
    for client in &mut running {
        assert_eq!(client.read().text(), "done");
    }
    assert_eq!(ask(&weft, "GET", "/quick.php", "").text(), "quick");
}

#[test]
fn the_end_of_one_request_does_not_affect_the_others_or_the_worker() {
    let fails = r#"<?php
usleep(50_000);
switch ($_GET['n'] % 4) {
    case 0: exit('left');
    case 1: throw new Exception('thrown');
    case 2: ini_set('memory_limit', '8M'); $all = []; while (true) { $all[] = str_repeat('x', 1 << 20); }
    case 3: function deeper($n) { return array_map('deeper', [$n]); } ini_set('memory_limit', '-1'); deeper(0);
}
"#;
    let weft = server(&[("index.php", WAITS), ("fails.php", fails)], "20").start();
    let targets =
        (0..40).map(|n| if n % 2 == 0 { format!("/?n={n}") } else { format!("/fails.php?n={}", n / 2) });
    let responses = all(&weft, targets);
    let first = responses[0].text();
    let process = first.rsplit(' ').next().expect("a process id");
    for (n, response) in responses.iter().enumerate().step_by(2) {
        assert_eq!(response.text(), format!("{n} {n} {n} {process}"));
    }
    for (n, response) in responses.iter().enumerate().skip(1).step_by(2) {
        let expected = if n / 2 % 4 == 0 { 200 } else { 500 };
        assert_eq!(response.status, expected, "{n}: {}", response.text());
    }
    let after = ask(&weft, "GET", "/?n=7", "").text();
    assert_eq!(after, format!("7 7 7 {process}"), "the same worker serves on");
}

#[test]
fn there_are_no_tasks() {
    let page = "<?php try { Weft\\go(fn () => 1); } catch (Error $error) { echo $error->getMessage(); }";
    let weft = server(&[("index.php", page)], "2").start();
    let said = ask(&weft, "GET", "/", "").text();
    assert!(said.starts_with("There are no tasks in classic mode"), "{said}");
}

#[test]
fn pages_are_verified_while_every_call_lets_others_run() {
    let session = r#"<?php
session_id('shared');
session_start();
$_SESSION['count'] = ($_SESSION['count'] ?? 0) + 1;
usleep(500);
echo $_SESSION['count'];
"#;
    let weft = server(&[("index.php", WAITS), ("session.php", session)], "10");
    let sessions = format!("session.save_path={}", weft.directory().display());
    let weft = weft
        .with_flag("--verify-instances")
        .with_flag("--yield-at-calls")
        .with("--define", &sessions)
        .start();
    let responses = all(&weft, (1..=20).map(|n| format!("/?n={n}")));
    for (n, response) in (1..=20).zip(&responses) {
        assert!(response.text().starts_with(&format!("{n} {n} {n} ")), "{n}: {}", response.text());
    }
    let counted = all(&weft, (0..30).map(|_| "/session.php".to_owned()));
    let mut counts: Vec<u32> = counted.iter().map(|one| one.text().parse().expect("a number")).collect();
    counts.sort_unstable();
    assert_eq!(counts, (1..=30).collect::<Vec<_>>(), "one session, locked by each in turn");
    assert!(!weft.log().contains("instances:"), "{}", weft.log());
}

#[test]
fn a_document_root_has_instances_without_being_asked() {
    let page = "<?php touch(__DIR__ . \"/here-$_GET[n]\");
        while (count(glob(__DIR__ . '/here-*')) < 20) { usleep(5_000); }
        echo getmypid();";
    let weft = Server::of_docroot(&[("index.php", page)]).start();
    assert!(weft.log().contains("PHP instances") || std::env::var("DOCROOT_INSTANCES").is_ok());
    let weft = server(&[("index.php", page)], "0").start();
    // The first requests wait until all have arrived: one after another, they would never be answered.
    let responses = all(&weft, (0..20).map(|n| format!("/?n={n}")));
    assert!(responses.iter().all(|response| response.body == responses[0].body), "one process");
}

#[test]
fn an_extension_that_does_not_fit_leaves_more_workers_with_one_request_each() {
    let page = "<?php echo ctype_digit('1') ? 'digit' : '', gc_enabled() ? ' collected' : '';";
    let weft = server(&[("index.php", page)], "0").with("--workers", "auto");
    // Only one extension, from its own directory.
    let directory = weft.directory().to_owned();
    let extensions = weft_tests::php::config("--extension-dir");
    let own = directory.join("ctype.so");
    std::fs::copy(format!("{extensions}/ctype.so"), &own).expect("an extension");
    let weft = weft
        .with_variable("PHP_INI_SCAN_DIR", &directory.display().to_string())
        .with("--define", &format!("extension={}", own.display()))
        .start();
    assert_eq!(ask(&weft, "GET", "/", "").text(), "digit collected");
    assert!(weft.log().contains("the extension ctype is unfit for them"), "{}", weft.log());
    assert!(weft.workers().len() >= 8, "{}", weft.log());
}

#[test]
fn with_a_time_slice_a_computing_request_delays_no_other_and_loses_no_step() {
    // A loop whose counter the function JIT would keep in a register, interrupted again and again.
    let loops = r#"<?php
function joined(array $parts): string {
    $all = '';
    $stop = count($parts);
    for ($i = 0; $i < $stop; $i++) { $part = $parts[$i]; if ($part[0] !== '<') { $part = trim($part); } $all .= $part; }
    return $all;
}
$parts = [];
for ($i = 0; $i < 200; $i++) { $parts[] = $i % 2 ? "<$i>" : " $i "; }
$expected = implode('', array_map('trim', $parts));
$wrong = 0;
touch(__DIR__ . "/loops-$_GET[n]");
$end = hrtime(true) + 2_000_000_000;
while (hrtime(true) < $end || !file_exists(__DIR__ . '/answered')) { $wrong += joined($parts) !== $expected; }
echo $wrong;
"#;
    let weft = server(&[("loops.php", loops), ("index.php", "<?php echo 'light';")], "10")
        .with("--slice-ms", "2")
        .with("--define", "opcache.file_update_protection=0")
        .start();
    thread::scope(|scope| {
        let weft = &weft;
        let loops: Vec<_> =
            (0..3).map(|n| scope.spawn(move || ask(weft, "GET", &format!("/loops.php?n={n}"), ""))).collect();
        for n in 0..3 {
            until("it to loop", || weft.path(&format!("public/loops-{n}")).exists().then_some(()));
        }
        // The loops run until this request, which came after them, has been answered.
        assert_eq!(ask(weft, "GET", "/", "").text(), "light");
        weft.write("public/answered", "");
        for one in loops {
            assert_eq!(one.join().expect("a response").text(), "0", "results that were wrong");
        }
    });
}
