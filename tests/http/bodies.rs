//! Request bodies: lengths, chunks, trailers, expectations, and where bodies are stored.

use serde_json::json;
use weft_tests::until;

use crate::server;

#[test]
fn a_body_of_known_length() {
    let weft = server().start();
    let mut client = weft.connect();
    client.post("/body", "text/plain", b"bytes \x00\xff\r\n\r\n of any kind");
    assert_eq!(client.read().body, b"bytes \x00\xff\r\n\r\n of any kind");
}

#[test]
fn a_chunked_body_with_extensions_and_trailers() {
    let weft = server().start();
    let said = weft
        .say(
            "POST /describe HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n\
             5;name=value\r\nHello\r\n06;q=\"a;b\"\r\n World\r\n0;last\r\nX-Sum: 11\r\nX-sum: again\r\n\r\n",
        )
        .json();
    assert_eq!(said["body"], "Hello World");
    assert_eq!(said["trailers"], json!({"x-sum": ["11", "again"]}));
    assert_eq!(said["headers"].get("x-sum"), None, "a trailer is no header");
}

#[test]
fn the_transfer_coding_is_named_in_any_case() {
    let weft = server().start();
    let response =
        weft.say("POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n");
    assert_eq!(response.text(), "x");
}

#[test]
fn a_client_that_expects_100_continue_gets_it_when_the_body_is_wanted() {
    let weft = server().start();
    let mut client = weft.connect();
    client.send("POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.read_head().status, 100);
    client.send("body");
    let response = client.read();
    assert_eq!((response.status, response.text().as_str(), response.interim.len()), (200, "body", 0));
    client.get("/hello");
    assert_eq!(client.read().text(), "Hello World");
}

#[test]
fn an_unwanted_body_is_not_requested() {
    let weft = server().start();
    let mut client = weft.connect();
    client.send("POST /ignore-body HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    let response = client.read();
    assert_eq!((response.status, response.interim.len()), (200, 0));
    // The client may send the body or not, so the server cannot tell what the next bytes are and closes.
    assert_eq!(response.header("connection"), Some("close"));
    client.expect_closed();
}

#[test]
fn a_client_that_does_not_wait_for_100_gets_none() {
    let weft = server().start();
    let mut client = weft.connect();
    client.send("POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nbody");
    let response = client.read();
    assert_eq!((response.status, response.text().as_str()), (200, "body"));
    assert!(response.interim.iter().all(|interim| interim.status == 100));
}

#[test]
fn http_1_0_is_never_told_to_continue() {
    let weft = server().start();
    let mut client = weft.connect();
    client.send("POST /body HTTP/1.0\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nbody");
    let response = client.read();
    assert_eq!((response.text().as_str(), response.interim.len()), ("body", 0));
}

#[test]
fn a_body_too_large_is_refused_before_it_is_sent() {
    let weft = server().with("--body-bytes-max", "1000").start();
    let mut client = weft.connect();
    client.send("POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n\r\n");
    let response = client.read();
    assert_eq!((response.status, response.interim.len()), (413, 0));
    client.expect_closed();
    // With chunks, the size is only known as they arrive.
    let mut client = weft.connect();
    client.send("POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send(format!("3e9\r\n{}\r\n0\r\n\r\n", "x".repeat(1001)));
    assert_eq!(client.read().status, 413);
    // A body of exactly the limit is allowed.
    let mut client = weft.connect();
    client.post("/body", "text/plain", "x".repeat(1000));
    assert_eq!(client.read().body.len(), 1000);
}

#[test]
fn a_large_body_is_spooled_to_disk_and_read_as_a_stream() {
    let weft = server().with("--body-bytes-max", "64MiB").with("--body-memory-bytes-max", "64KiB").start();
    let mut client = weft.connect();
    client.get("/hello");
    assert_eq!(client.read().status, 200);
    let worker = weft.workers()[0];
    let before = weft_tests::process::private_bytes(worker);
    let megabyte: Vec<u8> = (0..1 << 20).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    client.send("POST /digest HTTP/1.1\r\nHost: a\r\nContent-Length: 50331648\r\n\r\n");
    for _ in 0..48 {
        client.send(&megabyte);
    }
    let said = client.read().json();
    assert_eq!(said["length"], 48 << 20);
    let whole = megabyte.repeat(48);
    std::fs::write(weft.path("same"), &whole).unwrap();
    let sum = std::process::Command::new("sha256sum").arg(weft.path("same")).output().unwrap();
    assert_eq!(said["sha256"], String::from_utf8_lossy(&sum.stdout)[..64]);
    let grown = weft_tests::process::private_bytes(worker).saturating_sub(before);
    assert!(grown < 16 << 20, "a body of 48 MiB made the worker grow by {grown} bytes");
}

#[test]
fn a_spooled_body_as_a_string() {
    let weft = server().with("--body-memory-bytes-max", "1KiB").start();
    let mut client = weft.connect();
    let body: Vec<u8> = (0..100_000u32).map(|i| (i % 251) as u8).collect();
    for _ in 0..3 {
        client.post("/body", "text/plain", &body);
        assert_eq!(client.read().body, body);
    }
    // No descriptor of it stays open.
    let fds = || std::fs::read_dir(format!("/proc/{}/fd", weft.workers()[0])).unwrap().count();
    let before = fds();
    client.post("/body", "text/plain", &body);
    assert_eq!(client.read().body, body);
    until("the spool file to be closed", || (fds() <= before).then_some(()));
}

#[test]
fn bodies_that_come_slowly_take_no_coroutine() {
    let weft = server().with("--coroutines-max", "2").start();
    let mut slow: Vec<_> = (0..10).map(|_| weft.connect()).collect();
    for client in &mut slow {
        client.send("POST /digest HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nfirst");
    }
    assert_eq!(weft.get("/hello").status, 200);
    for client in &mut slow {
        client.send("again");
        assert_eq!(client.read().json()["length"], 10);
    }
}

#[test]
fn a_long_body_is_streamed_once_enough_of_it_is_there() {
    let weft = server().start();
    let mut client = weft.connect();
    client.send("POST /pieces HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
    client.send(vec![b'x'; 70_000]);
    assert_eq!(client.read_head().status, 200, "the answer begins before its request has ended");
    client.send(vec![b'x'; 30_000]);
    let rest = client.read_bytes(100_000);
    assert!(rest.iter().filter(|&&byte| byte == b'x').count() > 99_000);
}

#[test]
fn a_handler_and_its_client_talk_in_turns_where_requests_begin_with_their_head() {
    let weft = server().with("--body-begin-bytes", "0").start();
    let mut client = weft.connect();
    client.send("POST /pieces HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send("5\r\nfirst\r\n");
    assert_eq!(client.read_head().status, 200);
    assert_eq!(client.read_bytes(10), b"5\r\nfirst\r\n");
    client.send("6\r\nsecond\r\n0\r\n\r\n");
    assert_eq!(client.read_bytes(16), b"6\r\nsecond\r\n0\r\n\r\n"[..16]);
}

#[test]
fn a_client_that_disconnects_in_the_middle_of_its_body_does_no_harm() {
    let mut weft = server().start();
    for _ in 0..20 {
        let mut client = weft.connect();
        client.send("POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
    }
    assert_eq!(weft.get("/hello").text(), "Hello World");
    assert!(weft.is_alive());
}

#[test]
fn json_bodies() {
    let weft = server().start();
    let mut client = weft.connect();
    client.post("/json", "application/json", r#"{"a":[1,2.5,null,"é"]}"#);
    assert_eq!(client.read().json(), json!({"got": {"a": [1, 2.5, null, "é"]}}));
    for broken in ["{", "", "{\"a\":}", "\u{1}"] {
        client.post("/json", "application/json", broken);
        let response = client.read();
        assert_eq!(response.status, 400, "{broken:?}");
        assert!(response.json()["error"].is_string());
    }
}
