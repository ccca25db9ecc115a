//! Which message that waits a newer one takes the place of: the one with the same key.
//!
//! Must not know what a message says, nor how it is framed. Invariant: what is noted of a queue is true of it, as long as messages
//! come at its end and go from its front.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU64;
use std::sync::LazyLock;

/// Places that are noted beyond those that are taken, before the latter are forgotten.
const TAKEN_MAX: usize = 16;

/// Bytes of a key.
pub const STATE_KEY_BYTES_MAX: usize = 255;

/// Which state a message tells: of two that wait, only the newer one is sent where the policy is
/// [`KeepNewest`](crate::Overflow::KeepNewest).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StateKey(NonZeroU64);

impl StateKey {
    /// A key of a topic, or of no topic: the same one elsewhere is another state. `None` for an empty key: the message is of no state.
    pub fn of(topic: &[u8], key: &[u8]) -> Option<StateKey> {
        // Nobody can choose keys that have the same hash.
        static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        (!key.is_empty()).then(|| StateKey(NonZeroU64::MIN | HASHER.hash_one((topic, key))))
    }

    #[cfg(test)]
    pub(super) fn numbered(number: u64) -> StateKey {
        StateKey(NonZeroU64::MIN.saturating_add(number))
    }
}

/// The places in a queue of the messages that have keys.
#[derive(Default)]
pub(crate) struct Newest {
    /// Counted from the first message that the queue ever had.
    places: HashMap<StateKey, u64>,
    /// Messages that have been taken from the queue's front.
    taken: u64,
}

impl Newest {
    /// Where in the queue the message with this key waits.
    pub(crate) fn find(&self, key: StateKey) -> Option<usize> {
        self.places.get(&key)?.checked_sub(self.taken).map(|place| place as usize)
    }

    /// A message with this key comes behind so many that wait.
    pub(crate) fn note(&mut self, key: StateKey, waiting: usize) {
        if self.places.len() > 2 * waiting + TAKEN_MAX {
            self.places.retain(|_, place| *place >= self.taken);
        }
        self.places.insert(key, self.taken + waiting as u64);
    }

    /// The first message was taken.
    pub(crate) fn take_first(&mut self) {
        self.taken += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_of_its_topic() {
        let of = |topic: &str, key: &str| StateKey::of(topic.as_bytes(), key.as_bytes());
        assert_eq!(of("prices", "1"), of("prices", "1"));
        assert!(
            of("prices", "1") != of("orders", "1") && of("ab", "c") != of("a", "bc") && of("a", "").is_none()
        );
    }

    #[test]
    fn places_are_counted_from_the_front_and_those_that_are_taken_are_forgotten() {
        let mut newest = Newest::default();
        for number in 0..3 {
            newest.note(StateKey::numbered(number), number as usize);
        }
        newest.take_first();
        assert_eq!(
            [0, 1, 2, 3].map(|key| newest.find(StateKey::numbered(key))),
            [None, Some(0), Some(1), None]
        );
        newest.note(StateKey::numbered(0), 2);
        assert_eq!(newest.find(StateKey::numbered(0)), Some(2));
        // A queue through which ever new keys go: two wait.
        for number in 10..10_000 {
            newest.note(StateKey::numbered(number), 3);
            newest.take_first();
        }
        assert!(newest.places.len() <= 2 * 3 + TAKEN_MAX + 1, "{}", newest.places.len());
    }
}
