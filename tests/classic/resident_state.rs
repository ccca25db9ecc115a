//! Resident mode undoes at the end of a request what the request changed of PHP. So the next visitor starts from the
//! state that the script had when it asked for its first request.

use std::thread;

use serde_json::{Value, json};
use weft_tests::{Running, Server};

#[test]
fn a_weak_map_keyed_by_the_request_knows_no_other_visitor() {
    let script = r#"<?php
        final class Known { public static ?WeakMap $users = null; public static ?WeakReference $last = null; }
        Known::$users = new WeakMap();
        return function (Weft\Http\Request $request): string {
            $same = Known::$last?->get() === $request;
            Known::$last = WeakReference::create($request);
            if ($request->cookie('user')) {
                Known::$users[$request] = $request->cookie('user');
            }
            return (Known::$users[$request] ?? 'nobody') . ($same ? ' again' : '');
        };"#;
    for instances in ["1", "3"] {
        let weft = Server::of_script("worker.php", script)
            .with("--run-as", "resident")
            .with("--instances", instances)
            .start();
        for _ in 0..10 {
            let alice = weft.say("GET / HTTP/1.1\r\nHost: a\r\nCookie: user=alice\r\n\r\n");
            assert_eq!((alice.text(), weft.get("/").text()), ("alice".to_owned(), "nobody".to_owned()));
        }
    }
}

/// What the application of coroutine mode's tests reports about one piece of state: before a request's change, after
/// it, and after a wait.
fn observed(weft: &Running, name: &str, n: usize) -> Value {
    let response = weft.get(&format!("/?item={}&n={n}", name.replace(' ', "%20")));
    assert_eq!(response.status / 100, 2, "{name}: {}", response.text());
    response.json()
}

/// Resident mode restores each piece of state that coroutine mode keeps per request.
#[test]
fn what_a_request_changes_is_undone_at_its_end() {
    for instances in ["1", "3"] {
        let weft = Server::of_script("app.php", include_str!("../php/isolation.php"))
            .with("--run-as", "resident")
            .with("--instances", instances)
            .with("--queue-timeout-ms", "100000")
            .start();
        let names = weft.get("/?item=names").json();
        let mut wrong = Vec::new();
        for name in names.as_array().expect("names") {
            let name = name.as_str().expect("a name");
            let clean = observed(&weft, name, 1)[0].clone();
            thread::scope(|scope| {
                let weft = &weft;
                let asked: Vec<_> =
                    (1..7).map(|n| (n, scope.spawn(move || observed(weft, name, n)))).collect();
                for (n, one) in asked {
                    let said = one.join().expect("an answer");
                    if said[0] != clean || (!said[1].is_null() && said[2] != said[1]) {
                        wrong.push(format!("{name}, request {n}: clean {clean}, observed {said}"));
                    }
                }
            });
        }
        assert!(wrong.is_empty(), "{instances} instances: {}", wrong.join("\n"));
        assert_eq!(weft.workers().len(), 1);
    }
}

/// State without an entry there: how a request changes it, and what the next request sees.
const MORE: &str = r#"<?php
namespace Visit;

use Weft\Context;

final class Handler implements \SessionHandlerInterface
{
    public function open(string $path, string $name): bool { return true; }
    public function close(): bool { return true; }
    public function read(string $id): string { return 'by|s:4:"boot";'; }
    public function write(string $id, string $data): bool { return true; }
    public function destroy(string $id): bool { return true; }
    public function gc(int $lifetime): int { return 0; }
}

set_error_handler(fn (int $code, string $text) => (print "boot: $text") > 0, E_USER_NOTICE);
set_exception_handler(fn (\Throwable $thrown) => print "boot caught {$thrown->getMessage()}");
session_set_save_handler(new Handler());
date_default_timezone_set('Asia/Tokyo');
stream_context_set_default(['http' => ['header' => 'X-From: boot']]);
stream_wrapper_register('boot', \ArrayObject::class);
libxml_use_internal_errors(true);
mb_internal_encoding('ISO-8859-1');
putenv('VISIT=boot');
setlocale(LC_ALL, 'C.UTF-8');
Context::set('visit', 'boot');
chdir('/tmp');
umask(027);

$seen = [
    'error' => fn () => error_get_last(),
    'handler' => function () { ob_start(); trigger_error('a'); return ob_get_clean(); },
    'xml' => fn () => [count(libxml_get_errors()), libxml_use_internal_errors()],
    'ssl' => fn () => openssl_error_string(),
    'strtok' => fn () => @strtok(' '),
    'zone' => fn () => date_default_timezone_get(),
    'context' => fn () => stream_context_get_options(stream_context_get_default()),
    'wrappers' => fn () => array_values(array_intersect(stream_get_wrappers(), ['boot', 'own', 'http'])),
    'mb' => fn () => [mb_internal_encoding(), mb_substitute_character(), mb_language(), mb_http_output(), mb_detect_order()],
    'environment' => fn () => [getenv('VISIT'), getenv('OWN'), shell_exec('echo $VISIT$OWN')],
    'locale' => fn () => setlocale(LC_ALL, '0'),
    'Context' => fn () => [Context::get('visit'), Context::get('own')],
    'directory' => fn () => getcwd(),
    'mask' => fn () => umask(),
    'assert' => fn () => @assert_options(ASSERT_CALLBACK),
    'json' => fn () => json_last_error(),
    'preg' => fn () => preg_last_error(),
    'date' => fn () => date_get_last_errors(),
    'intl' => fn () => intl_get_error_code(),
    'sockets' => fn () => socket_last_error(),
    'SID' => fn () => defined('SID') ? SID : '',
    'session' => function () { session_start(['use_cookies' => 0]); $by = $_SESSION['by'] ?? null; session_abort(); return $by; },
    'domain' => fn () => textdomain(null),
    'ini' => fn () => [ini_get('precision'), ini_get('session.save_handler'), error_reporting()],
    'loader' => fn () => libxml_get_external_entity_loader() === null,
    'output' => fn () => ob_get_level(),
];

