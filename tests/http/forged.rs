//! What a client can control in `$_SERVER`, in each mode: facts about its request, never what a proxy or the server
//! reports.

use serde_json::{Map, Value, json};
use weft_tests::{Running, Server};

const SHOW: &str = "header('Content-Type: application/json');
    echo json_encode(['server' => $_SERVER, 'headers' => array_change_key_case(function_exists('getallheaders') ? getallheaders() : array_map(fn ($all) => implode(', ', $all), $request->headers()))],
        JSON_INVALID_UTF8_SUBSTITUTE);";

/// The same application in coroutine, classic and resident mode, with an environment variable named like a header's.
fn everywhere(settings: &[(&str, &str)]) -> [Running; 3] {
    let coroutine = Server::new(&format!("return function ($request) {{ {SHOW} }};"));
    let classic = Server::of_docroot(&[("index.php", &format!("<?php {SHOW}"))]);
    let worker = format!("<?php while (frankenphp_handle_request(function () {{ {SHOW} }})) {{ }}");
    let resident = Server::of_docroot(&[]).with_file("worker.php", &worker).with("--worker", "worker.php");
    [coroutine, classic, resident].map(|server| {
        let server = settings.iter().fold(server, |server, (name, value)| server.with_variable(name, value));
        server.with_variable("HTTP_X_ENVIRONMENT", "operator").start()
    })
}

struct Said {
    server: Map<String, Value>,
    headers: Map<String, Value>,
}

fn say(weft: &Running, request: &str) -> Said {
    let response = weft.say(request);
    assert_eq!(response.status, 200, "{request:?} got {:?}", response.text());
    let mut all = response.json();
    // JSON encodes an empty PHP array as a list.
    let mut take = |name: &str| all[name].as_object_mut().map(std::mem::take).unwrap_or_default();
    Said { server: take("server"), headers: take("headers") }
}

fn get(fields: &str) -> String {
    format!("GET /a?b=c HTTP/1.1\r\nHost: site.test:81\r\n{fields}\r\n")
}

#[test]
fn no_other_spelling_of_a_header_is_that_header() {
    for weft in everywhere(&[]) {
        for forged in
            ["X.Real.IP", "X_Real_IP", "X-Real.IP", "X.Real-IP", "X_Real-IP", "x.rEAL.iP", "X.Real_IP"]
        {
            for fields in [
                format!("X-Real-IP: 203.0.113.9\r\n{forged}: 127.0.0.1\r\n"),
                format!("{forged}: 127.0.0.1\r\nX-Real-IP: 203.0.113.9\r\n{forged}: 127.0.0.1\r\n"),
            ] {
                let said = say(&weft, &get(&fields));
                assert_eq!(said.server["HTTP_X_REAL_IP"], "203.0.113.9", "{fields}");
                assert_eq!(said.headers["x-real-ip"], "203.0.113.9", "{fields}");
                assert!(!said.headers.contains_key(&forged.to_ascii_lowercase()), "{fields}");
            }
            let said = say(&weft, &get(&format!("{forged}: 127.0.0.1\r\n")));
            assert_eq!(said.server.get("HTTP_X_REAL_IP"), None, "{forged}");
        }
        for odd in [
            "X~A", "X!A", "X#A", "X$A", "X%41", "X&A", "X'A", "X*A", "X+A", "X^A", "X`A", "X|A", "Proxy",
            "pROXY",
        ] {
            let said = say(&weft, &get(&format!("{odd}: 1\r\n")));
            let own = |name: &&String| name.starts_with("HTTP_") && *name != "HTTP_X_ENVIRONMENT";
            assert_eq!(said.server.keys().filter(own).collect::<Vec<_>>(), ["HTTP_HOST"], "{odd}");
            assert_eq!(said.headers.keys().collect::<Vec<_>>(), ["host"], "{odd}");
        }
    }
}

#[test]
fn a_header_is_not_mixed_with_the_environment() {
    for weft in everywhere(&[]) {
        assert_eq!(say(&weft, &get("")).server["HTTP_X_ENVIRONMENT"], "operator");
        let said = say(&weft, &get("X-Environment: a\r\nX-Environment: b\r\n"));
        assert_eq!(said.server["HTTP_X_ENVIRONMENT"], "a, b");
    }
}

#[test]
fn no_header_is_a_variable_of_the_server() {
    let names = [
        "Remote-Addr",
        "Remote-User",
        "Server-Name",
        "Server-Port",
        "Script-Name",
        "Script-Filename",
        "Document-Root",
        "HTTPS",
        "Request-Scheme",
        "Request-Uri",
        "Path-Info",
        "Php-Self",
        "Query-String",
        "Request-Method",
        "Auth-Type",
        "Redirect-Status",
        "Php-Auth-User",
        "Php-Auth-Pw",
        "Php-Auth-Digest",
        "Http-Host",
        "Php-Value",
        "Argv",
        "Http",
    ];
    let fields: String = names.iter().map(|name| format!("{name}: forged\r\n")).collect();
    for weft in everywhere(&[]) {
        let (plain, said) = (say(&weft, &get("")), say(&weft, &get(&fields)));
        for (name, value) in &said.server {
            let is_header = name.starts_with("HTTP_") && name != "HTTP_HOST";
            assert!(is_header || value != "forged", "{name} is {value}");
            let varies = name.starts_with("REQUEST_TIME") || name == "REMOTE_PORT";
            assert!(is_header || varies || Some(value) == plain.server.get(name), "{name} is {value}");
        }
        assert_eq!(said.server["HTTP_HOST"], "site.test:81");
        assert_eq!(said.server["HTTP_HTTP_HOST"], "forged");
    }
}

