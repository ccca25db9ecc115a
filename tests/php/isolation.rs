//! Each piece of state that a request owns, in a table: fifty requests at once change it, and each sees its own.

use std::cell::RefCell;

use serde_json::{Value, json};
use weft_tests::Server;

use crate::interleaved::at_once;

fn server() -> Server {
    Server::new(include_str!("isolation.php").trim_start_matches("<?php"))
}

#[test]
fn what_a_request_changes_is_its_own() {
    let weft = server().start();
    let names = weft.get("/?item=names").json();
    let mut wrong = Vec::new();
    for name in names.as_array().expect("names") {
        let name = name.as_str().expect("a name");
        let path = format!("/?item={}", name.replace(' ', "%20"));
        let first = weft.get(&format!("{path}&n=1"));
        assert_eq!(first.status / 100, 2, "{name}: {}", first.text());
        let clean = first.json()[0].clone();
        let mistake = RefCell::new(None);
        at_once(
            &weft,
            |n| format!("GET {path}&n={n} HTTP/1.1\r\nHost: a\r\n\r\n"),
            |n, response| {
                let said = response.json();
                let expected = if said[1].is_null() && name == "openssl_error_string" {
                    json!(n % 2 == 1)
                } else {
                    said[1].clone()
                };
                let later = if name == "openssl_error_string" {
                    json!(!said[2].as_array().expect("errors").is_empty())
                } else {
                    said[2].clone()
                };
                if said[0] != clean || later != expected {
                    mistake.replace(Some(format!("{name}, request {n}: clean {clean}, observed {said}")));
                }
            },
        );
        wrong.extend(mistake.into_inner());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_seed_makes_only_its_own_numbers_predictable() {
    let weft = server().start();
    at_once(
        &weft,
        |n| format!("GET /?item=random&n={n} HTTP/1.1\r\nHost: a\r\n\r\n"),
        |n, response| assert_eq!(response.json(), json!([true, true]), "{n}"),
    );
}

#[test]
fn output_is_compressed_for_its_own_request() {
    let weft = server().start();
    at_once(
        &weft,
        |n| format!("GET /?item=gzip&n={n} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n"),
        |n, response| assert_eq!(response.json(), true, "{n}"),
    );
}

#[test]
fn filter_input_reads_the_running_request() {
    let weft = server().start();
    let request = |n: usize| {
        let body = format!("p={n}&secret{n}=1");
        format!(
            "POST /?item=filter&n={n}&list[a][]={n} HTTP/1.1\r\nHost: a\r\nCookie: c=c{n}; own{n}=1\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    at_once(&weft, request, |n, response| {
        let name = n.to_string();
        let cookies: Value = [("c", format!("c{n}")), (&format!("own{n}"), "1".into())]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let expected = json!([name, {"a": [name]}, format!("c{n}"), n, false, "POST", cookies]);
        assert_eq!(response.json(), json!([expected, expected]), "{n}");
    });
}
