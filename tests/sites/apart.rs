//! A request of one site sees nothing of another: a page changes what it can, and a page of another site looks around in
//! the same PHP.

use std::net::TcpListener;
use std::thread;

use serde_json::Value;
use weft_tests::{Running, Server};

use crate::{get, server};

/// Changes whatever a script can change, and tells which connection pfsockopen() gave it.
pub const CHANGE: &str = r#"<?php
foreach (['precision' => '3', 'memory_limit' => '99M', 'include_path' => '/tmp/one', 'default_charset' => 'KOI8-R',
    'error_prepend_string' => 'one', 'session.name' => 'ONE', 'date.timezone' => 'Asia/Tokyo', 'max_execution_time' => '77',
    'auto_detect_line_endings' => '1', 'user_agent' => 'one', 'mbstring.language' => 'Japanese'] as $name => $value) {
    @ini_set($name, $value);
}
putenv('OWN=changed');
putenv('NEW=one');
putenv('PATH=/one');
setlocale(LC_ALL, 'C.UTF-8');
umask(0);
date_default_timezone_set('Asia/Kolkata');
mb_internal_encoding('EUC-JP');
textdomain('one');
bindtextdomain('one', __DIR__);
stream_context_set_default(['http' => ['user_agent' => 'one']]);
stream_wrapper_unregister('ftp');
set_error_handler(fn () => true);
spl_autoload_register(fn ($class) => null);
class OfOne { public static $value = 'one'; }
function of_one() {}
define('OF_ONE', 1);
$GLOBALS['one'] = $_SERVER['one'] = $_ENV['one'] = $_GET['one'] = 'one';
realpath(__DIR__ . '/index.php');
file_exists(__DIR__ . '/index.php');
include 'part.php';
@session_id('one');
chdir('/');
if (isset($_GET['port'])) {
    $line = pfsockopen('127.0.0.1', (int) $_GET['port']);
    echo stream_socket_get_name($line, false);
}
"#;

/// Says everything that a script can see, but for what differs between any two requests.
pub const LOOK: &str = r#"<?php
$line = isset($_GET['port']) ? stream_socket_get_name(pfsockopen('127.0.0.1', (int) $_GET['port']), false) : null;
$volatile = ['REMOTE_PORT', 'REQUEST_TIME', 'REQUEST_TIME_FLOAT', 'QUERY_STRING', 'REQUEST_URI'];
$ini = ini_get_all(null, false);
$part = include 'part.php';
echo json_encode([
    'line' => $line,
    'part' => $part,
    'seen' => [
        'ini' => $ini,
        'server' => array_diff_key($_SERVER, array_flip($volatile)),
        'get' => isset($_GET['one']),
        'env' => array_diff_key($_ENV, array_flip($volatile)),
        'environment' => array_diff_key(getenv(), array_flip($volatile)),
        'own' => getenv('OWN'),
        'cwd' => getcwd(),
        'umask' => umask(),
        'locale' => setlocale(LC_ALL, 0),
        'zone' => date_default_timezone_get(),
        'encoding' => mb_internal_encoding(),
        'domain' => [textdomain(null), bindtextdomain('one', null)],
        'context' => stream_context_get_options(stream_context_get_default()),
        'wrappers' => stream_get_wrappers(),
        'autoload' => count(spl_autoload_functions()),
        'names' => [class_exists('OfOne', false), function_exists('of_one'), defined('OF_ONE'), isset($one)],
        'paths' => array_filter(array_keys(realpath_cache_get()), fn ($path) => str_contains($path, '/one')),
        'files' => array_filter(get_included_files(), fn ($path) => str_contains($path, '/one/')),
        'status' => @opcache_get_status(),
        'session' => [session_id(), session_name(), session_save_path()],
    ],
], JSON_THROW_ON_ERROR);
"#;

const SITES: &str = r#"
[[site]]
names = ["one.example"]
root = "one"
[site.ini]
session.save_path = "/tmp/one"
precision = 5
[site.admin_ini]
auto_prepend_file = "before.php"
error_append_string = "one"
sys_temp_dir = "/one"
[site.environment]
OWN = "of one"
ONLY_ONE = "yes"

