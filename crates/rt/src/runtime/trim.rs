//! What contexts that rest do not need goes back to the system: a stack keeps each page that it has ever touched.
//!
//! Must not know what a context consists of. Invariants: a look takes a bounded time, because the loop waits for it; a context
//! that goes on meanwhile is left alone, because each page that it touches again is a fault.

use super::Runtime;
use crate::coroutine::{Context, Coroutine, RestSeen, State};

/// Contexts that one look trims: each costs two calls of the kernel, a microsecond or two.
const PER_LOOK: usize = 1024;

impl Runtime {
    /// Trims those that have neither waited for anything else nor had another job since the look before this one; to be called
    /// from the loop, once a second for instance.
    pub fn trim_contexts(&self) {
        for context in self.resting() {
            self.switch.trim(context);
        }
    }

    fn resting(&self) -> Vec<Context> {
        let mut coroutines = self.coroutines.borrow_mut();
        let mut found = Vec::new();
        for index in self.idle.borrow().all() {
            take_resting(&mut coroutines[index as usize], &mut found);
        }
        for coroutine in coroutines.iter_mut().filter(|one| one.state == State::Parked) {
            take_resting(coroutine, &mut found);
        }
        found
    }
}

fn take_resting(coroutine: &mut Coroutine, found: &mut Vec<Context>) {
    let RestSeen { generation, waits, is_trimmed } = coroutine.rest_seen;
    if (generation, waits) != (coroutine.generation, coroutine.waits) {
        coroutine.rest_seen =
            RestSeen { generation: coroutine.generation, waits: coroutine.waits, is_trimmed: false };
    } else if !is_trimmed && found.len() < PER_LOOK {
        coroutine.rest_seen.is_trimmed = true;
        found.push(coroutine.context);
    }
}
