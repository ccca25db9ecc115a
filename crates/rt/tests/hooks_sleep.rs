//! Hooked calls that wait for time, locks and other processes.
#![allow(unsafe_code)]

mod common;

use std::cell::RefCell;
use std::rc::Rc;

use common::run;
use weft_rt::{MILLISECOND, SECOND, clock};

#[test]
fn a_hundred_sleepers_share_one_thread_and_wake_in_the_order_of_their_deadlines() {
    let order = Rc::new(RefCell::new(Vec::new()));
    // So far in the future that all of them sleep before the first one wakes.
    let start = clock::now() + SECOND;
    let sleepers = (0..100u64).rev().map(|index| {
        let order = Rc::clone(&order);
        Box::new(move || {
            let until = start + index * MILLISECOND / 2;
            let at = libc::timespec { tv_sec: (until / SECOND) as _, tv_nsec: (until % SECOND) as _ };
            let (monotonic, absolute) = (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME);
            // SAFETY: `at` is live; an absolute sleep reports no remaining time.
            let result =
                unsafe { libc::clock_nanosleep(monotonic, absolute, &raw const at, std::ptr::null_mut()) };
            assert_eq!(result, 0);
            assert!(clock::now() >= until);
            order.borrow_mut().push(index);
        }) as Box<dyn FnOnce()>
    });
    let runtime = run(sleepers);
    assert_eq!(*order.borrow(), (0..100).collect::<Vec<_>>());
    assert_eq!((runtime.stats.parks.get(), runtime.stats.blocked.get()), (100, 0));
}

#[test]
fn every_kind_of_sleep_lasts_as_long_as_asked_and_refuses_what_is_not_valid() {
    let span = libc::timespec { tv_sec: 0, tv_nsec: 3_000_000 };
    let wrong = libc::timespec { tv_sec: 0, tv_nsec: -1 };
    let null = std::ptr::null_mut();
    let sleeps = move || {
        // SAFETY: all pointers are to live values or null.
        unsafe {
            let start = clock::now();
            assert_eq!(libc::nanosleep(&raw const span, null), 0);
            assert_eq!(libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &raw const span, null), 0);
            let until = clock::now() + 3 * MILLISECOND;
            let at = libc::timespec {
                tv_sec: (until / 1_000_000_000) as _,
                tv_nsec: (until % 1_000_000_000) as _,
            };
            let clock = libc::CLOCK_MONOTONIC;
            assert_eq!(libc::clock_nanosleep(clock, libc::TIMER_ABSTIME, &raw const at, null), 0);
            assert_eq!(
                libc::clock_nanosleep(libc::CLOCK_REALTIME, libc::TIMER_ABSTIME, &raw const at, null),
                0
            );
            assert_eq!(libc::usleep(1_000), 0);
            assert_eq!(libc::sleep(0), 0);
            std::thread::sleep(std::time::Duration::from_millis(3));
            assert!(clock::now() - start >= 13 * MILLISECOND);
            assert_eq!(libc::nanosleep(&raw const wrong, null), -1);
            assert_eq!(libc::clock_nanosleep(clock, 0, &raw const wrong, null), libc::EINVAL);
        }
    };
    sleeps();
    let runtime = run(tasks![sleeps]);
    assert!(runtime.stats.parks.get() >= 6);
}