[[site]]
names = ["two.example"]
root = "two"
[site.ini]
session.save_path = "/tmp/two"
[site.environment]
OWN = "of two"
"#;

fn files() -> Vec<(&'static str, &'static str)> {
    vec![
        ("one/index.php", CHANGE),
        ("one/look.php", LOOK),
        ("one/part.php", "<?php return 'one';"),
        ("one/before.php", "<?php"),
        ("two/index.php", LOOK),
        ("two/part.php", "<?php return 'two';"),
    ]
}

fn sites() -> Server {
    server(SITES, &files())
}

/// What the page of the second site sees.
fn look(weft: &Running, query: &str) -> Value {
    let response = get(weft, "two.example", &format!("/{query}"));
    assert_eq!(response.status, 200, "{}", weft.log());
    let said = response.json();
    assert_eq!(said["part"], "two");
    said
}

/// Asserts that two looks are equal, and names what differs.
pub fn assert_same(before: &Value, after: &Value) {
    let differ = |key: &String| before["seen"][key] != after["seen"][key];
    let keys: Vec<&String> =
        before["seen"].as_object().expect("an object").keys().filter(|key| differ(key)).collect();
    let shown: Vec<String> =
        keys.iter().map(|key| format!("{key}: {} / {}", before["seen"][key], after["seen"][key])).collect();
    assert!(keys.is_empty(), "{shown:#?}");
}

/// In turns, in a worker with this many instances.
fn in_turns(instances: &str) {
    let fresh = sites().with("--instances", instances).start();
    let before = look(&fresh, "");
    drop(fresh);
    let weft = sites().with("--instances", instances).start();
    for _ in 0..3 {
        assert_eq!(get(&weft, "one.example", "/").text(), "");
        let after = look(&weft, "");
        let mut after = after;
        // The servers have different directories and ports.
        for (name, own) in before["seen"]["server"].as_object().expect("an object") {
            let same =
                ["DOCUMENT_ROOT", "SCRIPT_FILENAME", "SERVER_PORT", "PWD", "OLDPWD"].contains(&name.as_str());
            if same {
                after["seen"]["server"][name] = own.clone();
            }
        }
        for key in ["cwd", "env", "environment"] {
            after["seen"][key] = before["seen"][key].clone();
        }
        assert_same(&before, &after);
    }
}

#[test]
fn nothing_is_left_for_the_next_request_in_the_same_php() {
    in_turns("1");
    in_turns("8");
}

#[test]
fn the_environment_is_the_sites() {
    let weft = sites().with("--instances", "1").start();
    let first = look(&weft, "");
    for _ in 0..3 {
        get(&weft, "one.example", "/");
        assert_same(&first, &look(&weft, ""));
    }
    for (name, one, two) in [("OWN", "of one", Some("of two")), ("ONLY_ONE", "yes", None), ("NEW", "", None)]
    {
        let said = get(&weft, "one.example", "/look.php").json();
        let own = said["seen"]["server"][name].as_str().unwrap_or_default();
        assert_eq!(
            (own, said["seen"]["environment"][name].as_str().unwrap_or_default()),
            (one, one),
            "{name}"
        );
        let said = look(&weft, "");
        assert_eq!(said["seen"]["server"][name].as_str(), two, "{name}");
        assert_eq!(said["seen"]["environment"][name].as_str(), two, "{name}");
    }
    assert_eq!(look(&weft, "")["seen"]["own"], "of two");
}

#[test]
fn nothing_shows_while_others_run_at_once() {
    let mut files = files();
    let waits = CHANGE.to_owned() + "usleep(2000); echo getenv('OWN'), ini_get('precision');";
    files[0].1 = &waits;
    for instances in ["1", "6"] {
        let weft =
            server(SITES, &files).with("--instances", instances).with("--queue-timeout-ms", "100000").start();
        let first = look(&weft, "");
        let (weft, first) = (&weft, &first);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(move || {
                    for _ in 0..40 {
                        assert_eq!(get(weft, "one.example", "/").text(), "changed3");
                    }
                });
                scope.spawn(move || {
                    for _ in 0..40 {
                        assert_same(first, &look(weft, ""));
                    }
                });
            }
        });
    }
}

