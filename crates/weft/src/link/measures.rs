//! What bounds the backplane, whichever it is.
//!
//! Must not know which. Invariant: each bound stands here only.

use std::time::Duration;

/// How long the backplane may take for each step.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Messages that the backplane keeps, at most.
pub const KEPT_MAX: usize = 100_000;
/// What is kept is kept for this long, at least.
pub const KEPT_MS_MIN: u64 = 600_000;
/// Messages that are read of it at once.
pub const PAGE: usize = 500;

/// A position in what the backplane keeps, as it names it.
pub type Mark = String;
