//! What the master remembers of its further workers.
//!
//! Must not know when one is started: that is `extras.rs`. Invariant: after a failure none is started for a while.

use std::time::{Duration, Instant};

/// After a further worker did not start, none is started for this long.
const REST: Duration = Duration::from_secs(5);

/// What the master remembers of them all.
#[derive(Debug, Default)]
pub struct Extras {
    /// One is to be forked.
    pub wanted: bool,
    /// Since when at least two workers have been free.
    pub spare_since: Option<Instant>,
    /// None is started before this time.
    pub rests_until: Option<Instant>,
}

impl Extras {
    /// One did not start: the next may not either.
    pub fn rest(&mut self) {
        self.rests_until = Some(Instant::now() + REST);
    }
}
