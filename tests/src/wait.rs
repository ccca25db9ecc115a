//! Waiting for a condition.
//!
//! Invariant: only this file of the test suite sleeps, between two checks of a condition.

use std::time::{Duration, Instant};

/// How long anything may take before a test fails. It is generous because test machines are slow and shared; no test
/// measures with it.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Checks `condition` until it returns a value.
///
/// # Panics
/// If it returns none within [`PATIENCE`]; `what` names the condition.
pub fn until<T>(what: &str, condition: impl FnMut() -> Option<T>) -> T {
    until_within(PATIENCE, what, condition)
}

/// Like [`until`], with another patience, for conditions that take many seconds by nature.
///
/// # Panics
/// If it returns none within `patience`.
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
