//! Who runs next of those that have computed for a slice, tested with a switch that is not PHP's.

mod common;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use common::{UntilDone, log, spawn, start};
use weft_rt::{Nanos, Readiness, Runtime, SchedulerLimits, Wait, Wake, clock};

/// Nanoseconds. It has eight ticks: with [`Runtime::end_each_slice`] each call of `give_way` counts as one.
const SLICE: Nanos = 8_000_000;
/// Ticks that jobs compute.
const LITTLE: u32 = 0;
const A_SLICE: u32 = 8;
const NEARLY_LONG: u32 = 63;
const LONG: u32 = 64;

/// The size of a job beside which [`LONG`] is not long.
const USUAL: u32 = 40;

/// Starts jobs one after another, each of which computes for so many ticks and then waits; ends their waits from the last job
/// to the first. Returns the order in which they run.
fn order_after_waits(jobs: &'static [(&'static str, u32)]) -> Vec<String> {
    order_beside(&[], jobs)
}

/// The same after jobs have ended that computed for so many ticks.
fn order_beside(ended: &'static [u32], jobs: &'static [(&'static str, u32)]) -> Vec<String> {
    let (runtime, _): (&Runtime, _) = start(SchedulerLimits { slice: SLICE, ..SchedulerLimits::default() });
    runtime.end_each_slice();
    let (entries, write) = log();
    let waits: Rc<RefCell<Vec<Wait>>> = Rc::default();
    spawn(runtime, move || {
        let moment = || runtime.sleep_until(clock::now() + 1_000_000);
        for &ticks in ended {
            let has_ended: Rc<Cell<bool>> = Rc::default();
            let ends = Rc::clone(&has_ended);
            spawn(runtime, move || {
                (0..ticks).for_each(|_| runtime.give_way());
                ends.set(true);
            });
            while !has_ended.get() {
                moment();
            }
        }
        for (before, &(name, ticks)) in jobs.iter().enumerate() {
            let (own, write) = (Rc::clone(&waits), write.clone());
            spawn(runtime, move || {
                (0..ticks).for_each(|_| runtime.give_way());
                let wait = runtime.begin_wait();
                own.borrow_mut().push(wait);
                assert_eq!(runtime.park(wait, None), Wake::Ready(Readiness::default()));
                write(name);
            });
            // Each begins at a moment of its own, and waits before the next one begins.
            moment();
            while waits.borrow().len() == before {
                moment();
            }
        }
        for wait in waits.borrow().iter().rev() {
            assert!(runtime.wake(*wait, Readiness::default()));
        }
    });
    runtime.run(&UntilDone(runtime));
    entries.borrow().iter().map(ToString::to_string).collect()
}

#[test]
fn those_that_have_computed_for_a_slice_go_on_in_the_order_in_which_they_began() {
    let order =
        order_after_waits(&[("first", A_SLICE), ("second", A_SLICE), ("third", A_SLICE), ("new", LITTLE)]);
    assert_eq!(order, ["new", "first", "second", "third"]);
}

#[test]
fn a_short_one_passes_one_that_has_computed_for_much_longer() {
    let order = order_after_waits(&[("much", NEARLY_LONG), ("slice", A_SLICE), ("new", LITTLE)]);
    assert_eq!(order, ["new", "slice", "much"]);
}

#[test]
fn a_wait_is_a_turn_for_those_that_compute_for_long() {
    let order = order_after_waits(&[("short", LITTLE), ("slice", A_SLICE), ("long", LONG), ("new", LITTLE)]);
    assert_eq!(order, ["new", "long", "short", "slice"]);
}

#[test]
fn long_is_longer_where_jobs_usually_compute_for_long() {
    const JOBS: &[(&str, u32)] = &[("sixty", LONG), ("slice", A_SLICE), ("new", LITTLE)];
    assert_eq!(order_beside(&[], JOBS), ["new", "sixty", "slice"], "a wait is a turn for it");
    assert_eq!(order_beside(&[USUAL], JOBS), ["new", "slice", "sixty"]);
}

#[test]
fn who_is_next_anyway_is_not_kept() {
    assert_eq!(order_after_waits(&[("first", A_SLICE), ("second", A_SLICE)]), ["second", "first"]);
}
