//! A message that a client can cause as often as it likes: logged once in a while, with the number of omitted
//! ones.
//!
//! Must not know the message. Invariant: at most one line per [`SPAN`], whatever happens.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The minimum time between two lines of one kind.
const SPAN: Duration = Duration::from_secs(1);

/// One kind of message.
#[derive(Debug, Default)]
pub struct Sparse {
    last: Cell<Option<Instant>>,
    unsaid: Cell<u64>,
}

impl Sparse {
    /// Calls `say` with the number of omitted messages since the last, or counts this one.
    pub fn say(&self, say: impl FnOnce(u64)) {
        let now = Instant::now();
        if self.last.get().is_some_and(|last| now.duration_since(last) < SPAN) {
            return self.unsaid.set(self.unsaid.get() + 1);
        }
        self.last.set(Some(now));
        say(self.unsaid.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_is_counted() {
        let (sparse, said) = (Sparse::default(), Cell::new(None));
        sparse.say(|others| said.set(Some(others)));
        assert_eq!(said.take(), Some(0));
        // However slow the machine is: one hour from now.
        sparse.last.set(Some(Instant::now() + Duration::from_secs(3600)));
        (0..3).for_each(|_| sparse.say(|others| said.set(Some(others))));
        assert_eq!(said.take(), None);
        sparse.last.set(None);
        sparse.say(|others| said.set(Some(others)));
        assert_eq!(said.take(), Some(3));
    }
}
