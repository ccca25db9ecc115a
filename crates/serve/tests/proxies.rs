//! The client's address when a trusted proxy reports it.

mod common;

use std::net::IpAddr;

use common::*;
use weft_serve::{ProxyFields, ProxyWord, ServerLimits};

fn ask(fields: ProxyFields, trusted: &'static [&'static str], request_fields: &str) -> String {
    ask_word(ProxyWord { fields, host: true }, trusted, request_fields)
}

fn ask_word(word: ProxyWord, trusted: &'static [&'static str], request_fields: &str) -> String {
    let server = TestServer::start(Answer::AtOnce, ServerLimits::default(), move |server, key| {
        let shown = server.with_request(key, |request| {
            let client =
                request.client(word, |address: IpAddr| trusted.contains(&address.to_string().as_str()));
            let port = match client.port {
                Some(port) if client.address == Some("127.0.0.1".parse().unwrap()) => {
                    assert!(port > 0);
                    "own".to_owned()
                }
                other => format!("{other:?}"),
            };
            let host = String::from_utf8_lossy(client.host.as_deref().unwrap_or(b"none")).into_owned();
            format!("{} {port} {} {host}", client.address.unwrap(), client.https)
        });
        server.respond(key, 200, &[], shown.unwrap().as_bytes()).unwrap();
    });
    let answer =
        server.ask(format!("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{request_fields}\r\n"));
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

const X: &str =
    "X-Forwarded-For: 6.6.6.6, 192.0.2.7, 10.0.0.2\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: shop\r\n";
const STANDARD: &str = "Forwarded: for=6.6.6.6, for=\"192.0.2.8:99\";proto=https;host=store\r\n";

#[test]
fn nobody_is_believed_by_default() {
    assert_eq!(ask(ProxyFields::XForwarded, &[], X), "127.0.0.1 own false h");
    assert_eq!(ask(ProxyFields::Forwarded, &["10.0.0.2"], STANDARD), "127.0.0.1 own false h");
}

#[test]
fn the_walk_stops_at_the_first_address_that_is_not_trusted() {
    assert_eq!(ask(ProxyFields::XForwarded, &["127.0.0.1", "10.0.0.2"], X), "192.0.2.7 None true shop");
    assert_eq!(ask(ProxyFields::XForwarded, &["127.0.0.1"], X), "10.0.0.2 None true shop");
    assert_eq!(ask(ProxyFields::Forwarded, &["127.0.0.1"], STANDARD), "192.0.2.8 Some(99) true store");
}

#[test]
fn fields_of_the_other_kind_are_the_clients_own_words() {
    assert_eq!(ask(ProxyFields::XForwarded, &["127.0.0.1"], STANDARD), "127.0.0.1 own false h");
    assert_eq!(ask(ProxyFields::Forwarded, &["127.0.0.1"], X), "127.0.0.1 own false h");
}

#[test]
fn a_host_counts_only_when_it_is_asked_for() {
    let word = |fields| ProxyWord { fields, host: false };
    assert_eq!(ask_word(word(ProxyFields::XForwarded), &["127.0.0.1"], X), "10.0.0.2 None true h");
    assert_eq!(ask_word(word(ProxyFields::Forwarded), &["127.0.0.1"], STANDARD), "192.0.2.8 Some(99) true h");
}

#[test]
fn what_the_client_said_first_changes_nothing() {
    let many = "10.0.0.2, ".repeat(500);
    for forged in ["127.0.0.1", "garbage:x", "\"", ",,,", many.as_str()] {
        let fields = format!("X-Forwarded-For: {forged}\r\nX-Forwarded-For: {forged}, 192.0.2.7\r\n");
        assert_eq!(
            ask(ProxyFields::XForwarded, &["127.0.0.1"], &fields),
            "192.0.2.7 None false h",
            "{forged}"
        );
    }
    let many = "for=10.0.0.2, ".repeat(500);
    for forged in ["for=127.0.0.1", "for=1.1.1.1:x", "for=\"", "for=\"x\\", "\"", ",,,", many.as_str()] {
        let fields = format!("Forwarded: {forged}\r\nForwarded: {forged}, for=192.0.2.7;proto=https\r\n");
        assert_eq!(ask(ProxyFields::Forwarded, &["127.0.0.1"], &fields), "192.0.2.7 None true h", "{forged}");
    }
}
