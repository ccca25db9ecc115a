//! The fate of every stream while workers are replaced, killed, and get new certificates.

use std::collections::HashMap;
use std::path::PathBuf;

use rustix::process::Signal;
use weft_tests::services::Authority;
use weft_tests::{Running, Server, process, until};

use crate::load::{APP, Fates, Load};

/// Two workers that speak HTTP/2 without TLS, and two that speak it with TLS; and the certificate of the authority.
fn servers() -> [(Running, Option<PathBuf>); 2] {
    let plain = Server::new(APP).with("--workers", "2").start();
    let secure = secure().0.start();
    let authority = secure.path("ca.pem");
    [(plain, None), (secure, Some(authority))]
}

fn secure() -> (Server, Authority) {
    let server = Server::new(APP).with("--workers", "2").with("--listen", "https://127.0.0.1:0");
    let authority = Authority::new(server.directory());
    authority.certify("a", "DNS:a.example", 9);
    (server.with("--tls-certificates", "a.pem").with("--tls-keys", "a.key"), authority)
}

/// Nothing ran twice, what was answered ran, and what was refused did not, so that it may be sent again.
fn check_against(weft: &Running, fates: &Fates) {
    let ran = weft.read("ran");
    let mut times: HashMap<&str, usize> = HashMap::new();
    ran.lines().for_each(|token| *times.entry(token).or_default() += 1);
    assert_eq!(times.iter().find(|entry| *entry.1 > 1), None, "a request ran twice");
    for token in &fates.answered {
        assert!(times.contains_key(&token[..]), "{token} was answered and never ran");
    }
    for token in &fates.refused {
        assert!(!times.contains_key(&token[..]), "{token} was refused, and ran");
    }
}

#[test]
fn a_reload_loses_no_stream() {
    for (mut weft, authority) in servers() {
        let load = Load::start(&weft, authority.as_deref());
        for generation in 2..=4 {
            weft.signal(Signal::HUP);
            weft.wait_for_log(&format!("reload: generation {generation} is ready"));
            load.wait_for_more(500);
        }
        let fates = load.finish();
        assert_eq!(fates.lost, [], "{}", weft.log());
        check_against(&weft, &fates);
    }
}

#[test]
fn a_killed_worker_loses_its_own_streams_and_no_other() {
    for (mut weft, authority) in servers() {
        let load = Load::start(&weft, authority.as_deref());
        let mut killed = Vec::new();
        for round in 1..=3 {
            let workers = until("both workers", || Some(weft.workers()).filter(|pids| pids.len() == 2));
            killed.push(workers[round % 2]);
            process::signal(workers[round % 2], Signal::KILL);
            weft.wait_for_log_times("was killed by signal 9", round);
            load.wait_for_more(500);
        }
        let fates = load.finish();
        assert!(!fates.lost.is_empty(), "no worker had anything to do");
        for (token, worker) in &fates.lost {
            let is_killed = worker.is_none_or(|worker| killed.contains(&worker));
            assert!(is_killed, "{token} was lost at {worker:?}, which was not killed: {killed:?}");
        }
        check_against(&weft, &fates);
    }
}

#[test]
fn certificates_change_under_load() {
    let (server, authority) = secure();
    let mut weft = server.start();
    let load = Load::start(&weft, Some(&weft.path("ca.pem")));
    for round in 1..=3 {
        let before = weft.log().matches("reload: generation ").count();
        authority.certify("a", "DNS:a.example", 9 + round);
        until("the files to be read", || {
            (weft.log().matches("reload: generation ").count() > before).then_some(())
        });
        load.wait_for_more(500);
    }
    let fates = load.finish();
    assert_eq!(fates.lost, [], "{}", weft.log());
    assert!(fates.certificates.len() >= 3, "{} were shown", fates.certificates.len());
    check_against(&weft, &fates);
    weft.wait_for_log("has changed: reloading");
}
