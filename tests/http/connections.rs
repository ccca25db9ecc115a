//! How long a connection lives, and in which order its requests are answered (RFC 9112 section 9).

use crate::server;

#[test]
fn a_connection_serves_many_requests() {
    let weft = server().start();
    let mut client = weft.connect();
    for round in 0..100 {
        client.get(&format!("/describe?round={round}"));
        let response = client.read();
        assert_eq!(response.status, 200);
        assert_eq!(response.json()["query"], format!("round={round}"));
        assert_eq!(response.header("connection"), None);
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let weft = server().start();
    let mut client = weft.connect();
    // The first request takes longest: the others must wait for it.
    let waits = [40, 0, 20, 0, 5, 0, 0, 10];
    let requests: Vec<String> = (0..waits.len())
        .map(|i| format!("GET /sleep?ms={}&name={i} HTTP/1.1\r\nHost: a\r\n\r\n", waits[i]))
        .collect();
    client.send(requests.concat());
    for i in 0..waits.len() {
        assert_eq!(client.read().text(), format!("slept {i}"));
    }
}

#[test]
fn hundreds_of_pipelined_requests_are_all_answered() {
    let weft = server().start();
    let mut client = weft.connect();
    let count = 200;
    let requests: Vec<String> =
        (0..count).map(|i| format!("GET /sleep?ms=0&name={i} HTTP/1.1\r\nHost: a\r\n\r\n")).collect();
    client.send(requests.concat());
    for i in 0..count {
        assert_eq!(client.read().text(), format!("slept {i}"));
    }
}

#[test]
fn pipelined_bodies_do_not_run_into_each_other() {
    let weft = server().start();
    let mut client = weft.connect();
    client.send(
        "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nfirst\
         POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nsecond\r\n0\r\n\r\n\
         POST /ignore-body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nthird\
         POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n\
         GET /hello HTTP/1.1\r\nHost: a\r\n\r\n",
    );
    let bodies: Vec<String> = (0..5).map(|_| client.read().text()).collect();
    assert_eq!(bodies, ["first", "second", "ignored", "", "Hello World"]);
}

#[test]
fn connection_close_is_honoured_and_announced() {
    let weft = server().start();
    let mut client = weft.connect();
    client.send("GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let response = client.read();
    assert_eq!(response.header("connection"), Some("close"));
    assert_eq!(response.text(), "Hello World");
    client.expect_closed();
}

#[test]
fn requests_after_connection_close_are_not_answered() {
    let weft = server().start();
    let mut client = weft.connect();
    client.send(
        "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\nGET /describe HTTP/1.1\r\nHost: a\r\n\r\n",
    );
    assert_eq!(client.read().text(), "Hello World");
    client.expect_closed();
}

#[test]
fn http_1_0_closes_unless_asked_to_keep_alive() {
    let weft = server().start();
    let mut client = weft.connect();
    client.send("GET /hello HTTP/1.0\r\n\r\n");
    let response = client.read();
    assert_eq!((response.status, response.text().as_str()), (200, "Hello World"));
    assert_eq!(response.header("connection"), Some("close"));
    client.expect_closed();

    let mut client = weft.connect();
    for _ in 0..3 {
        client.send("GET /describe HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        let response = client.read();
        assert_eq!(response.json()["version"], "1.0");
        assert_eq!(response.header("connection"), Some("keep-alive"));
    }
}

#[test]
fn a_response_of_unknown_length_to_http_1_0_ends_with_the_connection() {
    let weft = server().start();
    let mut client = weft.connect();
    client.send("GET /generator?count=3 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let response = client.read();
    assert_eq!(response.header("transfer-encoding"), None);
    assert_eq!(response.header("connection"), Some("close"));
    assert_eq!(response.text(), "part 1;part 2;part 3;");
}

#[test]
fn an_idle_connection_is_closed_without_a_word() {
    // Long enough for a first request to arrive.
    let weft = server().with("--idle-timeout-ms", "2000").start();
    let (mut client, mut silent) = (weft.connect(), weft.connect());
    client.get("/hello");
    assert_eq!(client.read().status, 200);
    client.expect_closed();
    // A connection that never sent a byte is closed, too.
    silent.expect_closed();
}

#[test]
fn a_slow_head_is_answered_408() {
    let weft = server().with("--head-timeout-ms", "200").start();
    let mut client = weft.connect();
    client.send("GET /hello HTTP/1.1\r\nHost:");
    let response = client.read();
    assert_eq!(response.status, 408);
    assert_eq!(response.header("connection"), Some("close"));
    client.expect_closed();
}

#[test]
fn a_head_that_trickles_does_not_gain_time_by_trickling() {
    let weft = server().with("--head-timeout-ms", "300").start();
    let mut client = weft.connect();
    client.send("GET /hello HTTP/1.1\r\n");
    // Each byte is progress, but the deadline applies to the whole head.
    let response = weft_tests::until("408", || {
        let _ = client.try_send("X");
        client.is_readable().then(|| client.read())
    });
    assert_eq!(response.status, 408);
}

#[test]
fn a_stalled_body_is_answered_408() {
    let weft = server().with("--body-timeout-ms", "200").start();
    let mut client = weft.connect();
    client.send("POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
    let response = client.read();
    assert_eq!(response.status, 408);
    client.expect_closed();
}

#[test]
fn empty_lines_before_a_request_are_passed_over() {
    let weft = server().start();
    let mut client = weft.connect();
    client.send("\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.read().status, 200);
    assert_eq!(client.read().status, 200);
}

#[test]
fn a_client_that_half_closes_is_still_answered() {
    let weft = server().start();
    let mut client = weft.connect();
    client.send("GET /sleep?ms=50 HTTP/1.1\r\nHost: a\r\n\r\n");
    client.shutdown_write();
    assert_eq!(client.read().text(), "slept ");
    client.expect_closed();
}
