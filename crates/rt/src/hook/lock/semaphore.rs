//! POSIX semaphores of C libraries: sem_wait, sem_timedwait, sem_clockwait. The thread that posts one may be the waiting
//! thread itself, in another coroutine.
//!
//! The attempt is repeated after pauses, because another process may post. These calls can fail, so a cancelled coroutine
//! gets `ECANCELED`. Invariant: a free semaphore is taken even if the deadline has passed or is no time at all
//! (sem_timedwait(3)).
#![allow(unsafe_code)]

use libc::{c_int, clockid_t, sem_t, timespec};

use crate::hook::call::Call;
use crate::hook::errno::{errno, set_errno};
use crate::hook::lock::contend::until_free;
use crate::hook::lock::resource::Resource;
use crate::hook::real::real;
use crate::hook::time::timespec::{clock_time, span_of};
use crate::{Nanos, clock};

/// `block` is the plain call.
unsafe fn until_posted(
    call: Call,
    semaphore: *mut sem_t,
    deadline: Option<Nanos>,
    block: impl FnOnce() -> c_int,
) -> c_int {
    let attempt = real!(c"sem_trywait": fn(*mut sem_t) -> c_int);
    // SAFETY: by the caller's contract.
    let attempt = || unsafe { attempt(semaphore) as isize };
    let unseen = || Resource::Unseen;
    until_free(call, unseen, &[libc::EAGAIN], deadline, attempt, || block() as isize) as c_int
}

pub unsafe fn wait(call: Option<Call>, semaphore: *mut sem_t) -> c_int {
    let real = real!(c"sem_wait": fn(*mut sem_t) -> c_int);
    // SAFETY: by the caller's contract.
    let block = || unsafe { real(semaphore) };
    match call {
        // SAFETY: by the caller's contract.
        Some(call) => unsafe { until_posted(call, semaphore, None, block) },
        None => block(),
    }
}

/// The time is one of the wall clock.
pub unsafe fn timed_wait(call: Option<Call>, semaphore: *mut sem_t, time: *const timespec) -> c_int {
    let real = real!(c"sem_timedwait": fn(*mut sem_t, *const timespec) -> c_int);
    // SAFETY: by the caller's contract.
    let block = || unsafe { real(semaphore, time) };
    // SAFETY: by the caller's contract.
    unsafe { wait_until(call, semaphore, libc::CLOCK_REALTIME, time, block) }
}

/// glibc since 2.30; C++'s semaphores call it.
pub unsafe fn clock_wait(
    call: Option<Call>,
    semaphore: *mut sem_t,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    let real = real!(c"sem_clockwait": fn(*mut sem_t, clockid_t, *const timespec) -> c_int);
    // SAFETY: by the caller's contract.
    let block = || unsafe { real(semaphore, clock, time) };
    // SAFETY: by the caller's contract.
    unsafe { wait_until(call, semaphore, clock, time, block) }
}

/// The common part of both waits with a deadline. The plain call answers for an invalid time and an unknown clock. The time
/// becomes a span when the wait begins: if the wall clock is set meanwhile, the end of the wait does not move.
unsafe fn wait_until(
    call: Option<Call>,
    semaphore: *mut sem_t,
    clock: clockid_t,
    time: *const timespec,
    block: impl FnOnce() -> c_int,
) -> c_int {
    let known = matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC);
    // SAFETY: null or live by the caller's contract.
    let at = unsafe { time.as_ref() }.and_then(span_of);
    let (Some(call), Some(at)) = (call.filter(|_| known), at) else { return block() };
    let deadline = clock::now().saturating_add(at.saturating_sub(clock_time(clock)));
    // SAFETY: by the caller's contract.
    let result = unsafe { until_posted(call, semaphore, Some(deadline), block) };
    if result < 0 && errno() == libc::EAGAIN {
        // What every wait with a deadline reports at its end; for a semaphore it has another name.
        set_errno(libc::ETIMEDOUT);
    }
    result
}
