//! How few database queries are needed: a cold cache asks once, many requests share few connections, one user gets one
//! pop-up.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use serde_json::json;
use weft_tests::{Client, Running, until};

use crate::backends::on;
use crate::restartable::Restartable;
use crate::service::{Admin, ask_until_shown, settled, start};

const CLIENTS: usize = 40;

/// A client that locks a table until it is dropped.
struct Lock(Child);

impl Lock {
    fn on(mariadb: &Restartable, table: &str) -> Lock {
        let mut client = Command::new("setpriv");
        client.args([
            "--pdeathsig",
            "KILL",
            "mariadb",
            "--no-defaults",
            "--unbuffered",
            "-N",
            "-uroot",
            "-h127.0.0.1",
        ]);
        client.arg(format!("-P{}", mariadb.port)).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut client = client.spawn().expect("mariadb's client");
        let script = format!("LOCK TABLES {table} WRITE;\nSELECT 'locked';\n");
        client.stdin.as_mut().expect("it is piped").write_all(script.as_bytes()).expect("the client reads");
        let mut line = String::new();
        let output = client.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut line).expect("the client answers");
        assert_eq!(line.trim(), "locked");
        Lock(client)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The server notices that the client has gone and unlocks the table.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn asking(weft: &Running, users: impl Fn(usize) -> String) -> Vec<Client> {
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| weft.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        let body = json!({"user": users(number), "platform": "ios"}).to_string();
        client.post("/v1/ask", "application/json", &body);
    }
    clients
}

#[test]
fn a_cold_cache_asks_the_database_once() {
    let mariadb = Restartable::mariadb();
    let first = start(on(&mariadb, None));
    Admin::sign_in(&first).create("Only", &[]);
    ask_until_shown(&first, "first");
    drop(first);
    mariadb.sql("SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = ON");
    let lock = Lock::on(&mariadb, "popup.configurations");
    // Another machine with a cold cache; the database answers no query.
    let weft = on(&mariadb, None).start();
    let mut clients = asking(&weft, |number| format!("cold-{number}"));
    let asked = "SELECT COUNT(*) FROM mysql.general_log WHERE argument LIKE 'SELECT * FROM configurations WHERE ends%'";
    until("the question to be asked", || (mariadb.value(asked) > 0).then_some(()));
    // Requests that arrive meanwhile do not ask again.
    clients.extend(asking(&weft, |number| format!("later-{number}")));
    drop(lock);
    for client in &mut clients {
        let response = client.read();
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(response.json()["popup"]["title"], "Only");
    }
    // Once for all; each of the two workers asks again if the wait made the answer too old.
    let times = mariadb.value(asked);
    assert!(times <= 4, "{} requests asked the database {times} times", clients.len());
}

#[test]
fn many_requests_share_few_connections() {
    let mariadb = Restartable::mariadb();
    let mut redis = Restartable::redis();
    redis.start();
    let weft = start(on(&mariadb, Some(&redis)));
    let admin = Admin::sign_in(&weft);
    admin.create("Only", &[]);
    ask_until_shown(&weft, "first");
    for round in 0..5 {
        for mut client in asking(&weft, |number| format!("many-{round}-{number}")) {
            assert_eq!(client.read().status, 200);
        }
    }
    settled(&weft);
    let used = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Max_used_connections'";
    let connections = mariadb.value(used);
    // Two workers with at most 16 connections each, and this test's own.
    assert!((1..=2 * 16 + 1).contains(&connections), "{connections} connections to MariaDB");
    // Each worker: two for the queue, one for users' states, one that listens.
    let connections = redis.clients();
    assert!((1..=2 * 4 + 2).contains(&connections), "{connections} connections to Redis");
}

#[test]
fn only_one_of_many_requests_of_a_user_gets_the_pop_up_with_redis() {
    let mariadb = Restartable::mariadb();
    let mut redis = Restartable::redis();
    redis.start();
    let weft = start(on(&mariadb, Some(&redis)));
    Admin::sign_in(&weft).create("Only", &[]);
    ask_until_shown(&weft, "somebody");
    let mut number = 0;
    until("all workers to know it", || {
        number += 1;
        let mut clients = asking(&weft, |client| format!("new-{number}-{client}"));
        clients.iter_mut().all(|client| !client.read().json()["popup"].is_null()).then_some(())
    });
    for round in 0..5 {
        let mut clients = asking(&weft, |_| format!("ada-{round}"));
        let answers: Vec<_> = clients.iter_mut().map(|client| client.read().json()).collect();
        let shown = answers.iter().filter(|answer| !answer["popup"].is_null()).count();
        assert_eq!(shown, 1, "in round {round}");
    }
}
