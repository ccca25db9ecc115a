//! Silent workers: each worker reports every second, unless its one thread is blocked in PHP or C code, or by a lock.
//!
//! Must not know how a worker finds out where it is stuck. Invariant: a worker is never killed for a time in which the
//! master itself did not run: after a sleep of the machine, or of both, all get their time again.

use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};

use super::Master;
use super::silence::{SILENT_MAX, Silence};
use super::worker_process::{Stage, Worker};

/// How long a worker that was asked has to report where it is stuck.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// If the master wakes this much later than planned, it does not trust its clock.
const OVERSLEPT_MIN: Duration = Duration::from_secs(1);

impl Master {
    fn stuck_max(&self) -> Option<Duration> {
        Some(self.config.server.stuck_timeout_ms).filter(|ms| *ms > 0).map(Duration::from_millis)
    }

    /// When the next worker will have been silent for too long.
    pub fn silence_deadline(&self) -> Option<Instant> {
        let limit = self.stuck_max();
        let serving = self.workers.iter().filter(|worker| worker.stage == Stage::Ready);
        serving.filter_map(|worker| worker.silence.deadline(limit)).min()
    }

    /// A worker has reported.
    pub fn heard(&mut self, index: usize) {
        let silence = std::mem::replace(&mut self.workers[index].silence, Silence::new());
        if silence.is_silent {
            self.share_sockets();
        }
    }

    /// The master did not run when it wanted to, and perhaps the workers did not either.
    pub fn forgive_silence(&mut self, planned: Instant) {
        if planned.elapsed() >= OVERSLEPT_MIN {
            self.workers.iter_mut().for_each(|worker| worker.silence.heard = Instant::now());
        }
    }

    /// Asks workers that have been silent for too long where they are stuck, and ends those that were asked
    /// before.
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
                    // Before it is asked: it does something else then.
                    worker.silence.doing = crate::worker::busy_with(&worker.pid.to_string());
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
        words.push(std::mem::take(&mut self.silence.doing));
        tracing::error!(
            "{} has not reported for {} s (stuck_timeout_ms) and is killed: {}",
            self.name(),
            quiet.as_secs(),
            words.join("; ")
        );
        self.kill();
    }
}
