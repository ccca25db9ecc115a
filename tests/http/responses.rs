//! Responses: framing, streams, interim responses, and heads that an application cannot break.

use weft_tests::{Client, process, until};

use crate::server;

#[test]
fn a_string_has_a_length_a_date_and_a_type() {
    let weft = server().start();
    let response = weft.get("/hello");
    assert_eq!(response.status_line, "HTTP/1.1 200 OK");
    assert_eq!(response.header("content-length"), Some("11"));
    assert_eq!(response.header("transfer-encoding"), None);
    assert_eq!(response.header("content-type"), Some("text/html; charset=UTF-8"));
    let date = response.header("date").expect("a date");
    assert!(date.len() == 29 && date.ends_with(" GMT"), "{date}");
}

#[test]
fn a_generator_is_sent_in_chunks_as_it_yields() {
    let weft = server().start();
    let response = weft.get("/generator?count=3");
    assert_eq!(response.header("transfer-encoding"), Some("chunked"));
    assert_eq!(response.header("content-length"), None);
    assert_eq!(response.text(), "part 1;part 2;part 3;");
    let response = weft.get("/response-generator");
    assert_eq!((response.status, response.header("x-kind")), (201, Some("generator")));
    assert_eq!(response.text(), "part 1;part 2;part 3;");
    assert_eq!(weft.get("/array-body").text(), "abc");
    assert_eq!(weft.get("/generator?count=0").text(), "");
}

#[test]
fn a_writer_sends_while_it_runs() {
    let weft = server().start();
    assert_eq!(weft.get("/writer").text(), "first second");
    let mut client = weft.connect();
    client.get("/gated-writer");
    let head = client.read_head();
    assert_eq!(head.header("transfer-encoding"), Some("chunked"));
    assert_eq!(client.read_bytes(11), b"6\r\nbefore\r\n");
    // Only now may the handler write the rest: the first part was sent without waiting for it.
    weft.write("gate", "open");
    assert_eq!(client.read_bytes(15), b"5\r\nafter\r\n0\r\n\r\n");
    client.get("/hello");
    assert_eq!(client.read().text(), "Hello World");
}

#[test]
fn a_stream_that_fails_is_cut_short_and_not_ended() {
    let mut weft = server().start();
    let mut client = weft.connect();
    client.get("/broken-writer");
    let error = client.try_read().expect_err("the response must not look whole");
    assert!(
        matches!(error.kind(), std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::ConnectionReset),
        "{error}"
    );
    weft.wait_for_log("in the middle");
    assert_eq!(weft.get("/hello").text(), "Hello World");
}

#[test]
fn a_stream_of_known_length_is_not_chunked() {
    let weft = server().start();
    let response = weft.get("/known-length");
    assert_eq!(response.header("content-length"), Some("14"));
    assert_eq!(response.header("transfer-encoding"), None);
    assert_eq!(response.text(), "part 1;part 2;");
}

