//! A request of an application that stays loaded leaves nothing for a document root, nor the reverse, also where both change
//! whatever they can.

use std::thread;

use serde_json::Value;
use weft_tests::{Running, Server};

use crate::apart::{CHANGE, LOOK, assert_same};
use crate::{get, server};

/// What a page can change, in a function: classes and constants stay with a script that stays loaded.
fn changing() -> String {
    let whole = CHANGE.replace("<?php", "");
    let body = whole
        .replace(
            "class OfOne { public static $value = 'one'; }\nfunction of_one() {}\ndefine('OF_ONE', 1);",
            "",
        )
        .replace("spl_autoload_register(fn ($class) => null);", "")
        .replace(
            "include 'part.php';",
            "opendir(__DIR__); mt_srand(7); assert_options(ASSERT_CALLBACK, 'strlen');",
        );
    format!(
        "<?php class OfOne {{}} const OF_ONE = 1; function of_one() {{}}\nwhile (frankenphp_handle_request(function () {{ {body} echo getenv('OWN'); }})) {{}}"
    )
}

const LOOKING: &str =
    "<?php while (frankenphp_handle_request(function () { include __DIR__ . '/look.php'; })) {}";

const SITES: &str = r#"
[[site]]
names = ["changes.example"]
application = "changes/worker.php"
[site.ini]
session.save_path = "/tmp/one"
[site.admin_ini]
sys_temp_dir = "/one"
[site.environment]
OWN = "of one"

[[site]]
names = ["looks.example"]
application = "looks/worker.php"
[site.ini]
session.save_path = "/tmp/two"
[site.environment]
OWN = "of two"

[[site]]
names = ["page-changes.example"]
root = "page"
[site.ini]
session.save_path = "/tmp/three"
[site.environment]
OWN = "of three"

[[site]]
names = ["page-looks.example"]
root = "look"
[site.ini]
session.save_path = "/tmp/four"
"#;

fn sites() -> Server {
    server(
        SITES,
        &[
            ("changes/worker.php", &changing()),
            ("looks/worker.php", LOOKING),
            ("looks/look.php", LOOK),
            ("looks/part.php", "<?php return 'two';"),
            ("page/index.php", CHANGE),
            ("page/part.php", "<?php return 'one';"),
            ("look/index.php", LOOK),
            ("look/part.php", "<?php return 'two';"),
        ],
    )
}

fn look(weft: &Running, host: &str) -> Value {
    let response = get(weft, host, "/");
    assert_eq!(response.status, 200, "{}", weft.log());
    let said = response.json();
    assert_eq!(said["part"], "two");
    said
}

#[test]
fn nothing_is_left_for_another_site() {
    let weft = sites().with("--instances", "1").start();
    let looks = |host: &str| (look(&weft, host), look(&weft, host));
    let (first, again) = looks("looks.example");
    assert_same(&first, &again);
    let (page, again) = looks("page-looks.example");
    assert_same(&page, &again);
    for _ in 0..3 {
        assert_eq!(get(&weft, "changes.example", "/").text(), "changed", "{}", weft.log());
        assert_eq!(get(&weft, "page-changes.example", "/").status, 200);
        assert_same(&first, &look(&weft, "looks.example"));
        assert_same(&page, &look(&weft, "page-looks.example"));
    }
}

#[test]
fn nothing_shows_while_others_run_at_once() {
    let weft = sites()
        .with("--instances", "3")
        .with("--queue-timeout-ms", "100000")
        .with_flag("--yield-at-calls")
        .with_flag("--verify-instances")
        .start();
    let (first, page) = (look(&weft, "looks.example"), look(&weft, "page-looks.example"));
    let (weft, first, page) = (&weft, &first, &page);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(move || {
                (0..30).for_each(|_| assert_eq!(get(weft, "changes.example", "/").text(), "changed"));
            });
            scope.spawn(move || {
                (0..30).for_each(|_| assert_eq!(get(weft, "page-changes.example", "/").status, 200));
            });
            scope.spawn(move || (0..30).for_each(|_| assert_same(first, &look(weft, "looks.example"))));
            scope.spawn(move || (0..30).for_each(|_| assert_same(page, &look(weft, "page-looks.example"))));
        }
    });
}

#[test]
fn open_basedir_is_the_sites() {
    let read = "$f = $_GET['f']; echo json_encode([@file_get_contents($f), @include $f]);";
    let script = format!("<?php while (frankenphp_handle_request(function () {{ {read} }})) {{}}");
    let secret = "<?php return 'secret';";
    let made = server("", &[("one/w.php", &script), ("two/w.php", &script), ("two/secret.php", secret)]);
    let at = made.directory().canonicalize().expect("it exists").display().to_string();
    let text = format!(
        "[[site]]\nnames = [\"one.example\"]\napplication = \"one/w.php\"\n[site.admin_ini]\nopen_basedir = \"{at}/one\"\n\
         [[site]]\nnames = [\"two.example\"]\napplication = \"two/w.php\"\n"
    );
    let weft = made.with_file("weft.toml", &text).start();
    for _ in 0..3 {
        let ask = |host: &str| get(&weft, host, &format!("/?f={at}/two/secret.php")).json();
        assert_eq!(ask("two.example"), serde_json::json!([secret, "secret"]));
        assert_eq!(ask("one.example"), serde_json::json!([false, false]));
    }
}

#[test]
fn what_a_script_has_noted_at_its_boot_does_not_count_for_pages() {
    let script = "<?php date_default_timezone_set('Asia/Tokyo'); chdir('/'); opendir(__DIR__); \
                  while (frankenphp_handle_request(fn () => print(date_default_timezone_get() . ' ' . getcwd()))) {}";
    let page = "<?php if (isset($_GET['open'])) { opendir(__DIR__); readdir(); date_default_timezone_set('Asia/Kolkata'); }
        else { try { readdir(); } catch (TypeError $e) { echo $e->getMessage(); } }
        stream_context_set_default(['http' => ['user_agent' => 'one']]); stream_wrapper_unregister('ftp'); mt_srand(7);
        echo ' ', date_default_timezone_get(), ' ', basename(getcwd());";
    let text = "[[site]]\nnames = [\"loaded.example\"]\napplication = \"w.php\"\n[[site]]\nnames = [\"page.example\"]\nroot = \"page\"\n";
    let weft = server(text, &[("w.php", script), ("page/index.php", page)]).with("--instances", "1");
    let weft = weft.with("--define", "date.timezone=UTC").start();
    for _ in 0..20 {
        assert_eq!(get(&weft, "page.example", "/?open").text(), " Asia/Kolkata page", "{}", weft.log());
        assert_eq!(get(&weft, "loaded.example", "/").text(), "Asia/Tokyo /", "{}", weft.log());
        assert_eq!(get(&weft, "page.example", "/").text(), "No resource supplied UTC page", "{}", weft.log());
    }
    assert_eq!(weft.workers().len(), 1);
}
