//! Waiting for a condition.
//!
//! Invariant: the only pause of the whole test suite is here, between two looks at a condition.

use std::time::{Duration, Instant};

/// How long anything may take before a test gives up on it. It is generous because test machines are slow and shared;
/// no test measures with it.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Looks until `condition` gives something.
///
/// # Panics
/// When it has given nothing within [`PATIENCE`]; `what` says what was waited for.
pub fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {} s in vain for {what}", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(2));
    }
}
