//! Conversions between libc's times and nanoseconds.
//!
//! Invariant: an invalid time converts to `None`, so that the plain call reports it.
#![allow(unsafe_code)]

use libc::c_int;

use crate::{MILLISECOND, Nanos, SECOND};

/// A timespec as a span. `None` if it is invalid: the plain call then reports `EINVAL`.
pub fn span_of(time: &libc::timespec) -> Option<Nanos> {
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanos = u64::try_from(time.tv_nsec).ok().filter(|&nanos| nanos < SECOND)?;
    Some(seconds.saturating_mul(SECOND).saturating_add(nanos))
}

/// A span as a timespec.
pub fn timespec_of(span: Nanos) -> libc::timespec {
    libc::timespec { tv_sec: (span / SECOND) as _, tv_nsec: (span % SECOND) as _ }
}

/// A poll time-out in milliseconds as a span; a negative one means forever.
pub fn span_of_ms(timeout_ms: c_int) -> Option<Nanos> {
    u64::try_from(timeout_ms).ok().map(|ms| ms * MILLISECOND)
}

/// The time of a clock, in nanoseconds; 0 for an unknown clock.
pub fn clock_time(clock: libc::clockid_t) -> Nanos {
    let mut time = timespec_of(0);
    // SAFETY: `time` is live. clock_gettime goes through the vDSO and is not hooked.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    span_of(&time).unwrap_or(0)
}
