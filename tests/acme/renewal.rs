//! Certificates that live for seconds are renewed under load, and no request notices.

use std::collections::BTreeSet;

use weft_tests::wait::until;

use crate::{Place, serial, served, try_curl};

/// Long enough for an order on a busy machine.
const SECONDS: u64 = 40;

#[test]
fn certificates_are_renewed_under_load_and_no_request_is_lost() {
    let place = Place::new(SECONDS, 5);
    let weft = place.server("a.example").with("--workers", "2").start();
    served(&weft, place.tls_address(), "a.example");
    let mut serials = BTreeSet::new();
    until("two renewals", || {
        // A connection for each, and some that are kept.
        let said = try_curl(
            &weft,
            place.tls_address(),
            "https://a.example/[1-20]",
            &["--parallel", "--parallel-max", "4", "-o", "/dev/null", "-w", "%{http_code}\\n"],
        );
        assert_eq!((said.code, said.stdout.matches("200\n").count()), (Some(0), 20), "{}", said.stderr);
        serials.insert(serial(place.tls_address(), "a.example"));
        (serials.len() >= 3).then_some(())
    });
    assert!(!serials.contains(""), "there was always a certificate");
}

#[test]
fn the_authority_s_wish_is_remembered() {
    let place = Place::new(crate::DAYS_90, 0);
    let weft = place.server("a.example").start();
    served(&weft, place.tls_address(), "a.example");
    let wish = until("what the authority says about renewal", || {
        let text = std::fs::read_to_string(place.kept("a.example.json")).ok()?;
        let value: serde_json::Value = serde_json::from_str(&text).ok()?;
        value["wish"].is_object().then(|| value["wish"].clone())
    });
    let time = |name: &str| wish[name].as_u64().unwrap_or_else(|| panic!("{name}: {wish}"));
    assert!(time("start") <= time("at") && time("at") <= time("end"), "{wish}");
    assert!(time("ask_again") > 0 && wish["certificate"].as_str().is_some_and(|id| id.contains('.')));
}

#[test]
fn an_order_that_replaces_what_was_replaced_before_is_made_as_a_first_one() {
    let place = Place::new(crate::DAYS_90, 0);
    let (certificate, state) = (place.kept("a.example.pem"), place.kept("a.example.json"));
    let weft = place.server("a.example").start();
    served(&weft, place.tls_address(), "a.example");
    until("what the authority says about renewal", || {
        std::fs::read_to_string(&state).ok().filter(|text| text.contains("\"ask_again\"")).map(drop)
    });
    let mut serials = BTreeSet::from([serial(place.tls_address(), "a.example")]);
    drop(weft);
    let first = std::fs::read(&certificate).expect("it is kept");
    let text = std::fs::read_to_string(&state).expect("it is kept");
    let mut wished: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    wished["wish"]["at"] = 1.into();
    // The authority wants it renewed at once, which is done; and again, as if this host had missed that another one did it.
    for orders in [2, 3] {
        std::fs::write(&certificate, &first).expect("the test's own file");
        std::fs::write(&state, wished.to_string()).expect("the test's own file");
        let weft = place.server("a.example").start();
        until("another certificate", || {
            serials.insert(serial(place.tls_address(), "a.example")).then_some(())
        });
        assert_eq!(place.pebble.orders(), orders, "{}", place.pebble.log());
        drop(weft);
    }
    assert!(!serials.contains(""));
}
