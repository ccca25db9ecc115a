//! The contract of the scheduler, tested with a switch that is not PHP's.

mod common;

use std::cell::Cell;
use std::rc::Rc;

use common::{UntilDone, log, spawn, start};
use weft_rt::{Driver, Job, Nanos, Readiness, Runtime, SchedulerLimits, Spawn, Wake, clock};

#[test]
fn a_job_that_does_not_wait_ends_within_spawn_and_its_stack_is_used_again() {
    let (runtime, created) = start(SchedulerLimits::default());
    let (entries, write) = log();
    for _ in 0..3 {
        let write = write.clone();
        assert_eq!(spawn(runtime, move || write("ran")), Spawn::Started);
    }
    assert_eq!(*entries.borrow(), ["ran"; 3]);
    assert_eq!(created.get(), 1);
    assert_eq!(runtime.stats.live.get(), 0);
}

#[test]
fn sleepers_wake_in_order_of_their_deadlines_and_not_before_them() {
    let (runtime, _) = start(SchedulerLimits::default());
    let (entries, write) = log();
    let start = clock::now();
    for (name, span) in [("late", 3_000_000), ("early", 1_000_000)] {
        let write = write.clone();
        spawn(runtime, move || {
            let deadline = start + span;
            assert_eq!(runtime.sleep_until(deadline), Wake::TimedOut);
            assert!(clock::now() >= deadline);
            write(name);
        });
    }
    runtime.run(&UntilDone(runtime));
    assert_eq!(*entries.borrow(), ["early", "late"]);
}

#[test]
fn a_wake_ends_one_wait_once_and_is_stale_afterwards() {
    let (runtime, _) = start(SchedulerLimits::default());
    let wait = Rc::new(Cell::new(None));
    let (entries, write) = log();
    let (slot, first) = (Rc::clone(&wait), write.clone());
    spawn(runtime, move || {
        let mine = runtime.begin_wait();
        slot.set(Some(mine));
        assert_eq!(runtime.park(mine, None), Wake::Ready(Readiness::READ));
        first("woken");
        runtime.wake(mine, Readiness::READ); // stale: must not end the sleep below
        assert_eq!(runtime.sleep_until(clock::now() + 1_000_000), Wake::TimedOut);
        first("slept");
    });
    let taken = wait.get().unwrap();
    runtime.wake(taken, Readiness::READ);
    runtime.wake(taken, Readiness::WRITE);
    runtime.run(&UntilDone(runtime));
    assert_eq!(*entries.borrow(), ["woken", "slept"]);
    runtime.wake(taken, Readiness::READ);
}

#[test]
fn beyond_the_limits_jobs_queue_and_then_are_refused() {
    let limits = SchedulerLimits { coroutines_max: 1, queue_max: 1, ..SchedulerLimits::default() };
    let (runtime, _) = start(limits);
    let (entries, write) = log();
    let (one, two) = (write.clone(), write.clone());
    let first = spawn(runtime, move || {
        runtime.sleep_until(clock::now() + 1_000_000);
        one("first");
    });
    let second = spawn(runtime, move || two("second"));
    let third = spawn(runtime, move || write("third"));
    assert_eq!((first, second, third), (Spawn::Started, Spawn::Queued, Spawn::Refused));
    runtime.run(&UntilDone(runtime));
    runtime.run(&UntilDone(runtime));
    assert_eq!(*entries.borrow(), ["first", "second"]);
    assert_eq!(runtime.stats.refused.get(), 1);
}

#[test]
fn who_comes_later_does_not_overtake_the_queue() {
    let (runtime, _) = start(SchedulerLimits { coroutines_max: 1, ..SchedulerLimits::default() });
    let (entries, write) = log();
    let says = |word: &'static str| {
        let write = write.clone();
        spawn(runtime, move || {
            runtime.sleep_until(clock::now() + 1_000_000);
            write(word);
        })
    };
    assert_eq!(
        (says("first"), says("second"), says("third")),
        (Spawn::Started, Spawn::Queued, Spawn::Queued)
    );
    // It returns when the first has ended: the second has left the queue and has not begun.
    runtime.run(&UntilDone(runtime));
    assert_eq!((entries.borrow().len(), runtime.queued()), (1, 2));
    assert_eq!(says("fourth"), Spawn::Queued);
    while entries.borrow().len() < 4 {
        runtime.run(&UntilDone(runtime));
    }
    assert_eq!(*entries.borrow(), ["first", "second", "third", "fourth"]);
    assert_eq!(says("fifth"), Spawn::Started, "no place is kept for anybody");
    runtime.run(&UntilDone(runtime));
}

