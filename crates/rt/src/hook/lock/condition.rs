//! Condition variables. The thread that signals one may be the waiting thread itself, in another coroutine: coroutines
//! wait for the one that fills ICU's cache. Blocking the thread would then block it forever.
//!
//! A waiting coroutine therefore releases the mutex, lets the others run briefly, takes the mutex and returns. POSIX
//! allows this as a spurious wake-up (pthread_cond_wait(3p)), so callers check their condition and wait again. While a
//! coroutine keeps waiting for the same condition, its pauses double from 0.5 ms to 16 ms. Invariant: the caller holds
//! the mutex again when the wait returns, cancelled or not.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::collections::HashMap;

use libc::{c_int, clockid_t, pthread_cond_t, pthread_mutex_t, timespec};

use crate::hook::backoff::Backoff;
use crate::hook::call::Call;
use crate::hook::lock::held::Again;
use crate::hook::lock::{held, mutex};
use crate::hook::real::real;
use crate::hook::time::timespec::span_of;
use crate::{Nanos, SECOND, clock};

thread_local! {
    /// The length of each coroutine's next moment, by its index, and the wait it belongs to: counting continues from
    /// the last one.
    static PAUSES: RefCell<HashMap<u32, (u32, usize, Backoff)>> = RefCell::default();
}

/// Lets the others run. Returns false if the coroutine may not leave, or has locked the mutex several times, so that
/// the wait would not release it.
unsafe fn step_aside(
    call: Call,
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    left: Option<Nanos>,
) -> bool {
    // SAFETY: live, and locked by the caller, by contract.
    if unsafe { held::again(mutex) == Again::Counts && held::depth(mutex) > 1 } {
        call.count_blocked();
        return false;
    }
    if call.must_block() {
        return false;
    }
    let Some(id) = call.runtime.current() else { return false };
    let of_this_wait = (id.generation, condition.addr());
    let mut backoff = PAUSES.with_borrow_mut(|pauses| match pauses.remove(&id.index) {
        Some((generation, known, backoff)) if (generation, known) == of_this_wait => backoff,
        _ => Backoff::new(),
    });
    // SAFETY: as above.
    unsafe { mutex::unlock(Some(call), mutex) };
    match left {
        Some(left) => call.pause_uncancelled_for(&mut backoff, left),
        None => call.pause_uncancelled(&mut backoff),
    }
    PAUSES.with_borrow_mut(|pauses| pauses.insert(id.index, (of_this_wait.0, of_this_wait.1, backoff)));
    // SAFETY: as above.
    unsafe { mutex::lock(Some(call), mutex) };
    true
}

pub unsafe fn wait(call: Option<Call>, condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: by the caller's contract.
    if call.is_some_and(|call| unsafe { step_aside(call, condition, mutex, None) }) {
        return 0;
    }
    let real = real!(c"pthread_cond_wait": fn(*mut pthread_cond_t, *mut pthread_mutex_t) -> c_int);
    // SAFETY: by the caller's contract.
    unsafe { real(condition, mutex) }
}

/// The common part of both waits with a deadline. `None` if the plain call must be made.
unsafe fn wait_for(
    call: Option<Call>,
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    left: impl Fn() -> Option<Nanos>,
) -> Option<c_int> {
    let (call, at_first) = (call?, left()?);
    // SAFETY: by the caller's contract.
    let stepped = unsafe { step_aside(call, condition, mutex, Some(at_first)) };
    stepped.then(|| if left() == Some(0) { libc::ETIMEDOUT } else { 0 })
}

pub unsafe fn timed_wait(
    call: Option<Call>,
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: by the caller's contract.
    if let Some(result) = unsafe { wait_for(call, condition, mutex, || left_by_either_clock(&*time)) } {
        return result;
    }
    let real = real!(c"pthread_cond_timedwait": fn(*mut pthread_cond_t, *mut pthread_mutex_t, *const timespec) -> c_int);
    // SAFETY: by the caller's contract.
    unsafe { real(condition, mutex, time) }
}

/// glibc since 2.30; C++'s `wait_for` calls it.
pub unsafe fn clock_wait(
    call: Option<Call>,
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: by the caller's contract.
    let left = || Some(unsafe { span_of(&*time) }?.saturating_sub(now_by(clock)));
    // SAFETY: by the caller's contract.
    if let Some(result) = unsafe { wait_for(call, condition, mutex, left) } {
        return result;
    }
    let real = real!(c"pthread_cond_clockwait":
        fn(*mut pthread_cond_t, *mut pthread_mutex_t, clockid_t, *const timespec) -> c_int);
    // SAFETY: by the caller's contract.
    unsafe { real(condition, mutex, clock, time) }
}

/// The condition knows the clock of its deadlines (pthread_condattr_setclock(3p)), but does not reveal it. One clock
/// counts from the machine's start and one from 1970: a time less than three years from the former's now belongs to
/// that one.
fn left_by_either_clock(time: &timespec) -> Option<Nanos> {
    const THREE_YEARS: Nanos = 3 * 365 * 24 * 3600 * SECOND;
    let (at, uptime) = (span_of(time)?, clock::now());
    let now = if at < uptime.saturating_add(THREE_YEARS) { uptime } else { now_by(libc::CLOCK_REALTIME) };
    Some(at.saturating_sub(now))
}

fn now_by(clock: clockid_t) -> Nanos {
    let mut now = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the result is live.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    span_of(&now).unwrap_or(0)
}
