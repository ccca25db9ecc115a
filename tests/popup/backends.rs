//! The same service on MariaDB and Redis, as two hosts would run it: two servers that share only these.

use serde_json::Value;
use weft_tests::{Running, Server, until};

use crate::restartable::Restartable;
use crate::service::{Admin, ask, ask_until_shown, health, pass, report, service, start, tables};

/// The service on these backends.
pub fn on(mariadb: &Restartable, redis: Option<&Restartable>) -> Server {
    let server = service()
        .with_variable("POPUP_DATABASE", &mariadb.dsn())
        .with_variable("POPUP_DATABASE_USER", "popup")
        .with_variable("POPUP_DATABASE_PASSWORD", "secret");
    match redis {
        Some(redis) => server.with_variable("POPUP_REDIS", &redis.address()),
        None => server,
    }
}

#[test]
fn two_hosts_are_one_service() {
    let mariadb = Restartable::mariadb();
    let mut redis = Restartable::redis();
    redis.start();
    // Both migrate at the same time.
    let host = || on(&mariadb, Some(&redis)).with_variable("POPUP_SECRET", "the same on all hosts").spawn();
    let (here, there) = (host(), host());
    let (here, there) = (tables(ready(here)), tables(ready(there)));
    let admin = Admin::sign_in(&here);
    admin.create("First", &[("priority", "1")]);
    admin.create("Second", &[]);
    let first = ask_until_shown(&there, "ada");
    assert_eq!(first["title"], "First");
    assert_eq!(ask(&here, "ada"), Value::Null, "the other host knows what the user has seen");

    for weft in [&here, &there] {
        pass(weft, 86_400);
    }
    let again = ask_until_shown(&here, "ada");
    assert_eq!(again["title"], first["title"]);
    assert_eq!(report(&mut there.connect(), &again, "clicked").status, 200, "reports may go to any host");
    assert_eq!(ask_until_shown(&there, "ada")["title"], "Second");
    admin.wait_for_counts(1, [2, 0, 1, 0]);
    admin.wait_for_counts(2, [1, 0, 0, 0]);
    // A change on one host reaches the other.
    admin.send("/admin/configurations/2/pause", &[]);
    until("the pause to be known", || ask(&there, "bob").is_null().then_some(()));
}

fn ready(mut weft: Running) -> Running {
    weft.wait_for_log("weft: ready\n");
    weft.address = weft.addresses()[0];
    weft
}

#[test]
fn mariadb_alone_suffices() {
    let mariadb = Restartable::mariadb();
    let weft = start(on(&mariadb, None));
    let admin = Admin::sign_in(&weft);
    admin.create("Only", &[]);
    let popup = ask_until_shown(&weft, "ada");
    report(&mut weft.connect(), &popup, "clicked");
    admin.wait_for_counts(1, [1, 0, 1, 0]);
}

#[test]
fn the_users_states_are_loaded_from_the_database() {
    let mariadb = Restartable::mariadb();
    let weft = start(on(&mariadb, None));
    let admin = Admin::sign_in(&weft);
    admin.create("Only", &[]);
    let users: Vec<String> = (0..50).map(|number| format!("user-{number}")).collect();
    ask_until_shown(&weft, &users[0]);
    until("all to have seen it", || users[1..].iter().all(|user| ask(&weft, user).is_null()).then_some(()));
    admin.wait_for_counts(1, [50, 0, 0, 0]);
    until("their states to be written too", || (health(&weft)["queues"]["written"] == 50).then_some(()));
    drop(weft);
    // Another machine, which has the database and nothing else.
    let weft = start(on(&mariadb, None));
    until("the configuration to be known", || (!ask(&weft, "new").is_null()).then_some(()));
    assert!(users.iter().all(|user| ask(&weft, user).is_null()));
}
