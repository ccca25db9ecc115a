//! The pool: as many instances as are allowed, as long as there is memory; and the cases in which there can be
//! none.

use std::process::Command;

use weft_zend::{InstanceOptions, InstanceSwitch};

use crate::common::{OPTIONS, Worker, alone};

fn calm(worker: &Worker, count: usize) {
    let asked: Vec<_> = (0..count).map(|n| worker.ask("calm.php", &format!("n={n}"))).collect();
    worker.serve();
    for (n, id) in asked.into_iter().enumerate() {
        assert_eq!(worker.response(id).body, format!("calm {n}"));
    }
}

#[test]
fn it_grows_while_requests_wait_and_not_beyond_its_bound() {
    alone("pool::it_grows_while_requests_wait_and_not_beyond_its_bound", || {
        let worker = Worker::start(7, &[]);
        assert_eq!(InstanceSwitch::figures().instances, 0);
        calm(&worker, 1);
        assert_eq!(InstanceSwitch::figures().instances, 1);
        calm(&worker, 50);
        assert_eq!(InstanceSwitch::figures().instances, 7);
    });
}

#[test]
fn without_memory_to_grow_one_instance_serves_all() {
    alone("pool::without_memory_to_grow_one_instance_serves_all", || {
        let worker = Worker::start_with(InstanceOptions { memory_bytes_max: 1, ..OPTIONS }, &[]);
        calm(&worker, 20);
        assert_eq!(InstanceSwitch::figures().instances, 1);
    });
}

#[test]
fn where_address_space_is_short_the_heaps_have_less_of_it() {
    alone("pool::where_address_space_is_short_the_heaps_have_less_of_it", || {
        let own = std::process::id().to_string();
        let limited =
            Command::new("prlimit").args(["--pid", &own, &format!("--as={}", 20u64 << 30)]).status();
        assert!(limited.is_ok_and(|status| status.success()), "prlimit, of util-linux");
        let worker = Worker::start(5, &[]);
        calm(&worker, 40);
        assert_eq!(InstanceSwitch::figures().instances, 5);
    });
}

/// A switch exchanges images only if another instance ran in between.
#[test]
fn one_request_after_the_other_exchanges_nothing() {
    alone("pool::one_request_after_the_other_exchanges_nothing", || {
        let worker = Worker::start(7, &[]);
        for _ in 0..20 {
            calm(&worker, 1);
        }
        assert_eq!(InstanceSwitch::figures().switches, 1);
    });
}

#[test]
fn a_destroyed_instance_leaves_the_others_as_they_are() {
    alone("pool::a_destroyed_instance_leaves_the_others_as_they_are", || {
        let worker = Worker::start_idle(12, 2, &[]);
        for _ in 0..5 {
            calm(&worker, 60);
            assert_eq!(InstanceSwitch::figures().instances, 2);
        }
    });
}

#[test]
fn an_engine_started_for_one_says_so() {
    alone("pool::an_engine_started_for_one_says_so", || {
        let web = Worker::host();
        let options = weft_zend::Options { classic: true, ..weft_zend::Options::default() };
        weft_zend::Engine::start(&options).expect("PHP starts");
        let error = InstanceSwitch::start(OPTIONS).expect_err("no arena was made");
        assert!(error.contains("PHP was not started for instances"), "{error}");
        assert!(error.contains("--instances 1"), "{error}");
        assert!(web.log.borrow().is_empty());
    });
}
