//! Signals with handlers: which waits they interrupt, and calls with a signal mask.
//!
//! Handlers belong to the process, which has one runtime. So there is one test, and its parts run one after
//! another.
#![allow(unsafe_code)]

mod common;
#[path = "common/fd.rs"]
mod fd;

use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use common::{Stage, run};
use fd::{close, errno, pipe, read};
use libc::c_int;

static RUNS: AtomicU32 = AtomicU32::new(0);
static HANDLED_BY: AtomicI32 = AtomicI32::new(0);

extern "C" fn count(_: c_int) {
    RUNS.fetch_add(1, Ordering::Relaxed);
}

/// Installs [`count`] for a signal; returns the previous handler.
fn handle(signal: c_int, flags: c_int) -> usize {
    // SAFETY: the all-zero sigaction is valid; both are live.
    unsafe {
        let (mut new, mut old): (libc::sigaction, libc::sigaction) = std::mem::zeroed();
        new.sa_sigaction = count as *const () as usize;
        new.sa_flags = flags;
        assert_eq!(libc::sigaction(signal, &raw const new, &raw mut old), 0);
        old.sa_sigaction
    }
}

/// Sends a signal to this thread.
fn raise(signal: c_int) {
    // SAFETY: it takes a number.
    assert_eq!(unsafe { libc::raise(signal) }, 0);
}

#[test]
fn signals_interrupt_what_they_should() {
    a_signal_interrupts_the_wait_of_the_coroutine_that_installed_its_handler();
    a_read_is_interrupted_unless_its_handler_restarts_calls();
    a_wait_with_a_mask_lets_its_signal_through_and_others_run();
    a_signal_between_two_attempts_interrupts_the_call();
    a_signal_that_another_thread_gets_is_handled_by_the_loops_thread();
}

fn a_signal_interrupts_the_wait_of_the_coroutine_that_installed_its_handler() {
    let stage = Stage::default();
    let (owner, other, sender) = (stage.clone(), stage.clone(), stage);
    run(tasks![
        move || {
            assert_eq!(handle(libc::SIGUSR1, libc::SA_RESTART), libc::SIG_DFL);
            assert_eq!(handle(libc::SIGUSR1, libc::SA_RESTART), count as *const () as usize);
            owner.reach(1);
            // SAFETY: usleep takes a number.
            assert_eq!((unsafe { libc::usleep(60_000_000) }, errno()), (-1, libc::EINTR));
            owner.reach(3);
        },
        move || {
            other.until(1);
            // Not its signal: it continues to sleep. SAFETY: usleep takes a number.
            assert_eq!(unsafe { libc::usleep(50_000) }, 0);
            other.until(3);
        },
        move || {
            sender.until(1);
            raise(libc::SIGUSR1);
        },
    ]);
    assert_eq!(RUNS.load(Ordering::Relaxed), 1);
}

fn a_read_is_interrupted_unless_its_handler_restarts_calls() {
    for (flags, expected) in [(0, -1), (libc::SA_RESTART, 1)] {
        let stage = Stage::default();
        let (reader, sender) = (stage.clone(), stage);
        let [from, to] = pipe();
        run(tasks![
            move || {
                handle(libc::SIGUSR2, flags);
                reader.reach(1);
                assert_eq!(read(from, &mut [0; 8]), expected);
                assert!(expected == 1 || errno() == libc::EINTR);
                reader.reach(2);
            },
            move || {
                sender.until(1);
                raise(libc::SIGUSR2);
                if expected == 1 {
                    fd::write(to, b"x");
                }
                sender.until(2);
            },
        ]);
        close(from);
        close(to);
    }
}

