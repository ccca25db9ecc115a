//! What coroutines cost in memory, for the operator: some of them are looked at, then the next ones.
//!
//! Must not know what a context consists of, nor how that is measured. Invariants: a look takes a bounded time, because the
//! loop waits for it; figures are told when every context has been looked at.

use super::Runtime;
use crate::contexts::Round;
use crate::coroutine::{Context, State};

/// Contexts that one look measures: each costs some calls of the kernel.
const PER_LOOK: usize = 256;

impl Runtime {
    /// Looks at some contexts; to be called from the loop, once a second for instance.
    pub fn measure_contexts(&self) {
        let told = &self.stats.contexts;
        told.idle.set(self.idle.borrow().len());
        let mut round = self.round.get();
        let seen = self.contexts_from(round.next);
        for (context, is_idle) in &seen {
            let sum = if *is_idle { &mut round.idle } else { &mut round.live };
            let footprint = self.switch.footprint(*context);
            sum.stack += footprint.stack;
            sum.heap += footprint.heap;
        }
        round.next += seen.len();
        if seen.len() < PER_LOOK {
            told.live_stacks.set(round.live.stack);
            told.idle_stacks.set(round.idle.stack);
            told.live_heaps.set(round.live.heap);
            told.idle_heaps.set(round.idle.heap);
            round = Round::default();
        }
        self.round.set(round);
    }

    /// The next contexts, those with a job first, and whether each has none. Some may be missed, or seen twice, where jobs begin
    /// and end between two looks.
    fn contexts_from(&self, next: usize) -> Vec<(Context, bool)> {
        let (coroutines, idle) = (self.coroutines.borrow(), self.idle.borrow());
        let live = coroutines.iter().filter(|one| one.state != State::Idle).map(|one| (one.context, false));
        let idle = idle.all().map(|index| (coroutines[index as usize].context, true));
        live.chain(idle).skip(next).take(PER_LOOK).collect()
    }
}
