//! Mutexes and conditions of C libraries among coroutines of one thread, which libc takes for a single owner.
#![allow(unsafe_code)]

mod common;

use std::cell::{Cell, UnsafeCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{log, run};
use libc::{c_int, pthread_cond_t, pthread_mutex_t, timespec};

unsafe extern "C" {
    fn pthread_cond_clockwait(
        condition: *mut pthread_cond_t,
        mutex: *mut pthread_mutex_t,
        clock: libc::clockid_t,
        time: *const timespec,
    ) -> c_int;
    fn sem_clockwait(semaphore: *mut libc::sem_t, clock: libc::clockid_t, time: *const timespec) -> c_int;
}

/// Shared by coroutines, which are one thread, or by two threads; only pthread's functions use it.
struct Shared<T>(UnsafeCell<T>);

// SAFETY: see above.
unsafe impl<T> Sync for Shared<T> {}

type Mutex = Rc<UnsafeCell<pthread_mutex_t>>;

fn mutex(kind: c_int) -> Mutex {
    let mutex = Rc::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
    // SAFETY: all are live, and initialised before they are used.
    unsafe {
        let mut attributes: libc::pthread_mutexattr_t = std::mem::zeroed();
        libc::pthread_mutexattr_init(&raw mut attributes);
        libc::pthread_mutexattr_settype(&raw mut attributes, kind);
        assert_eq!(libc::pthread_mutex_init(mutex.get(), &raw const attributes), 0);
    }
    mutex
}

/// A time of this clock, so many milliseconds from now.
fn soon(clock: c_int, millis: i64) -> timespec {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it is live.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_nsec += millis * 1_000_000;
    time.tv_sec += time.tv_nsec / 1_000_000_000;
    time.tv_nsec %= 1_000_000_000;
    time
}

fn pause() {
    // SAFETY: usleep takes a number.
    unsafe { libc::usleep(2_000) };
}

#[test]
fn a_recursive_mutex_lets_its_coroutine_in_again_and_no_other() {
    let mutex = mutex(libc::PTHREAD_MUTEX_RECURSIVE);
    let inside = Rc::new(Cell::new(0));
    let worker = || {
        let (mutex, inside) = (Rc::clone(&mutex), Rc::clone(&inside));
        // SAFETY: the mutex outlives the coroutines.
        move || unsafe {
            for _ in 0..3 {
                assert_eq!(libc::pthread_mutex_lock(mutex.get()), 0);
                assert_eq!(inside.replace(1), 0, "two coroutines are inside");
                assert_eq!(libc::pthread_mutex_lock(mutex.get()), 0, "its own again");
                pause();
                assert_eq!(libc::pthread_mutex_trylock(mutex.get()), 0, "its own again");
                for _ in 0..2 {
                    assert_eq!(libc::pthread_mutex_unlock(mutex.get()), 0);
                    pause();
                }
                assert_eq!(inside.replace(0), 1);
                assert_eq!(libc::pthread_mutex_unlock(mutex.get()), 0);
            }
        }
    };
    let other = Rc::clone(&mutex);
    let tries = move || {
        // SAFETY: the mutex outlives the coroutines.
        assert_eq!(unsafe { libc::pthread_mutex_trylock(other.get()) }, libc::EBUSY);
    };
    let runtime = run(tasks![worker(), tries, worker(), worker()]);
    assert_eq!(runtime.stats.blocked.get(), 0);
}

#[test]
fn an_error_checking_mutex_makes_others_wait_and_tells_who_locks_it_twice() {
    let mutex = mutex(libc::PTHREAD_MUTEX_ERRORCHECK);
    let (entries, write) = log();
    let worker = |name: &'static str| {
        let (mutex, write) = (Rc::clone(&mutex), write.clone());
        // SAFETY: the mutex outlives the coroutines.
        move || unsafe {
            assert_eq!(libc::pthread_mutex_lock(mutex.get()), 0);
            pause();
            assert_eq!(libc::pthread_mutex_lock(mutex.get()), libc::EDEADLK);
            assert_eq!(libc::pthread_mutex_trylock(mutex.get()), libc::EBUSY);
            write(name);
            assert_eq!(libc::pthread_mutex_unlock(mutex.get()), 0);
        }
    };
    let runtime = run(tasks![worker("first"), worker("second")]);
    assert_eq!(*entries.borrow(), ["first", "second"]);
    assert_eq!(runtime.stats.blocked.get(), 0);
}

