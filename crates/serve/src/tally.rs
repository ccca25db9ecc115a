//! What is counted of requests by their marks.
//!
//! Must not know what a mark means, nor requests. Invariant: only the loop's thread writes; the memory may be shared with other
//! processes.

use weft_rt::Account;

use crate::answers::Answers;
use crate::recent::Recent;

/// The mark of requests of which the path alone does not tell where they are counted.
pub const UNKNOWN: u16 = 1;

/// What is counted of the requests of one mark.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Tally {
    /// For how long they had the loop, and for how long they waited.
    pub account: Account,
    /// Their answers.
    pub answers: Answers,
}

/// What is counted of requests by their marks.
pub(crate) struct Marks {
    tallies: &'static [Tally],
    /// Where paths are counted that came lately.
    pub recent: Recent<&'static Tally>,
}

impl Marks {
    pub fn new(tallies: &'static [Tally]) -> Marks {
        Marks { tallies, recent: Recent::default() }
    }

    /// Where the requests of a mark are counted.
    #[inline]
    pub fn tally(&self, mark: u16) -> Option<&'static Tally> {
        self.tallies.get(usize::from(mark).wrapping_sub(1))
    }

    /// The mark of a tally.
    pub fn mark_of(&self, tally: &Tally) -> u16 {
        let number = self.tallies.iter().position(|one| std::ptr::eq(one, tally));
        number.map_or(0, |number| number as u16 + 1)
    }
}
