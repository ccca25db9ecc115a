//! The JSON interface with embedded storage: SQLite and files.

use serde_json::{Value, json};
use weft_tests::{Running, until};

use crate::service::{Admin, ask, ask_until_shown, health, pass, post, report, service, start};

const DAY_S: u64 = 86_400;

#[test]
fn a_user_goes_from_pop_up_to_pop_up() {
    let weft = start(service());
    let admin = Admin::sign_in(&weft);
    admin.create("First", &[("priority", "5")]);
    admin.create("Second", &[]);
    let first = ask_until_shown(&weft, "ada");
    assert_eq!(
        (&first["title"], &first["url"], &first["body"]),
        (&json!("First"), &json!("/there"), &json!("Text"))
    );
    assert_eq!(ask(&weft, "ada"), Value::Null, "it waits");
    pass(&weft, DAY_S);
    let again = ask_until_shown(&weft, "ada"); // from a worker that knows it by now
    assert_eq!(again["title"], "First", "not clicked, it comes back");
    let mut client = weft.connect();
    for operation in ["shown", "clicked", "closed"] {
        let response = report(&mut client, &again, operation);
        assert_eq!((response.status, response.json()), (200, json!({"recorded": true})));
    }
    let second = ask_until_shown(&weft, "ada");
    assert_eq!(second["title"], "Second");
    report(&mut client, &second, "clicked");
    pass(&weft, 100 * DAY_S);
    assert_eq!(ask(&weft, "ada"), Value::Null, "clicked ones do not come back");
    admin.wait_for_counts(1, [2, 1, 1, 1]);
    admin.wait_for_counts(2, [1, 0, 1, 0]);
}

#[test]
fn a_report_that_is_repeated_is_one_operation() {
    let weft = start(service());
    let admin = Admin::sign_in(&weft);
    admin.create("Only", &[]);
    let popup = ask_until_shown(&weft, "ada");
    let mut client = weft.connect();
    for _ in 0..5 {
        assert_eq!(report(&mut client, &popup, "shown").status, 200);
    }
    until("all six records to be written", || (health(&weft)["queues"]["written"] == 6).then_some(()));
    assert_eq!(admin.counts(1), [1, 1, 0, 0]);
}

#[test]
fn only_one_of_many_requests_of_a_user_gets_the_pop_up() {
    let weft = start(service());
    let admin = Admin::sign_in(&weft);
    admin.create("Only", &[]);
    assert_eq!(ask_until_shown(&weft, "somebody")["title"], "Only");
    until("all workers to know it", || known_by_all(&weft));
    for round in 0..20 {
        let mut clients: Vec<_> = (0..12).map(|_| weft.connect()).collect();
        let body = json!({"user": format!("ada-{round}")}).to_string();
        for client in &mut clients {
            client.post("/v1/ask", "application/json", &body);
        }
        let answers: Vec<_> = clients.iter_mut().map(|client| client.read().json()).collect();
        let shown = answers.iter().filter(|answer| !answer["popup"].is_null()).count();
        assert_eq!(shown, 1, "in round {round}");
    }
}

/// Whether a dozen connections, spread over the workers, all get it for new users.
fn known_by_all(weft: &Running) -> Option<()> {
    static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let all = (0..12).all(|_| {
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        !ask(weft, &format!("new-{number}")).is_null()
    });
    all.then_some(())
}

