//! Loop lag: for how long the loop did not look at what had become ready, because it was busy.
//!
//! The time from one look at the kernel's events to the next, less the time that the loop sleeps for them, is for how long the
//! loop was away. Whatever became ready meanwhile has waited for this long at most: a descriptor, a timer, a coroutine. It is
//! taken from clocks that the loop reads anyway, once for each look.
//!
//! Must not know what kept the loop busy. Invariant: only the loop's thread writes; the memory may be shared with other
//! processes.

use crate::clock::MILLISECOND;
use crate::counter::Counter;
use crate::{Nanos, SECOND};

/// A histogram of these times.
#[derive(Default, Debug)]
#[repr(C)]
pub struct Lag {
    /// Their sum in nanoseconds.
    pub sum: Counter,
    /// How many there were up to the bound of the same index, and above the one before; the last has no bound.
    pub counts: [Counter; Lag::BOUNDS.len() + 1],
}

impl Lag {
    /// The upper bounds of the classes, inclusive. Most turns are within the first.
    pub const BOUNDS: [Nanos; 16] = [
        MILLISECOND / 10,
        MILLISECOND / 4,
        MILLISECOND / 2,
        MILLISECOND,
        5 * MILLISECOND / 2,
        5 * MILLISECOND,
        10 * MILLISECOND,
        25 * MILLISECOND,
        50 * MILLISECOND,
        100 * MILLISECOND,
        250 * MILLISECOND,
        500 * MILLISECOND,
        SECOND,
        5 * SECOND / 2,
        5 * SECOND,
        10 * SECOND,
    ];

    /// The loop was away for this long.
    #[inline]
    pub(crate) fn add(&self, span: Nanos) {
        self.sum.add(span);
        if span <= Lag::BOUNDS[0] {
            self.counts[0].add(1);
        } else {
            self.add_longer(span);
        }
    }

    #[inline(never)]
    fn add_longer(&self, span: Nanos) {
        let class = Lag::BOUNDS.iter().position(|bound| span <= *bound).unwrap_or(Lag::BOUNDS.len());
        self.counts[class].add(1);
    }

    /// Every number of it.
    pub fn counters(&self) -> impl Iterator<Item = &Counter> {
        self.counts.iter().chain([&self.sum])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_class_of_its_bound() {
        let lag = Lag::default();
        for (span, class) in
            [(0, 0), (100_000, 0), (100_001, 1), (MILLISECOND, 3), (10 * SECOND, 15), (11 * SECOND, 16)]
        {
            let before = lag.counts[class].get();
            lag.add(span);
            assert_eq!(lag.counts[class].get(), before + 1, "{span}");
        }
        assert_eq!(lag.sum.get(), 200_001 + MILLISECOND + 21 * SECOND);
        assert!(Lag::BOUNDS.is_sorted());
    }
}
