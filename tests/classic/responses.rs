//! A script's output and headers, as its client receives them.

use weft_tests::{Server, until};

#[test]
fn statuses_and_headers_are_the_scripts() {
    let weft = Server::of_docroot(&[
        ("line.php", "<?php header('HTTP/1.1 404 Not Found'); echo 'gone';"),
        (
            "code.php",
            "<?php http_response_code(418); header('X-A: 1'); header('X-A: 2', false); setcookie('a', 'b');",
        ),
        ("status.php", "<?php header('Status: 402 Payment Required'); echo 'pay';"),
        ("move.php", "<?php header('Location: /there');"),
        ("type.php", "<?php header('Content-Type: text/plain'); header_remove('X-Powered-By'); echo 'ü';"),
        ("empty.php", "<?php http_response_code(204);"),
    ])
    .start();
    let line = weft.get("/line.php");
    assert_eq!((line.status, line.text().as_str()), (404, "gone"));
    let code = weft.get("/code.php");
    assert_eq!((code.status, code.all("x-a"), code.all("set-cookie")), (418, vec!["1", "2"], vec!["a=b"]));
    let status = weft.get("/status.php");
    assert_eq!((status.status, status.header("status")), (402, None));
    let moved = weft.get("/move.php");
    assert_eq!((moved.status, moved.header("location")), (302, Some("/there")));
    let typed = weft.get("/type.php");
    assert_eq!(typed.header("content-type"), Some("text/plain;charset=UTF-8"));
    assert_eq!(typed.header("content-length"), Some("2"));
    assert_eq!(weft.get("/empty.php").status, 204);
}

#[test]
fn output_is_one_piece_unless_it_is_flushed_or_large() {
    let weft = Server::of_docroot(&[
        ("buffers.php", "<?php ob_start(fn ($text) => strtoupper($text)); echo 'inner '; ob_start(); echo 'x'; echo ob_get_clean(), 'y';"),
        ("flush.php", "<?php echo 'first'; flush(); touch('reached'); while (!file_exists('go')) { clearstatcache(); usleep(1000); } echo 'second';"),
        ("large.php", "<?php for ($i = 0; $i < 3000; $i++) { echo str_repeat(chr(65 + $i % 26), 10000); }"),
        ("sent.php", "<?php ob_end_flush(); header_register_callback(fn () => header('X-Late: yes')); var_dump(headers_sent()); flush(); var_dump(headers_sent()); @header('X-B: 1');"),
    ])
    .with("--define", "output_buffering=0")
    .start();
    assert_eq!(weft.get("/buffers.php").text(), "INNER XY");
    let mut client = weft.connect();
    client.get("/flush.php");
    let head = client.read_head();
    assert_eq!(head.header("transfer-encoding"), Some("chunked"));
    assert_eq!(client.read_bytes(10), b"5\r\nfirst\r\n");
    weft.write("public/go", "");
    assert_eq!(client.read_bytes(16), b"6\r\nsecond\r\n0\r\n\r\n");
    let large = weft.get("/large.php");
    assert_eq!(large.body.len(), 30_000_000);
    assert!(
        large
            .body
            .chunks(10_000)
            .enumerate()
            .all(|(i, piece)| piece.iter().all(|byte| *byte == 65 + (i % 26) as u8))
    );
    let sent = weft.get("/sent.php");
    assert_eq!(
        (sent.text().as_str(), sent.header("x-late"), sent.header("x-b")),
        ("bool(false)\nbool(true)\n", Some("yes"), None)
    );
}

