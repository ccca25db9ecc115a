//! Whether families are kept apart: whether a child gets only what its own family opened.
//!
//! It is off until the worker starts to serve. It must not know what is kept apart: `owner` and `children` do.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether families are kept apart. If not, a child has everything that the process has.
static APART: AtomicBool = AtomicBool::new(false);

/// From here on they are kept apart.
pub(super) fn keep() {
    APART.store(true, Ordering::Relaxed);
}

/// Whether families are kept apart.
pub fn kept_apart() -> bool {
    APART.load(Ordering::Relaxed)
}
