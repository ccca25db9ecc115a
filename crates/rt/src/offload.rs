//! Running calls on threads that block inside libc and have no readiness: name resolution, fsync.
//!
//! An offload thread never touches Zend and never parks. Invariant: a thread owns its input; the result of a cancelled
//! call is dropped.

mod pool;

use std::sync::{Arc, Mutex, PoisonError};

pub use pool::Offload;

use crate::{MILLISECOND, Runtime, Wait, Wake, clock};

impl Runtime {
    /// Runs `work` on an offload thread while the coroutine is parked. `None` if the coroutine was cancelled before the
    /// thread was done; the result is then dropped when it arrives.
    pub fn offload<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let wait = self.begin_wait();
        let result = self.submit(work, wait);
        match self.park(wait, None) {
            Wake::Ready(_) => result.take(),
            Wake::TimedOut | Wake::Cancelled => None,
        }
    }

    /// Runs `work` on an offload thread while the coroutine is parked, and waits for its end even if the coroutine is
    /// cancelled.
    pub fn offload_to_end<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let wait = self.begin_wait();
        let result = self.submit(work, wait);
        self.park_uncancelled(wait);
        loop {
            if let Some(value) = result.take() {
                return value;
            }
            // A cancellation has ended the wait that the thread would wake.
            self.sleep_uncancelled(clock::now() + MILLISECOND);
        }
    }

    /// Like [`Runtime::offload`], on a dedicated thread: for work that may never end.
    pub fn offload_apart<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let wait = self.begin_wait();
        let outcome = Arc::new(Outcome(Mutex::new(None)));
        let place = Arc::clone(&outcome);
        self.offload.submit_apart(Box::new(move || place.put(work())), wait);
        match self.park(wait, None) {
            Wake::Ready(_) => outcome.take(),
            Wake::TimedOut | Wake::Cancelled => None,
        }
    }

    fn submit<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
        wait: Wait,
    ) -> Arc<Outcome<T>> {
        let outcome = Arc::new(Outcome(Mutex::new(None)));
        let place = Arc::clone(&outcome);
        self.offload.submit(Box::new(move || place.put(work())), wait);
        outcome
    }
}

/// The result of a thread, once there is one.
struct Outcome<T>(Mutex<Option<T>>);

impl<T> Outcome<T> {
    fn put(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }

    fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
