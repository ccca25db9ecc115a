//! A message that a client can cause as often as it likes: said once in a while, with how often it was not.
//!
//! Must not know what is said. Invariant: at most one line per [`SPAN`], whatever comes.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The least time between two lines of one kind.
const SPAN: Duration = Duration::from_secs(1);

/// One kind of message.
#[derive(Debug, Default)]
pub struct Sparse {
    last: Cell<Option<Instant>>,
    unsaid: Cell<u64>,
}

impl Sparse {
    /// Has `say` say it, with the number of those that were not said since the last, or counts it.
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
        // However slow the machine is: an hour from now.
        sparse.last.set(Some(Instant::now() + Duration::from_secs(3600)));
        (0..3).for_each(|_| sparse.say(|others| said.set(Some(others))));
        assert_eq!(said.take(), None);
        sparse.last.set(None);
        sparse.say(|others| said.set(Some(others)));
        assert_eq!(said.take(), Some(3));
    }
}
