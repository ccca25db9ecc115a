//! Monotonic time in nanoseconds. Must not know time zones. Invariant: `now` never goes back.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds on `CLOCK_MONOTONIC`, or a span of them.
pub type Nanos = u64;

/// One millisecond in [`Nanos`].
pub const MILLISECOND: Nanos = 1_000_000;
/// One second in [`Nanos`].
pub const SECOND: Nanos = 1_000_000_000;

/// Reads the clock (through the vDSO: about 20 ns, no system call).
pub fn now() -> Nanos {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * SECOND + t.tv_nsec as u64
}

/// Reads the wall clock: whole seconds since 1970 (UTC), for the `Date` header and logs.
pub fn unix_seconds() -> u64 {
    clock_gettime(ClockId::Realtime).tv_sec.max(0) as u64
}
