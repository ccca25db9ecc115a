//! Each part is killed or refuses under load. Every confirmed operation is in the database afterwards, once; an
//! operation that cannot be done is refused in a way that a client can act on.

use rustix::process::Signal;
use serde_json::{Value, json};
use weft_tests::process::signal;
use weft_tests::{Response, Running, until};

use crate::backends::on;
use crate::load::{Load, expect_all};
use crate::restartable::Restartable;
use crate::service::{Admin, ask_until_shown, health, post, report, service, settled, start};

const CONNECTIONS: usize = 4;

/// A service with one configuration, which is already shown.
fn prepared(weft: &Running) {
    Admin::sign_in(weft).create("Only", &[]);
    ask_until_shown(weft, "first-of-all");
}

fn sqlite(weft: &Running) -> String {
    format!("sqlite:{}", weft.path("data/popup.sqlite").display())
}

fn asked(weft: &Running, user: &str) -> Response {
    post(&mut weft.connect(), "/v1/ask", &json!({"user": user}))
}

#[test]
fn workers_are_killed() {
    let weft = start(service());
    prepared(&weft);
    let load = Load::start(&weft, "w", CONNECTIONS);
    for round in 0..6 {
        load.wait_for(200);
        let workers = until("a worker", || Some(weft.workers()).filter(|workers| !workers.is_empty()));
        signal(workers[round % workers.len()], Signal::KILL);
    }
    load.wait_for(200);
    expect_all(&sqlite(&weft), &load.end());
}

#[test]
fn master_and_workers_are_killed_and_start_again() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let server = || service().with_variable("POPUP_DATA", &data.path().display().to_string());
    let weft = start(server());
    prepared(&weft);
    let load = Load::start(&weft, "m", CONNECTIONS);
    load.wait_for(400);
    let everybody = [vec![weft.pid()], weft.workers()].concat();
    for pid in everybody {
        signal(pid, Signal::KILL);
    }
    let confirmed = load.end();
    drop(weft);
    let _weft = start(server());
    expect_all(&format!("sqlite:{}", data.path().join("popup.sqlite").display()), &confirmed);
}

#[test]
fn the_master_is_killed() {
    let weft = start(service());
    prepared(&weft);
    let load = Load::start(&weft, "m", CONNECTIONS);
    load.wait_for(400);
    signal(weft.pid(), Signal::KILL);
    until("the workers to end", || std::net::TcpStream::connect(weft.address).is_err().then_some(()));
    let (confirmed, data) = (load.end(), weft.path("data").display().to_string());
    let _next = start(service().with_variable("POPUP_DATA", &data));
    expect_all(&sqlite(&weft), &confirmed);
}

#[test]
fn redis_is_killed() {
    let mariadb = Restartable::mariadb();
    let mut redis = Restartable::redis();
    redis.start();
    let weft = start(on(&mariadb, Some(&redis)));
    prepared(&weft);
    let load = Load::start(&weft, "r", CONNECTIONS);
    for _ in 0..3 {
        load.wait_for(200);
        redis.kill();
        let response = asked(&weft, "nobody-knows");
        assert_eq!((response.status, response.header("popup-degraded")), (200, Some("users")));
        redis.start();
    }
    load.wait_for(200);
    expect_all(&mariadb.dsn(), &load.end());
}

/// Redis then holds only what can be rebuilt, and a report is confirmed without it.
#[test]
fn redis_that_syncs_later_is_killed_while_the_queue_is_in_files() {
    let mariadb = Restartable::mariadb();
    let mut redis = Restartable::redis_that_syncs("everysec");
    redis.start();
    let weft = start(on(&mariadb, Some(&redis)).with_variable("POPUP_QUEUE", "files"));
    prepared(&weft);
    let load = Load::start(&weft, "q", CONNECTIONS);
    for round in 0..3 {
        load.wait_for(200);
        let popup = ask_until_shown(&weft, &format!("ada-{round}"));
        redis.wait_until_written();
        redis.kill();
        assert_eq!(report(&mut weft.connect(), &popup, "shown").status, 200);
        let workers = until("a worker", || Some(weft.workers()).filter(|workers| !workers.is_empty()));
        signal(workers[round % workers.len()], Signal::KILL);
        redis.start();
        let again = until("Redis to be asked again", || {
            let response = asked(&weft, &format!("ada-{round}"));
            response.header("popup-degraded").is_none().then(|| response.json())
        });
        assert!(again["popup"].is_null(), "Redis has lost what ada was shown: {again}");
    }
    load.wait_for(200);
    expect_all(&mariadb.dsn(), &load.end());
}

