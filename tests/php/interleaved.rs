//! Fifty requests at once in one worker, each in a different wait: none sees what belongs to another.

use serde_json::{Value, json};
use weft_tests::{Client, Response, Running, until};

use crate::server;

pub const AT_ONCE: usize = 50;
pub const ROUNDS: usize = 4;

/// PHP: `meet($n)` returns when all [`AT_ONCE`] requests of `n`'s round have arrived, however slow the machine is.
pub const MEET: &str = r"function meet(int $n): void {
        static $here = [];
        $round = intdiv($n, 50);
        $here[$round] = ($here[$round] ?? 0) + 1;
        while ($here[$round] < 50) { usleep(500); }
    }
    ";

/// Sends one request on each of `AT_ONCE` connections, then reads the answers.
pub fn at_once(weft: &Running, request: impl Fn(usize) -> String, check: impl Fn(usize, Response)) {
    let mut clients: Vec<Client> = (0..AT_ONCE).map(|_| weft.connect()).collect();
    for round in 0..ROUNDS {
        for (i, client) in clients.iter_mut().enumerate() {
            client.send(request(round * AT_ONCE + i));
        }
        for (i, client) in clients.iter_mut().enumerate() {
            check(round * AT_ONCE + i, client.read());
        }
    }
}

#[test]
fn superglobals_output_headers_status_and_cookies() {
    let weft = server().start();
    let request = |n: usize| {
        let body = format!("field={n}&p[]={n}");
        format!(
            "POST /superglobals?n={n}&q=g{n} HTTP/1.1\r\nHost: a\r\nX-N: {n}\r\nCookie: c=c{n}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    at_once(&weft, request, |n, response| {
        let text = response.text();
        let (echoed, rest) = text.split_once("again ").unwrap_or_else(|| panic!("{n}: {text}"));
        assert_eq!(echoed, format!("echo {n};"));
        let said: Value =
            serde_json::from_str(rest.split_once(';').expect("the echo's end").1).expect("JSON");
        let name = n.to_string();
        assert_eq!(
            said["same"], true,
            "{n}: what was seen before the wait is not what was seen after: {said}"
        );
        assert_eq!(said["seen"][0], json!({"n": name, "q": format!("g{n}")}));
        assert_eq!(said["seen"][1], json!({"field": name, "p": [name]}));
        assert_eq!(said["seen"][2], json!({"c": format!("c{n}")}));
        assert_eq!(said["seen"][3]["field"], name);
        assert_eq!(said["seen"][5], format!("/superglobals?n={n}&q=g{n}"));
        assert_eq!(said["seen"][7], name);
        assert_eq!(said["seen"][9], format!("field={n}&p[]={n}"));
        assert_eq!(said["added"], json!([n, n]));
        assert_eq!(response.all("x-before"), [name.as_str()]);
        assert_eq!(response.all("x-after"), [name.as_str()]);
        assert_eq!(response.all("set-cookie"), [format!("seen={n}")]);
    });
}

#[test]
fn a_returned_response_has_the_status_it_says() {
    let weft = server().start();
    let request = |n: usize| {
        format!("GET /return?what={} HTTP/1.1\r\nHost: a\r\n\r\n", ["string", "null", "int"][n % 3])
    };
    at_once(&weft, request, |n, response| {
        assert_eq!((response.status, response.text().as_str()), (200, ["text", "", "42"][n % 3]));
    });
}

#[test]
fn settings_handlers_buffers_and_hidden_state() {
    let weft = server().start();
    let all = weft_tests::php::command().args(["-r", "echo E_ALL;"]).output().expect("PHP's command").stdout;
    let all: u32 = String::from_utf8_lossy(&all).parse().expect("a number");
    let first = weft.get("/settings?n=0").text();
    let first: Value = serde_json::from_str(first.trim_start_matches("[0:buffered]")).expect("JSON");
    let clean = first["clean"].clone();
    let request = |n: usize| format!("GET /settings?n={n} HTTP/1.1\r\nHost: a\r\n\r\n");
    at_once(&weft, request, |n, response| {
        let text = response.text();
        let (buffered, rest) = text.split_at(text.find('{').unwrap_or_else(|| panic!("{n}: {text}")));
        assert_eq!(buffered, format!("[{n}:buffered]"));
        let said: Value = serde_json::from_str(rest).expect("JSON");
        assert_eq!(said["clean"], clean, "{n} found what another request had left");
        let zone = ["Europe/Berlin", "Asia/Tokyo", "UTC", "America/New_York"][n % 4];
        let reporting = all & !(1 << (n % 3 + 8));
        assert_eq!(
            said["after"],
            json!([(5 + n % 10).to_string(), format!("agent {n}"), 1, zone, reporting]),
            "{n}"
        );
        assert_eq!(said["json"], if n % 2 == 1 { 4 } else { 0 }, "{n}: json_last_error()");
        assert_eq!(said["strtok"], json!([format!("a{n}"), format!("b{n}"), format!("c{n}")]));
        assert_eq!(said["handled"], json!([format!("{n}: warning {n}")]));
        assert_eq!(said["sorted"], true);
    });
}