#[test]
fn a_persistent_connection_stays_with_its_site() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let held = thread::spawn(move || listener.incoming().take(3).collect::<Vec<_>>());
    let weft = sites().with("--instances", "1").start();
    let query = format!("?port={port}");
    let one = || get(&weft, "one.example", &format!("/{query}")).text();
    let first = one();
    assert_eq!(one(), first, "the site's own next request has it");
    let two = look(&weft, &query)["line"].clone();
    assert!(two.is_string() && two != first.as_str(), "{two} {first}");
    assert_ne!(one(), first, "it was closed");
    drop(weft);
    assert_eq!(held.join().expect("it does not panic").len(), 3);
}

#[test]
fn the_operators_settings_stand_and_the_others_may_change() {
    let page = "<?php echo json_encode([ini_get('precision'), ini_set('precision', '7'), ini_get('open_basedir'), \
                @ini_set('open_basedir', '/'), ini_set('error_append_string', 'x'), ini_get('error_append_string')]);";
    let text = "[[site]]\nnames = [\"one.example\"]\nroot = \"one\"\n[site.ini]\nprecision = 5\n[site.admin_ini]\n\
                open_basedir = \"/nowhere\"\nerror_append_string = \"own\"\n";
    let weft = server(text, &[("one/index.php", "<?php")]).start();
    assert_eq!(get(&weft, "one.example", "/").status, 403, "the script itself is not allowed");
    let here = weft.path("one").canonicalize().expect("it exists");
    let text = text.replace("/nowhere", &here.display().to_string());
    // The script's own directory has a say about what the operator leaves open.
    let user = "precision = 6\nerror_append_string = y\n";
    let weft = server(&text, &[("one/index.php", page), ("one/.user.ini", user)]);
    let own = weft.directory().join("one").canonicalize().expect("it exists");
    let weft =
        weft.with_file("weft.toml", &text.replace(&*here.to_string_lossy(), &own.to_string_lossy())).start();
    let expected = format!("[\"6\",\"6\",{},false,false,\"own\"]", Value::from(own.to_string_lossy()));
    assert_eq!(
        get(&weft, "one.example", "/").json(),
        serde_json::from_str::<Value>(&expected).expect("JSON")
    );
}

#[test]
fn open_basedir_holds_for_what_opcache_has() {
    let include = "<?php echo @include $_GET['f'], '|', @include_once $_GET['f'];";
    let files = [
        ("one/index.php", include),
        ("one/own.php", "<?php return 'own';"),
        ("two/index.php", include),
        ("two/secret.php", "<?php return 'secret';"),
    ];
    let made = server("", &files);
    let at = made.directory().canonicalize().expect("it exists").display().to_string();
    let text = format!(
        "[[site]]\nnames = [\"one.example\"]\nroot = \"one\"\n[site.admin_ini]\nopen_basedir = \"/nowhere:{at}/one\"\n\
         [[site]]\nnames = [\"two.example\"]\nroot = \"two\"\n"
    );
    std::os::unix::fs::symlink("../two/secret.php", made.directory().join("one/link.php"))
        .expect("a new link");
    let weft = made.with_file("weft.toml", &text).with("--instances", "2").start();
    for round in 0..3 {
        let ask = |host: &str, file: &str| get(&weft, host, &format!("/?f={file}")).text();
        let secret = format!("{at}/two/secret.php");
        assert_eq!(ask("two.example", &secret), "secret|1", "{round}");
        for name in [&*secret, "../two/secret.php", "link.php", &format!("{at}/one/../two/secret.php")] {
            assert_eq!(ask("one.example", name), "|", "{name}, {round}");
        }
        assert_eq!(ask("one.example", "own.php"), "own|1", "{round}");
        assert_eq!(ask("two.example", &format!("{at}/one/own.php")), "own|1", "the other has no such bound");
    }
    let required = "<?php try { require $_GET['f']; } catch (Error $e) { echo get_class($e); }";
    weft.write("one/require.php", required);
    assert_eq!(get(&weft, "one.example", &format!("/require.php?f={at}/two/secret.php")).text(), "Error");
}
