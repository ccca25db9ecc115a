//! The offload threads and their queues.
//!
//! A thread takes closures from a bounded queue and reports through an eventfd. It must not know which coroutine waits for
//! the result. Threads start on demand, after fork, with every signal blocked.

use std::cell::Cell;
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

use crate::hook::with_signals_blocked;
use crate::wait::Wait;

/// Jobs that wait for a thread. As each belongs to a parked coroutine, `coroutines_max` limits them as well.
type Work = Box<dyn FnOnce() + Send>;

/// The maximum of threads outside of the pool, which wait as long as a peer lets them.
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

    /// Gives `work` to a thread; the loop is told about `wait` when it is done.
    pub(crate) fn submit(&self, work: Work, wait: Wait) {
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

    /// Starts a thread; if that fails (`RLIMIT_NPROC`), the work waits for the existing ones.
    fn start_thread(&self) -> bool {
        let shared = Arc::clone(&self.shared);
        let name = "weft-offload".to_owned();
        let start = std::thread::Builder::new().name(name).stack_size(512 * 1024);
        with_signals_blocked(|| start.spawn(move || shared.serve())).is_ok()
    }

    /// Runs `work` on a dedicated thread or, if there are [`APART_MAX`] of them, on one of the pool.
    pub(crate) fn submit_apart(&self, work: Work, wait: Wait) {
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
            if with_signals_blocked(|| start.spawn(run)).is_ok() {
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

    /// Whether there is work that the threads have finished.
    pub(crate) fn has_finished(&self) -> bool {
        self.unfinished.get() > 0 && !self.shared.lock().done.is_empty()
    }

    /// Takes the work that the threads have finished.
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
        // This fails only if the counter is full, and then the loop has already been told.
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
