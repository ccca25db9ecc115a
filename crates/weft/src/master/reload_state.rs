//! How far a reload has come, and how many there were.
//!
//! Must not know: what brings it on. Invariant: there is one reload at a time; another one that is asked for meanwhile
//! waits.

use std::os::fd::BorrowedFd;
use std::time::Instant;

use super::check_process::Check;

/// The state of reloading.
#[derive(Debug, Default)]
pub struct Reload {
    /// Reloads begun so far.
    pub begun: u64,
    /// Reloads finished so far, successful or not.
    pub done: u64,
    /// Whether a reload is requested.
    pub pending: bool,
    /// Why the last one failed.
    pub failure: Option<String>,
    /// The number of worker slots before the current reload.
    pub slots_before: usize,
    /// When this image took over from another; `None` if it is the first.
    pub continued_at: Option<Instant>,
    /// How far it has come.
    pub phase: Phase,
}

/// How far a reload has come.
#[derive(Debug, Default)]
pub enum Phase {
    /// There is none.
    #[default]
    Idle,
    /// `weft check` runs on the new code.
    Checking(Check),
    /// This is the new image; its first workers load the application.
    Booting,
    /// The new workers serve; the old ones have yet to say that they accept nothing more.
    Retiring {
        /// When that is no longer waited for.
        until: Instant,
    },
}

impl Reload {
    /// The state right after the new image took over.
    pub fn continued(begun: u64, pending: bool, slots_before: usize) -> Self {
        let continued_at = Some(Instant::now());
        Reload {
            begun,
            done: begun - 1,
            pending,
            failure: None,
            slots_before,
            continued_at,
            phase: Phase::Booting,
        }
    }

    /// Requests a reload; if one is in progress, another follows.
    pub fn request(&mut self) {
        self.pending = true;
    }

    /// Whether one is requested or in progress.
    pub fn is_wanted(&self) -> bool {
        self.pending || !matches!(self.phase, Phase::Idle)
    }

    /// Whether new workers are starting beside the old ones.
    pub fn is_booting(&self) -> bool {
        matches!(self.phase, Phase::Booting)
    }

    /// The check's output, while it runs.
    pub fn check_fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let check = match &self.phase {
            Phase::Checking(check) => Some(check),
            _ => None,
        };
        check.into_iter().flat_map(Check::fds)
    }

    /// When it needs attention.
    pub fn deadline(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Checking(check) => Some(check.until),
            Phase::Retiring { until } => Some(*until),
            _ => None,
        }
    }

    /// It is over, well or not.
    pub fn end(&mut self, failure: Option<String>) {
        self.phase = Phase::Idle;
        self.done = self.begun;
        self.failure = failure;
    }
}