#[test]
fn what_somebody_else_has_leaves_the_queue_and_the_others_keep_their_order() {
    let (runtime, _) = start(SchedulerLimits { coroutines_max: 1, ..SchedulerLimits::default() });
    let (entries, write) = log();
    for word in ["first", "second", "third", "fourth", "fifth"] {
        let write = write.clone();
        spawn(runtime, move || {
            runtime.sleep_until(clock::now() + 1_000_000);
            write(word);
        });
    }
    let mut asked = 0;
    let withdrawn = runtime.withdraw(2, |_| {
        asked += 1;
        asked != 2
    });
    assert_eq!(
        (withdrawn, asked, runtime.waiting()),
        (2, 3, 2),
        "the second and the fourth go, the third stays"
    );
    while entries.borrow().len() < 3 {
        runtime.run(&UntilDone(runtime));
    }
    assert_eq!(*entries.borrow(), ["first", "third", "fifth"]);
}

#[test]
fn a_cancelled_coroutine_leaves_this_wait_and_every_later_one_at_once() {
    let (runtime, _) = start(SchedulerLimits::default());
    let id = Rc::new(Cell::new(None));
    let slot = Rc::clone(&id);
    let (entries, write) = log();
    spawn(runtime, move || {
        slot.set(runtime.current());
        assert_eq!(runtime.sleep_until(Nanos::MAX), Wake::Cancelled);
        assert_eq!(runtime.sleep_until(Nanos::MAX), Wake::Cancelled);
        write("ended");
    });
    runtime.cancel(id.get().unwrap());
    runtime.run(&UntilDone(runtime));
    assert_eq!(*entries.borrow(), ["ended"]);
}

#[test]
fn a_parked_reader_wakes_when_its_pipe_has_data_and_a_closed_descriptor_says_so() {
    use std::os::fd::AsRawFd;
    let (runtime, _) = start(SchedulerLimits::default());
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let (fd, (entries, write)) = (reader.as_raw_fd(), log());
    let second = write.clone();
    spawn(runtime, move || {
        let Wake::Ready(ready) = runtime.wait_fd(fd, Readiness::READ, None) else { panic!("not woken") };
        assert!(ready.readable());
        let mut buffer = [0; 8];
        assert_eq!(rustix::io::read(&reader, &mut buffer), Ok(5));
        write("read");
        assert_eq!(runtime.wait_fd(fd, Readiness::READ, None), Wake::Ready(Readiness::CLOSED));
        write("closed");
    });
    spawn(runtime, move || {
        rustix::io::write(&writer, b"hello").unwrap();
        runtime.sleep_until(clock::now() + 2_000_000);
        second("close");
        runtime.close_fd(fd);
        drop(writer);
    });
    runtime.run(&UntilDone(runtime));
    assert_eq!(*entries.borrow(), ["read", "close", "closed"]);
}

#[test]
fn an_event_is_taken_although_a_coroutine_is_always_ready() {
    use std::os::fd::AsRawFd;
    let (runtime, _) = start(SchedulerLimits::default());
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let woken = Rc::new(Cell::new(false));
    let seen = Rc::clone(&woken);
    spawn(runtime, move || {
        assert!(matches!(runtime.wait_fd(reader.as_raw_fd(), Readiness::READ, None), Wake::Ready(_)));
        woken.set(true);
    });
    spawn(runtime, move || {
        rustix::io::write(&writer, b"x").unwrap();
        while !seen.get() {
            runtime.yield_now();
        }
    });
    runtime.run(&UntilDone(runtime));
}

#[test]
fn a_wait_that_times_out_leaves_nothing_behind_for_the_descriptor() {
    use std::os::fd::AsRawFd;
    let (runtime, _) = start(SchedulerLimits::default());
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    spawn(runtime, move || {
        let deadline = clock::now() + 1_000_000;
        assert_eq!(runtime.wait_fd(reader.as_raw_fd(), Readiness::READ, Some(deadline)), Wake::TimedOut);
        rustix::io::write(&writer, b"x").unwrap();
        assert_eq!(runtime.sleep_until(clock::now() + 1_000_000), Wake::TimedOut);
    });
    runtime.run(&UntilDone(runtime));
}

#[test]
fn offloaded_work_runs_on_another_thread_and_its_result_comes_back() {
    let (runtime, _) = start(SchedulerLimits::default());
    let (entries, write) = log();
    spawn(runtime, move || {
        let here = std::thread::current().id();
        let there = runtime.offload(|| std::thread::current().id());
        assert!(there.is_some_and(|there| there != here));
        write("done");
    });
    runtime.run(&UntilDone(runtime));
    assert_eq!(*entries.borrow(), ["done"]);
}

#[test]
fn a_coroutine_that_yields_lets_the_others_run_first() {
    let (runtime, _) = start(SchedulerLimits::default());
    let (entries, write) = log();
    let (one, two) = (write.clone(), write);
    spawn(runtime, move || {
        one("a1");
        runtime.yield_now();
        one("a2");
    });
    spawn(runtime, move || {
        two("b1");
        runtime.yield_now();
        two("b2");
    });
    runtime.run(&UntilDone(runtime));
    assert_eq!(*entries.borrow(), ["a1", "b1", "a2", "b2"]);
}

