//! The HTTP/1.1 requests that wait for their answers, counted.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The HTTP/1.1 requests that wait for their answers.
#[derive(Debug, Default)]
pub struct Held {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Held {
    /// Sleeps before an answer; the request counts meanwhile.
    pub fn sleep(&self, pause: Duration) {
        if !pause.is_zero() {
            let now = 1 + self.now.fetch_add(1, Ordering::Relaxed);
            self.most.fetch_max(now, Ordering::Relaxed);
            thread::sleep(pause);
            self.now.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The most that have ever waited at once.
    pub fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }
}