#[test]
fn a_spinlock_of_a_parked_coroutine_does_not_spin_for_ever() {
    let lock = Rc::new(UnsafeCell::new(0));
    // SAFETY: it is live and used after this.
    unsafe { libc::pthread_spin_init(lock.get(), libc::PTHREAD_PROCESS_PRIVATE) };
    let worker = || {
        let lock = Rc::clone(&lock);
        // SAFETY: the lock outlives the coroutines.
        move || unsafe {
            assert_eq!(libc::pthread_spin_lock(lock.get()), 0);
            pause();
            assert_eq!(libc::pthread_spin_unlock(lock.get()), 0);
        }
    };
    run(tasks![worker(), worker()]);
}

#[test]
fn a_condition_that_another_coroutine_signals_is_waited_for_cooperatively() {
    let mutex = mutex(libc::PTHREAD_MUTEX_NORMAL);
    let condition = Rc::new(UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER));
    let made = Rc::new(Cell::new(false));
    let waiter = || {
        let (mutex, condition, made) = (Rc::clone(&mutex), Rc::clone(&condition), Rc::clone(&made));
        // SAFETY: both outlive the coroutines; the mutex is locked during the wait.
        move || unsafe {
            libc::pthread_mutex_lock(mutex.get());
            while !made.get() {
                assert_eq!(libc::pthread_cond_wait(condition.get(), mutex.get()), 0);
            }
            assert_eq!(libc::pthread_mutex_unlock(mutex.get()), 0);
        }
    };
    let (lock, signalled, say) = (Rc::clone(&mutex), Rc::clone(&condition), Rc::clone(&made));
    // SAFETY: as above.
    let maker = move || unsafe {
        pause();
        libc::pthread_mutex_lock(lock.get());
        say.set(true);
        libc::pthread_cond_broadcast(signalled.get());
        libc::pthread_mutex_unlock(lock.get());
    };
    let runtime = run(tasks![waiter(), waiter(), maker]);
    assert_eq!(runtime.stats.blocked.get(), 0);
}

#[test]
fn a_wait_for_a_condition_ends_by_its_own_clock() {
    let mutex = mutex(libc::PTHREAD_MUTEX_NORMAL);
    let condition = UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER);
    let steady = UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER);
    // SAFETY: all live until the coroutine has ended.
    unsafe {
        let mut attributes: libc::pthread_condattr_t = std::mem::zeroed();
        libc::pthread_condattr_init(&raw mut attributes);
        libc::pthread_condattr_setclock(&raw mut attributes, libc::CLOCK_MONOTONIC);
        libc::pthread_cond_init(steady.get(), &raw const attributes);
    }
    // SAFETY: as above.
    let runtime = run(tasks![move || unsafe {
        libc::pthread_mutex_lock(mutex.get());
        let (wall, up) = (libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC);
        let waits = [
            &|| libc::pthread_cond_timedwait(condition.get(), mutex.get(), &soon(wall, 20)),
            &|| libc::pthread_cond_timedwait(steady.get(), mutex.get(), &soon(up, 20)),
            &|| pthread_cond_clockwait(condition.get(), mutex.get(), up, &soon(up, 20)),
        ] as [&dyn Fn() -> c_int; 3];
        for wait in waits {
            // Each wait measures its time from its own begin, so only a wait without a break would last to its
            // end.
            assert!(matches!(wait(), 0 | libc::ETIMEDOUT));
        }
        for (condition, clock) in [(&condition, wall), (&steady, up)] {
            let end = soon(clock, 5);
            while libc::pthread_cond_timedwait(condition.get(), mutex.get(), &raw const end) == 0 {}
            let now = soon(clock, 0);
            assert!((now.tv_sec, now.tv_nsec) >= (end.tv_sec, end.tv_nsec), "it has ended early");
        }
        libc::pthread_mutex_unlock(mutex.get());
    }]);
    assert_eq!(runtime.stats.blocked.get(), 0);
}

