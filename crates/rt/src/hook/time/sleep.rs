//! sleep, usleep, nanosleep, clock_nanosleep.
#![allow(unsafe_code)]

use libc::{c_int, c_uint, clockid_t, timespec, useconds_t};

use super::timespec::{clock_time, span_of, timespec_of};
use crate::hook::call::Call;
use crate::hook::errno::{errno, fail, set_errno};
use crate::hook::raw;
use crate::{Nanos, SECOND, clock};

/// Sleeps for a span, in a coroutine or for real. `Err` holds the remaining nanoseconds.
fn sleep_span(call: Option<Call>, span: Nanos) -> Result<(), Nanos> {
    let deadline = clock::now().saturating_add(span);
    let ended = match call {
        Some(call) if !call.must_block() => call.sleep_until(deadline).map_err(fail).is_ok(),
        _ => {
            let time = timespec_of(span);
            // SAFETY: `time` is live; the remaining time is computed below.
            unsafe { raw::syscall!(SYS_nanosleep, &raw const time, 0) == 0 }
        }
    };
    if ended { Ok(()) } else { Err(deadline.saturating_sub(clock::now())) }
}

pub unsafe fn sleep(call: Option<Call>, seconds: c_uint) -> c_uint {
    match sleep_span(call, u64::from(seconds) * SECOND) {
        Ok(()) => 0,
        Err(left) => left.div_ceil(SECOND) as c_uint,
    }
}

pub unsafe fn usleep(call: Option<Call>, micros: useconds_t) -> c_int {
    if sleep_span(call, u64::from(micros) * 1_000).is_ok() { 0 } else { -1 }
}

pub unsafe fn nanosleep(call: Option<Call>, time: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: null or live by the caller's contract.
    let span = unsafe { time.as_ref() }.and_then(span_of);
    let (Some(call), Some(span)) = (call, span) else {
        // SAFETY: by the caller's contract; the kernel also checks invalid values.
        return unsafe { raw::syscall!(SYS_nanosleep, time, left) } as c_int;
    };
    match sleep_span(Some(call), span) {
        Ok(()) => 0,
        Err(remaining) => {
            // SAFETY: null or live by the caller's contract.
            if let Some(left) = unsafe { left.as_mut() } {
                *left = timespec_of(remaining);
            }
            -1
        }
    }
}

/// It returns the error number and does not change errno (clock_nanosleep(2)). An absolute time of a clock other than
/// `CLOCK_MONOTONIC` becomes a span when the wait begins: if the wall clock is set meanwhile, the end of the wait does
/// not move.
pub unsafe fn clock_nanosleep(
    call: Option<Call>,
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
) -> c_int {
    let saved = errno();
    let plain = || {
        // SAFETY: by the caller's contract.
        let result = unsafe { raw::syscall!(SYS_clock_nanosleep, clock, flags, time, left) };
        let error = if result < 0 { errno() } else { 0 };
        set_errno(saved);
        error
    };
    // SAFETY: null or live by the caller's contract.
    let span = unsafe { time.as_ref() }.and_then(span_of);
    let waits = matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC | libc::CLOCK_BOOTTIME);
    let (Some(call), Some(span)) = (call.filter(|_| waits), span) else { return plain() };
    if call.must_block() {
        return plain();
    }
    let absolute = flags & libc::TIMER_ABSTIME != 0;
    let deadline = match (absolute, clock) {
        (false, _) => clock::now().saturating_add(span),
        // The scheduler's own clock.
        (true, libc::CLOCK_MONOTONIC) => span,
        (true, _) => clock::now().saturating_add(span.saturating_sub(clock_time(clock))),
    };
    let Err(error) = call.sleep_until(deadline) else { return 0 };
    // SAFETY: null or live by the caller's contract.
    if let Some(left) = unsafe { left.as_mut() }.filter(|_| !absolute) {
        *left = timespec_of(deadline.saturating_sub(clock::now()));
    }
    error
}
