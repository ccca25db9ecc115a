//! Whether what one family has is kept from the children of another.
//!
//! Off until the worker begins to serve. It must not know what is kept: that is in `owner` and `children`.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether families are kept apart. Without it a child has what the process has.
static APART: AtomicBool = AtomicBool::new(false);

/// From here on they are.
pub(super) fn keep() {
    APART.store(true, Ordering::Relaxed);
}

/// Whether families are kept apart.
pub fn kept_apart() -> bool {
    APART.load(Ordering::Relaxed)
}
