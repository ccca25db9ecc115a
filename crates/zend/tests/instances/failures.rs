//! The failure of one request does not affect those that wait meanwhile.

use std::time::Duration;

use weft_zend::InstanceSwitch;

use crate::common::{Worker, alone, resident_kib};

const INI: &[(&str, &str)] =
    &[("display_errors", "1"), ("html_errors", "0"), ("log_errors", "0"), ("memory_limit", "32M")];

/// Requests that wait while `page` fails again and again: all must be answered as if nothing had happened.
fn others_are_untouched(page: &str, says: &str) {
    every(3, page, says);
}

fn every(step: usize, page: &str, says: &str) {
    let worker = Worker::start(12, INI);
    let mut calm = Vec::new();
    let mut failing = Vec::new();
    for n in 0..60 {
        calm.push((n, worker.ask("calm.php", &format!("n={n}"))));
        if n % step == 0 {
            failing.push(worker.ask(page, &format!("n={n}")));
        }
    }
    worker.serve();
    for (n, id) in calm {
        assert_eq!(worker.response(id).body, format!("calm {n}"));
    }
    for id in failing {
        let response = worker.response(id);
        assert!(response.body.contains(says), "{response:?}");
    }
}

#[test]
fn exit() {
    alone("failures::exit", || others_are_untouched("fail_exit.php", "bye"));
}

#[test]
fn an_uncaught_exception() {
    alone("failures::an_uncaught_exception", || {
        others_are_untouched("fail_uncaught.php", "Uncaught RuntimeException")
    });
}

#[test]
fn a_fatal_error() {
    // "Cannot declare class" before PHP 8.4, "Cannot redeclare class" since then.
    alone("failures::a_fatal_error", || others_are_untouched("fail_fatal.php", "declare class Twice"));
}

#[test]
fn out_of_memory() {
    alone("failures::out_of_memory", || others_are_untouched("fail_memory.php", "Allowed memory size of"));
}

#[test]
fn endless_recursion_through_c() {
    alone("failures::endless_recursion_through_c", || {
        // Before PHP 8.3 it is weft that says so; since then PHP does, and names the size.
        others_are_untouched("fail_stack.php", "Maximum call stack size");
    });
}

#[test]
fn endless_recursion_through_c_in_a_fiber() {
    alone("failures::endless_recursion_through_c_in_a_fiber", || {
        others_are_untouched("fail_fiber.php", "Maximum call stack size");
    });
}

#[test]
fn endless_recursion_of_functions() {
    alone("failures::endless_recursion_of_functions", || {
        others_are_untouched("fail_recursion.php", "Allowed memory size of");
    });
}

#[test]
fn an_exception_of_a_destructor_that_waits() {
    alone("failures::an_exception_of_a_destructor_that_waits", || {
        others_are_untouched("fail_destructor.php", "Uncaught LogicException: at the end");
    });
}

/// Thousands of requests, with a failure of some kind in every tenth: memory stays flat, and no other request
/// is affected.
#[test]
fn a_failure_in_every_tenth_of_thousands_leaves_nothing_behind() {
    alone("failures::a_failure_in_every_tenth_of_thousands_leaves_nothing_behind", || {
        let pages =
            ["fail_exit.php", "fail_uncaught.php", "fail_fatal.php", "fail_memory.php", "fail_stack.php"];
        let worker = Worker::start(20, INI);
        let mut after_first = 0;
        for round in 0..5 {
            let mut calm = Vec::new();
            for n in 0..500 {
                if n % 10 == 0 {
                    worker.ask(pages[n / 10 % pages.len()], "");
                } else {
                    calm.push((n, worker.ask("calm.php", &format!("n={n}"))));
                }
            }
            worker.serve();
            for (n, id) in calm {
                assert_eq!(worker.response(id).body, format!("calm {n}"));
            }
            worker.forget();
            // The deepest stack and the largest heap so far are not what this test measures.
            InstanceSwitch::trim(Duration::ZERO);
            if round == 0 {
                after_first = resident_kib();
            }
        }
        let grown = resident_kib().saturating_sub(after_first);
        assert!(grown < 2_000, "{grown} KiB more after 2,000 requests, from {after_first}");
    });
}

#[test]
fn a_time_limit() {
    alone("failures::a_time_limit", || {
        every(30, "fail_time.php", "Maximum execution time of 1 second exceeded");
    });
}
