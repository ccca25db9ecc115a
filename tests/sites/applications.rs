//! Sites whose application stays loaded, beside document roots: which requests reach it, what it has of its own, and how
//! many of its requests run at once.

use std::collections::HashSet;
use std::thread;

use serde_json::{Value, json};
use weft_tests::{Running, Server, until};

use crate::{get, server};

/// A worker script that tells what it is, and remembers which hosts it has served.
pub const WORKER: &str = r#"<?php
class State { public static array $hosts = []; public static int $handled = 0; }
$boot = [getenv('OWN'), ini_get('precision'), getcwd()];
$id = bin2hex(random_bytes(8));
while (frankenphp_handle_request(function () use ($boot, $id) {
    State::$hosts[$_SERVER['HTTP_HOST']] = true;
    State::$handled++;
    $GLOBALS['last'] = $_SERVER['HTTP_HOST'];
    if (isset($_GET['us'])) {
        usleep((int) $_GET['us']);
    }
    if (isset($_GET['hold'])) {
        touch(__DIR__ . "/here-$_GET[hold]");
        while (!file_exists(__DIR__ . '/go')) {
            usleep(2000);
        }
    }
    echo json_encode(['hosts' => array_keys(State::$hosts), 'handled' => State::$handled, 'id' => $id, 'boot' => $boot,
        'own' => [getenv('OWN'), $_SERVER['OWN'] ?? null, ini_get('precision'), ini_get('error_append_string')],
        'set' => @ini_set('error_append_string', 'x'), 'last' => $GLOBALS['last'],
        'root' => basename($_SERVER['DOCUMENT_ROOT']), 'script' => $_SERVER['SCRIPT_NAME'], 'uri' => $_SERVER['REQUEST_URI'],
        'worker' => [isset($_SERVER['FRANKENPHP_WORKER']), getenv('FRANKENPHP_WORKER')], 'name' => $_SERVER['SERVER_NAME'],
        'classes' => [class_exists('OfClassic', false), defined('OF_CLASSIC')]]);
})) {}
"#;

/// A page of a document root that tells the same.
pub const PAGE: &str = r#"<?php
class OfClassic {}
define('OF_CLASSIC', 1);
$GLOBALS['last'] = 'classic';
if (isset($_GET['us'])) {
    usleep((int) $_GET['us']);
}
echo json_encode(['classic' => true, 'own' => [getenv('OWN'), $_SERVER['OWN'] ?? null, ini_get('precision'), ini_get('error_append_string')],
    'worker' => [isset($_SERVER['FRANKENPHP_WORKER']), getenv('FRANKENPHP_WORKER')], 'state' => class_exists('State', false),
    'root' => basename($_SERVER['DOCUMENT_ROOT']), 'script' => $_SERVER['SCRIPT_NAME']]);
"#;

/// One beside a document root, one alone, and a document root.
pub const SITES: &str = r#"
[[site]]
names = ["one.example", "*.one.example"]
root = "one/public"
worker = "one/worker.php"
instances_max = 3
[site.ini]
precision = 5
[site.admin_ini]
error_append_string = "of one"
[site.environment]
OWN = "one"

[[site]]
names = ["two.example"]
application = "two/worker.php"
instances_max = 2
[site.ini]
precision = 6
[site.environment]
OWN = "two"

[[site]]
names = ["three.example"]
default = true
root = "three"
[site.environment]
OWN = "three"
"#;

pub const FILES: [(&str, &str); 5] = [
    ("one/worker.php", WORKER),
    ("one/public/a.css", "a{}"),
    ("one/public/other.php", "<?php echo 'not this';"),
    ("two/worker.php", WORKER),
    ("three/index.php", PAGE),
];

pub fn sites() -> Server {
    server(SITES, &FILES)
}

/// Asserts that a site has answered as itself, and has never been asked for another.
pub fn assert_own(name: &str, said: &Value) {
    let (precision, appended) = match name {
        "one" => ("5", "of one"),
        "two" => ("6", ""),
        _ => ("14", ""),
    };
    assert_eq!(said["own"], json!([name, name, precision, appended]), "{name}: {said}");
    if name == "three" {
        assert_eq!((&said["classic"], &said["state"]), (&json!(true), &json!(false)), "{said}");
        assert_eq!((&said["worker"], &said["root"]), (&json!([false, false]), &json!("three")), "{said}");
        return;
    }
    let hosts: HashSet<String> = said["hosts"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|host| host.as_str().unwrap_or_default().into())
        .collect();
    assert!(
        !hosts.is_empty() && hosts.iter().all(|host| host.ends_with(&format!("{name}.example"))),
        "{said}"
    );
    assert_eq!((&said["worker"], &said["classes"]), (&json!([true, "1"]), &json!([false, false])), "{said}");
    assert_eq!((&said["boot"][0], &said["boot"][1]), (&json!(name), &json!(precision)), "{said}");
}

