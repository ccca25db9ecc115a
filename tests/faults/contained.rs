//! Fifty requests are parked in real waits while another request fails: all fifty are answered, and the worker survives
//! if it can.

use weft_tests::until;

use crate::{Parked, server};

const PARKED: usize = 50;

/// The consequences of a failure.
struct Fault {
    how: &'static str,
    status: u16,
    /// The text in the response.
    body: &'static str,
    /// The text in the log; empty if this is not a failure.
    log: &'static str,
    /// Whether the worker is replaced afterwards, because PHP has leaked.
    replaced: bool,
}

const fn harmless(how: &'static str, body: &'static str) -> Fault {
    Fault { how, status: 200, body, log: "", replaced: false }
}

const fn thrown(how: &'static str, log: &'static str) -> Fault {
    Fault { how, status: 500, body: "Internal Server Error\n", log, replaced: false }
}

const fn fatal(how: &'static str, log: &'static str) -> Fault {
    Fault { how, status: 500, body: "Internal Server Error\n", log, replaced: true }
}

fn survive(faults: &[Fault]) {
    let mut weft = server().start();
    let first = weft.get("/pid").text();
    for fault in faults {
        let parked = Parked::park(&weft, PARKED);
        let before = weft.get("/pid").text();
        let response = weft.get(&format!("/fail?how={}", fault.how));
        assert_eq!((response.status, response.text().as_str()), (fault.status, fault.body), "{}", fault.how);
        weft.wait_for_log(fault.log);
        if fault.replaced {
            until("the worker to be replaced", || (weft.get("/pid").text() != before).then_some(()));
        } else {
            assert_eq!(weft.get("/pid").text(), before, "{} cost a worker", fault.how);
        }
        parked.release(&weft);
        for left in ["gate", "held", "locked.db", "locked"] {
            std::fs::remove_file(weft.path(left)).expect("a file of this test");
        }
    }
    if !faults.iter().any(|fault| fault.replaced) {
        assert_eq!(weft.get("/pid").text(), first);
        // Repeated, so that anything a failure leaves behind would pile up.
        for _ in 0..50 {
            for fault in faults {
                assert_eq!(
                    weft.get(&format!("/fail?how={}", fault.how)).status,
                    fault.status,
                    "{}",
                    fault.how
                );
            }
        }
        assert_eq!(weft.get("/pid").text(), first);
    }
}

#[test]
fn exit() {
    survive(&[
        harmless("exit", "said before the end; "),
        harmless("exit-text", "said before the end; left"),
        harmless("die-in-shutdown", "said before the end; from shutdownreturned; "),
        harmless("fiber-exit", "said before the end; left by a fiber"),
    ]);
}

#[test]
fn exceptions() {
    survive(&[
        thrown("throw", "Uncaught RuntimeException: thrown"),
        thrown("throw-in-destructor", "from destructor"),
        thrown("type-error", "strlen(): Argument #1 ($string) must be of type string, array given"),
        thrown("undefined-function", "Call to undefined function no_such_function()"),
        thrown("undefined-class", "Class \"No\\Such\\Thing\" not found"),
        thrown("undefined-method", "Call to undefined method ArrayObject::no_such_method()"),
        thrown("fiber-throw", "in a fiber"),
    ]);
}

#[test]
fn exceptions_after_the_handler() {
    // As under php-fpm: the output so far is kept, and the status shows the failure.
    let body = "said before the end; returned; ";
    let late = Fault { body, ..thrown("throw-in-shutdown", "Uncaught RuntimeException: late") };
    survive(&[late, thrown("throw-in-output-callback", "Uncaught RuntimeException: from callback")]);
}

#[test]
fn errors_in_included_files() {
    survive(&[
        thrown("parse-error", "syntax error"),
        thrown("missing", "Failed opening required 'missing.inc'"),
    ]);
}

#[test]
fn compile_errors() {
    survive(&[fatal("compile-error", "Cannot redeclare A::$x")]);
}

#[test]
fn redeclared_functions() {
    // "Cannot redeclare parked()", since PHP 8.4 "Cannot redeclare function parked()".
    survive(&[fatal("redeclare", "parked() (previously declared in")]);
}

#[test]
fn user_errors() {
    survive(&[fatal("trigger-fatal", "user error")]);
}

#[test]
fn too_much_memory_at_once() {
    survive(&[fatal("memory", "Allowed memory size of")]);
}

#[test]
fn too_much_memory_bit_by_bit() {
    survive(&[fatal("memory-slowly", "Allowed memory size of")]);
}

#[test]
fn too_much_memory_in_a_fiber() {
    survive(&[fatal("fiber-memory", "Allowed memory size of")]);
}

#[test]
fn endless_recursion_in_php_code() {
    // Frames of PHP code live in the heap, so memory_limit ends the recursion.
    survive(&[fatal("recursion", "Allowed memory size of")]);
}

#[test]
fn endless_recursion_through_c_code() {
    survive(&[
        thrown("recursion-map", "stack"),
        thrown("recursion-sort", "stack"),
        thrown("recursion-get", "stack"),
        thrown("recursion-string", "stack"),
    ]);
}

#[test]
fn computing_forever() {
    survive(&[fatal("time", "Maximum execution time of 1 second exceeded")]);
}

#[test]
fn a_time_limit_ends_only_the_request_that_set_it() {
    let weft = server().start();
    let mut limited = weft.connect();
    limited.get("/limited");
    until("it to start", || (weft.read("limited") == "yes").then_some(()));
    // This request computes for longer than the other request's limit.
    assert_eq!(weft.get("/compute").text(), "computed");
    weft.write("gate", "open");
    assert_eq!(limited.read().text(), "waited");
}

#[test]
fn a_deep_stack_does_not_flood_the_log() {
    let mut weft = server().start();
    assert_eq!(weft.get("/fail?how=recursion-map").status, 500);
    weft.wait_for_log("request=");
    let lines = weft.log().lines().count();
    assert!(lines < 300, "one failure made {lines} lines");
}
