//! Waiting for a condition.
//!
//! Invariant: the only pause of the whole test suite is here, between two looks at a condition.

use std::time::{Duration, Instant};

/// How long anything may take before a test gives up on it. It is generous because test machines are slow and shared;
/// no test measures with it.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Looks until `condition` gives something.
///
/// # Panics
/// When it has given nothing within [`PATIENCE`]; `what` says what was waited for.
pub fn until<T>(what: &str, condition: impl FnMut() -> Option<T>) -> T {
    until_within(PATIENCE, what, condition)
}

/// As [`until`], with another patience: for what takes many seconds by its nature.
///
/// # Panics
/// When it has given nothing within `patience`.
pub fn until_within<T>(patience: Duration, what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {} s in vain for {what}", patience.as_secs());
        std::thread::sleep(Duration::from_millis(2));
    }
}