#[test]
fn head_gets_only_the_head() {
    let weft = server().start();
    let mut client = weft.connect();
    for target in ["/hello", "/generator", "/writer", "/large?size=100000", "/file?name=app.php"] {
        client.send(format!("HEAD {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        let head = client.read_of_head();
        assert_eq!(head.status, 200, "{target}");
        let mut getting = weft.connect();
        getting.get(target);
        let get = getting.read();
        assert_eq!(head.header("content-length"), get.header("content-length"), "{target}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{target}");
    }
    client.get("/hello");
    assert_eq!(client.read().text(), "Hello World", "nothing was left of the bodies");
}

#[test]
fn statuses_without_a_body_have_none() {
    let weft = server().start();
    let mut client = weft.connect();
    for code in [204, 304] {
        client.get(&format!("/status-with-body?code={code}"));
        let response = client.read();
        assert_eq!(response.status, code);
        assert_eq!(response.header("transfer-encoding"), None);
    }
    client.get("/status?code=204");
    let response = client.read();
    assert_eq!((response.status, response.header("content-length")), (204, None));
    client.get("/status?code=599");
    assert_eq!(client.read().status_line, "HTTP/1.1 599 ");
    client.get("/status?code=418");
    assert_eq!(client.read().status, 418);
    client.get("/hello");
    assert_eq!(client.read().text(), "Hello World");
}

#[test]
fn headers_go_out_as_the_application_set_them() {
    let weft = server().start();
    let response = weft.get("/headers");
    assert_eq!(response.header("x-one"), Some("a"));
    assert_eq!(response.all("x-two"), ["b", "c"]);
    assert_eq!(response.header("date"), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
    let response = weft.get("/redirect");
    assert_eq!((response.status, response.header("location")), (303, Some("/elsewhere?x=1")));
}

#[test]
fn cookies_are_encoded_and_guarded() {
    let weft = server().start();
    let cookies = weft.get("/cookies");
    let cookies = cookies.all("set-cookie");
    assert!(cookies[0].starts_with("a=b%20c%3Bd; Expires="), "{cookies:?}");
    assert!(cookies[0].ends_with("; Max-Age=60; Path=/; Secure; HttpOnly; SameSite=Lax"), "{cookies:?}");
    assert!(cookies[1].starts_with("gone=; Expires=Thu, 01 Jan 1970"), "{cookies:?}");
    assert!(cookies[1].contains("; Max-Age=0;"), "{cookies:?}");
}

#[test]
fn a_head_cannot_be_broken_by_what_is_put_into_it() {
    let weft = server().start();
    for into in ["value", "name", "redirect", "cookie-path"] {
        let response = weft.get(&format!("/inject?into={into}"));
        assert!(response.text().starts_with("refused: "), "{into}: {response:?}");
        assert_eq!(response.header("x-injected"), None, "{into}");
    }
    let response = weft.get("/inject?into=cookie");
    assert_eq!(response.header("x-injected"), None);
    assert!(
        response.header("set-cookie").is_some_and(|cookie| cookie.starts_with("a=b%0D%0A")),
        "{response:?}"
    );
}

#[test]
fn an_application_cannot_break_the_framing() {
    let weft = server().start();
    for into in ["length", "transfer"] {
        let mut client = weft.connect();
        client.get(&format!("/inject?into={into}"));
        let response = client.read();
        assert_eq!(response.header("transfer-encoding"), None, "{into}");
        if response.status == 200 {
            assert_eq!(response.text(), "twelve bytes", "{into}");
        } else {
            assert_eq!(response.status, 500, "{into}");
        }
        client.get("/hello");
        // Whatever happened, no byte of that response may be taken for the next one.
        if let Ok(next) = client.try_read() {
            assert_eq!(next.text(), "Hello World", "{into}");
        }
    }
}

#[test]
fn early_hints_come_before_the_response() {
    let weft = server().start();
    let response = weft.get("/hints");
    assert_eq!(response.text(), "hinted");
    assert_eq!(response.interim.len(), 1);
    let hints = &response.interim[0];
    assert_eq!(hints.status, 103);
    assert_eq!(hints.all("link"), ["</a.css>; rel=preload; as=style", "</b.js>; rel=preload; as=script"]);
    assert_eq!(response.all("link"), Vec::<&str>::new());
    // HTTP/1.0 has no interim responses.
    let response = weft.say("GET /hints HTTP/1.0\r\n\r\n");
    assert_eq!((response.interim.len(), response.text().as_str()), (0, "hinted"));
}

#[test]
fn invalid_json_data_is_an_error_of_the_application() {
    let mut weft = server().start();
    let response = weft.get("/invalid-json");
    assert_eq!((response.status, response.text().trim()), (500, "Internal Server Error"));
    weft.wait_for_log("JsonException: Malformed UTF-8");
}

#[test]
fn a_large_response_arrives_whole_at_a_client_that_reads_slowly() {
    let weft = server().start();
    let mut client = weft.connect();
    client.get("/large?size=20000000");
    assert_eq!(weft.get("/hello").text(), "Hello World", "nobody waits for the slow one");
    let response = client.read();
    assert_eq!(response.body.len(), 20_000_000);
    assert!(response.body.chunks(10).all(|chunk| chunk == b"0123456789"));
    client.get("/hello");
    assert_eq!(until("a response", || client.try_read().ok()).text(), "Hello World");
}

#[test]
fn slow_readers_of_large_strings_hold_neither_coroutines_nor_memory() {
    const LENGTH: usize = 20_000_000;
    let weft = server().with("--coroutines-max", "2").with("--queue-timeout-ms", "600000").start();
    let mut clients: Vec<Client> = (0..20).map(|_| weft.connect()).collect();
    for client in &mut clients {
        client.get(&format!("/large?size={LENGTH}"));
    }
    for client in &mut clients {
        assert_eq!(client.read_head().header("content-length"), Some(LENGTH.to_string().as_str()));
    }
    assert_eq!(weft.get("/hello").text(), "Hello World");
    // Twenty copies of the string would take 400 MB.
    let worker = weft.workers()[0];
    until("memory that is given back", || (process::private_bytes(worker) < 100_000_000).then_some(()));
    for client in &mut clients {
        assert_eq!(client.read_bytes(LENGTH).len(), LENGTH);
        client.get("/hello");
        assert_eq!(client.read().text(), "Hello World");
    }
}

#[test]
fn no_control_character_of_a_header_is_sent() {
    let app = "return function ($r) { $value = 'a' . chr((int) $r->query('byte')) . 'b';
        if ($r->path() === '/header') { header(\"X-A: $value\"); return 'sent'; }
        return new Weft\\Http\\Response('sent', 200, ['X-A' => $value]); };";
    let mut weft = weft_tests::Server::new(app).start();
    for path in ["/header", "/response"] {
        for byte in (1..32).chain([127]).filter(|byte| !b"\t\r\n".contains(byte)) {
            let response = weft.get(&format!("{path}?byte={byte}"));
            assert_eq!((response.status, response.header("x-a")), (500, None), "{path} {byte}");
        }
        for byte in [9, 32, 126, 128, 255] {
            assert_eq!(weft.get(&format!("{path}?byte={byte}")).status, 200, "{path} {byte}");
        }
    }
    weft.wait_for_log("the value of the response header \"X-A\" is invalid: remove control characters");
}

/// These two declare a length that differs from what they send.
const LONG: &str = "return function ($r) {
    if ($r->path() === '/hello') { return 'Hello'; }
    if ($r->path() === '/echo') { http_response_code((int) $r->query('status')); header('Content-Length: 5'); echo 'hel'; flush(); echo 'lo, '; flush(); echo 'world'; return; }
    return new Weft\\Http\\Response(function ($writer) { foreach (['hel', 'lo, world', 'more', 'more'] as $piece) { $writer->write($piece); } },
        (int) $r->query('status'), $r->query('status') === '200' ? ['Content-Length' => '5'] : []); };";

#[test]
fn a_stream_longer_than_announced_ends_where_it_was_announced() {
    let mut weft = weft_tests::Server::new(LONG).start();
    for path in ["/writer", "/echo"] {
        let mut client = weft.connect();
        client.get(&format!("{path}?status=200"));
        let response = client.read();
        assert_eq!((response.text().as_str(), response.header("connection")), ("hello", None), "{path}");
        client.get("/hello");
        assert_eq!(client.read().text(), "Hello", "{path}: the connection goes on");
    }
    weft.wait_for_log_times("Content-Length announced 5 bytes", 2);
    assert_eq!(weft.log().matches("Content-Length announced 5 bytes").count(), 2, "said once for each");
}

#[test]
fn a_streamed_205_has_no_content() {
    let weft = weft_tests::Server::new(LONG).start();
    for path in ["/writer", "/echo"] {
        let mut client = weft.connect();
        client.get(&format!("{path}?status=205"));
        let response = client.read();
        assert_eq!((response.status, response.text().as_str()), (205, ""), "{path}");
        assert_eq!(
            (response.header("content-length"), response.header("connection")),
            (Some("0"), None),
            "{path}"
        );
        client.get("/hello");
        assert_eq!(client.read().text(), "Hello", "{path}: the connection goes on");
    }
    assert!(!weft.log().contains("ERROR"), "{}", weft.log());
}