#[test]
fn shutdown_functions_belong_to_their_request() {
    let weft = server().start();
    let request = |n: usize| {
        let leave = if n.is_multiple_of(2) { "&exit" } else { "" };
        format!("GET /shutdown?n={n}{leave} HTTP/1.1\r\nHost: a\r\n\r\n")
    };
    at_once(&weft, request, |n, response| {
        let word = if n % 2 == 0 { "left" } else { "shut" };
        assert_eq!(response.text(), format!("{word} {n}"));
        until("the shutdown function", || {
            (weft.read(&format!("shutdown-{n}")) == n.to_string()).then_some(())
        });
    });
}

#[test]
fn the_current_directory_and_the_locale_belong_to_their_request() {
    let app = r#"foreach (range(0, 3) as $i) { @mkdir("d$i"); }
        $base = getcwd();
        $locale = setlocale(LC_ALL, 0);
        return function ($r) use ($base, $locale) {
            $n = (int) $r->query('n');
            $clean = getcwd() === $base && setlocale(LC_ALL, 0) === $locale;
            chdir($base . '/d' . $n % 4);
            setlocale(LC_ALL, $n % 2 ? 'C.UTF-8' : 'C');
            usleep(1000 + $n * 50 % 2000);
            return json_encode([$clean, basename(getcwd()), setlocale(LC_CTYPE, 0)]);
        };"#;
    let weft = weft_tests::Server::new(app).start();
    let request = |n: usize| format!("GET /?n={n} HTTP/1.1\r\nHost: a\r\n\r\n");
    at_once(&weft, request, |n, response| {
        let locale = if n % 2 == 1 { "C.UTF-8" } else { "C" };
        let said = response.json();
        assert_eq!(said[0], true, "{n} began in another request's directory or locale: {said}");
        assert_eq!(said[1], format!("d{}", n % 4), "{n}: the current directory");
        assert_eq!(said[2], locale, "{n}: the locale");
    });
}

#[test]
fn sessions_belong_to_their_request() {
    let app = r#"return function ($r) {
            session_id('session' . $r->query('n') % 5);
            session_start(['save_path' => __DIR__, 'use_cookies' => 0, 'cache_limiter' => '']);
            $_SESSION['hits'] = ($_SESSION['hits'] ?? 0) + 1;
            usleep(500);
            $said = [session_id(), $_SESSION['hits']];
            session_write_close();
            return json_encode($said);
        };"#;
    let weft = weft_tests::Server::new(app).start();
    let request = |n: usize| format!("GET /?n={n} HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut hits = std::cell::RefCell::new(vec![Vec::new(); 5]);
    at_once(&weft, request, |n, response| {
        assert_eq!(response.status, 200, "{n}: {}", response.text());
        let said = response.json();
        assert_eq!(said[0], format!("session{}", n % 5));
        hits.borrow_mut()[n % 5].push(said[1].as_u64().expect("a number"));
    });
    for seen in hits.get_mut() {
        seen.sort_unstable();
        assert_eq!(
            *seen,
            (1..=(AT_ONCE * ROUNDS / 5) as u64).collect::<Vec<_>>(),
            "hits of a session were lost"
        );
    }
}

#[test]
fn an_exception_meets_the_handler_of_its_own_request() {
    let app = r#"return function ($r) {
            $n = (int) $r->query('n');
            $level = error_reporting();
            set_exception_handler(function (Throwable $e) use ($n) { http_response_code(501); echo "$n handles {$e->getMessage()}"; });
            usleep(500 + $n * 50 % 2000);
            $inner = null;
            try {
                @usleep(-1);
            } catch (ValueError $error) { // thrown while errors are silenced
                usleep(300);
                $inner = error_reporting() === $level;
            }
            if ($n % 3 === 0) {
                try {
                    throw new Exception("first of $n");
                } finally {
                    usleep(300); // with an exception in flight
                }
            }
            return json_encode([$n, $inner]);
        };"#;
    let weft = weft_tests::Server::new(app).start();
    let request = |n: usize| format!("GET /?n={n} HTTP/1.1\r\nHost: a\r\n\r\n");
    at_once(&weft, request, |n, response| match n % 3 {
        0 => assert_eq!((response.status, response.text()), (501, format!("{n} handles first of {n}"))),
        _ => assert_eq!(response.text(), format!("[{n},true]")),
    });
}

#[test]
fn a_file_is_included_once_and_whole_beside_other_requests() {
    let app = r#"return function ($r) {
            $n = (int) $r->query('n');
            spl_autoload_register(static function (string $class): void {
                usleep(500);
                include_once __DIR__ . "/$class.php";
            });
            $class = 'Loaded' . $n % 5;
            usleep($n * 50 % 1000);
            return json_encode([$class::VALUE, (require __DIR__ . '/values.php')[$n % 5]]);
        };"#;
    let class =
        |n: usize| format!("<?php final class Loaded{n} extends Base {{ const VALUE = {n} + Base::ADDED; }}");
    let names: Vec<String> = (0..5).map(|n| format!("Loaded{n}.php")).collect();
    let server = names
        .iter()
        .enumerate()
        .fold(weft_tests::Server::new(app), |server, (n, name)| server.with_file(name, &class(n)));
    let server = server
        .with_file("Base.php", "<?php abstract class Base { const ADDED = 100; }")
        .with_file("values.php", "<?php usleep(200); return range(0, 4);");
    let weft = server.start();
    let request = |n: usize| format!("GET /?n={n} HTTP/1.1\r\nHost: a\r\n\r\n");
    at_once(&weft, request, |n, response| {
        assert_eq!(response.text(), format!("[{},{}]", n % 5 + 100, n % 5), "{n}");
    });
}