/// What a site says, as itself.
pub fn own(weft: &Running, name: &str, target: &str) -> Value {
    let response = get(weft, &format!("{name}.example"), target);
    assert_eq!(response.status, 200, "{name}{target}: {}\n{}", response.text(), weft.log());
    let said = response.json();
    assert_own(name, &said);
    said
}

#[test]
fn each_site_answers_as_itself() {
    let weft = sites().start();
    assert!(weft.log().contains("3 (1 in classic mode, 2 in resident mode)"), "{}", weft.log());
    let one = own(&weft, "one", "/path?x=1");
    assert_eq!(
        (&one["root"], &one["script"], &one["uri"], &one["set"]),
        (&json!("public"), &json!("/worker.php"), &json!("/path?x=1"), &json!(false)),
    );
    assert_eq!(own(&weft, "one", "/again")["handled"], json!(2), "it stays loaded");
    assert_eq!(get(&weft, "one.example", "/a.css").text(), "a{}");
    assert_eq!(
        own(&weft, "one", "/other.php")["handled"],
        json!(3),
        "as a worker script beside a document root"
    );
    let two = own(&weft, "two", "/worker.php");
    assert_eq!(
        (&two["root"], &two["script"], &two["handled"]),
        (&json!("two"), &json!("/worker.php"), &json!(1))
    );
    assert_eq!(own(&weft, "two", "/.hidden")["handled"], json!(2), "an application alone has every path");
    own(&weft, "three", "/");
    assert_eq!(get(&weft, "nobody.example", "/").json()["classic"], json!(true), "the default");
    assert_eq!(get(&weft, "x.one.example", "/").json()["name"], json!("x.one.example"));
}

#[test]
fn nothing_crosses_under_mixed_load() {
    let weft = sites().with("--instances", "3").with("--queue-timeout-ms", "100000").start();
    let weft = &weft;
    thread::scope(|scope| {
        for client in 0..9 {
            scope.spawn(move || {
                let name = ["one", "two", "three"][client % 3];
                let mut kept = weft.connect();
                for round in 0..60 {
                    let us = (client * 7 + round * 13) % 5 * 300;
                    kept.send(format!("GET /?us={us} HTTP/1.1\r\nHost: {name}.example\r\n\r\n"));
                    let response = kept.read();
                    assert_eq!(response.status, 200, "{}", weft.log());
                    assert_own(name, &response.json());
                }
            });
        }
        // One connection that changes its host with each request.
        scope.spawn(move || {
            let mut kept = weft.connect();
            for round in 0..120 {
                let name = ["one", "three", "two"][round % 3];
                kept.send(format!("GET /?us=200 HTTP/1.1\r\nHost: {name}.example\r\n\r\n"));
                assert_own(name, &kept.read().json());
            }
        });
    });
}

#[test]
fn a_site_has_as_many_instances_as_it_says_and_others_go_on() {
    let weft = sites().with("--queue-timeout-ms", "100000").start();
    let weft = &weft;
    thread::scope(|scope| {
        let held: Vec<_> =
            (0..5).map(|n| scope.spawn(move || own(weft, "two", &format!("/?hold={n}")))).collect();
        let here = || (0..5).filter(|n| weft.path(&format!("two/here-{n}")).exists()).count();
        until("as many as it has instances", || (here() == 2).then_some(()));
        for _ in 0..5 {
            own(weft, "one", "/");
            own(weft, "three", "/");
        }
        assert_eq!(here(), 2, "the others wait");
        weft.write("two/go", "");
        let ids: HashSet<String> =
            held.into_iter().map(|said| said.join().expect("answered")["id"].to_string()).collect();
        assert_eq!(ids.len(), 2, "{ids:?}");
    });
}