function change(): void
{
    set_error_handler(fn () => false);
    @trigger_error('mine');
    set_error_handler(fn () => print('mine'));
    set_exception_handler(fn () => print('mine'));
    simplexml_load_string('<a><b></a>');
    openssl_pkey_get_private('no key');
    strtok('my secret words', ' ');
    date_default_timezone_set('Europe/Berlin');
    stream_context_set_default(['http' => ['header' => 'Authorization: mine']]);
    stream_wrapper_register('own', \ArrayObject::class);
    stream_wrapper_unregister('http');
    mb_internal_encoding('UTF-8');
    mb_substitute_character(0x3f + 1);
    mb_language('Japanese');
    mb_http_output('SJIS');
    mb_detect_order(['SJIS', 'UTF-8']);
    putenv('VISIT=mine');
    putenv('OWN=mine');
    setlocale(LC_ALL, 'C');
    Context::set('visit', 'mine');
    Context::set('own', 'mine');
    chdir('/');
    umask(0);
    @assert_options(ASSERT_CALLBACK, 'mine');
    json_decode('{');
    preg_match('/(?:\D+|<\d+>)*[!?]/', 'foobar foobar foobar');
    date_create('no date');
    grapheme_strlen("\xff");
    @socket_create(AF_INET, SOCK_RAW, 99);
    session_id('mine');
    session_set_save_handler(new class extends \SessionHandler {});
    session_save_path(sys_get_temp_dir());
    session_start(['use_cookies' => 0, 'use_only_cookies' => 0]);
    $_SESSION['by'] = 'me';
    textdomain('mine');
    ini_set('precision', 3);
    error_reporting(0);
    libxml_set_external_entity_loader(fn () => null);
    output_add_rewrite_var('own', 'mine');
    mt_srand(42);
    ob_start();
}

return function (\Weft\Http\Request $request) use ($seen): string {
    $said = array_map(fn ($look) => $look(), $seen);
    $said['numbers'] = [mt_rand(), rand(), array_rand(range(0, 100000)), lcg_value()];
    if ($request->query('do') === 'links') {
        output_add_rewrite_var('a', '1');
        return '<a href="x.php">';
    }
    if ($request->query('do') === 'change') {
        change();
        usleep(100);
        if ($request->query('then') === 'exit') {
            exit;
        }
        if ($request->query('then') === 'throw') {
            throw new \Exception('thrown');
        }
        if ($request->query('then') === 'fatal') {
            str_repeat('x', PHP_INT_MAX >> 8);
        }
    }
    return json_encode($said);
};
"#;

/// The script's output without the numbers that differ each time.
fn seen(weft: &Running) -> (Value, Value) {
    let response = weft.get("/");
    assert_eq!(response.status, 200, "{}", response.text());
    let mut said = response.json();
    let numbers = said["numbers"].take();
    (said, numbers)
}

#[test]
fn the_next_visitor_starts_from_what_the_script_has_left() {
    for instances in ["1", "3"] {
        let weft = Server::of_script("worker.php", MORE)
            .with("--run-as", "resident")
            .with("--instances", instances)
            .with("--define", "memory_limit=64M")
            .with("--define", "url_rewriter.tags=\"a=href\"")
            .start();
        let (clean, mut numbers) = seen(&weft);
        assert_eq!(
            (&clean["handler"], &clean["zone"], &clean["Context"]),
            (&json!("boot: a"), &json!("Asia/Tokyo"), &json!(["boot", null]))
        );
        assert_eq!(
            (&clean["directory"], &clean["mask"], &clean["strtok"]),
            (&json!("/tmp"), &json!(23), &json!(false))
        );
        assert_eq!((&clean["error"], &clean["session"]), (&Value::Null, &json!("boot")));
        for then in ["", "exit", "throw", "fatal", "", "fatal", "fatal", ""] {
            weft.get(&format!("/?do=change&then={then}"));
            for _ in 0..3 {
                let (said, others) = seen(&weft);
                assert_eq!(said, clean, "{instances} instances, after {then}");
                assert_ne!(others, numbers, "{instances} instances, after {then}");
                numbers = others;
            }
        }
        assert_eq!(weft.get("/?do=links").text(), "<a href=\"x.php?a=1\">");
        assert_eq!(weft.workers().len(), 1);
    }
}
