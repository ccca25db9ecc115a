//! Exemplars: of each class of durations the last request whose trace is recorded, so that a histogram leads to a trace.
//!
//! Must not know how they are written down. Invariants: one process writes, and others read while it does; one that is read was
//! written as a whole.

use std::sync::atomic::{Ordering, fence};

use weft_rt::Nanos;
use weft_rt::counter::Counter;
use weft_serve::Durations;

const CLASSES: usize = Durations::BOUNDS.len() + 1;

/// A request whose trace is recorded, by weft or by its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exemplar {
    /// The id of the trace.
    pub trace: u128,
    /// How long the request took.
    pub duration: Nanos,
    /// When its answer ended, in milliseconds since 1970.
    pub at_ms: u64,
}

/// One for each class.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Exemplars([Cell; CLASSES]);

#[derive(Debug, Default)]
#[repr(C)]
struct Cell {
    /// Odd while it is written; 0 if it never was.
    version: Counter,
    /// The trace in two halves, the duration, the moment.
    words: [Counter; 4],
}

impl Exemplars {
    /// Keeps one; for the one writer.
    pub fn keep(&self, exemplar: Exemplar) {
        let Exemplar { trace, duration, at_ms } = exemplar;
        let cell = &self.0[Durations::class_of(duration)];
        cell.version.add(1);
        fence(Ordering::Release);
        let words = [(trace >> 64) as u64, trace as u64, duration, at_ms];
        cell.words.iter().zip(words).for_each(|(place, word)| place.set(word));
        fence(Ordering::Release);
        cell.version.add(1);
    }

    /// Those of all classes.
    pub fn all(&self) -> [Option<Exemplar>; CLASSES] {
        std::array::from_fn(|class| self.0[class].read())
    }

    /// Forgets all; only while nobody writes.
    pub fn clear(&self) {
        self.0.iter().for_each(|cell| cell.version.set(0));
    }
}

impl Cell {
    /// Nothing if there is none, or it is just being written.
    fn read(&self) -> Option<Exemplar> {
        let version = self.version.get();
        fence(Ordering::Acquire);
        let words = self.words.each_ref().map(Counter::get);
        fence(Ordering::Acquire);
        let is_whole = version > 0 && version.is_multiple_of(2) && self.version.get() == version;
        let [high, low, duration, at_ms] = words;
        is_whole.then_some(Exemplar { trace: u128::from(high) << 64 | u128::from(low), duration, at_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_each_class_is_kept() {
        let exemplars = Exemplars::default();
        assert!(exemplars.all().iter().all(Option::is_none));
        let of = |trace, duration| Exemplar { trace, duration, at_ms: 5 };
        for exemplar in [of(1, 100), of(u128::MAX - 1, 200), of(3, 3_000_000)] {
            exemplars.keep(exemplar);
        }
        let all = exemplars.all();
        assert_eq!((all[0], all[4]), (Some(of(u128::MAX - 1, 200)), Some(of(3, 3_000_000))));
        assert_eq!(all.iter().flatten().count(), 2);
        exemplars.clear();
        assert!(exemplars.all().iter().all(Option::is_none));
    }

    #[test]
    fn one_that_is_read_was_written_as_a_whole() {
        let exemplars = Exemplars::default();
        let of = |number: u64| Exemplar {
            trace: u128::from(number) << 64 | u128::from(number),
            duration: 7,
            at_ms: number,
        };
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| (1..200_000).for_each(|number| exemplars.keep(of(number))));
            while !writer.is_finished() {
                if let Some(seen) = exemplars.all()[0] {
                    assert_eq!(seen, of(seen.at_ms));
                }
            }
        });
    }
}
