//! An application of a site that does not load, fails or takes its PHP along, and a reload: what the other sites notice.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use serde_json::json;
use weft_tests::{command, until};

use crate::applications::{FILES, SITES, WORKER, own, sites};
use crate::{get, server};

/// One that does what a query says.
const FRAIL: &str = r#"<?php
final class Link { public ?Link $next = null; }
function chain(int $length): ?Link {
    for ($chain = null; $length > 0; $length--) { $link = new Link(); $link->next = $chain; $chain = $link; }
    return $chain;
}
$n = 0;
while (frankenphp_handle_request(function () use (&$n) {
    match ($_GET['do'] ?? '') {
        'fatal' => str_repeat('x', PHP_INT_MAX >> 8),
        'throw' => throw new RuntimeException('thrown'),
        'exit' => exit('bye'),
        'deep' => chain(600_000),
        'die' => posix_kill(getmypid(), 9),
        default => null,
    };
    echo ++$n;
})) {}
"#;

#[test]
fn one_that_does_not_load_is_its_own_sites_failure() {
    let broken = SITES.replace("application = \"two/worker.php\"", "application = \"two/broken.php\"");
    let weft = server(&broken, &FILES).with_file("two/broken.php", "<?php require 'vendor/autoload.php';\n");
    let mut weft = weft.start();
    let line = "two/broken.php has ended without asking for a request";
    weft.wait_for_log(line);
    for _ in 0..3 {
        assert_eq!(get(&weft, "two.example", "/").status, 500);
        own(&weft, "one", "/");
        own(&weft, "three", "/");
    }
    weft.wait_for_log("two/broken.php has ended without taking the request");
    weft.wait_for_log("vendor/autoload.php");
    weft.write("two/broken.php", WORKER);
    until("the mended script", || (get(&weft, "two.example", "/").status == 200).then_some(()));
    own(&weft, "two", "/");
}

#[test]
fn one_that_takes_long_to_load_delays_its_own_site() {
    let slow = WORKER.replace(
        "<?php",
        "<?php touch(__DIR__ . '/loads'); while (!file_exists(__DIR__ . '/go')) { usleep(2000); }\n",
    );
    let files = [&FILES[..], &[("two/slow.php", &slow)]].concat();
    let weft = server(&SITES.replace("two/worker.php", "two/slow.php"), &files).start();
    until("the boot", || weft.path("two/loads").exists().then_some(()));
    thread::scope(|scope| {
        let waits = scope.spawn(|| own(&weft, "two", "/"));
        for _ in 0..5 {
            own(&weft, "one", "/");
            own(&weft, "three", "/");
        }
        assert!(!waits.is_finished());
        weft.write("two/go", "");
        waits.join().expect("it is answered");
    });
}

#[test]
fn one_that_fails_costs_its_own_requests() {
    let weft = server(
        &SITES.replace("two/worker.php", "two/frail.php").replace("instances_max = 2", "instances_max = 1"),
        &FILES,
    );
    let mut weft = weft.with_file("two/frail.php", FRAIL).start();
    let two = |what: &str| get(&weft, "two.example", &format!("/?do={what}"));
    let before = own(&weft, "one", "/");
    assert_eq!((two("").text(), two("").text()), ("1".into(), "2".into()));
    assert_eq!((two("throw").status, two("exit").text(), two("").text()), (500, "bye".into(), "3".into()));
    assert_eq!(two("fatal").status, 500);
    assert_eq!(two("").text(), "1", "it is loaded again");
    let after = own(&weft, "one", "/");
    assert_eq!((&after["id"], &after["handled"]), (&before["id"], &json!(2)), "the other is the same");
    assert_eq!(two("deep").status, 500);
    weft.wait_for_log("has used up the stack of this request's PHP instance");
    until("the site", || (get(&weft, "two.example", "/").status == 200).then_some(()));
    own(&weft, "one", "/");
    own(&weft, "three", "/");
}

#[test]
fn all_are_there_again_after_the_end_of_their_worker() {
    let text = SITES.replace("two/worker.php", "two/frail.php");
    let weft = server(&text, &FILES).with_file("two/frail.php", FRAIL).start();
    let before = own(&weft, "one", "/")["id"].clone();
    let worker = weft.workers();
    let mut client = weft.connect();
    client.send("GET /?do=die HTTP/1.1\r\nHost: two.example\r\n\r\n");
    // Whether an answer comes is another test's subject.
    let _ = client.try_read();
    until("another worker", || (weft.workers() != worker && weft.workers().len() == 1).then_some(()));
    until("the site", || (get(&weft, "two.example", "/").status == 200).then_some(()));
    assert_ne!(own(&weft, "one", "/")["id"], before);
    own(&weft, "three", "/");
}

