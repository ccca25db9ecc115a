//! Development mode reports once what a request has left behind; production mode reports nothing.

use weft_tests::{Running, Server};

const APP: &str = r#"
final class Cache
{
    public static array $entries = [];
    public static array $bounded = ['a'];
    private static ?PDO $pdo = null;
    public static $file;

    public static function pdo(): PDO
    {
        return self::$pdo ??= new PDO('sqlite::memory:');
    }
}

function remember(string $value): void
{
    static $values = [];
    $values[] = $value;
}

$service = new stdClass();
$service->log = [];

return function (Weft\Http\Request $request) use ($service): string {
    static $seen = [];
    $value = uniqid('', true);
    switch ($request->path()) {
        case '/property':
            Cache::$entries[] = $value;
            break;
        case '/function':
            remember($value);
            break;
        case '/handler':
            $seen[] = $value;
            break;
        case '/service':
            $service->log[] = $value;
            break;
        case '/global':
            $GLOBALS['list'][] = $value;
            break;
        case '/bounded':
            Cache::$bounded = [$value];
            break;
        case '/file':
            Cache::$file = fopen(__FILE__, 'r');
            break;
        case '/closed':
            fclose(fopen(__FILE__, 'r'));
            break;
        case '/settings':
            ini_set('precision', '7');
            chdir('/');
            date_default_timezone_set('Asia/Tokyo');
            @trigger_error('a silent error changes no setting');
            break;
        case '/buffer':
            ob_start();
            echo 'buffered ';
            break;
        case '/transaction':
            Cache::pdo()->beginTransaction();
            break;
        case '/commit':
            Cache::pdo()->commit();
            break;
        default:
            if (str_starts_with($request->path(), '/settings/')) {
                chdir('/');
            }
            if (str_starts_with($request->path(), '/user/')) {
                Cache::$entries[] = $value;
            }
    }

    return "done\n";
};"#;

fn development() -> Running {
    Server::new(APP).with("--mode", "development").start()
}

/// The place in the application that declares it, in the log's notation.
fn place(needle: &str) -> String {
    let line = format!("<?php\n{APP}").lines().position(|line| line.contains(needle)).expect("a line");
    format!("app.php:{})", line + 1)
}

/// The findings so far. The log has all of them: the function waits for one that is caused now.
fn findings(weft: &mut Running, barrier: &str) -> Vec<String> {
    weft.get(&format!("/settings/{barrier}"));
    weft.wait_for_log(&format!("left behind by GET /settings/{barrier}: the current directory"));
    let log = weft.log();
    log.lines()
        .filter(|line| line.contains("left behind by") && !line.contains(barrier))
        .map(str::to_owned)
        .collect()
}

#[test]
fn growth_is_reported_once_with_its_place_and_sizes() {
    let mut weft = development();
    let grown = [
        ("/property", "Cache::$entries has grown from ", "final class Cache"),
        ("/function", "remember() static $values has grown from ", "function remember"),
        ("/handler", "static $seen has grown from ", "return function"),
        ("/service", "static $service has grown from ", "return function"),
        ("/global", "$GLOBALS['list'] has grown from 2 to 3 elements (a global variable)", ""),
    ];
    for path in grown.map(|(path, ..)| path).into_iter().chain(["/bounded", "/closed"]) {
        for _ in 0..4 {
            assert_eq!(weft.get(path).text(), "done\n");
        }
    }
    let all = findings(&mut weft, "at-last");
    for (path, text, declared) in grown {
        let of_path: Vec<_> = all.iter().filter(|line| line.contains(&format!(" GET {path}: "))).collect();
        let of_path: Vec<_> = of_path.iter().filter(|line| line.contains(text)).collect();
        assert_eq!(of_path.len(), 1, "{path}: {all:#?}");
        assert!(declared.is_empty() || of_path[0].contains(&place(declared)), "{path}: {of_path:#?}");
    }
    // The service is also a global of the script.
    assert_eq!(all.len(), grown.len() + 1, "{all:#?}");
}

#[test]
fn numbers_in_a_path_do_not_make_a_new_route() {
    let mut weft = development();
    for n in 0..9 {
        weft.get(&format!("/user/{n}{n}"));
    }
    let all = findings(&mut weft, "numbers");
    assert_eq!(all.len(), 1, "{all:#?}");
    assert!(all[0].contains("GET /user/#: Cache::$entries"), "{all:#?}");
}

#[test]
fn open_resources_and_changes_are_reported() {
    let mut weft = development();
    for (path, findings) in [
        ("/file", vec!["an open stream: "]),
        ("/buffer", vec!["1 open output buffer (ob_start)"]),
        ("/transaction", vec!["an open transaction on a PDO connection (sqlite)"]),
        (
            "/settings",
            vec![
                "the ini setting precision, changed from \"14\" to \"7\"",
                "the current directory, changed from \"",
                "the default time zone, changed from \"UTC\" to \"Asia/Tokyo\"",
            ],
        ),
    ] {
        assert_eq!(weft.get(path).status, 200);
        for finding in findings {
            weft.wait_for_log(&format!("left behind by GET {path}: {finding}"));
        }
    }
    weft.get("/commit");
    weft.get("/property");
    let all = findings(&mut weft, "open");
    assert!(!all.iter().any(|line| line.contains("/commit: an open transaction")), "{all:#?}");
    assert!(!all.iter().any(|line| line.contains("error_reporting")), "{all:#?}");
}

#[test]
fn production_looks_at_nothing() {
    let weft = Server::new(APP).start();
    for path in ["/property", "/settings", "/file", "/transaction", "/buffer"] {
        for _ in 0..3 {
            weft.get(path);
        }
    }
    let mut next = weft;
    next.signal(rustix::process::Signal::TERM);
    next.wait();
    assert!(!next.log().contains("left behind"), "{}", next.log());
}
