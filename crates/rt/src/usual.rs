//! For how long jobs usually compute: what "long" is beside.
//!
//! Weighted by what they compute, so that it says how large the job is to which the thread's time goes: with nine jobs of 1 ms
//! for each of 100 ms it is about 100 ms. Must not know what the answer is for. Invariant: what was is
//! forgotten; an unusual job counts until some hundreds have ended.

use std::cell::Cell;

/// About 64 jobs are remembered, as a power of two.
const REMEMBERED_BITS: u32 = 6;

/// The sizes of the last jobs. Those that have computed for less than a tick need not be told.
#[derive(Default)]
pub(crate) struct Usual {
    sum: Cell<u64>,
    squares: Cell<u64>,
}

impl Usual {
    /// A job has ended that has computed for so many ticks.
    pub(crate) fn ended(&self, ticks: u32) {
        let ticks = u64::from(ticks);
        let fade = |sum: u64, more: u64| (sum - (sum >> REMEMBERED_BITS)).saturating_add(more);
        self.sum.set(fade(self.sum.get(), ticks));
        self.squares.set(fade(self.squares.get(), ticks * ticks));
    }

    /// The usual size in ticks; 0 while none has ended.
    pub(crate) fn ticks(&self) -> u32 {
        let ticks = self.squares.get().checked_div(self.sum.get()).unwrap_or(0);
        u32::try_from(ticks).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REMEMBERED: u32 = 1 << REMEMBERED_BITS;

    fn usual(ended: impl IntoIterator<Item = u32>) -> u32 {
        let usual = Usual::default();
        ended.into_iter().for_each(|ticks| usual.ended(ticks));
        usual.ticks()
    }

    #[test]
    fn it_is_the_size_of_the_job_to_which_the_time_goes() {
        assert_eq!(usual([]), 0);
        assert_eq!(usual([40]), 40);
        assert!((39..=41).contains(&usual([40; 1000])));
        let mixed = (0..1000).map(|job| if job % 10 == 0 { 100 } else { 1 });
        assert!((85..=95).contains(&usual(mixed)), "nine of one tick, one of a hundred");
    }

    #[test]
    fn what_was_is_forgotten() {
        let after = |jobs: u32| usual(std::iter::once(10_000).chain((0..jobs).map(|_| 40)));
        assert!(after(REMEMBERED) > 1000);
        assert!(after(20 * REMEMBERED) < 50);
        assert!(usual([u32::MAX; 100]) > 1_000_000, "nothing overflows");
    }
}
