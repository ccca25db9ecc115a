//! All state that a request owns, in a table: fifty requests change it at once, and each sees its own.

use std::cell::RefCell;

use serde_json::{Value, json};
use weft_tests::Server;

use crate::interleaved::at_once;

fn server() -> Server {
    Server::new(include_str!("isolation.php").trim_start_matches("<?php"))
}

#[test]
fn the_changes_of_a_request_are_its_own() {
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

/// Each gives the same result, whether one request calls it or many do.
#[test]
fn the_state_of_a_waiting_call_is_its_own() {
    let weft = server().start();
    for name in ["array_multisort", "collator", "eval", "ticks"] {
        let alone = weft.get(&format!("/?item={name}&n=1000001")).json();
        at_once(
            &weft,
            |n| format!("GET /?item={name}&n={n} HTTP/1.1\r\nHost: a\r\n\r\n"),
            |n, response| assert_eq!(response.json(), alone, "{name}, request {n}"),
        );
    }
}

#[test]
fn a_soap_answer_is_read_with_its_own_clients_types() {
    let weft = server().start();
    let port = weft.addresses()[0].port();
    at_once(
        &weft,
        |n| format!("GET /?item=soap&n={n}&port={port} HTTP/1.1\r\nHost: a\r\n\r\n"),
        |n, response| {
            let own = if n % 2 == 1 { format!("thing of {n}") } else { "a thing".into() };
            assert_eq!(response.json(), own, "{n}");
        },
    );
}

#[test]
fn a_highlighted_file_goes_to_the_request_that_asked() {
    let weft = server().start();
    at_once(
        &weft,
        |n| format!("GET /?item=highlight_string&n={n} HTTP/1.1\r\nHost: a\r\n\r\n"),
        |n, response| {
            let text = response.text().replace("&nbsp;", " ");
            for part in
                [format!("$own{n} "), format!("'text of {n}'"), format!("// and {n}"), format!("f{n}")]
            {
                assert!(text.contains(&part), "{n}: no {part} in {text}");
            }
            assert_eq!(text.matches("own").count(), 1, "{n}: {text}");
        },
    );
}

/// Linking these classes loads their methods' types through an autoloader that waits.
#[test]
fn classes_are_linked_one_by_one_beside_other_requests() {
    let app = r#"
        spl_autoload_register(static function (string $class): void {
            usleep(str_starts_with($class, 'Two') ? 3000 : 200);
            include __DIR__ . "/$class.php";
        });
        return function ($r) {
            $n = (int) $r->query('n') % 50;
            class_exists("Base$n");
            $class = "Child$n";
            return (new $class())->first()->name() . (new $class())->second()->name();
        };"#;
    let server = (0..50).fold(Server::new(app), |server, n| {
        let file = |name: &str, code: &str| {
            (format!("{name}{n}.php"), format!("<?php {}", code.replace('#', &n.to_string())))
        };
        let files = [
            file("Base", "class Base# { function name() { return 'base'; } }"),
            file("One", "class One# extends Base# { function name() { return 'one#'; } }"),
            file("Two", "class Two# extends Base# { function name() { return 'two#'; } }"),
            file("Parent", "class Parent# { function first(): Base# {} function second(): Base# {} }"),
            file(
                "Child",
                "class Child# extends Parent# { function first(): One# { return new One#(); } \
                 function second(): Two# { return new Two#(); } }",
            ),
        ];
        files.iter().fold(server, |server, (name, code)| server.with_file(name, code))
    });
    let weft = server.start();
    at_once(
        &weft,
        |n| format!("GET /?n={n} HTTP/1.1\r\nHost: a\r\n\r\n"),
        |n, response| assert_eq!(response.text(), format!("one{0}two{0}", n % 50), "{n}"),
    );
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
fn gmps_generator_belongs_to_the_request_that_seeded_it() {
    let weft = server().start();
    at_once(
        &weft,
        |n| format!("GET /?item=gmp&n={n} HTTP/1.1\r\nHost: a\r\n\r\n"),
        |n, response| assert_eq!(response.json(), json!([true]), "request {n}"),
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

/// A time zone's file is read at its first use, which may wait. PHP then still uses the name, which other requests must
/// not free.
#[test]
fn a_time_zone_is_read_while_others_set_theirs() {
    let app = "return function ($request) {
        $zones = DateTimeZone::listIdentifiers();
        $zone = $zones[(int) $request->query('n') % count($zones)];
        date_default_timezone_set($zone);
        $now = date_default_timezone_get();
        return $zone === $now ? 'its own' : $zone . ' became ' . $now;
    };";
    let weft = Server::new(app).with_flag("--yield-at-calls").start();
    for round in 0..6 {
        at_once(
            &weft,
            |n| format!("GET /?n={} HTTP/1.1\r\nHost: a\r\n\r\n", n + 50 * round),
            |_, response| assert_eq!(response.text(), "its own"),
        );
    }
}
