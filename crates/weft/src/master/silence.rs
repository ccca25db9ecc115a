//! Workers that say nothing: each tells every second how it is, unless its one thread is held in PHP or C code, or locked.
//!
//! Must not know: how a worker finds out where it stands. Invariant: a worker is never killed for a time in which the master
//! itself did not run: after a sleep of the machine, or of both, all get their time again.

use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};

use super::supervise::Stage;
use super::{Master, Worker};

/// After which others accept from its sockets: whoever comes there now would wait for it.
const SILENT_MAX: Duration = Duration::from_secs(3);
/// What a worker that was asked gets to say where it stands.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How much later than planned the master may wake before it does not trust its clock.
const OVERSLEPT_MIN: Duration = Duration::from_secs(1);
/// What is kept of its last words.
const WORDS_BYTES_MAX: usize = 8 << 10;

/// When a worker was heard, and what follows when it is not.
#[derive(Debug)]
pub struct Silence {
    heard: Instant,
    /// Others accept from its sockets.
    pub is_silent: bool,
    /// It was asked where it stands, and is killed at this time.
    killed_at: Option<Instant>,
    words: Vec<String>,
}

impl Silence {
    /// Of a worker that is heard now.
    pub fn new() -> Self {
        Silence { heard: Instant::now(), is_silent: false, killed_at: None, words: Vec::new() }
    }

    /// Its last words, if they are.
    pub fn note(&mut self, text: String) {
        if !text.is_empty() && self.words.iter().map(String::len).sum::<usize>() < WORDS_BYTES_MAX {
            self.words.push(text);
        }
    }

    fn deadline(&self, limit: Option<Duration>) -> Option<Instant> {
        let silent = (!self.is_silent).then(|| self.heard + SILENT_MAX);
        silent.into_iter().chain(self.killed_at.or_else(|| Some(self.heard + limit?))).min()
    }
}

impl Master {
    fn stuck_max(&self) -> Option<Duration> {
        Some(self.config.server.stuck_timeout_ms).filter(|ms| *ms > 0).map(Duration::from_millis)
    }

    /// When the next worker has not reported for too long.
    pub fn silence_deadline(&self) -> Option<Instant> {
        let limit = self.stuck_max();
        let serving = self.workers.iter().filter(|worker| worker.stage == Stage::Ready);
        serving.filter_map(|worker| worker.silence.deadline(limit)).min()
    }

    /// A worker has told how it is.
    pub fn heard(&mut self, index: usize) {
        let silence = std::mem::replace(&mut self.workers[index].silence, Silence::new());
        if silence.is_silent {
            self.share_sockets();
        }
    }

    /// The master did not run when it wanted to; nor did the others, maybe.
    pub fn forgive_silence(&mut self, planned: Instant) {
        if planned.elapsed() >= OVERSLEPT_MIN {
            self.workers.iter_mut().for_each(|worker| worker.silence.heard = Instant::now());
        }
    }

    /// Asks those who are silent for too long where they stand, and ends those who were asked.
    pub fn end_silent_workers(&mut self, now: Instant) {
        let limit = self.stuck_max();
        let mut is_news = false;
        for worker in self.workers.iter_mut().filter(|worker| worker.stage == Stage::Ready) {
            let quiet = now.saturating_duration_since(worker.silence.heard);
            if quiet >= SILENT_MAX && !worker.silence.is_silent {
                worker.silence.is_silent = true;
                is_news = true;
            }
            match worker.silence.killed_at {
                Some(at) if at <= now => worker.end_stuck(quiet),
                None if limit.is_some_and(|limit| quiet >= limit) => {
                    worker.silence.killed_at = Some(now + LAST_WORDS);
                    // It may have died already; then its SIGCHLD is on the way.
                    let _ = kill_process(worker.pid, Signal::USR2);
                }
                _ => {}
            }
        }
        if is_news {
            self.share_sockets();
        }
    }
}

impl Worker {
    fn end_stuck(&mut self, quiet: Duration) {
        let mut words = std::mem::take(&mut self.silence.words);
        words.push(crate::worker::busy_with(&self.pid.to_string()));
        tracing::error!(
            "{} has not reported for {} s (stuck_timeout_ms) and is killed: {}",
            self.name(),
            quiet.as_secs(),
            words.join("; ")
        );
        self.kill();
    }
}
