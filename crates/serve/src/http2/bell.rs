//! What h2 wakes: a bell writes down which slot it stands for.
//!
//! Must not know what is in a slot. Invariant: a slot is named with its generation, so a bell that is rung late finds
//! nothing.

use std::cell::RefCell;
use std::sync::Arc;
use std::task::{Wake, Waker};

thread_local! {
    /// The worker has one thread that polls. A bell that another thread would ring is heard by nobody.
    static RUNG: RefCell<Vec<(u32, u32)>> = const { RefCell::new(Vec::new()) };
}

struct Bell {
    index: u32,
    generation: u32,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        RUNG.with_borrow_mut(|rung| rung.push((self.index, self.generation)));
    }
}

/// A bell for a slot.
pub(crate) fn bell(index: u32, generation: u32) -> Waker {
    Waker::from(Arc::new(Bell { index, generation }))
}

/// The slots whose bells were rung since the last call, each once.
pub(crate) fn rung() -> Vec<(u32, u32)> {
    let mut rung = RUNG.take();
    rung.sort_unstable();
    rung.dedup();
    rung
}

/// Whether there are any.
pub(crate) fn has_rung() -> bool {
    RUNG.with_borrow(|rung| !rung.is_empty())
}
