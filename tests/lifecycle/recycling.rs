//! Workers are replaced because of their request count, age or memory, without losing a request.

use weft_tests::until;

use crate::load::Load;
use crate::server;

/// The worker that answered, by the application's report.
fn worker(text: &str) -> u32 {
    text.strip_prefix("code one ").expect("the application answers").parse().expect("its pid")
}

fn recycled(flag: &str, value: &str, reason: &str, application: Option<&str>) {
    let server = application.map_or_else(server, weft_tests::Server::new);
    let mut weft = server.with("--workers", "2").with(flag, value).start();
    let first = weft.workers();
    let load = Load::start(&weft);
    until("both workers to be replaced", || {
        let now = weft.workers();
        first.iter().all(|pid| !now.contains(pid)).then_some(())
    });
    weft.wait_for_log(reason);
    load.wait_for_more(20);
    load.finish();
    weft.wait_for_log("has drained");
    assert!(!weft.log().contains("SIGKILL"), "a worker was killed:\n{}", weft.log());
}

#[test]
fn a_worker_is_replaced_after_a_number_of_requests() {
    recycled("--recycle-requests-max", "100", "requests_max: ", None);
}

#[test]
fn a_worker_is_replaced_at_an_age() {
    recycled("--recycle-age-s-max", "1", "age_s_max: ", None);
}

#[test]
fn a_worker_is_replaced_when_its_memory_has_grown() {
    let leaking = "$kept = new ArrayObject; return function () use ($kept) { $kept[] = random_bytes(20000); return 'code x'; };";
    recycled("--recycle-memory-growth-bytes-max", "4MiB", "memory_growth_bytes_max: ", Some(leaking));
}

#[test]
fn an_idle_connection_goes_to_the_worker_that_stays() {
    for workers in ["1", "2"] {
        let weft = server().with("--workers", workers).with("--recycle-requests-max", "50").start();
        let first = weft.workers();
        let mut clients: Vec<_> = (0..20).map(|_| weft.connect()).collect();
        let ask = |client: &mut weft_tests::Client| {
            client.get("/");
            let answer = client.read();
            assert_eq!(answer.header("connection"), None);
            worker(&answer.text())
        };
        clients.iter_mut().for_each(|client| assert!(first.contains(&ask(client))));
        until("the workers to be replaced", || {
            let now = weft.workers();
            let old = first.iter().filter(|pid| now.contains(pid)).count();
            if old > 0 && now.len() == first.len() {
                weft.get("/");
            }
            (old == 0).then_some(())
        });
        clients.iter_mut().for_each(|client| assert!(!first.contains(&ask(client)), "{workers} workers"));
    }
}
