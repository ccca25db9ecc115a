//! Threads for calls that block inside libc and cannot be made ready-based: name resolution, fsync.
//!
//! An offload thread never touches Zend and never parks; it takes closures from a bounded queue and reports through an
//! eventfd. Threads are started when work waits, after fork, with every signal blocked.

use std::cell::Cell;
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

use crate::park::Wait;
use crate::{MILLISECOND, Runtime, Wake, clock};

/// Jobs that wait for a thread. As each belongs to a parked coroutine, `coroutines_max` bounds it as well.
type Work = Box<dyn FnOnce() + Send>;

/// Threads that wait for as long as a peer lets them, outside of the pool.
const APART_MAX: usize = 64;

#[derive(Default)]
struct Queues {
    work: VecDeque<(Work, Wait)>,
    done: Vec<Wait>,
    idle_threads: usize,
}

struct Shared {
    queues: Mutex<Queues>,
    work_arrived: Condvar,
    /// Threads outside of the pool.
    apart: AtomicUsize,
    report: OwnedFd,
}

/// The offload threads and their queues.
pub struct Offload {
    shared: Arc<Shared>,
    threads: Cell<usize>,
    unfinished: Cell<usize>,
    threads_max: usize,
}

impl Offload {
    pub(crate) fn new(threads_max: usize) -> rustix::io::Result<Offload> {
        let report = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let shared = Shared {
            queues: Mutex::default(),
            work_arrived: Condvar::new(),
            apart: AtomicUsize::new(0),
            report,
        };
        Ok(Offload {
            shared: Arc::new(shared),
            threads: Cell::new(0),
            unfinished: Cell::new(0),
            threads_max: threads_max.max(1),
        })
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.shared.report.as_raw_fd()
    }

    /// Whether no work is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.unfinished.get() == 0
    }

    fn submit(&self, work: Work, wait: Wait) {
        self.unfinished.set(self.unfinished.get() + 1);
        let mut queues = self.shared.lock();
        queues.work.push_back((work, wait));
        let start = queues.work.len() > queues.idle_threads && self.threads.get() < self.threads_max;
        drop(queues);
        if start && self.start_thread() {
            self.threads.set(self.threads.get() + 1);
        }
        self.shared.work_arrived.notify_one();
    }

    /// Starts a thread; without one (`RLIMIT_NPROC`) the work waits for those there are.
    fn start_thread(&self) -> bool {
        let shared = Arc::clone(&self.shared);
        let name = "weft-offload".to_owned();
        let start = std::thread::Builder::new().name(name).stack_size(512 * 1024);
        crate::hook::with_signals_blocked(|| start.spawn(move || shared.serve())).is_ok()
    }

    /// Runs `work` on a thread of its own, or, when there are [`APART_MAX`] of them, on one of the pool.
    fn submit_apart(&self, work: Work, wait: Wait) {
        if self.shared.apart.fetch_add(1, Ordering::Relaxed) < APART_MAX {
            let (shared, slot) = (Arc::clone(&self.shared), Arc::new(Mutex::new(Some(work))));
            let own = Arc::clone(&slot);
            let run = move || {
                if let Some(work) = own.lock().unwrap_or_else(PoisonError::into_inner).take() {
                    work();
                }
                shared.apart.fetch_sub(1, Ordering::Relaxed);
                shared.report(wait);
            };
            let start = std::thread::Builder::new().name("weft-apart".to_owned()).stack_size(64 * 1024);
            self.unfinished.set(self.unfinished.get() + 1);
            if crate::hook::with_signals_blocked(|| start.spawn(run)).is_ok() {
                return;
            }
            self.unfinished.set(self.unfinished.get() - 1);
            self.shared.apart.fetch_sub(1, Ordering::Relaxed);
            let work = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            return self.submit(work.unwrap_or_else(|| Box::new(|| ())), wait);
        }
        self.shared.apart.fetch_sub(1, Ordering::Relaxed);
        self.submit(work, wait);
    }

    /// Takes what the threads have finished.
    pub(crate) fn finished(&self, mut wake: impl FnMut(Wait)) {
        let mut counter = [0u8; 8];
        let _ = rustix::io::read(&self.shared.report, &mut counter);
        let done = std::mem::take(&mut self.shared.lock().done);
        self.unfinished.set(self.unfinished.get() - done.len());
        done.into_iter().for_each(&mut wake);
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the loop that the work of `wait` is done.
    fn report(&self, wait: Wait) {
        self.lock().done.push(wait);
        // It fails only when the counter is full, and then the loop has been told already.
        let _ = rustix::io::write(&self.report, &1u64.to_ne_bytes());
    }

    fn serve(&self) {
        let mut queues = self.lock();
        loop {
            let Some((work, wait)) = queues.work.pop_front() else {
                queues.idle_threads += 1;
                queues = self.work_arrived.wait(queues).unwrap_or_else(PoisonError::into_inner);
                queues.idle_threads -= 1;
                continue;
            };
            drop(queues);
            work();
            self.report(wait);
            queues = self.lock();
        }
    }
}

impl Runtime {
    /// Runs `work` on an offload thread while the coroutine is parked. `None` when the coroutine was cancelled before the
    /// thread was done; the result is then dropped when it comes.
    pub fn offload<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let wait = self.begin_wait();
        let result = self.submit(work, wait);
        match self.park(wait, None) {
            Wake::Ready(_) => result.take(),
            Wake::TimedOut | Wake::Cancelled => None,
        }
    }

    /// Runs `work` on an offload thread while the coroutine is parked, and waits for its end even when it is cancelled.
    pub fn offload_to_end<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let wait = self.begin_wait();
        let result = self.submit(work, wait);
        self.park_uncancelled(wait);
        loop {
            if let Some(value) = result.take() {
                return value;
            }
            // A cancellation has ended the wait that the thread knows of.
            self.sleep_uncancelled(clock::now() + MILLISECOND);
        }
    }

    /// As [`Runtime::offload`], on a thread of its own: for work that may never end.
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

/// What a thread has made, once it has.
struct Outcome<T>(Mutex<Option<T>>);

impl<T> Outcome<T> {
    fn put(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }

    fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
