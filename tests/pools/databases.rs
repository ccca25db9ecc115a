//! `weft doctor --database` against the servers of this suite.
//!
//! Must not know how the doctor asks. Invariant: no output has a password, whether the server was reached or not.

use std::process::Command;

use libtest_mimic::Trial;
use serde_json::Value;
use weft_tests::services::{Backplane, Kind, free_port};
use weft_tests::{Output, command};

use crate::environment::{mariadb, postgres, redis};

/// The tests of this file.
pub fn trials() -> Vec<Trial> {
    let tests: [(&str, fn()); 7] = [
        ("databases::each_server_tells_its_room", each_tells_its_room),
        ("databases::sockets_and_passwords", sockets_and_passwords),
        ("databases::bounds_of_the_applications_pool", bounds_of_a_pool),
        ("databases::what_all_clients_of_redis_wait_for", redis_waits),
        ("databases::a_server_that_is_not_there", not_there),
        ("databases::addresses_of_ipv6", addresses_of_ipv6),
        ("databases::a_client_that_is_not_loaded", not_loaded),
    ];
    let trial = |(name, test): (&str, fn())| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    tests.into_iter().map(trial).collect()
}

/// What the doctor says with these arguments, in coroutine mode with three workers.
fn doctor(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut doctor = command::command(directory.path());
    doctor.args(["doctor", "--json", "--workers", "3"]).args(arguments).envs(environment.iter().copied());
    command::finish(&mut doctor)
}

/// All findings about the servers at these URLs.
fn findings(urls: &[&str], environment: &[(&str, &str)]) -> Vec<Value> {
    let arguments: Vec<&str> = urls.iter().flat_map(|url| ["--database", url]).collect();
    let output = doctor(&arguments, environment);
    let report: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let all = report["advice"].as_array().expect("a list").clone();
    all.into_iter()
        .filter(|one| ["mysql at ", "pgsql at ", "redis at "].iter().any(|kind| found(one).contains(kind)))
        .collect()
}

fn found(one: &Value) -> &str {
    one["found"].as_str().expect("text")
}

fn of<'a>(all: &'a [Value], subject: &str, server: &str) -> &'a Value {
    let one = all.iter().find(|one| one["subject"] == subject && found(one).contains(server));
    one.unwrap_or_else(|| panic!("no {subject} of {server} in {all:#?}"))
}

fn of_redis<'a>(all: &'a [Value], subject: &str) -> &'a Value {
    of(all, subject, "redis at 127.0.0.1")
}

fn each_tells_its_room() {
    let urls = [
        format!("mysql://root@localhost:{}", mariadb().port),
        format!("mysql://root@127.0.0.1:{}/weft?tls=1", mariadb().port),
        format!("pgsql://weft@127.0.0.1:{}/weft", postgres().port),
        format!("redis://127.0.0.1:{}", redis().port),
        format!("rediss://localhost:{}", redis().tls_port),
    ];
    let all = findings(&urls.each_ref().map(String::as_str), &[]);
    let servers = [
        (format!("mysql at localhost:{}", mariadb().port), "max_connections", "takes 2000 connections"),
        // PostgreSQL keeps 3 for superusers.
        (format!("pgsql at 127.0.0.1:{}", postgres().port), "max_connections", "takes 597 connections"),
        (format!("redis at 127.0.0.1:{}", redis().port), "maxclients", " connections, "),
    ];
    for (server, subject, text) in &servers {
        let room = of(&all, subject, server);
        assert!(room["severity"] == "fine" && found(room).contains(text), "{room:#}");
    }
    // PostgreSQL's client encrypts where the server can.
    for server in
        [format!("mysql at 127.0.0.1:{}", mariadb().port), servers[1].0.clone(), "redis at localhost".into()]
    {
        assert_eq!(of(&all, "TLS", &server)["severity"], "note");
    }
    let plain = all.iter().filter(|one| one["subject"] == "TLS").count();
    assert_eq!(plain, 3, "{all:#?}");
}

fn sockets_and_passwords() {
    let socket = mariadb().socket().display().to_string();
    let directory = postgres().socket_directory().display().to_string();
    let directory = directory.trim_end_matches('/');
    let full = Backplane::start_with(
        Kind::Redis,
        &["--maxclients", "40", "--appendonly", "yes", "--appendfsync", "always"],
    );
    let (full, secret) = (full.url(), "se-cret");
    let without = full.replace(&format!(":{secret}@"), "");
    let urls = [
        format!("mysql+unix://root@{socket}"),
        format!("pgsql+unix://weft@{directory}/.s.PGSQL.{}", postgres().port),
        without.clone(),
    ];
    let all = findings(&urls.each_ref().map(String::as_str), &[("REDISCLI_AUTH", secret)]);
    assert_eq!(of(&all, "max_connections", &socket)["severity"], "fine");
    assert_eq!(of(&all, "max_connections", &format!("pgsql at {directory}/"))["severity"], "fine");
    let room = of(&all, "maxclients", "redis at 127.0.0.1");
    assert_eq!(room["severity"], "serious", "three workers with 16 each: {room:#}");
    assert!(
        room["fix"].as_str().is_some_and(|fix| fix.starts_with("redis-cli CONFIG SET maxclients ")),
        "{room:#}"
    );
    of(&all, "appendfsync", "redis at 127.0.0.1");
    assert!(!format!("{all:?}").contains(secret), "{all:#?}");
    of_redis(&findings(&[&full], &[]), "appendfsync");
    // A wrong one is a finding; the right one would be an answer.
    let refused = findings(&[&full.replace(secret, "se-cond")], &[]);
    assert_eq!(refused.len(), 1, "{refused:#?}");
    assert!(
        found(&refused[0]).contains("cannot be asked") && !format!("{refused:?}").contains("se-cond"),
        "{refused:#?}"
    );
}