#[test]
fn redis_loses_everything() {
    let mariadb = Restartable::mariadb();
    let mut redis = Restartable::redis();
    redis.start();
    let weft = start(on(&mariadb, Some(&redis)));
    prepared(&weft);
    let load = Load::start(&weft, "before", CONNECTIONS);
    load.wait_for(1_500);
    let confirmed = load.end();
    settled(&weft);
    redis.forget();
    // The workers notice within half a second: the users' states then come from the database. The queue starts again.
    let mut number = 0;
    until("a user's state to come from the database", || {
        number += 1;
        let seen = asked(&weft, &format!("before-{}-{}", number % CONNECTIONS, number / CONNECTIONS));
        assert_eq!(seen.status, 200, "{}", seen.text());
        seen.json()["popup"].is_null().then_some(())
    });
    let load = Load::start(&weft, "after", CONNECTIONS);
    load.wait_for(200);
    let all = confirmed.into_iter().chain(load.end()).collect();
    expect_all(&mariadb.dsn(), &all);
}

#[test]
fn the_database_is_killed() {
    let mut mariadb = Restartable::mariadb();
    let weft = start(on(&mariadb, None));
    prepared(&weft);
    let load = Load::start(&weft, "d", CONNECTIONS);
    load.wait_for(200);
    mariadb.kill();
    load.wait_for(400);
    until("the service to say it", || {
        let health = health(&weft);
        let stale = asked(&weft, "somebody").header("popup-stale").is_some();
        (health["status"] == "degraded" && stale).then_some(())
    });
    load.wait_for(400);
    mariadb.start();
    load.wait_for(200);
    expect_all(&mariadb.dsn(), &load.end());
    settled(&weft);
    assert_eq!(asked(&weft, "later").header("popup-stale"), None);
}

#[test]
fn the_database_is_read_only() {
    let mariadb = Restartable::mariadb();
    let weft = start(on(&mariadb, None));
    prepared(&weft);
    let load = Load::start(&weft, "o", CONNECTIONS);
    mariadb.sql("SET GLOBAL read_only = ON");
    load.wait_for(400);
    until("the service to say it", || {
        health(&weft)["problems"]["queue"]
            .as_str()
            .is_some_and(|text| text.contains("read-only"))
            .then_some(())
    });
    let admin = Admin::sign_in(&weft);
    let response = admin.send("/admin/configurations/1/pause", &[]);
    assert_eq!((response.status, response.json()["error"]["code"].as_str()), (503, Some("unavailable")));
    mariadb.sql("SET GLOBAL read_only = OFF");
    expect_all(&mariadb.dsn(), &load.end());
    settled(&weft);
}

/// Limits all workers to regular files of this size in bytes.
fn limit_files(weft: &Running, bytes: &str) {
    for pid in weft.workers() {
        let mut prlimit = std::process::Command::new("prlimit");
        prlimit.args(["--pid", &pid.to_string(), &format!("--fsize={bytes}:unlimited")]);
        assert_eq!(weft_tests::command::finish(&mut prlimit).code, Some(0));
    }
}

#[test]
fn the_disk_is_full() {
    let mut weft = start(service());
    prepared(&weft);
    let popup = ask_until_shown(&weft, "ada");
    let load = Load::start(&weft, "f", CONNECTIONS);
    load.wait_for(200);
    limit_files(&weft, "0");
    let response = report(&mut weft.connect(), &popup, "shown");
    assert_eq!((response.status, response.header("retry-after")), (503, Some("1")), "{}", response.text());
    let response = asked(&weft, "somebody-new");
    assert!(response.status == 503 || response.json()["popup"] == Value::Null, "{}", response.text());
    limit_files(&weft, "unlimited");
    until("it to work again", || (report(&mut weft.connect(), &popup, "shown").status == 200).then_some(()));
    load.wait_for(200);
    expect_all(&sqlite(&weft), &load.end());
    assert!(weft.is_alive());
}

#[test]
fn redis_is_away_from_the_start() {
    let mariadb = Restartable::mariadb();
    let mut redis = Restartable::redis();
    let weft = start(on(&mariadb, Some(&redis)));
    let admin = Admin::sign_in(&weft);
    admin.create("Only", &[]);
    until("nothing to be shown, as nobody knows what was", || {
        let response = asked(&weft, "ada");
        (response.status == 200 && response.header("popup-degraded") == Some("users")).then_some(())
    });
    redis.start();
    let popup = ask_until_shown(&weft, "ada");
    assert_eq!(report(&mut weft.connect(), &popup, "clicked").status, 200);
    admin.wait_for_counts(1, [1, 0, 1, 0]);
}

#[test]
fn the_database_is_away_from_the_start() {
    let mut mariadb = Restartable::mariadb();
    mariadb.kill();
    let weft = on(&mariadb, None).start();
    let response = asked(&weft, "ada");
    assert_eq!((response.status, response.header("retry-after")), (503, Some("1")), "{}", response.text());
    assert_eq!(health(&weft)["status"], "degraded");
    mariadb.start();
    until("it to work", || (asked(&weft, "ada").status == 200).then_some(()));
    prepared(&weft);
    mariadb.kill();
    // The next start uses the last known configurations.
    let data = weft.path("data").display().to_string();
    let next = on(&mariadb, None).with_variable("POPUP_DATA", &data).start();
    assert_eq!(ask_until_shown(&next, "bob")["title"], "Only");
}