#[test]
fn credentials_name_no_user_that_the_server_vouches_for() {
    for weft in everywhere(&[]) {
        let said = say(&weft, &get("Authorization: Basic cm9vdDpwdw==\r\n"));
        assert!(
            said.server.get("REMOTE_USER").is_none_or(|user| user == ""),
            "nobody has checked the password"
        );
        assert_eq!(said.server.get("AUTH_TYPE"), None);
        assert_eq!(said.server["HTTP_AUTHORIZATION"], "Basic cm9vdDpwdw==");
    }
}

#[test]
fn lengths_and_types_are_those_the_server_reads() {
    for weft in everywhere(&[]) {
        let said = say(
            &weft,
            "POST /a HTTP/1.1\r\nHost: a\r\ncONTENT-tYPE: a/b\r\nContent.Type: c/d\r\nContent_Type: e/f\r\nContent_Length: 9\r\n\
             HTTP-Content-Type: g/h\r\nContent-Length: 2\r\n\r\nhi",
        );
        for (name, value) in [("TYPE", "a/b"), ("LENGTH", "2")] {
            assert_eq!(said.server[&format!("CONTENT_{name}")], value);
            assert_eq!(said.server[&format!("HTTP_CONTENT_{name}")], value);
        }
        assert_eq!(said.server["HTTP_HTTP_CONTENT_TYPE"], "g/h");
    }
}

#[test]
fn the_target_in_absolute_form_is_the_one_that_counts() {
    for weft in everywhere(&[]) {
        for (target, uri, host, name) in [
            ("http://right.test:8080/a?b=http://c/d", "/a?b=http://c/d", "right.test:8080", "right.test"),
            ("HTTP://right.test", "/", "right.test", "right.test"),
            ("http://right.test?q", "/?q", "right.test", "right.test"),
            ("https://[::1]:81/%61", "/%61", "[::1]:81", "[::1]"),
            ("http://right.test//x", "//x", "right.test", "right.test"),
        ] {
            for rest in ["HTTP/1.1\r\nhost: wrong.test:9\r\n\r\n", "HTTP/1.0\r\n\r\n"] {
                let said = say(&weft, &format!("GET {target} {rest}"));
                for (variable, value) in [
                    ("REQUEST_URI", uri),
                    ("HTTP_HOST", host),
                    ("SERVER_NAME", name),
                    ("REQUEST_SCHEME", "http"),
                ] {
                    assert_eq!(said.server[variable], value, "{variable} of {target} {rest}");
                }
                assert_eq!(said.headers["host"], host, "{target}");
            }
        }
        assert_eq!(say(&weft, &get("")).server["REQUEST_URI"], "/a?b=c");
        let said = say(&weft, "GET / HTTP/1.0\r\n\r\n");
        assert_eq!(said.server.get("HTTP_HOST"), None, "an HTTP/1.0 client need not say one");
    }
}

#[test]
fn a_host_that_a_proxy_reports_is_the_host_everywhere() {
    for weft in everywhere(&[("WEFT_TRUST_PROXIES", "127.0.0.1"), ("WEFT_TRUST_HOST", "true")]) {
        for line in ["HTTP/1.1\r\nHost: inside\r\n", "HTTP/1.0\r\n"] {
            let said = say(&weft, &format!("GET / {line}X-Forwarded-Host: evil, shop.test:8443\r\n\r\n"));
            assert_eq!(said.server["HTTP_HOST"], "shop.test:8443");
            assert_eq!(said.server["SERVER_NAME"], "shop.test");
            assert_eq!(said.headers["host"], "shop.test:8443");
        }
    }
}

#[test]
fn the_request_object_reports_the_same() {
    let weft = Server::new(
        "return fn ($r) => Weft\\Http\\Response::json([$r->target(), $r->path(), $r->host(), $r->header('host'), $r->headers()['host'], $r->header('x_y')]);",
    )
    .start();
    let said = weft.say("GET http://right.test?q HTTP/1.1\r\nHost: wrong.test\r\nX_Y: 1\r\n\r\n").json();
    assert_eq!(said, json!(["/?q", "/", "right.test", "right.test", ["right.test"], null]));
}

#[test]
fn long_paths_are_passed_on_complete() {
    let weft = Server::of_docroot(&[("a.php", &format!("<?php {SHOW}"))]).start();
    let info = format!("/{}", "x/".repeat(3000));
    let said = say(&weft, &format!("GET /a.php{info} HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert_eq!(said.server["PHP_SELF"], format!("/a.php{info}"));
    assert_eq!(said.server["PATH_INFO"], info);
}

#[test]
fn trailers_take_the_same_names() {
    let weft = Server::new(
        "return function ($r) { $r->body(); return Weft\\Http\\Response::json($r->trailers()); };",
    )
    .start();
    let said = weft.say(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-A: 1\r\nX.A: 2\r\nX_A: 3\r\nProxy: 4\r\nX-Real-IP: 5\r\n\r\n",
    );
    assert_eq!(said.json(), json!({"x-a": ["1"], "x-real-ip": ["5"]}));
}
