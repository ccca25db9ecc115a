//! Workers are replaced because of their request count, age or memory, without losing a request.

use weft_tests::until;

use crate::load::Load;
use crate::server;

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
