//! What is counted of answers: how many, by status, and how long they took.
//!
//! Must not know whose answers. Invariant: only the loop's thread writes; the memory may be shared with other processes.

use weft_rt::counter::Counter;
use weft_rt::{MILLISECOND, Nanos};

/// Answers.
#[derive(Default, Debug)]
#[repr(C)]
pub struct Answers {
    /// How many, by the hundreds of their status, 1xx to 5xx.
    pub by_class: [Counter; 5],
    /// How long requests took.
    pub durations: Durations,
}

impl Answers {
    /// Every number of them.
    pub fn counters(&self) -> impl Iterator<Item = &Counter> {
        self.by_class.iter().chain(&self.durations.counts).chain([&self.durations.sum])
    }

    /// Counts one, unless it has no status: its request was given up.
    #[inline]
    pub(crate) fn add(&self, status: u16, duration: Nanos) {
        if let Some(class) = self.by_class.get(usize::from(status / 100).wrapping_sub(1)) {
            class.add(1);
            self.durations.add(duration, Durations::class_of(duration));
        }
    }
}

/// A histogram of times, from the first byte of a request to the moment at which its answer is sent.
#[derive(Default, Debug)]
#[repr(C)]
pub struct Durations {
    /// Their sum in nanoseconds.
    pub sum: Counter,
    /// How many there were up to the bound of the same index, and above the one before; the last has no bound.
    pub counts: [Counter; Durations::BOUNDS.len() + 1],
}

impl Durations {
    /// The upper bounds of the classes, inclusive.
    pub const BOUNDS: [Nanos; 16] = [
        MILLISECOND / 4,
        MILLISECOND / 2,
        MILLISECOND,
        2 * MILLISECOND,
        5 * MILLISECOND,
        10 * MILLISECOND,
        25 * MILLISECOND,
        50 * MILLISECOND,
        100 * MILLISECOND,
        250 * MILLISECOND,
        500 * MILLISECOND,
        1_000 * MILLISECOND,
        2_500 * MILLISECOND,
        5_000 * MILLISECOND,
        10_000 * MILLISECOND,
        30_000 * MILLISECOND,
    ];

    /// The class of a time.
    #[inline]
    pub fn class_of(duration: Nanos) -> usize {
        Self::BOUNDS.iter().position(|bound| duration <= *bound).unwrap_or(Self::BOUNDS.len())
    }

    /// Counts one, of its [class](Durations::class_of).
    ///
    /// # Panics
    /// If there is no such class.
    #[inline]
    pub fn add(&self, duration: Nanos, class: usize) {
        self.counts[class].add(1);
        self.sum.add(duration);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_class_of_its_bound() {
        let durations = Durations::default();
        for (duration, class) in [
            (0, 0),
            (250_000, 0),
            (250_001, 1),
            (MILLISECOND, 2),
            (30_000 * MILLISECOND, 15),
            (u64::MAX / 2, 16),
        ] {
            let before = durations.counts[class].get();
            durations.add(duration, Durations::class_of(duration));
            assert_eq!(durations.counts[class].get(), before + 1, "{duration}");
        }
        assert!(Durations::BOUNDS.is_sorted());
    }
}
