//! The waits of the coroutine that a tunnel belongs to.
//!
//! Must not know the tunnel. Invariant: of each kind one wait is kept at most.

use weft_rt::{Readiness, Runtime};

/// What an owner waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Awaited {
    /// The next event.
    Event,
    /// That nothing waits for the peer.
    Drained,
}

/// The waits of the coroutine that a tunnel belongs to, as words of the scheduler; 0 for none.
#[derive(Default, Debug)]
pub(crate) struct Owner {
    event: u64,
    drained: u64,
}

impl Owner {
    /// Whether it has done with everything that it was given.
    pub(crate) fn waits(&self, runtime: &Runtime) -> bool {
        runtime.is_waiting(self.event)
    }

    /// Keeps a wait. Returns false if another one for the same has not ended.
    pub(crate) fn register(&mut self, awaited: Awaited, wait: u64, runtime: &Runtime) -> bool {
        let place = match awaited {
            Awaited::Event => &mut self.event,
            Awaited::Drained => &mut self.drained,
        };
        let is_free = !runtime.is_waiting(*place);
        if is_free {
            *place = wait;
        }
        is_free
    }

    /// Ends the wait for this, if there is one.
    pub(crate) fn wake(&mut self, awaited: Awaited, runtime: &Runtime) {
        let wait = match awaited {
            Awaited::Event => &mut self.event,
            Awaited::Drained => &mut self.drained,
        };
        let wait = std::mem::take(wait);
        if wait != 0 {
            // It may have ended meanwhile, by its deadline or an interruption.
            runtime.wake_word(wait, Readiness::default());
        }
    }
}