fn a_wait_with_a_mask_lets_its_signal_through_and_others_run() {
    let stage = Stage::default();
    let (waiter, sender) = (stage.clone(), stage);
    let runtime = run(tasks![
        move || {
            handle(libc::SIGHUP, 0);
            // SAFETY: the sets are filled in before use, and live.
            unsafe {
                let (mut hangup, mut none): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
                libc::sigemptyset(&raw mut none);
                libc::sigemptyset(&raw mut hangup);
                libc::sigaddset(&raw mut hangup, libc::SIGHUP);
                libc::pthread_sigmask(libc::SIG_BLOCK, &raw const hangup, std::ptr::null_mut());
                waiter.reach(1);
                let null = std::ptr::null_mut();
                assert_eq!(libc::ppoll(null, 0, null.cast(), &raw const none), -1);
                assert_eq!(errno(), libc::EINTR);
                waiter.reach(2);
                waiter.until(3);
                let sets = std::ptr::null_mut();
                assert_eq!(libc::pselect(0, sets, sets, sets, null.cast(), &raw const none), -1);
                assert_eq!(errno(), libc::EINTR);
                let time = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
                assert_eq!(libc::ppoll(null, 0, &raw const time, &raw const hangup), 0);
                libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const hangup, std::ptr::null_mut());
            }
        },
        move || {
            sender.until(1);
            raise(libc::SIGHUP);
            sender.until(2);
            sender.reach(3);
            raise(libc::SIGHUP);
        },
    ]);
    assert_eq!(runtime.stats.blocked.get(), 0);
}

extern "C" fn note_thread(_: c_int) {
    // SAFETY: it takes nothing.
    HANDLED_BY.store(unsafe { libc::gettid() }, Ordering::Relaxed);
}

/// A library's thread does not block its signals; PHP's handler must not run concurrently with PHP.
fn a_signal_between_two_attempts_interrupts_the_call() {
    let path = std::env::temp_dir().join(format!("weft-interrupted-{}", std::process::id()));
    let file = || std::fs::File::create(&path).unwrap();
    let (wanted, held, stage) = (file(), file(), Stage::default());
    std::fs::remove_file(&path).unwrap();
    // SAFETY: flock takes numbers.
    let lock = |file: &std::fs::File, operation| unsafe { libc::flock(file.as_raw_fd(), operation) };
    let (waiter, holder) = (stage.clone(), stage);
    run(tasks![
        move || {
            assert_eq!(lock(&held, libc::LOCK_EX), 0);
            holder.until(1);
            // The waiter is woken, and in vain.
            assert_eq!(lock(&held, libc::LOCK_UN), 0);
            assert_eq!(lock(&held, libc::LOCK_EX | libc::LOCK_NB), 0);
            raise(libc::SIGWINCH);
            for _ in 0..5_000 {
                if holder.has_reached(2) {
                    return;
                }
                // SAFETY: usleep takes a number.
                unsafe { libc::usleep(1_000) };
            }
            // The waiter gets the lock, and says that nothing interrupted it.
        },
        move || {
            handle(libc::SIGWINCH, 0);
            waiter.reach(1);
            assert_eq!((lock(&wanted, libc::LOCK_EX), errno()), (-1, libc::EINTR));
            waiter.reach(2);
        },
    ]);
}

fn a_signal_that_another_thread_gets_is_handled_by_the_loops_thread() {
    run(tasks![|| {
        // SAFETY: the handler is a function of the form that signal(2) wants.
        unsafe { libc::signal(libc::SIGUSR2, note_thread as *const () as usize) };
        let thread = std::thread::spawn(|| raise(libc::SIGUSR2));
        thread.join().unwrap();
        while HANDLED_BY.load(Ordering::Relaxed) == 0 {
            // SAFETY: it takes a number.
            unsafe { libc::usleep(100) };
        }
        // SAFETY: it takes nothing; SIG_DFL is a valid handler.
        unsafe {
            assert_eq!(HANDLED_BY.load(Ordering::Relaxed), libc::gettid());
            libc::signal(libc::SIGUSR2, libc::SIG_DFL);
        }
    }]);
}
