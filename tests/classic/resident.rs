//! Resident mode: a worker script that stays loaded, through FrankenPHP's interface.

use std::collections::HashSet;
use std::thread;

use serde_json::{Value, json};
use weft_tests::{Running, Server};

use super::ask;

/// A worker script as frameworks have it; the query says what a request does.
const WORKER: &str = r#"<?php
if (!($_SERVER['FRANKENPHP_WORKER'] ?? false) || !function_exists('frankenphp_handle_request')) {
    exit('not a worker');
}
class Application
{
    public int $handled = 0;
    public static array $seen = [];
}
$application = new Application();
ini_set('precision', 5);
$handler = function () use ($application): void {
    $application->handled++;
    $do = $_GET['do'] ?? '';
    header('X-Handled: ' . $application->handled);
    match ($do) {
        'exit' => exit('exited'),
        'throw' => throw new RuntimeException('thrown'),
        'fatal' => str_repeat('x', PHP_INT_MAX >> 8),
        'finish' => [print('early'), frankenphp_finish_request(), print('lost')],
        'shutdown' => register_shutdown_function(fn () => print(' shutdown')),
        'status' => [http_response_code(418), header('X-A: b')],
        'ini' => [ini_set('precision', 3), ini_set('memory_limit', '99M')],
        'log' => frankenphp_log('from the worker', 4, ['a' => 1]),
        default => null,
    };
    echo json_encode(['n' => $application->handled, 'get' => $_GET, 'post' => $_POST, 'cookie' => $_COOKIE, 'request' => $_REQUEST,
        'method' => $_SERVER['REQUEST_METHOD'], 'uri' => $_SERVER['REQUEST_URI'], 'files' => array_column($_FILES, 'size'),
        'input' => file_get_contents('php://input'), 'precision' => ini_get('precision'), 'memory' => ini_get('memory_limit'),
        'headers' => frankenphp_request_headers()['X-Mine'] ?? null, 'filter' => filter_input(INPUT_GET, 'do'), 'out' => frankenphp_response_headers()['X-Handled']]);
    if (isset($_GET['session'])) {
        session_start(['save_path' => __DIR__]);
        $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
        header('X-Session: ' . $_SESSION['n']);
    }
    header('X-Session-Left: ' . (isset($_SESSION) ? 'yes' : 'no'));
};
$max = (int) ($_SERVER['MAX_REQUESTS'] ?? 0);
for ($n = 0; !$max || $n < $max; $n++) {
    if (!frankenphp_handle_request($handler)) {
        break;
    }
}
"#;

fn worker() -> Server {
    Server::of_docroot(&[("a.css", "a{}"), ("other.php", "<?php echo 'not this';")])
        .with_file("worker.php", WORKER)
        .with("--worker", "worker.php")
        .with("--define", "memory_limit=64M")
}

fn get(weft: &Running, target: &str) -> Value {
    weft.get(target).json()
}

#[test]
fn the_script_stays_loaded_and_requests_leave_nothing_behind() {
    let weft = worker().start();
    assert!(weft.log().contains("(resident mode)"), "{}", weft.log());
    let first = ask(&weft, "GET", "/path?do=ini&x=1", "Cookie: a=b\r\nX-Mine: yes\r\n").json();
    assert_eq!(first["get"], json!({"do": "ini", "x": "1"}));
    assert_eq!(
        (&first["precision"], &first["memory"], &first["headers"]),
        (&json!("3"), &json!("99M"), &json!("yes"))
    );
    let second = get(&weft, "/");
    assert_eq!((&second["n"], &second["uri"], &second["method"]), (&json!(2), &json!("/"), &json!("GET")));
    assert_eq!((&second["get"], &second["cookie"], &second["request"]), (&json!([]), &json!([]), &json!([])));
    assert_eq!(
        (&second["precision"], &second["memory"]),
        (&json!("5"), &json!("64M")),
        "as the script has set it, and php.ini"
    );
    assert_eq!((&second["headers"], &second["filter"]), (&Value::Null, &Value::Null));
    let mut client = weft.connect();
    let body = "--X\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\nv\r\n--X\r\nContent-Disposition: form-data; name=\"f\"; \
                filename=\"n\"\r\n\r\nhello\r\n--X--\r\n";
    client.post("/form", "multipart/form-data; boundary=X", body);
    let form = client.read().json();
    assert_eq!((&form["post"], &form["files"], &form["n"]), (&json!({"t": "v"}), &json!([5]), &json!(3)));
    client.post("/raw", "text/plain", "body");
    assert_eq!(client.read().json()["input"], json!("body"));
    client.get("/");
    let last = client.read().json();
    assert_eq!(
        (&last["post"], &last["files"], &last["input"], &last["n"]),
        (&json!([]), &json!([]), &json!(""), &json!(5))
    );
}

