//! Families: a coroutine that the server has started, with all that it has spawned, and they: a request with its tasks.
//!
//! Descriptors and child processes belong to the whole process, as the kernel sees it; to weft they belong to a family. It must not
//! know what is done with that. Invariant: every live coroutine is of one family; a number is not used again before 2^31 others.

use crate::Runtime;
use crate::coroutine::{Start, State};

/// A family's number: 31 bits, and none of the two below.
pub type Family = u32;

/// Of what no family has.
pub const NOBODY: Family = 0;

/// Of what is there for every family.
pub const EVERYBODY: Family = 1;

/// The lowest number of a family.
pub const FIRST: Family = 2;

/// The bits of a number.
pub const BITS: Family = Family::MAX >> 1;

impl Runtime {
    /// That of the running coroutine.
    #[inline]
    pub(crate) fn family(&self) -> Option<Family> {
        let id = self.current()?;
        Some(self.coroutines.borrow()[id.index as usize].family)
    }

    /// That of a coroutine that starts.
    pub(crate) fn family_of(&self, start: Start) -> Family {
        start.family.unwrap_or_else(|| {
            let next = (self.families.get() + 1) & BITS;
            self.families.set(next.max(FIRST));
            self.families.get()
        })
    }

    /// Those of the coroutines alive, in order.
    pub(crate) fn live_families(&self) -> Vec<Family> {
        let coroutines = self.coroutines.borrow();
        let alive = coroutines.iter().filter(|coroutine| coroutine.state != State::Idle);
        let mut families: Vec<Family> = alive.map(|coroutine| coroutine.family).collect();
        families.sort_unstable();
        families
    }
}
