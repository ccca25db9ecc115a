//! The queue of jobs that wait for a coroutine, and the bound on coroutines.
//!
//! Invariants: at most `coroutines_max` coroutines are alive, besides tasks; a new job does not overtake a waiting one; the
//! queue has a limit and a longest wait.

use super::{Ready, Runtime, Spawn};
use crate::Nanos;
use crate::coroutine::{Job, Start};

impl Runtime {
    /// Whether `coroutines_max` coroutines are alive or about to start (tasks do not count), or as many as the switch
    /// admits now.
    pub(super) fn is_full(&self) -> bool {
        self.taken() >= self.limits.coroutines_max || !self.switch.admits(self.taken())
    }

    fn taken(&self) -> usize {
        self.stats.live.get() - self.live_tasks.get() + self.kept.get()
    }

    /// How many jobs would start at once; 0 while others wait.
    pub fn room(&self) -> usize {
        if !self.queue.borrow().is_empty() {
            return 0;
        }
        self.limits.coroutines_max.saturating_sub(self.taken())
    }

    pub(super) fn enqueue(&self, start: Start) -> Spawn {
        let mut queue = self.queue.borrow_mut();
        if queue.len() >= self.limits.queue_max && !start.task {
            self.stats.refused.set(self.stats.refused.get() + 1);
            return Spawn::Refused;
        }
        queue.push_back((start, self.now.get()));
        Spawn::Queued
    }

    /// When the first job of the queue has waited too long.
    pub(super) fn queue_deadline(&self) -> Option<Nanos> {
        let queue = self.queue.borrow();
        queue.front().map(|(_, since)| since.saturating_add(self.limits.queue_wait_max))
    }

    pub(super) fn expired_job(&self) -> Option<Job> {
        let late = self.queue_deadline().is_some_and(|deadline| deadline <= self.now.get());
        let (start, _) = late.then(|| self.queue.borrow_mut().pop_front())??;
        if start.task {
            self.stats.tasks.set(self.stats.tasks.get() - 1);
        }
        Some(start.job)
    }

    /// A coroutine has ended, or memory may be free again. The end of a task frees a stack, but only a task may take
    /// its place.
    pub fn offer_place(&self) {
        let mut queue = self.queue.borrow_mut();
        let Some((start, _)) = queue.front().copied() else { return };
        if start.task || !self.is_full() {
            queue.pop_front();
            self.kept.set(self.kept.get() + usize::from(!start.task));
            self.ready.borrow_mut().push_back(Ready::Queued(start));
        }
    }

    /// Jobs that wait because no coroutine may start.
    pub fn waiting(&self) -> usize {
        self.queue.borrow().len()
    }

    /// Takes up to so many jobs out of the queue for which `leaves` says that somebody else has them now; those that have waited
    /// longest are asked about first. It MUST NOT start a job. Returns how many are gone.
    pub fn withdraw(&self, most: usize, mut leaves: impl FnMut(Job) -> bool) -> usize {
        let mut asked = self.queue.take();
        let mut left = 0;
        asked.retain(|(start, _)| {
            let is_gone = !start.task && left < most && leaves(start.job);
            left += usize::from(is_gone);
            !is_gone
        });
        self.queue.replace(asked);
        left
    }

    /// Jobs that wait for a coroutine, including those for which a place is kept.
    pub fn queued(&self) -> usize {
        self.queue.borrow().len() + self.kept.get()
    }
}