#[test]
fn files_are_sent_and_everything_else_goes_to_the_script() {
    let weft = worker().start();
    assert_eq!(weft.get("/a.css").text(), "a{}");
    assert_eq!(get(&weft, "/other.php")["n"], json!(1));
    assert_eq!(get(&weft, "/no/such/file")["n"], json!(2));
    assert_eq!(weft.get("/.env").status, 404);
}

#[test]
fn the_end_of_a_request_does_not_end_the_script() {
    let mut weft = worker().start();
    let response = weft.get("/?do=exit");
    assert_eq!(
        (response.status, response.text().as_str(), response.header("x-handled")),
        (200, "exited", Some("1"))
    );
    assert_eq!(weft.get("/?do=throw").status, 500);
    weft.wait_for_log("Uncaught RuntimeException: thrown");
    assert_eq!(weft.get("/?do=finish").text(), "early");
    assert!(weft.get("/?do=shutdown").text().ends_with(" shutdown"));
    assert!(!weft.get("/").text().ends_with(" shutdown"));
    let status = weft.get("/?do=status");
    assert_eq!(
        (status.status, status.header("x-a"), status.header("x-handled")),
        (418, Some("b"), Some("6"))
    );
    let plain = weft.get("/?do=log");
    assert_eq!((plain.status, plain.header("x-a")), (200, None));
    weft.wait_for_log(r#"from the worker {"a":1}"#);
    assert_eq!(weft.get("/?do=fatal").status, 500);
    assert_eq!(get(&weft, "/")["n"], json!(1), "after a fatal error it is loaded again");
    assert_eq!(weft.workers().len(), 1);
}

#[test]
fn sessions_are_their_visitors() {
    let weft = worker().start();
    let first = weft.get("/?session");
    assert_eq!(first.header("x-session"), Some("1"));
    let cookie =
        first.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a session").to_owned();
    assert_eq!(weft.get("/").header("x-session-left"), Some("no"), "another visitor");
    let again = ask(&weft, "GET", "/?session", &format!("Cookie: {cookie}\r\n"));
    assert_eq!(again.header("x-session"), Some("2"));
    assert_eq!(weft.get("/?session").header("x-session"), Some("1"));
}

#[test]
fn a_script_that_leaves_after_some_requests_is_started_again() {
    let weft = worker().with_variable("MAX_REQUESTS", "3").start();
    for n in [1, 2, 3, 1, 2, 3, 1] {
        assert_eq!(get(&weft, "/")["n"], json!(n));
    }
}

#[test]
fn at_the_end_of_the_worker_the_script_comes_to_its_own() {
    let script = "<?php register_shutdown_function(fn () => file_put_contents(__DIR__ . '/ended', 'yes'));
        while (frankenphp_handle_request(fn () => print('ok')));
        file_put_contents(__DIR__ . '/left', 'yes');";
    let mut weft =
        Server::of_docroot(&[]).with_file("worker.php", script).with("--worker", "worker.php").start();
    assert_eq!(weft.get("/").text(), "ok");
    weft.signal(rustix::process::Signal::TERM);
    assert!(weft.wait().success());
    assert_eq!((weft.read("ended"), weft.read("left")), ("yes".to_owned(), "yes".to_owned()));
}

#[test]
fn a_script_that_is_not_a_worker_is_reported() {
    let mut weft = Server::of_docroot(&[])
        .with_file("worker.php", "<?php echo 'hello';")
        .with("--worker", "worker.php")
        .start();
    assert_eq!(weft.get("/").status, 500);
    weft.wait_for_log("it must call frankenphp_handle_request() in a loop");
    assert!(weft.log().contains("has ended without asking for a request"), "said before anybody asks");
    let said = weft.weft(&["check", "public", "--worker", "worker.php"]);
    assert_eq!(said.code, Some(1), "a reload would not take it");
    assert!(said.stderr.contains("worker.php: it did not ask for a request"), "{}", said.stderr);
    weft.write("worker.php", "<?php while (frankenphp_handle_request(fn () => print('ok'))); echo 'ended';");
    let said = weft.weft(&["check", "public", "--worker", "worker.php", "--instances", "5"]);
    assert!(
        said.stdout.contains(
            "worker.php stays loaded and answers the requests that no file of the document root answers"
        ),
        "{}{}",
        said.stdout,
        said.stderr
    );
}

#[test]
fn a_script_that_cannot_be_parsed_is_named_with_its_line() {
    let good = "<?php return fn () => 'good';";
    let broken = "<?php\nfor (;;";
    for (prepended, script) in [(good, broken), (broken, good)] {
        let directory = tempfile::tempdir().expect("a directory");
        for (name, text) in [("prepended.php", prepended), ("worker.php", script)] {
            std::fs::write(directory.path().join(name), text).expect("written");
        }
        let prepend = format!("auto_prepend_file={}", directory.path().join("prepended.php").display());
        let mut check = weft_tests::command::command(directory.path());
        check.args(["check", "worker.php", "--run-as", "resident", "--define", &prepend]);
        let said = weft_tests::command::finish(&mut check).stderr;
        let name = if script == broken { "worker.php" } else { "prepended.php" };
        assert!(said.contains(&format!("{name} on line 2")) && said.contains("Parse error"), "{said}");
    }
}

/// A worker that reports which load of the script answers. It waits as long as the query says, and checks the state
/// that should be its own.
const WAITS: &str = r#"<?php
final class State
{
    public static string $load = '';
    public static int $handled = 0;
    public static ?string $now = null;
}
State::$load = bin2hex(random_bytes(4));
function deeper(int $n): array { return array_map('deeper', [$n]); }
while (frankenphp_handle_request(function (): void {
    $n = $_GET['n'] ?? '-';
    State::$handled++;
    if (State::$now !== null) {
        echo 'two at once ';
    }
    State::$now = $n;
    ini_set('precision', (string) (3 + (int) $n % 10));
    putenv("N=$n");
    // "6-first" waits until six requests with this word have arrived.
    [$count, $who] = explode('-', $_GET['meet'] ?? '0-') + [1 => ''];
    touch(__DIR__ . "/here-$who-$n");
    while (count(glob(__DIR__ . "/here-$who-*")) < (int) $count) {
        usleep(5_000);
    }
    for ($i = 0; $i < 4; $i++) {
        usleep((int) ($_GET['us'] ?? 0));
        if (State::$now !== $n || $_GET['n'] !== $n || getenv('N') !== $n || ini_get('precision') !== (string) (3 + (int) $n % 10)) {
            echo "not $n's ";
        }
    }
    State::$now = null;
    match ($_GET['do'] ?? '') {
        'exit' => exit('left'),
        'fatal' => str_repeat('x', PHP_INT_MAX >> 8),
        'deep' => deeper(0),
        'throw' => throw new RuntimeException('thrown'),
        default => null,
    };
    echo "$n ", State::$load, ' ', State::$handled, ' ', getmypid();
}));
"#;

/// A worker script without a document root, with instances.
fn waits(instances: &str) -> Server {
    // On a busy machine a request may wait long for an instance.
    Server::of_script("worker.php", WAITS).with("--instances", instances).with("--queue-timeout-ms", "100000")
}

fn all(weft: &Running, targets: &[String]) -> Vec<(u16, String)> {
    thread::scope(|scope| {
        let asked: Vec<_> = targets.iter().map(|target| scope.spawn(|| weft.get(target))).collect();
        let answered = asked.into_iter().map(|one| one.join().expect("a response"));
        answered.map(|response| (response.status, response.text())).collect()
    })
}

fn words(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

#[test]
fn a_number_where_a_worker_script_is_named_leads_to_the_other_flag() {
    let mut weft = Server::of_docroot(&[("index.php", "<?php")]).with("--worker", "2").spawn();
    weft.wait_for_log(
        "the worker script 2: No such file or directory (os error 2); --workers sets the number of processes",
    );
    assert!(!weft.wait().success());
}

#[test]
fn each_instance_has_the_application_loaded_and_one_request_at_a_time() {
    let weft = waits("6").start();
    assert!(weft.log().contains("worker.php (resident mode)"), "{}", weft.log());
    // Six at once, so that every instance has one.
    let targets =
        |who: &str| -> Vec<String> { (0..30).map(|n| format!("/?n={n}&us=1000&meet=6-{who}")).collect() };
    let answers = all(&weft, &targets("first"));
    let (mut loads, mut processes) = (HashSet::new(), HashSet::new());
    for (n, (status, text)) in answers.iter().enumerate() {
        let said = words(text);
        assert_eq!((*status, said.len(), said[0]), (200, 4, n.to_string().as_str()), "{text}");
        loads.insert(said[1]);
        processes.insert(said[3]);
    }
    assert_eq!((loads.len(), processes.len()), (6, 1), "six loads in one process: {answers:?}");
    let again = all(&weft, &targets("again"));
    let loads_again: HashSet<&str> = again.iter().map(|(_, text)| words(text)[1]).collect();
    assert_eq!(loads_again, loads, "they stay loaded");
}

#[test]
fn the_end_of_a_request_in_one_instance_does_not_affect_the_others() {
    let weft = waits("4").start();
    let ways = ["exit", "", "throw", "", "fatal", "", "deep", ""];
    let targets: Vec<String> =
        (0..40).map(|n| format!("/?n={n}&us=5000&do={}", ways[n % ways.len()])).collect();
    for (n, (status, text)) in all(&weft, &targets).iter().enumerate() {
        match ways[n % ways.len()] {
            "" => assert_eq!((*status, words(text)[0]), (200, n.to_string().as_str()), "{text}"),
            "exit" => assert_eq!((*status, text.as_str()), (200, "left")),
            _ => assert_eq!(*status, 500, "{n}: {text}"),
        }
    }
    assert_eq!(weft.workers().len(), 1);
    let (status, text) = all(&weft, &["/?n=7".to_owned()]).remove(0);
    assert_eq!((status, words(&text)[0]), (200, "7"));
}

#[test]
fn an_instance_is_reloaded_after_a_number_of_requests() {
    let weft = waits("2").with("--worker-requests-max", "3").start();
    let answers: Vec<String> = (0..7).map(|n| weft.get(&format!("/?n={n}")).text()).collect();
    let handled: Vec<&str> = answers.iter().map(|text| words(text)[2]).collect();
    assert_eq!(handled, ["1", "2", "3", "1", "2", "3", "1"]);
    let loads: Vec<&str> = answers.iter().map(|text| words(text)[1]).collect();
    assert!(loads[0] == loads[2] && loads[2] != loads[3] && loads[3] == loads[5], "{answers:?}");
}

#[test]
fn an_idle_instance_that_has_given_its_memory_back_keeps_its_application() {
    let weft = waits("3").with("--instances-idle-ms", "1").start();
    let quick = |who: &str| -> Vec<String> { (0..3).map(|n| format!("/?n={n}&meet=3-{who}")).collect() };
    let before = all(&weft, &quick("before"));
    // While this request runs, the others stay idle for longer than the worker's interval between two checks.
    assert_eq!(words(&weft.get("/?n=9&us=600000").text())[0], "9");
    let after = all(&weft, &quick("after"));
    let loads = |answers: &[(u16, String)]| -> HashSet<String> {
        answers.iter().map(|(_, text)| words(text)[1].to_owned()).collect()
    };
    assert_eq!(loads(&before), loads(&after));
}

#[test]
fn all_instances_end_with_the_worker() {
    let script =
        "<?php register_shutdown_function(fn () => file_put_contents(__DIR__ . '/ended', 'x', FILE_APPEND));
        while (frankenphp_handle_request(fn () => usleep(100_000)));";
    let mut weft = Server::of_script("worker.php", script).with("--instances", "3").start();
    let targets: Vec<String> = (0..3).map(|_| "/".to_owned()).collect();
    assert!(all(&weft, &targets).iter().all(|(status, _)| *status == 200));
    weft.signal(rustix::process::Signal::TERM);
    assert!(weft.wait().success());
    assert_eq!(weft.read("ended"), "xxx");
}

#[test]
fn pages_are_verified_while_every_call_lets_others_run() {
    let weft = waits("5").with_flag("--verify-instances").with_flag("--yield-at-calls").start();
    let targets: Vec<String> = (0..25).map(|n| format!("/?n={n}&us=1000")).collect();
    for (n, (status, text)) in all(&weft, &targets).iter().enumerate() {
        assert_eq!((*status, words(text)[0]), (200, n.to_string().as_str()), "{text}");
    }
    assert!(!weft.log().contains("instances:"), "{}", weft.log());
}

#[test]
fn the_environment_of_the_boot_is_every_requests() {
    let script = "<?php $_ENV['BOOTED'] = 'yes'; ini_set('user_agent', 'booted');
        while (frankenphp_handle_request(function () {
            echo $_ENV['BOOTED'] ?? 'no', ' ', $_ENV['LEFT'] ?? 'no', ' ', ini_get('user_agent'), ' ', isset($_GET['max']) ? exit : '';
            $_ENV['LEFT'] = 'yes'; unset($_ENV['BOOTED']); ini_set('user_agent', 'of a request');
        }));";
    let weft = Server::of_script("worker.php", script).with("--worker-requests-max", "2").start();
    for _ in 0..5 {
        assert_eq!(weft.get("/").text(), "yes no booted ");
    }
}