/// Three workers with the default of 16 need 48.
fn bounds_of_a_pool() {
    let small = Backplane::start_with(Kind::Redis, &["--maxclients", "40", "--timeout", "50"]);
    let with = |options: &str| findings(&[&format!("{}{options}", small.url())], &[]);
    let default = with("");
    assert_eq!(of_redis(&default, "maxclients")["severity"], "serious");
    assert_eq!(of_redis(&default, "timeout")["severity"], "warning");
    let told = with("?max=8&idleTimeout=30");
    assert_eq!(of_redis(&told, "maxclients")["severity"], "fine");
    assert!(told.iter().all(|one| one["subject"] != "timeout"), "{told:#?}");
    let port = postgres().port;
    let made = format!(
        "(new PDO('pgsql:host=127.0.0.1;port={port};user=weft;dbname=weft'))->exec('CREATE DATABASE narrow CONNECTION LIMIT 5');"
    );
    let made = Command::new("php").args(["-r", &made]).status();
    assert!(made.is_ok_and(|status| status.success()), "no database");
    let narrow = findings(&[&format!("pgsql://weft@127.0.0.1:{port}/narrow")], &[]);
    let limit = of(&narrow, "CONNECTION LIMIT", "takes 5 connections of this database");
    assert_eq!(limit["severity"], "serious", "{limit:#}");
}

fn redis_waits() {
    let redis = Backplane::start_with(
        Kind::Redis,
        &["--enable-debug-command", "yes", "--latency-monitor-threshold", "5"],
    );
    assert_eq!(redis.redis(&["DEBUG", "SLEEP", "0.2"]).trim(), "OK");
    let all = findings(&[&redis.url()], &[]);
    let slow = of_redis(&all, "slowlog");
    assert_eq!(slow["severity"], "warning");
    assert!(
        found(slow).contains(" commands of 10 ms and more") && found(slow).contains("DEBUG, took "),
        "{slow:#}"
    );
    assert!(
        all.iter().any(|one| one["subject"] == "latency" && found(one).contains("has stood still")),
        "{all:#?}"
    );
}

fn not_there() {
    let port = free_port();
    let urls = ["mysql", "pgsql", "redis"].map(|kind| format!("{kind}://somebody:se-cret@127.0.0.1:{port}"));
    let all = findings(&urls.each_ref().map(String::as_str), &[]);
    assert_eq!(all.len(), 3, "{all:#?}");
    for (one, kind) in all.iter().zip(["mysql", "pgsql", "redis"]) {
        assert_eq!((&one["severity"], &one["subject"]), (&"serious".into(), &"database".into()));
        assert!(found(one).starts_with(&format!("{kind} at 127.0.0.1:{port} cannot be asked: ")), "{one:#}");
    }
    let arguments = ["--database", &urls[0]];
    let text = doctor(&arguments, &[]);
    assert_eq!((text.code, text.stdout.contains("se-cret")), (Some(3), false), "{text:?}");
    let wrong = doctor(&["--database", "mysql://u:se-cret@"], &[]);
    assert_eq!((wrong.code, wrong.stderr.contains("se-cret")), (Some(2), false), "{wrong:?}");
    assert!(wrong.stderr.starts_with("weft: the URL of --database is not mysql://"), "{wrong:?}");
}

/// Where a machine has no IPv6, it is another reason.
fn addresses_of_ipv6() {
    let port = free_port();
    let urls = ["mysql", "pgsql", "redis"].map(|kind| format!("{kind}://somebody@[::1]:{port}"));
    let all = findings(&urls.each_ref().map(String::as_str), &[]);
    assert_eq!(all.len(), 3, "{all:#?}");
    for one in &all {
        assert!(found(one).contains(&format!(" at [::1]:{port} cannot be asked: ")), "{one:#}");
        assert!(!found(one).contains("getaddr") && !found(one).contains("parse"), "{one:#}");
    }
}

/// Where no php.ini loads anything, only what is compiled into libphp is there.
fn not_loaded() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let url = format!("redis://127.0.0.1:{}", redis().port);
    let mut doctor = command::command(directory.path());
    doctor.args(["doctor", "--json", "--database", &url]);
    doctor.env("PHPRC", directory.path()).env("PHP_INI_SCAN_DIR", directory.path());
    let output = command::finish(&mut doctor);
    let report: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let all = report["advice"].as_array().expect("a list");
    let database: Vec<&Value> = all.iter().filter(|one| one["subject"] == "database").collect();
    let [one] = database[..] else { panic!("{report:#}") };
    assert_eq!(one["severity"], "warning");
    assert!(found(one).ends_with("was not asked: PHP has not loaded redis"), "{one:#}");
}
