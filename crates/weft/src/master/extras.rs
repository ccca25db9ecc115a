//! Further workers: forked at once while computations hold every worker, or nearly, and let go when they are idle.
//!
//! The kernel then shares the cores among the computations, and there is a worker for whoever comes next. Must not know
//! how a worker finds out that it is held. Invariant: there are at most `extra_workers_max` of them, in slots behind
//! the configured ones; they have no accept queue of their own, so none is lost with them, and accept from those of the
//! others (`stand_in.rs`); and one boots at a time, because the one that is coming may be enough.

use std::time::{Duration, Instant};

use super::worker_process::{Stage, Worker};
use super::{Master, WorkerSetup};

/// A further worker ends when more workers than needed have been free for this long, and the next one after as long again. It
/// takes its part of the requests meanwhile: on one core two processes compute them by turns, in caches that are the other's, which
/// costs more. Another one is forked within some milliseconds.
const IDLE: Duration = Duration::from_secs(1);

impl Master {
    /// Whether a worker is one of them.
    pub fn is_extra(&self, worker: &Worker) -> bool {
        worker.slot >= self.slots.len()
    }

    /// A worker's loop is held.
    pub fn became_held(&mut self, index: usize) {
        self.workers[index].is_held = true;
        let is_coming = self.workers.iter().any(|worker| matches!(worker.stage, Stage::Booting { .. }));
        let extras = self.workers.iter().filter(|worker| self.is_extra(worker)).count();
        let is_barred = self.stopping || self.reload.is_booting() || !self.announced || self.engine.is_none();
        let rests = self.extras.rests_until.is_some_and(|until| until > Instant::now());
        if self.spare_workers() >= self.spare_wanted() || is_coming || is_barred || rests {
            return;
        }
        self.extras.wanted = extras < self.mode.extra_workers(&self.config);
    }

    /// Workers that serve and are not held.
    fn spare_workers(&self) -> usize {
        self.workers.iter().filter(|worker| worker.stage == Stage::Ready && !worker.is_held).count()
    }

    /// How many such there should be. With one, two requests that come at once would meet in it, and if the first computes, the
    /// second waits until that is noticed: where two are held already, that is likely.
    fn spare_wanted(&self) -> usize {
        const MOST: usize = 2;
        let held =
            self.workers.iter().filter(|worker| worker.stage == Stage::Ready && worker.is_held).count();
        held.clamp(1, MOST)
    }

    /// Forks the one that is wanted; returns `Some` in the child.
    pub fn start_wanted_extra(&mut self) -> Option<WorkerSetup> {
        if !std::mem::take(&mut self.extras.wanted) || self.stopping {
            return None;
        }
        let is_free = |slot: &usize| self.workers.iter().all(|worker| worker.slot != *slot);
        let slot = (self.slots.len()..).find(is_free)?;
        match self.start_worker(slot) {
            Ok(setup) => setup,
            Err(error) => {
                tracing::warn!(
                    "all workers are held by computations, and no further one can be started: {error}"
                );
                self.extras.rest();
                None
            }
        }
    }

    /// When the next one may end.
    pub fn extras_deadline(&self) -> Option<Instant> {
        // The count of free workers changes by messages, after each of which this is asked again.
        self.spare_extra()
            .is_some()
            .then(|| self.extras.spare_since.map_or_else(Instant::now, |since| since + IDLE))
            .filter(|_| self.spare_workers() > self.spare_wanted())
    }

    /// Ends one that is not needed any more.
    pub fn release_extras(&mut self, now: Instant) {
        if self.spare_workers() <= self.spare_wanted() {
            self.extras.spare_since = None;
            return;
        }
        let since = *self.extras.spare_since.get_or_insert(now);
        if now.saturating_duration_since(since) < IDLE {
            return;
        }
        let timeout_ms = self.config.server.drain_timeout_ms;
        if let Some(index) = self.spare_extra() {
            let worker = &mut self.workers[index];
            tracing::debug!("{} is not needed any more", worker.name());
            worker.leave(timeout_ms);
            self.extras.spare_since = Some(now);
        }
    }

    /// The newest further worker that may end. What a held one computes may take longer than a drain.
    fn spare_extra(&self) -> Option<usize> {
        let is_spare =
            |worker: &Worker| self.is_extra(worker) && worker.stage == Stage::Ready && !worker.is_held;
        let spare = self.workers.iter().enumerate().filter(|(_, worker)| is_spare(worker));
        spare.max_by_key(|(_, worker)| worker.slot).map(|(index, _)| index)
    }
}