#[test]
fn audiences_and_windows_are_kept() {
    let weft = start(service());
    let admin = Admin::sign_in(&weft);
    admin.create("For android", &[("priority", "9"), ("platforms", "android, tv")]);
    admin.create("For bob", &[("priority", "8"), ("users", "bob\nbert")]);
    admin.create("For the new", &[("priority", "7"), ("version_min", "6.0")]);
    admin.create("Over", &[("priority", "6"), ("until", "2001-01-01T00:00")]);
    admin.create("For ios", &[("platforms", "ios")]);
    assert_eq!(ask_until_shown(&weft, "ada")["title"], "For ios");
    let of = |body: Value| post(&mut weft.connect(), "/v1/ask", &body).json()["popup"]["title"].clone();
    let mut number = 0;
    until("all workers to know the newest", || {
        number += 1;
        (0..12)
            .all(|i| !of(json!({"user": format!("n{number}-{i}"), "platform": "ios"})).is_null())
            .then_some(())
    });
    assert_eq!(of(json!({"user": "bob"})), "For bob");
    assert_eq!(of(json!({"user": "a1", "platform": "tv"})), "For android");
    assert_eq!(of(json!({"user": "a2", "version": "6.0.1"})), "For the new");
    assert_eq!(of(json!({"user": "a3"})), Value::Null);
}

#[test]
fn the_answer_states_when_to_ask_again() {
    let weft = start(service());
    let admin = Admin::sign_in(&weft);
    let ask = |user: &str| post(&mut weft.connect(), "/v1/ask", &json!({"user": user})).json();
    assert_eq!(ask("ada"), json!({"popup": null, "ask_again_in": null}));
    admin.create("Only", &[("interval_h", "1")]);
    ask_until_shown(&weft, "ada");
    let seconds = until("all workers to know it", || ask("ada")["ask_again_in"].as_u64());
    assert!((3_500..=3_600).contains(&seconds), "{seconds}");
}

#[test]
fn the_documents_are_served() {
    let weft = start(service());
    assert!(weft.get("/").text().contains("<title>Home page</title>"));
    assert!(weft.get("/home.js").header("content-type").is_some_and(|kind| kind.contains("javascript")));
    assert!(weft.get("/openapi.yaml").text().starts_with("openapi: 3.0.3"));
    let health =
        until("a worker to be well", || Some(health(&weft)).filter(|health| health["status"] == "ok"));
    assert_eq!((&health["problems"], &health["queue"]["dead"]), (&json!({}), &json!(0)), "{health}");
}

#[test]
fn requests_before_the_tables_exist_wait_for_them() {
    for _ in 0..5 {
        let weft = service().start();
        let mut clients: Vec<_> = (0..8).map(|_| weft.connect()).collect();
        for client in &mut clients {
            client.post("/v1/ask", "application/json", r#"{"user": "early"}"#);
        }
        for client in &mut clients {
            let response = client.read();
            assert_eq!(response.status, 200, "{}", response.text());
        }
        assert_eq!((&health(&weft)["problems"], weft.log().contains("no such table")), (&json!({}), false));
    }
}

#[test]
fn the_steps_of_the_story_all_work() {
    for step in ["naive", "queue", "cache", "pool", "keepalive"] {
        let weft = start(service().with_variable("POPUP_STEP", step));
        let admin = Admin::sign_in(&weft);
        admin.create("Only", &[]);
        let popup = ask_until_shown(&weft, "ada");
        assert_eq!(ask(&weft, "ada"), Value::Null, "{step}");
        let response = report(&mut weft.connect(), &popup, "clicked");
        assert_eq!(response.status, 200, "{step}");
        let closes = response.header("connection") == Some("close");
        assert_eq!(closes, step != "keepalive", "{step}");
        admin.wait_for_counts(1, [1, 0, 1, 0]);
    }
    let mut refused = service().with_variable("POPUP_STEP", "fast").spawn();
    refused.wait_for_log("POPUP_STEP is one of naive, queue, cache, pool, keepalive; it is \"fast\"");
}

#[test]
fn the_demonstration_begins_with_some_pop_ups() {
    let weft = start(service().with_variable("POPUP_DEMO", "1"));
    assert_eq!(ask_until_shown(&weft, "ada")["title"], "For phones");
    let page = Admin::sign_in(&weft).get("/admin").text();
    for title in ["Welcome", "One in four", "It comes back", "For phones"] {
        assert_eq!(
            page.matches(&format!(">{title}</a>")).count(),
            1,
            "each once, though two workers began: {page}"
        );
    }
}
