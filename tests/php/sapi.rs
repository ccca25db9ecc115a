//! PHP's own functions in a handler: echo, header(), exit(), $_SERVER, ini settings, opcache.

use serde_json::json;
use weft_tests::Server;

use crate::server;

#[test]
fn echo_header_and_status() {
    let weft = server().start();
    let response = weft.get("/echo");
    assert_eq!((response.status, response.text().as_str()), (202, "echoed"));
    assert_eq!(response.all("x-a"), ["1", "2"]);
    assert_eq!(response.all("content-type"), ["text/plain;charset=UTF-8"]);
}

#[test]
fn location_makes_a_redirect() {
    let weft = server().start();
    let response = weft.get("/location");
    assert_eq!((response.status, response.header("location")), (302, Some("/there")));
}

#[test]
fn flush_sends_what_there_is() {
    let weft = server().start();
    let response = weft.get("/flush");
    assert_eq!((response.status, response.text().as_str()), (200, "before sent"));
    assert_eq!(response.header("transfer-encoding"), Some("chunked"));
}

#[test]
fn exit_ends_the_request_with_the_output_so_far() {
    let weft = server().start();
    let mut client = weft.connect();
    for _ in 0..50 {
        client.get("/exit");
        let response = client.read();
        assert_eq!((response.status, response.text().as_str()), (200, "before exit"));
        client.get("/exit?with=+and+this");
        assert_eq!(client.read().text(), "before exit and this");
    }
    assert_eq!(weft.workers().len(), 1);
}

#[test]
fn server_variables_follow_cgi() {
    let weft = server().start();
    let said = weft
        .say(
            "POST /server?a=b HTTP/1.1\r\nHost: example.org:81\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\
             X-Several: 1\r\nX-Several: 2\r\nProxy: http://evil.example\r\n\r\nhi",
        )
        .json();
    let port = weft.address.port();
    for (name, value) in [
        ("REQUEST_METHOD", json!("POST")),
        ("REQUEST_URI", json!("/server?a=b")),
        ("QUERY_STRING", json!("a=b")),
        ("SERVER_PROTOCOL", json!("HTTP/1.1")),
        ("REMOTE_ADDR", json!("127.0.0.1")),
        ("SERVER_NAME", json!("example.org")),
        ("CONTENT_TYPE", json!("text/plain")),
        ("CONTENT_LENGTH", json!("2")),
        ("HTTP_HOST", json!("example.org:81")),
        ("HTTP_X_SEVERAL", json!("1, 2")),
        ("times", json!([true, true])),
        ("port", json!(true)),
    ] {
        assert_eq!(said[name], value, "{name}");
    }
    assert_eq!(said["SERVER_PORT"].to_string().trim_matches('"'), port.to_string());
    assert_eq!(said.get("HTTPS"), None);
    // CVE-2016-5385: a client must not choose our proxy.
    assert_eq!(said.get("HTTP_PROXY"), None);
    assert!(said["SERVER_SOFTWARE"].as_str().is_some_and(|name| name.starts_with("weft")), "{said}");
}

#[test]
fn the_sapi_is_weft_and_opcache_and_jit_are_on() {
    let weft = server().with("--define", "precision=9").start();
    assert_eq!(weft.get("/environment").json(), json!(["weft", "1", true, true, "9", true]));
    let info = weft.get("/phpinfo").text();
    assert!(info.contains("weft"), "phpinfo() names the server");
}

#[test]
fn warnings_go_to_the_log_in_production_and_to_the_page_in_development() {
    let mut weft = server().start();
    assert_eq!(weft.get("/warn").text(), "after the warning");
    weft.wait_for_log("Undefined variable $undefined");
    let weft = server().with("--mode", "development").start();
    let text = weft.get("/warn").text();
    assert!(text.contains("Undefined variable $undefined") && text.contains("after the warning"), "{text}");
}

#[test]
fn boot_code_runs_once_per_worker_and_its_state_is_shared() {
    let app = "$boots = new ArrayObject; $boots[] = 1; echo 'at boot';
        return function () use ($boots) { static $n = 0; return json_encode([count($boots), ++$n, getmypid() > 0]); };";
    let mut weft = Server::new(app).start();
    weft.wait_for_log("at boot");
    for n in 1..=5 {
        assert_eq!(weft.get("/").json(), json!([1, n, true]));
    }
}

#[test]
fn user_fibers_generators_and_autoloaders_wait_in_a_handler() {
    let app = r#"
        spl_autoload_register(function ($class) { usleep(2000); eval("class $class { const N = 1; }"); });
        return function ($r) {
            $n = $r->query('n');
            $fiber = new Fiber(function () use ($n) {
                usleep(1000);
                $inner = new Fiber(function () use ($n) { usleep(1000); $x = Fiber::suspend('inner'); usleep(1000); return "$n$x"; });
                $got = $inner->start();
                $more = Fiber::suspend($got);
                $inner->resume($more);
                return $inner->getReturn();
            });
            $a = $fiber->start();
            usleep(500);
            $fiber->resume('!');
            $class = 'Late' . $n;
            $gen = (function () use ($n) { for ($i = 0; $i < 3; $i++) { usleep(300); yield "$n.$i"; } })();
            return $a . $fiber->getReturn() . $class::N . implode(',', iterator_to_array($gen));
        };"#;
    let weft = Server::new(app).start();
    let mut clients: Vec<_> = (0..40).map(|_| weft.connect()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.get(&format!("/?n={n}"));
    }
    for (n, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.read().text(), format!("inner{n}!1{n}.0,{n}.1,{n}.2"));
    }
}