#[test]
fn a_full_queue_of_one_site_refuses_only_its_own() {
    let weft = sites().with("--queue-max", "0").start();
    let weft = &weft;
    thread::scope(|scope| {
        let held: Vec<_> =
            (0..2).map(|n| scope.spawn(move || own(weft, "two", &format!("/?hold={n}")))).collect();
        let here = || (0..2).all(|n| weft.path(&format!("two/here-{n}")).exists());
        until("both instances to be busy", || here().then_some(()));
        let refused = get(weft, "two.example", "/");
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
        own(weft, "one", "/");
        own(weft, "three", "/");
        weft.write("two/go", "");
        held.into_iter().for_each(|said| drop(said.join().expect("answered")));
    });
}

#[test]
fn a_script_that_returns_its_handler_is_an_application_of_a_site() {
    let handler = "<?php $n = 0; return function (Weft\\Http\\Request $request) use (&$n) { return ++$n . ' ' . $request->path() . ' ' . \
                   getenv('OWN'); };";
    let text = "[[site]]\nnames = [\"one.example\"]\napplication = \"app.php\"\ninstances_max = 1\nrequests_max = 2\n\
                [site.environment]\nOWN = \"mine\"\n[[site.rule]]\npath = \"/admin\"\ndeny = 403\n\
                [[site.rule]]\npath = \"/files\"\nalias = \"files\"\n";
    let weft = server(text, &[("app.php", handler), ("files/a.txt", "a file")]).start();
    let said: Vec<String> = (0..3).map(|_| get(&weft, "one.example", "/tea").text()).collect();
    assert_eq!(said, ["1 /tea mine", "2 /tea mine", "1 /tea mine"], "after two requests it is loaded again");
    assert_eq!(get(&weft, "one.example", "/admin/x").status, 403);
    assert_eq!(get(&weft, "one.example", "/files/a.txt").text(), "a file");
    assert_eq!(get(&weft, "other.example", "/").status, 421);
}

#[test]
fn sessions_start_by_themselves_where_a_site_says_so() {
    let script = "<?php while (frankenphp_handle_request(function () { echo session_status(), isset($_SESSION) ? 'yes' : 'no'; })) {}";
    let page = "<?php echo session_status(), isset($_SESSION) ? 'yes' : 'no';";
    let site = |name: &str, what: &str, starts: u8| {
        format!(
            "[[site]]\nnames = [\"{name}.example\"]\n{what}\n[site.ini]\nsession.auto_start = {starts}\nsession.save_path = \".\"\n"
        )
    };
    let text = site("one", "application = \"one/w.php\"", 1)
        + &site("two", "application = \"two/w.php\"", 0)
        + &site("three", "root = \"three\"", 1)
        + &site("four", "root = \"four\"", 0);
    let files =
        [("one/w.php", script), ("two/w.php", script), ("three/index.php", page), ("four/index.php", page)];
    for start in ["0", "1"] {
        let weft = server(&text, &files).with("--define", &format!("session.auto_start={start}")).start();
        for _ in 0..2 {
            for (name, expected) in [("one", "2yes"), ("two", "1no"), ("three", "2yes"), ("four", "1no")] {
                assert_eq!(get(&weft, &format!("{name}.example"), "/").text(), expected, "{name}, {start}");
            }
        }
    }
}

#[test]
fn what_one_boot_has_set_is_not_lost_when_another_boots_before_it_ends() {
    let script = |boot: &str| {
        format!(
            "<?php {boot} while (frankenphp_handle_request(function () {{ echo session_status(), isset($_SESSION) ? 'yes' : 'no'; }})) {{}}"
        )
    };
    let waits = script(
        "touch(__DIR__ . '/boots'); while (!file_exists(__DIR__ . '/go')) { clearstatcache(); usleep(1000); }",
    );
    let text = "[[site]]\nnames = [\"one.example\"]\napplication = \"one/w.php\"\ninstances_max = 1\n[site.ini]\n\
                session.auto_start = 1\nsession.save_path = \".\"\n\
                [[site]]\nnames = [\"two.example\"]\napplication = \"two/w.php\"\ninstances_max = 1\n";
    let weft = server(text, &[("one/w.php", &waits), ("two/w.php", &script(""))]).start();
    let weft = &weft;
    thread::scope(|scope| {
        let one = scope.spawn(move || get(weft, "one.example", "/").text());
        until("the first to boot", || weft.path("one/boots").exists().then_some(()));
        assert_eq!(get(weft, "two.example", "/").text(), "1no");
        weft.write("one/go", "");
        assert_eq!(one.join().expect("answered"), "2yes");
    });
    assert_eq!(get(weft, "two.example", "/").text(), "1no");
}