#[test]
fn a_condition_that_another_thread_signals_is_waited_for_cooperatively() {
    static MUTEX: Shared<pthread_mutex_t> = Shared(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
    static CONDITION: Shared<pthread_cond_t> = Shared(UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER));
    static SIGNALLED: AtomicBool = AtomicBool::new(false);
    let (entries, write) = log();
    let (say, other) = (write.clone(), write);
    let runtime = run(tasks![
        move || {
            let thread = std::thread::spawn(|| {
                // SAFETY: both live as long as the process.
                unsafe {
                    libc::usleep(20_000);
                    libc::pthread_mutex_lock(MUTEX.0.get());
                    SIGNALLED.store(true, Ordering::Release);
                    libc::pthread_cond_signal(CONDITION.0.get());
                    libc::pthread_mutex_unlock(MUTEX.0.get());
                }
            });
            // SAFETY: both live as long as the process, and this thread holds the mutex while it waits.
            unsafe {
                libc::pthread_mutex_lock(MUTEX.0.get());
                while !SIGNALLED.load(Ordering::Acquire) {
                    libc::pthread_cond_wait(CONDITION.0.get(), MUTEX.0.get());
                }
                libc::pthread_mutex_unlock(MUTEX.0.get());
            }
            say("signalled");
            thread.join().unwrap();
        },
        move || other("meanwhile"),
    ]);
    assert_eq!(*entries.borrow(), ["meanwhile", "signalled"]);
    assert_eq!(runtime.stats.blocked.get(), 0);
}

#[test]
fn a_semaphore_that_another_coroutine_posts_is_waited_for_until_a_deadline() {
    let semaphore: Rc<UnsafeCell<libc::sem_t>> = Rc::new(UnsafeCell::new(
        // SAFETY: it is initialised before it is used.
        unsafe { std::mem::zeroed() },
    ));
    // SAFETY: it is live.
    assert_eq!(unsafe { libc::sem_init(semaphore.get(), 0, 0) }, 0);
    let (wall, up) = (libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC);
    let waiter = {
        let semaphore = Rc::clone(&semaphore);
        // SAFETY: the semaphore outlives the coroutines; the times are live.
        move || unsafe {
            let timed = |time: timespec| libc::sem_timedwait(semaphore.get(), &raw const time);
            let by = |clock, time: timespec| sem_clockwait(semaphore.get(), clock, &raw const time);
            let error = || *libc::__errno_location();
            assert_eq!(libc::sem_wait(semaphore.get()), 0);
            assert_eq!(timed(soon(wall, 60_000)), 0);
            assert_eq!(by(up, soon(up, 60_000)), 0);
            assert_eq!(by(wall, soon(wall, 60_000)), 0);
            // Nobody posts any more.
            let ends = [soon(wall, 5), soon(up, 5)];
            assert_eq!((timed(ends[0]), error()), (-1, libc::ETIMEDOUT));
            assert_eq!((by(up, ends[1]), error()), (-1, libc::ETIMEDOUT));
            for (clock, end) in [(wall, ends[0]), (up, ends[1])] {
                let now = soon(clock, 0);
                assert!((now.tv_sec, now.tv_nsec) >= (end.tv_sec, end.tv_nsec), "it has ended early");
            }
            let invalid = timespec { tv_sec: 1, tv_nsec: -1 };
            assert_eq!((timed(invalid), error()), (-1, libc::EINVAL));
            assert_eq!((by(libc::CLOCK_PROCESS_CPUTIME_ID, ends[0]), error()), (-1, libc::EINVAL));
            // A free one is taken whatever the time says.
            assert_eq!(libc::sem_post(semaphore.get()), 0);
            assert_eq!(timed(timespec { tv_sec: 0, tv_nsec: 0 }), 0);
        }
    };
    let poster = {
        let semaphore = Rc::clone(&semaphore);
        move || {
            for _ in 0..4 {
                pause();
                // SAFETY: as above.
                assert_eq!(unsafe { libc::sem_post(semaphore.get()) }, 0);
            }
        }
    };
    let runtime = run(tasks![waiter, poster]);
    assert!(runtime.stats.parks.get() >= 4 && runtime.stats.blocked.get() == 0);
}
