//! When each connection is checked for lateness.
//!
//! The wheel is coarse and lazy: a connection has one entry, at or before its deadline. Moving the deadline later
//! changes nothing; when the entry is due, it notices the later deadline and is made again. So a request costs no
//! timer operation. Must not know why a connection has a deadline.

use std::collections::BTreeMap;

use weft_rt::{MILLISECOND, Nanos};

/// Width of a tick: deadlines are met at most this much late.
const TICK: Nanos = 100 * MILLISECOND;

/// A connection: its slot, and its generation in the slot.
pub(crate) type Entry = (u32, u32);

/// Entries by tick. A connection replaces its entry only by an earlier one, so there are few entries per
/// connection.
#[derive(Default)]
pub(crate) struct Wheel {
    ticks: BTreeMap<u64, Vec<Entry>>,
}

impl Wheel {
    /// The first tick at which a deadline has certainly passed.
    pub(crate) fn tick(deadline: Nanos) -> u64 {
        deadline.div_ceil(TICK)
    }

    pub(crate) fn insert(&mut self, tick: u64, entry: Entry) {
        self.ticks.entry(tick).or_default().push(entry);
    }

    /// When the first entry is due.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.ticks.first_key_value().map(|(tick, _)| tick.saturating_mul(TICK))
    }

    /// Takes the entries of one tick that has passed.
    pub(crate) fn expire(&mut self, now: Nanos) -> Option<(u64, Vec<Entry>)> {
        let first = self.ticks.first_entry()?;
        (first.key().saturating_mul(TICK) <= now).then(|| first.remove_entry())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_due_after_their_deadline_and_in_order() {
        let mut wheel = Wheel::default();
        for (deadline, slot) in [(5 * TICK + 1, 2), (TICK, 1), (5 * TICK + 2, 3)] {
            wheel.insert(Wheel::tick(deadline), (slot, 0));
        }
        assert_eq!(wheel.next(), Some(TICK));
        assert_eq!(wheel.expire(TICK - 1), None);
        assert_eq!(wheel.expire(9 * TICK), Some((1, vec![(1, 0)])));
        assert_eq!(wheel.expire(5 * TICK), None);
        assert_eq!(wheel.expire(6 * TICK), Some((6, vec![(2, 0), (3, 0)])));
        assert_eq!(wheel.next(), None);
    }
}