#[test]
fn head_requests_get_the_head() {
    let weft = Server::of_docroot(&[("a.php", "<?php header('X-A: 1'); echo 'body';")]).start();
    let mut client = weft.connect();
    client.send("HEAD /a.php HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = client.read_of_head();
    assert_eq!((head.status, head.header("x-a"), head.header("content-length")), (200, Some("1"), None));
    client.get("/a.php");
    assert_eq!(client.read().text(), "body", "the connection goes on");
}

#[test]
fn fastcgi_finish_request_lets_the_client_go() {
    let script = "<?php header('X-A: 1'); echo 'done'; var_export(fastcgi_finish_request()); echo 'lost';
        while (!file_exists('go')) { clearstatcache(); usleep(1000); }
        include 'later.inc';
        file_put_contents('after', var_export(fastcgi_finish_request(), true) . later());";
    let later = "<?php function later() { return $_SERVER['REQUEST_URI'] . getallheaders()['Host']; }";
    let weft = Server::of_docroot(&[("finish.php", script), ("later.inc", later)]).start();
    let mut client = weft.connect();
    client.get("/finish.php?x");
    let response = client.read();
    assert_eq!((response.text().as_str(), response.header("x-a")), ("done", Some("1")));
    weft.write("public/go", "");
    until("the rest of the script", || {
        (weft.read("public/after") == "false/finish.php?xweft.test").then_some(())
    });
}

#[test]
fn the_end_of_a_script_runs_in_order() {
    let script = "<?php
        class D { function __destruct() { echo ' destructor'; } }
        $d = new D; $GLOBALS['keep'] = $d;
        register_shutdown_function(function () { http_response_code(201); header('X-End: yes'); echo ' shutdown'; });
        ob_start(fn ($text) => $text . ' buffer');
        echo 'script'; exit(3);";
    let weft = Server::of_docroot(&[("end.php", script)]).start();
    let response = weft.get("/end.php");
    assert_eq!(response.text(), "script shutdown destructor buffer");
    assert_eq!((response.status, response.header("x-end")), (201, Some("yes")));
}

#[test]
fn failures_end_their_own_request_only() {
    let files = [
        ("throw.php", "<?php echo 'some'; throw new Exception('thrown');"),
        (
            "fatal.php",
            "<?php register_shutdown_function(fn () => print(error_get_last()['message'] ?? 'none')); undefined();",
        ),
        ("parse.php", "<?php if ("),
        ("memory.php", "<?php ini_set('memory_limit', '4M'); str_repeat('x', 1 << 23);"),
        ("deep.php", "<?php function f() { f(); } f();"),
        (
            "cdeep.php",
            "<?php class A { function __get($n) { return $this->$n . array_map(fn () => (new A)->x, [1])[0]; } } echo (new A)->x;",
        ),
        ("spin.php", "<?php set_time_limit(1); for (;;) { $x = md5('a'); }"),
        ("ok.php", "<?php echo ini_get('memory_limit'), error_get_last() === null ? ' clean' : ' dirty';"),
    ];
    let mut weft = Server::of_docroot(&files).with("--define", "memory_limit=32M").start();
    let worker = weft.workers();
    for path in ["throw", "fatal", "parse", "memory", "deep", "cdeep", "spin"] {
        let response = weft.get(&format!("/{path}.php"));
        assert_eq!(response.status, 500, "{path}");
        assert_eq!(weft.get("/ok.php").text(), "32M clean", "after {path}");
    }
    weft.wait_for_log("Uncaught Exception: thrown");
    weft.wait_for_log("Maximum execution time of 1 second exceeded");
    assert_eq!(weft.workers(), worker, "no failure costs the worker");
}

#[test]
fn scripts_learn_that_their_client_has_gone() {
    let script = |ignore: &str| {
        format!("<?php ignore_user_abort({ignore}); register_shutdown_function(fn () => file_put_contents(__DIR__ . '/end-{ignore}', connection_status() . connection_aborted()));
            for ($i = 0; $i < 100000; $i++) {{ echo str_repeat('x', 1000); flush(); usleep(100); if (connection_aborted()) break; }}
            file_put_contents('ran-{ignore}', 'yes');")
    };
    let weft = Server::of_docroot(&[("stop.php", &script("false")), ("go.php", &script("true"))]).start();
    for path in ["/stop.php", "/go.php"] {
        let mut client = weft.connect();
        client.get(path);
        client.read_head();
    }
    until("both scripts' ends", || {
        (weft.read("public/end-false") == "11" && weft.read("public/end-true") == "11").then_some(())
    });
    assert_eq!(
        (weft.read("public/ran-false"), weft.read("public/ran-true")),
        (String::new(), "yes".to_owned())
    );
}

#[test]
fn a_request_that_runs_too_long_is_a_504() {
    let script = "<?php for (;;) { usleep(1000); }";
    let weft = Server::of_docroot(&[("long.php", script), ("ok.php", "<?php echo 'ok';")])
        .with("--request-timeout-ms", "300")
        .start();
    assert_eq!(weft.get("/long.php").status, 504);
    assert_eq!(weft.get("/ok.php").text(), "ok");
}

#[test]
fn others_get_files_while_a_script_waits() {
    let script =
        "<?php touch('in'); while (!file_exists('go')) { clearstatcache(); usleep(1000); } echo 'waited';";
    let weft = Server::of_docroot(&[("wait.php", script), ("a.txt", "text")]).start();
    let mut waiting = weft.connect();
    waiting.get("/wait.php");
    until("the script", || weft.path("public/in").exists().then_some(()));
    assert_eq!(weft.get("/a.txt").text(), "text", "one worker, whose PHP is taken");
    weft.write("public/go", "");
    assert_eq!(waiting.read().text(), "waited");
}

#[test]
fn a_script_that_sends_more_than_it_announced_is_cut_there_and_reported() {
    let long = "<?php header('Content-Length: 5'); echo 'hel'; flush(); echo 'lo, world'; flush(); echo 'more'; flush();";
    let empty = "<?php http_response_code(205); echo 'a'; flush(); echo 'b'; flush();";
    let odd = "<?php header(\"X-A: a\\x01b\"); echo 'odd';";
    let mut weft = Server::of_docroot(&[
        ("long.php", long),
        ("empty.php", empty),
        ("odd.php", odd),
        ("a.php", "<?php echo 'a';"),
    ])
    .with("--define", "output_buffering=0")
    .start();
    let mut client = weft.connect();
    for (target, status, text) in [
        ("/long.php", 200, "hello"),
        ("/empty.php", 205, ""),
        ("/odd.php", 500, "500 Internal Server Error\n"),
        ("/a.php", 200, "a"),
    ] {
        client.get(target);
        let response = client.read();
        assert_eq!((response.status, response.text().as_str()), (status, text), "{target}");
    }
    weft.wait_for_log("Content-Length announced 5 bytes");
    weft.wait_for_log("the value of the response header \"X-A\" is invalid");
}