#[test]
fn a_reload_under_load_loses_nothing() {
    let weft = sites().with("--pid-file", "weft.pid").with("--queue-timeout-ms", "100000").start();
    let (stop, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    let (all, stop, answered) = (&weft, &stop, &answered);
    thread::scope(|scope| {
        let _end = Stop(stop);
        for name in ["one", "two", "three"] {
            scope.spawn(move || {
                while !stop.load(Relaxed) {
                    own(all, name, "/?us=300");
                    answered.fetch_add(1, Relaxed);
                }
            });
        }
        let more = || {
            let goal = answered.load(Relaxed) + 30;
            until("more answers", || (answered.load(Relaxed) >= goal).then_some(()));
        };
        for _ in 0..3 {
            more();
            let before = own(all, "two", "/")["id"].clone();
            let reload = weft.weft(&["reload", "--pid-file", "weft.pid"]);
            assert_eq!(reload.code, Some(0), "{}{}", reload.stderr, weft.log());
            assert_ne!(own(all, "two", "/")["id"], before, "it is loaded anew");
        }
        more();
        // One that does not load changes nothing.
        weft.write("two/worker.php", "<?php exit('no');");
        assert_ne!(weft.weft(&["reload", "--pid-file", "weft.pid"]).code, Some(0));
        more();
    });
    assert!(weft.log().contains("two/worker.php: it did not ask for a request"), "{}", weft.log());
}

/// Ends a load, whatever happens.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn a_site_becomes_an_application_by_a_reload() {
    let roots = "[[site]]\nnames = [\"one.example\"]\nroot = \"one/public\"\n";
    let loaded = format!("{roots}worker = \"one/worker.php\"\n");
    let weft = server(roots, &FILES).with("--pid-file", "weft.pid").start();
    let reload = || {
        let reload = weft.weft(&["reload", "--pid-file", "weft.pid"]);
        assert_eq!(reload.code, Some(0), "{}{}", reload.stderr, weft.log());
    };
    assert_eq!(get(&weft, "one.example", "/other.php").text(), "not this");
    weft.write("weft.toml", &loaded);
    reload();
    assert_eq!(get(&weft, "one.example", "/other.php").json()["handled"], json!(1));
    weft.write("weft.toml", roots);
    reload();
    assert_eq!(get(&weft, "one.example", "/other.php").text(), "not this");
}

#[test]
fn check_tells_what_each_site_is_and_loads_its_application() {
    let made = sites();
    let check = |arguments: &[&str]| command::weft(made.directory(), arguments);
    let said = check(&["check"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for line in [
        "mode        classic: each request has PHP to itself",
        "mode        resident: the script stays loaded",
        "site        one.example *.one.example: one/public, one/worker.php: stays loaded in up to 3 PHP instances of each worker",
        "site        two.example: two/worker.php: stays loaded in up to 2 PHP instances",
        "site        three.example (default): three\n",
    ] {
        assert!(said.stdout.contains(line), "{line}: {}", said.stdout);
    }
    let url = |url: &str| check(&["check", "--url", url]).stdout;
    let loaded = url("https://www.one.example/shop?x=1");
    for part in ["one.example (weft.toml:2)", "script", "one/worker.php", "stays loaded and answers"] {
        assert!(loaded.contains(part), "{part}: {loaded}");
    }
    assert!(url("http://one.example/a.css").contains("one/public/a.css"));
    assert!(url("http://two.example/any").contains("two/worker.php stays loaded and answers"));
    assert!(!url("http://three.example/").contains("stays loaded"));
    // The settings of its site hold for the script while it is tried.
    let needs =
        "<?php if (getenv('OWN') !== 'two' || ini_get('precision') !== '6') { exit('not my site'); }\n";
    std::fs::write(made.directory().join("two/worker.php"), WORKER.replace("<?php", needs))
        .expect("our own file");
    assert_eq!(check(&["check"]).code, Some(0));
    std::fs::write(made.directory().join("two/worker.php"), "<?php echo 'done';").expect("our own file");
    std::fs::write(made.directory().join("one/worker.php"), "<?php nonsense(").expect("our own file");
    let said = check(&["check"]);
    assert_eq!(said.code, Some(1));
    for line in [
        "weft: weft.toml:2: one/worker.php: it did not ask",
        "weft: weft.toml:14: two/worker.php: it did not ask",
    ] {
        assert!(said.stderr.contains(line), "{line}: {}", said.stderr);
    }
}
