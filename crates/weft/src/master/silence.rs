//! The silence of one worker: when it was heard last, and its last words.
//!
//! Must not know: which worker, or what the master does about it. Invariant: what is kept of a worker's words is bounded.

use std::time::{Duration, Instant};

/// After this time others accept from its sockets, because new connections would wait for it.
pub const SILENT_MAX: Duration = Duration::from_secs(3);
/// How much of its last report is kept.
const WORDS_BYTES_MAX: usize = 8 << 10;

/// When a worker last reported, and what follows if it does not.
#[derive(Debug)]
pub struct Silence {
    /// When it was heard last.
    pub heard: Instant,
    /// Whether others accept from its sockets.
    pub is_silent: bool,
    /// It was asked where it is stuck, and will be killed at this time.
    pub killed_at: Option<Instant>,
    /// What its thread did when it was asked.
    pub doing: String,
    /// What it has said since it was asked.
    pub words: Vec<String>,
}

impl Silence {
    /// The state of a worker that has just reported.
    pub fn new() -> Self {
        Silence {
            heard: Instant::now(),
            is_silent: false,
            killed_at: None,
            doing: String::new(),
            words: Vec::new(),
        }
    }

    /// Keeps its last report, if it was asked for one.
    pub fn note(&mut self, text: String) {
        if !text.is_empty() && self.words.iter().map(String::len).sum::<usize>() < WORDS_BYTES_MAX {
            self.words.push(text);
        }
    }

    /// When it has been silent for too long, for one limit or the other.
    pub fn deadline(&self, limit: Option<Duration>) -> Option<Instant> {
        let silent = (!self.is_silent).then(|| self.heard + SILENT_MAX);
        silent.into_iter().chain(self.killed_at.or_else(|| Some(self.heard + limit?))).min()
    }
}
