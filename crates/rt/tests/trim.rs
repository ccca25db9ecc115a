//! Which contexts give memory back, tested with a switch that is not PHP's.

mod common;

use std::cell::Cell;
use std::rc::Rc;

use common::{TRIMMED, UntilDone, log, spawn, start};
use weft_rt::{Context, Readiness, Runtime, SchedulerLimits, Wait, Wake, clock};

/// Those that a look trims, in order.
fn trimmed_by_a_look(runtime: &Runtime) -> Vec<Context> {
    runtime.trim_contexts();
    let mut trimmed = TRIMMED.take();
    trimmed.sort_by_key(|context| context.0);
    trimmed
}

/// One that lets the loop run.
fn turn(runtime: &Runtime) {
    assert_eq!(runtime.sleep_until(clock::now()), Wake::TimedOut);
}

#[test]
fn one_that_stays_in_its_wait_is_trimmed_once_and_again_after_it_has_gone_on() {
    let (runtime, _) = start(SchedulerLimits::default());
    let (entries, write) = log();
    let parked: Rc<Cell<Option<Wait>>> = Rc::default();
    let its = Rc::clone(&parked);
    spawn(runtime, move || {
        for _ in 0..2 {
            let wait = runtime.begin_wait();
            its.set(Some(wait));
            runtime.park(wait, None);
        }
    });
    spawn(runtime, move || {
        for _ in 0..2 {
            assert_eq!(trimmed_by_a_look(runtime), [], "it may go on at once");
            assert_eq!(trimmed_by_a_look(runtime), [Context(1)]);
            assert_eq!(trimmed_by_a_look(runtime), [], "there is nothing left");
            assert!(runtime.wake(parked.take().unwrap(), Readiness::default()));
            turn(runtime);
        }
        write("both waits");
    });
    runtime.run(&UntilDone(runtime));
    assert_eq!(*entries.borrow(), ["both waits"]);
}

#[test]
fn one_without_a_job_is_trimmed_too() {
    let (runtime, _) = start(SchedulerLimits::default());
    let (entries, write) = log();
    spawn(runtime, move || turn(runtime));
    spawn(runtime, move || {
        turn(runtime);
        turn(runtime);
        assert_eq!(trimmed_by_a_look(runtime), []);
        assert_eq!(trimmed_by_a_look(runtime), [Context(1)]);
        spawn(runtime, || ());
        turn(runtime);
        assert_eq!(trimmed_by_a_look(runtime), [], "it has had another job");
        assert_eq!(trimmed_by_a_look(runtime), [Context(1)]);
        write("idle");
    });
    runtime.run(&UntilDone(runtime));
    assert_eq!(*entries.borrow(), ["idle"]);
}

#[test]
fn a_look_trims_a_bounded_number_and_the_next_one_the_rest() {
    const MANY: usize = 1500;
    let (runtime, _) = start(SchedulerLimits { coroutines_max: MANY + 1, ..SchedulerLimits::default() });
    let (entries, write) = log();
    let waits: Rc<std::cell::RefCell<Vec<Wait>>> = Rc::default();
    for _ in 0..MANY {
        let waits = Rc::clone(&waits);
        spawn(runtime, move || {
            let wait = runtime.begin_wait();
            waits.borrow_mut().push(wait);
            runtime.park(wait, None);
        });
    }
    spawn(runtime, move || {
        assert_eq!(trimmed_by_a_look(runtime).len(), 0);
        let (first, second) = (trimmed_by_a_look(runtime), trimmed_by_a_look(runtime));
        assert_eq!((first.len(), first.len() + second.len()), (1024, MANY));
        assert!(second.iter().all(|context| !first.contains(context)));
        waits.borrow().iter().for_each(|wait| assert!(runtime.wake(*wait, Readiness::default())));
        write("all");
    });
    runtime.run(&UntilDone(runtime));
    assert_eq!(*entries.borrow(), ["all"]);
}
