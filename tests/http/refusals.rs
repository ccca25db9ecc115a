//! Requests that are refused: the status of each, and that the connection ends there.

use weft_tests::{Running, Server};

use crate::server;

/// Asserts that these bytes get this status and nothing more, and that other clients are still served.
fn refused(weft: &Running, status: u16, bytes: impl AsRef<[u8]>) {
    let bytes = bytes.as_ref();
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
    let mut client = weft.connect();
    // The server may refuse and close before all bytes are sent.
    let _ = client.try_send(bytes);
    // A second request after the first is what a smuggler wants answered.
    let _ = client.try_send("GET /describe?smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
    let response = client.try_read().unwrap_or_else(|e| panic!("{e} instead of {status} to {shown:?}"));
    assert_eq!(response.status, status, "{shown:?} got {:?}", response.text());
    assert_eq!(response.header("connection"), Some("close"), "{shown:?}");
    client.expect_closed();
}

fn refused_all(status: u16, requests: &[&str]) {
    let weft = server().start();
    for request in requests {
        refused(&weft, status, request);
    }
    assert_eq!(weft.get("/hello").text(), "Hello World");
}

#[test]
fn conflicting_and_malformed_lengths() {
    refused_all(
        400,
        &[
            "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
            "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
            "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nhello",
            "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 6\r\n\r\nhello",
            "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello",
            "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\nhello",
            "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\nhello",
            "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5 5\r\n\r\nhello",
            "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\nhello",
            "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\nhello",
        ],
    );
}

#[test]
fn length_beside_transfer_coding_and_other_smuggling_vectors() {
    refused_all(
        400,
        &[
            "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
            "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
            "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
            "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n0\r\n\r\n",
            "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            "POST /body HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
            "POST /body HTTP/1.1\r\nHost: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST /body HTTP/1.1\r\nHost: a\r\nX: b\r\n\tTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding\r\n: chunked\r\n\r\n0\r\n\r\n",
            "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \u{b}chunked\r\n\r\n0\r\n\r\n",
        ],
    );
}

#[test]
fn unknown_transfer_codings_are_501() {
    refused_all(
        501,
        &[
            "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n",
        ],
    );
}

#[test]
fn line_ends_and_folding() {
    refused_all(
        400,
        &[
            "GET /hello HTTP/1.1\nHost: a\n\n",
            "GET /hello HTTP/1.1\r\nHost: a\n\r\n",
            "GET /hello HTTP/1.1\r\nHost: a\r\n\n",
            "GET /hello HTTP/1.1\rHost: a\r\r",
            "GET /hello HTTP/1.1\r\nHost: a\r\nX: b\rY: c\r\n\r\n",
            "GET /hello HTTP/1.1\r\nHost: a\r\nX: b\r\n continued\r\n\r\n",
            "GET /hello HTTP/1.1\r\n Host: a\r\n\r\n",
        ],
    );
}

#[test]
fn malformed_request_lines() {
    refused_all(
        400,
        &[
            "GET  /hello HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /hello  HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /hello\r\nHost: a\r\n\r\n",
            "GET /he llo HTTP/1.1\r\nHost: a\r\n\r\n",
            "G\u{1}T /hello HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET hello HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /hello#fragment HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /hello http/1.1\r\nHost: a\r\n\r\n",
            "GET /hello HTTP/11\r\nHost: a\r\n\r\n",
            "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{fc}\u{3}",
            "\r\n\r\n\r\n\r\n\r\n\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n",
        ],
    );
}

#[test]
fn versions_we_do_not_speak_are_505() {
    refused_all(505, &["GET /hello HTTP/2.0\r\nHost: a\r\n\r\n", "GET /hello HTTP/1.2\r\nHost: a\r\n\r\n"]);
}

#[test]
fn the_host_header_is_needed_once_and_valid() {
    refused_all(
        400,
        &[
            "GET /hello HTTP/1.1\r\n\r\n",
            "GET /hello HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
            "GET /hello HTTP/1.1\r\nHost: a b\r\n\r\n",
            "GET /hello HTTP/1.1\r\nHost: a/b\r\n\r\n",
            "GET /hello HTTP/1.1\r\nHost: user@a\r\n\r\n",
            "GET /hello HTTP/1.1\r\nHost: a%zz\r\n\r\n",
            "GET /hello HTTP/1.1\r\nHost: [::1%25lo]\r\n\r\n",
            "GET /hello HTTP/1.1\r\nHost: a:65536\r\n\r\n",
            "GET http://a%zz/hello HTTP/1.1\r\nHost: a\r\n\r\n",
        ],
    );
}

#[test]
fn authorization_and_content_type_may_appear_only_once() {
    refused_all(
        400,
        &[
            "GET /hello HTTP/1.1\r\nHost: a\r\nAuthorization: Basic YTpi\r\nauthorization: Basic Yjpj\r\n\r\n",
            "GET /hello HTTP/1.1\r\nHost: a\r\nContent-Type: a/b\r\nCONTENT-TYPE: a/b\r\n\r\n",
        ],
    );
}

#[test]
fn malformed_headers() {
    refused_all(
        400,
        &[
            "GET /hello HTTP/1.1\r\nHost: a\r\nX-A : b\r\n\r\n",
            "GET /hello HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
            "GET /hello HTTP/1.1\r\nHost: a\r\n: no name\r\n\r\n",
            "GET /hello HTTP/1.1\r\nHost: a\r\nX-\u{e9}: b\r\n\r\n",
            "GET /hello HTTP/1.1\r\nHost: a\r\nX-A: b\u{0}c\r\n\r\n",
            "GET /hello HTTP/1.1\r\nHost: a\r\nX-A: b\u{7f}c\r\n\r\n",
        ],
    );
}

#[test]
fn malformed_chunks() {
    let head = "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let weft = server().start();
    for body in [
        "x\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "5 \r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "5\r\nhello!\r\n0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
        "\r\nhello\r\n0\r\n\r\n",
        "0\r\nX-A : b\r\n\r\n",
        "0\r\nContent-Length: 5\r\n\r\n",
        "0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "0\r\nHost: b\r\n\r\n",
    ] {
        refused(&weft, 400, format!("{head}{body}"));
    }
    refused(&weft, 400, format!("{head}5;{}\r\nhello\r\n0\r\n\r\n", "x".repeat(5000)));
}

#[test]
fn an_unknown_expectation_is_417() {
    refused_all(417, &["POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 200-ok\r\n\r\nx"]);
}

fn limited() -> Server {
    server()
        .with("--head-bytes-max", "2048")
        .with("--target-bytes-max", "256")
        .with("--header-count-max", "8")
}

#[test]
fn limits_of_the_head() {
    let weft = limited().start();
    let long = "x".repeat(250);
    refused(&weft, 414, format!("GET /{}{long} HTTP/1.1\r\nHost: a\r\n\r\n", "y".repeat(10)));
    refused(&weft, 431, format!("GET /hello HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", long.repeat(9)));
    refused(&weft, 431, format!("GET /hello HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(8)));
    refused(&weft, 501, format!("{} /hello HTTP/1.1\r\nHost: a\r\n\r\n", "M".repeat(40)));
    // At the limit, the request is served.
    let response = weft.say(format!(
        "GET /describe?{} HTTP/1.1\r\nHost: a\r\n{}\r\n",
        &long[..240],
        "X: y\r\n".repeat(7)
    ));
    assert_eq!(response.status, 200);
}

#[test]
fn a_head_that_never_ends_is_cut_off_at_its_limit() {
    let weft = limited().start();
    let mut client = weft.connect();
    client.send("GET /hello HTTP/1.1\r\nX: ");
    let mut sent = 0;
    let response = weft_tests::until("431", || {
        sent += client.try_send("y".repeat(512)).map_or(0, |()| 512);
        client.is_readable().then(|| client.read())
    });
    assert_eq!(response.status, 431);
    assert!(sent <= 1 << 20, "{sent} bytes of a head were taken");
}

#[test]
fn a_refused_head_gets_no_content() {
    let weft = limited().start();
    for (status, rest) in [
        (400, " /hello HTTP/1.1\r\nHost: a b\r\n\r\n".to_owned()),
        (400, " /hello HTTP/1.1\r\n\r\n".to_owned()),
        (400, " /hello HTTP/1.1\n\n".to_owned()),
        (505, " /hello HTTP/2.0\r\nHost: a\r\n\r\n".to_owned()),
        (414, format!(" /{} HTTP/1.1\r\n", "x".repeat(300))),
        (431, format!(" / HTTP/1.1\r\nX: {}\r\n", "y".repeat(2100))),
        (413, " / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n".to_owned()),
    ] {
        for before in ["", "\r\n"] {
            let mut client = weft.connect();
            client.send(format!("{before}HEAD{rest}"));
            client.shutdown_write();
            let answer = String::from_utf8(client.read_to_end()).expect("text");
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{rest:?} got {answer}");
            assert!(answer.ends_with("\r\n\r\n"), "{rest:?} got {answer}");
        }
    }
    refused(&weft, 400, "HEADER /hello HTTP/1.1\r\nHost: a b\r\n\r\n");
}

#[test]
fn a_refused_request_is_in_both_logs() {
    let mut weft = server().with("--access-log", "access.log").with("--head-timeout-ms", "200").start();
    for (bytes, line) in [
        ("GET /x?a HTTP/1.1\r\nHost: a b\r\n\r\n", "\"GET /x?a HTTP/1.1\" 400 "),
        ("GET /x\" y HTTP/1.0\r\n\r\n", "\"GET /x\\x22 y HTTP/1.0\" 400 "),
        ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n", "\"POST /x HTTP/1.1\" 413 "),
        ("\u{16}\u{3}\u{1}\n\u{1b}[31m", "\"\\x16\\x03\\x01\" 400 "),
        ("GET /slow HTTP/1.1\r\nHost: a\r\n", "\"GET /slow HTTP/1.1\" 408 "),
        ("HEAD / HTTP/9.9\r\n\r\n", "\"HEAD / HTTP/9.9\" 505 0 \"-\" \"-\" "),
    ] {
        let mut client = weft.connect();
        client.send(bytes);
        client.read_to_end();
        let access =
            weft_tests::until(line, || Some(weft.read("access.log")).filter(|log| log.contains(line)));
        let found = access.lines().find(|found| found.contains(line)).expect("it is there");
        assert!(found.starts_with("127.0.0.1 - - [") && found.ends_with(" w0 -"), "{found}");
    }
    weft.wait_for_log("a request was refused: the Host header field is not a host with an optional port peer=127.0.0.1 status=400");
}

#[test]
fn refusals_do_not_flood_the_error_log() {
    let weft = server().start();
    for _ in 0..300 {
        refused(&weft, 400, "GET /hello HTTP/1.1\r\nHost: a b\r\n\r\n");
    }
    let lines = weft.log().matches("a request was refused").count();
    assert!((1..150).contains(&lines), "{lines} lines");
}
