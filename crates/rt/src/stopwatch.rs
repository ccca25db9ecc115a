//! A stopwatch that costs a few instructions, for spans that are measured at every switch to a coroutine and back.
//!
//! Must not be used for deadlines, which are moments of `clock`. Invariant: the processor's counter is read in place of the
//! clock only where the kernel itself takes its time from it, so that it is one counter for all processors, at one pace.

#![allow(unsafe_code)]

use crate::clock::{self, MILLISECOND, Nanos};

/// What the kernel takes its time from.
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
/// The pace of the counter is measured over this span: the kernel's clock and the counter are read together to within 100 ns
/// or so, so that it is known to 20 millionths.
const MEASURED_OVER: Nanos = 5 * MILLISECOND;

/// A moment in units of the stopwatch.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Tick(u64);

/// The stopwatch.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Stopwatch {
    /// Nanoseconds of a tick in units of 2^-32.
    pace: u64,
}

impl Stopwatch {
    /// The default: it measures nothing.
    pub const NONE: Stopwatch = Stopwatch { pace: 0 };
    /// One that reads the clock. No processor's counter is as fast as its pace would say, 2^32 ticks a nanosecond.
    pub const PLAIN: Stopwatch = Stopwatch { pace: 1 };

    /// The cheapest one that this machine has. It takes some milliseconds.
    pub fn new() -> Stopwatch {
        let source = std::fs::read_to_string(CLOCK_SOURCE).unwrap_or_default();
        if source.trim() == "tsc" {
            measured_pace().map_or(Stopwatch::PLAIN, |pace| Stopwatch { pace })
        } else {
            Stopwatch::PLAIN
        }
    }

    /// Now.
    #[inline]
    pub fn now(self) -> Tick {
        Tick(if self == Stopwatch::PLAIN { clocked() } else { counter() })
    }

    /// The time between two moments; 0 if the second comes before the first, as it may by some nanoseconds where a process has
    /// moved to another processor.
    #[inline]
    pub fn between(self, first: Tick, second: Tick) -> Nanos {
        let Some(ticks) = second.0.checked_sub(first.0) else { return backwards() };
        if self == Stopwatch::PLAIN {
            ticks
        } else {
            ((u128::from(ticks) * u128::from(self.pace)) >> 32) as Nanos
        }
    }
}

/// The clock, out of the way of code that reads the counter.
#[cold]
fn clocked() -> u64 {
    clock::now()
}

#[cold]
fn backwards() -> Nanos {
    0
}

/// `None` if the counter stands still.
fn measured_pace() -> Option<u64> {
    let (began, first) = together();
    std::thread::sleep(std::time::Duration::from_nanos(MEASURED_OVER));
    let (ended, last) = together();
    let ticks = last.checked_sub(first).filter(|ticks| *ticks > 0)?;
    u64::try_from((u128::from(ended - began) << 32) / u128::from(ticks))
        .ok()
        .filter(|pace| *pace > Stopwatch::PLAIN.pace)
}

/// The clock and the counter at the same moment: of some readings the one with the least time around it, because others may have
/// the processor in the middle of one.
fn together() -> (Nanos, u64) {
    const READINGS: usize = 16;
    let reading = |_| {
        let (before, counted) = (clock::now(), counter());
        (clock::now() - before, before, counted)
    };
    let nearest = (0..READINGS).map(reading).min();
    nearest.map_or((0, 0), |(span, before, counted)| (before + span / 2, counted))
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn counter() -> u64 {
    // SAFETY: every processor of this architecture has the instruction, and the kernel, which takes its time from it, lets
    // programs use it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// There is no clock source of that name elsewhere.
#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However long the machine is busy with others between two readings, the clock's span holds the stopwatch's, or the other
    /// way round, to within the error of the pace.
    #[test]
    fn it_agrees_with_the_clock() {
        for stopwatch in [Stopwatch::new(), Stopwatch::PLAIN] {
            let (outer, first, inner) = (clock::now(), stopwatch.now(), clock::now());
            std::thread::sleep(std::time::Duration::from_millis(20));
            let (inner_end, last, outer_end) = (clock::now(), stopwatch.now(), clock::now());
            let spent = stopwatch.between(first, last);
            let error = (outer_end - outer) / 1_000;
            assert!(spent + error >= inner_end - inner, "{spent} {stopwatch:?}");
            assert!(spent <= outer_end - outer + error, "{spent} {stopwatch:?}");
        }
    }

    #[test]
    fn time_does_not_run_backwards() {
        for stopwatch in [Stopwatch { pace: 1 << 31 }, Stopwatch::PLAIN] {
            assert_eq!(stopwatch.between(Tick(7), Tick(5)), 0);
        }
        assert_eq!(Stopwatch { pace: 1 << 31 }.between(Tick(5), Tick(25)), 10, "two ticks a nanosecond");
        assert_eq!(Stopwatch::PLAIN.between(Tick(5), Tick(25)), 20);
    }
}
