//! All instances share opcache's memory; its readers are counted per instance.

use crate::common::{Worker, alone, pages, switch_everywhere};

/// Requests in flight while another one resets the cache again and again: it restarts when there is no reader, and no
/// request notices.
#[test]
fn resets_happen_under_load() {
    alone("opcache::resets_happen_under_load", || resets(&[("opcache.jit", "off")]));
}

#[test]
fn resets_happen_under_load_with_the_jit_and_when_others_run_at_every_call() {
    alone("opcache::resets_happen_under_load_with_the_jit_and_when_others_run_at_every_call", || {
        switch_everywhere();
        resets(&[("opcache.jit", "tracing"), ("opcache.jit_buffer_size", "64M")]);
    });
}

/// A waiting request still reads opcache's memory, and others begin meanwhile.
#[test]
fn a_request_that_waits_keeps_the_cache_from_restarting() {
    alone("opcache::a_request_that_waits_keeps_the_cache_from_restarting", || {
        let worker = Worker::start(5, &[("log_errors", "0")]);
        let held = worker.ask("held.php", "n=7");
        let calm: Vec<_> = (0..20).map(|n| worker.ask("calm.php", &format!("n={n}"))).collect();
        worker.serve();
        assert_eq!(worker.response(held).body, "held 7");
        for (n, id) in calm.into_iter().enumerate() {
            assert_eq!(worker.response(id).body, format!("calm {n}"));
        }
    });
}

fn resets(ini: &[(&str, &str)]) {
    let worker = Worker::start(20, &[&[("log_errors", "0")], ini].concat());
    let mut asked = Vec::new();
    for n in 0..600 {
        asked.push((n, worker.ask("calm.php", &format!("n={n}"))));
        if n % 20 == 0 {
            asked.push((-1, worker.ask("reset.php", "")));
        }
        // From time to time all requests have finished: only then may the cache restart.
        if n % 60 == 59 {
            worker.serve();
        }
    }
    worker.serve();
    for (n, id) in asked {
        let expected = if n < 0 { "reset".to_owned() } else { format!("calm {n}") };
        assert_eq!(worker.response(id).body, expected);
    }
    let status = worker.get("opcache_status.php", "").body;
    let restarts: u32 = status.parse().unwrap_or_else(|_| panic!("{status}"));
    assert!(restarts >= 3, "only {restarts} restarts");
}

#[test]
fn preloaded_classes_are_in_every_instance_with_statics_of_its_own() {
    alone("opcache::preloaded_classes_are_in_every_instance_with_statics_of_its_own", preloaded);
}

#[test]
fn preloaded_classes_are_each_instances_own_when_others_run_at_every_call() {
    alone("opcache::preloaded_classes_are_each_instances_own_when_others_run_at_every_call", || {
        switch_everywhere();
        preloaded();
    });
}

fn preloaded() {
    let preload = pages().join("preload.php");
    let user = if is_root() { "nobody" } else { "" };
    let ini = [
        ("opcache.preload", preload.to_str().expect("a path in UTF-8")),
        ("opcache.preload_user", user),
        ("log_errors", "0"),
    ];
    let worker = Worker::start(10, &ini);
    let asked: Vec<_> = (0..60).map(|n| (n, worker.ask("preloaded.php", &format!("n={n}")))).collect();
    worker.serve();
    for (n, id) in asked {
        assert_eq!(worker.response(id).body, format!("preloaded {n}"));
    }
}

/// opcache refuses to preload as root unless it is given a user.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

#[test]
fn a_loop_compiled_by_the_jit_may_wait_in_its_middle() {
    alone("opcache::a_loop_compiled_by_the_jit_may_wait_in_its_middle", || {
        let ini = [("opcache.jit", "tracing"), ("opcache.jit_buffer_size", "64M"), ("log_errors", "0")];
        let worker = Worker::start(10, &ini);
        let asked: Vec<_> = (0..40).map(|n| (n, worker.ask("compiled.php", &format!("n={n}")))).collect();
        worker.serve();
        let mut known = std::collections::HashMap::new();
        for (n, id) in asked {
            let body = worker.response(id).body;
            assert!(body.starts_with("sum "), "{body}");
            assert_eq!(&body, known.entry(n % 5).or_insert_with(|| body.clone()), "of seed {}", n % 5);
        }
        assert_eq!(known.len(), 5);
    });
}
