//! What the application sees of a request's head.

use serde_json::json;

use crate::server;

#[test]
fn method_target_and_headers_arrive_as_they_were_sent() {
    let weft = server().start();
    let response = weft.say(
        "PATCH /describe?a=b%20c&d HTTP/1.1\r\nhost: example.org:81\r\nX-Odd:\t spaced \t\r\nx-odd: again\r\n\
         Empty:\r\nHigh: \u{e9}\r\n\r\n",
    );
    let said = response.json();
    assert_eq!(said["method"], "PATCH");
    assert_eq!(said["target"], "/describe?a=b%20c&d");
    assert_eq!(said["path"], "/describe");
    assert_eq!(said["query"], "a=b%20c&d");
    assert_eq!(said["version"], "1.1");
    assert_eq!(said["scheme"], "http");
    assert_eq!(said["host"], "example.org:81");
    assert_eq!(said["headers"]["x-odd"], json!(["spaced", "again"]));
    assert_eq!(said["headers"]["empty"], json!([""]));
    assert_eq!(said["headers"]["high"], json!(["\u{e9}"]));
}

#[test]
fn an_absolute_target_overrides_the_host_header() {
    let weft = server().start();
    let said =
        weft.say("GET http://right.example:8080/describe?x HTTP/1.1\r\nHost: wrong.example\r\n\r\n").json();
    assert_eq!(said["path"], "/describe");
    assert_eq!(said["query"], "x");
    assert_eq!(said["host"], "right.example:8080");
}

#[test]
fn the_asterisk_is_for_options() {
    let weft = server().start();
    let said = weft.say("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").json();
    assert_eq!((said["method"].as_str(), said["path"].as_str()), (Some("OPTIONS"), Some("*")));
    assert_eq!(weft.say("GET * HTTP/1.1\r\nHost: a\r\n\r\n").status, 400);
}

#[test]
fn unknown_methods_reach_the_application() {
    let weft = server().start();
    let said = weft.say("PROPFIND /describe HTTP/1.1\r\nHost: a\r\n\r\n").json();
    assert_eq!(said["method"], "PROPFIND");
    let said = weft.say("get /describe HTTP/1.1\r\nHost: a\r\n\r\n").json();
    assert_eq!(said["method"], "get", "methods are case-sensitive");
}

#[test]
fn each_request_has_its_own_id() {
    let weft = weft_tests::Server::new("return fn ($r) => $r->id();").start();
    let mut seen = std::collections::HashSet::new();
    let mut client = weft.connect();
    for _ in 0..50 {
        client.get("/");
        let id = client.read().text();
        assert!(!id.is_empty() && seen.insert(id.clone()), "{id:?} came twice");
    }
}