#[test]
fn a_job_that_waits_too_long_for_a_coroutine_is_handed_back() {
    struct Expiring(&'static Runtime, Cell<usize>);
    impl Driver for Expiring {
        fn event(&self, _: weft_rt::reactor::Event) {}
        fn turn(&self, _: Nanos) {}
        fn deadline(&self) -> Option<Nanos> {
            None
        }
        fn expired(&self, _: Job) {
            self.1.set(self.1.get() + 1);
        }
        fn finished(&self) -> bool {
            self.0.stats.live.get() == 0
        }
    }
    let limits =
        SchedulerLimits { coroutines_max: 1, queue_wait_max: 1_000_000, ..SchedulerLimits::default() };
    let (runtime, _) = start(limits);
    let (entries, write) = log();
    let one = write.clone();
    spawn(runtime, move || {
        runtime.sleep_until(clock::now() + 20_000_000);
        one("first");
    });
    assert_eq!(spawn(runtime, move || write("second")), Spawn::Queued);
    let driver = Expiring(runtime, Cell::new(0));
    runtime.run(&driver);
    assert_eq!((driver.1.get(), runtime.queued()), (1, 0));
    assert_eq!(*entries.borrow(), ["first"]);
}

#[test]
fn an_interruption_ends_one_wait_and_the_next_one_waits_again() {
    let (runtime, _) = start(SchedulerLimits::default());
    let id = Rc::new(Cell::new(None));
    let slot = Rc::clone(&id);
    let (entries, write) = log();
    spawn(runtime, move || {
        slot.set(runtime.current());
        assert_eq!(runtime.sleep_until(Nanos::MAX), Wake::Cancelled);
        assert_eq!(runtime.sleep_until(clock::now() + 1_000_000), Wake::TimedOut);
        write("ended");
    });
    assert!(runtime.interrupt(id.get().unwrap()));
    runtime.run(&UntilDone(runtime));
    assert_eq!(*entries.borrow(), ["ended"]);
    assert!(!runtime.interrupt(id.get().unwrap()), "it has ended");
}

#[test]
fn an_interruption_of_a_woken_coroutine_loses_no_wake() {
    let (runtime, _) = start(SchedulerLimits::default());
    let (entries, write) = log();
    spawn(runtime, move || {
        let (id, wait) = (runtime.current().unwrap(), runtime.begin_wait());
        assert!(runtime.wake(wait, Readiness::READ));
        runtime.interrupt(id);
        assert_eq!(runtime.park(wait, None), Wake::Ready(Readiness::READ));
        assert_eq!(runtime.sleep_until(Nanos::MAX), Wake::Cancelled);
        runtime.interrupt(id);
        runtime.forget_interrupt();
        assert_eq!(runtime.sleep_until(clock::now()), Wake::TimedOut);
        write("ended");
    });
    runtime.run(&UntilDone(runtime));
    assert_eq!(*entries.borrow(), ["ended"]);
}

#[test]
fn a_deadline_interrupts_whatever_the_coroutine_does_then_and_not_when_it_is_disarmed() {
    let (runtime, _) = start(SchedulerLimits::default());
    let (entries, write) = log();
    spawn(runtime, move || {
        let id = runtime.current().unwrap();
        let key = runtime.interrupt_at(clock::now() + 1_000_000, id);
        assert_eq!(runtime.sleep_until(Nanos::MAX), Wake::Cancelled);
        assert!(!runtime.disarm(key), "it has fired");
        let key = runtime.interrupt_at(clock::now() + 1_000_000_000, id);
        assert!(runtime.disarm(key));
        write("ended");
    });
    runtime.run(&UntilDone(runtime));
    assert_eq!(*entries.borrow(), ["ended"]);
}

#[test]
fn a_wait_kept_as_a_word_is_parked_on_by_its_own_coroutine_only_while_it_is_the_present_one() {
    let (runtime, _) = start(SchedulerLimits::default());
    let (entries, write) = log();
    spawn(runtime, move || {
        let old = runtime.begin_wait().word();
        let present = runtime.begin_wait().word();
        assert_eq!(runtime.park_word(old, None), None);
        assert!(!runtime.wake_word(old, Readiness::READ));
        assert!(runtime.wake_word(present, Readiness::READ));
        assert_eq!(runtime.park_word(present, None), Some(Wake::Ready(Readiness::READ)));
        assert!(!runtime.wake_word(present, Readiness::READ), "it is over");
        write("ended");
    });
    runtime.run(&UntilDone(runtime));
    assert_eq!(*entries.borrow(), ["ended"]);
}
