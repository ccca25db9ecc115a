//! The thread that sends spans, and what it has not sent yet.
//!
//! Must not know what a span is. Invariants: whoever has a span never waits; what is kept has a bound in bytes, beyond which spans
//! are dropped; what is dropped is counted and told.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use weft_rt::counter::Counter;

use super::collector::{Answer, Collector};
use crate::config::Trace;
use crate::log;

/// Bytes of spans that are kept while the collector does not take them.
const KEPT_BYTES_MAX: usize = 8 << 20;
/// Bytes of spans in one message; one request's may be more.
const BATCH_BYTES: usize = 1 << 20;
/// How long spans wait for others, so that a message has many.
const LINGER: Duration = Duration::from_secs(1);
/// How often a message is tried, and the pause after the first time; each further one is twice as long.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// Where spans have gone, for the operator.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Counts {
    /// The collector has them; written by the thread.
    pub taken: Counter,
    /// The collector did not take them; written by the thread.
    pub lost: Counter,
    /// There was no room for them; written by the worker.
    pub unkept: Counter,
}

/// What both sides know.
#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    dropped: AtomicU64,
    ends: AtomicBool,
}

impl Shared {
    /// Held for a few copies at most, on either side.
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was not sent yet.
#[derive(Default)]
struct Queue {
    batches: VecDeque<Batch>,
    /// Of all batches, and of the one that is being sent.
    bytes: usize,
    /// Whom to tell when all is sent.
    end: Option<Sender<()>>,
}

/// Spans for one message.
struct Batch {
    spans: String,
    count: u64,
    /// When it is sent, though it be not full.
    due: Instant,
}

impl Batch {
    fn is_full(&self) -> bool {
        self.spans.len() >= BATCH_BYTES
    }
}

impl Queue {
    /// Takes a list of so many spans; returns whether the thread has to look, or `None` if there is no room.
    fn add(&mut self, spans: &str, count: u64) -> Option<bool> {
        if self.bytes + spans.len() > KEPT_BYTES_MAX {
            return None;
        }
        self.bytes += spans.len();
        let was_empty = self.batches.is_empty();
        match self.batches.back_mut().filter(|batch| !batch.is_full()) {
            Some(batch) => {
                batch.spans.push(',');
                batch.spans.push_str(spans);
                batch.count += count;
                self.bytes += 1;
            }
            None => {
                let due = Instant::now() + LINGER;
                self.batches.push_back(Batch { spans: spans.to_owned(), count, due });
            }
        }
        Some(was_empty || self.batches.len() == 1 && self.batches[0].is_full())
    }

    /// The next message, if it is time for it; otherwise when that will be, if anything is there.
    fn next(&mut self, ends: bool) -> Result<Batch, Option<Instant>> {
        let first = self.batches.pop_front().ok_or(None)?;
        if ends || first.is_full() || first.due <= Instant::now() {
            return Ok(first);
        }
        let due = first.due;
        self.batches.push_front(first);
        Err(Some(due))
    }
}

/// A worker's way to the collector.
pub struct Exporter {
    shared: Arc<Shared>,
    counts: &'static Counts,
    thread: Thread,
}

impl Exporter {
    /// Starts the thread of the worker in this slot, which has these counts for itself; `None` if there is no collector.
    ///
    /// # Errors
    /// One line: no authority is trusted, or there is no thread.
    pub fn start(trace: &Trace, slot: usize, counts: &'static Counts) -> Result<Option<Exporter>, String> {
        let Some(collector) = Collector::new(trace, slot)? else { return Ok(None) };
        let shared = Arc::new(Shared::default());
        let post = Post { collector, shared: Arc::clone(&shared), counts, fails: false };
        let thread = std::thread::Builder::new().name("weft-trace".into());
        // Otherwise the kernel may give it one of the worker's signals, whose handler it must not run.
        let thread = weft_rt::hook::with_signals_blocked(|| thread.spawn(move || post.run()))
            .map_err(|error| format!("no thread for traces: {error}"))?;
        Ok(Some(Exporter { shared, counts, thread: thread.thread().clone() }))
    }

    /// Sends a list of so many spans soon, if there is room.
    pub fn send(&self, spans: &str, count: u64) {
        // The thread may have held the lock at the fork.
        if log::is_forked() {
            return;
        }
        // The thread is woken for a message, not for each request.
        match self.shared.queue().add(spans, count) {
            Some(true) => self.thread.unpark(),
            Some(false) => (),
            None => {
                self.shared.dropped.fetch_add(count, Ordering::Relaxed);
                self.counts.unkept.add(count);
            }
        }
    }

    /// Waits until all is sent, for at most `patience`.
    pub fn finish(&self, patience: Duration) {
        if log::is_forked() {
            return;
        }
        let (done, is_done) = mpsc::channel();
        self.shared.queue().end = Some(done);
        self.shared.ends.store(true, Ordering::Release);
        self.thread.unpark();
        let _ = is_done.recv_timeout(patience);
    }
}

/// What the thread has.
struct Post {
    collector: Collector,
    shared: Arc<Shared>,
    counts: &'static Counts,
    /// Whether the collector did not take the last message.
    fails: bool,
}

impl Post {
    fn run(mut self) {
        loop {
            let ends = self.shared.ends.load(Ordering::Acquire);
            let next = self.shared.queue().next(ends);
            match next {
                Ok(batch) => {
                    self.deliver(&batch);
                    self.shared.queue().bytes -= batch.spans.len();
                }
                Err(_) if ends => {
                    self.say_dropped();
                    if let Some(end) = self.shared.queue().end.take() {
                        // Nobody waits any more, if that took too long.
                        let _ = end.send(());
                    }
                    return;
                }
                Err(Some(due)) => std::thread::park_timeout(due.saturating_duration_since(Instant::now())),
                Err(None) => std::thread::park(),
            }
        }
    }

    /// Tries until the collector has them, or they are dropped.
    fn deliver(&mut self, batch: &Batch) {
        for number in 0..TRIES {
            match self.collector.tell(&batch.spans) {
                Answer::Taken(refused, why) => return self.is_taken(batch, refused, &why),
                Answer::Refused(why) => {
                    self.fails_with(&why, "they are dropped");
                    break;
                }
                Answer::Later(why) => {
                    self.fails_with(&why, "they are kept for a while, and it is asked again")
                }
            }
            if number + 1 == TRIES || !self.pause(PAUSE * (1 << number)) {
                break;
            }
        }
        self.shared.dropped.fetch_add(batch.count, Ordering::Relaxed);
        self.counts.lost.add(batch.count);
    }

    /// Returns false if there is no time left for another try.
    fn pause(&self, span: Duration) -> bool {
        let until = Instant::now() + span;
        while !self.shared.ends.load(Ordering::Acquire) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::park_timeout(left);
        }
        false
    }

    /// Said once, until it works again.
    fn fails_with(&mut self, why: &str, what_follows: &str) {
        if !std::mem::replace(&mut self.fails, true) {
            tracing::warn!("{} does not take spans of traces: {why}; {what_follows}", self.collector.url());
        }
    }

    fn is_taken(&mut self, batch: &Batch, refused: u64, why: &str) {
        let refused = refused.min(batch.count);
        self.counts.taken.add(batch.count - refused);
        self.counts.lost.add(refused);
        let url = self.collector.url();
        if refused > 0 {
            tracing::warn!("{url} has refused {refused} spans of traces: {why}");
        }
        if std::mem::replace(&mut self.fails, false) {
            tracing::info!("{url} takes spans of traces again");
        }
        self.say_dropped();
    }

    fn say_dropped(&self) {
        let dropped = self.shared.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            tracing::warn!(
                "{dropped} spans of traces were dropped: {} did not take them in time",
                self.collector.url()
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_collected_into_messages_and_the_thread_is_told_of_each_message_once() {
        let mut queue = Queue::default();
        assert_eq!(queue.add("{}", 1), Some(true), "it has to know when this one is due");
        assert_eq!(queue.add("{},{}", 2), Some(false));
        assert!(matches!(queue.next(false), Err(Some(_))));
        let batch = queue.next(true).ok().unwrap();
        assert_eq!((batch.spans.as_str(), batch.count, queue.bytes), ("{},{},{}", 3, 8));
        assert!(matches!(queue.next(true), Err(None)));
        let half = "x".repeat(BATCH_BYTES / 2);
        assert_eq!([1, 2, 3].map(|_| queue.add(&half, 1)), [Some(true), Some(true), Some(false)]);
        assert_eq!(queue.next(false).ok().map(|batch| batch.count), Some(2));
        assert!(matches!(queue.next(false), Err(Some(_))));
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let mut queue = Queue::default();
        let spans = "x".repeat(BATCH_BYTES);
        let kept = (0..100).take_while(|_| queue.add(&spans, 1).is_some()).count();
        assert_eq!(kept, KEPT_BYTES_MAX / BATCH_BYTES);
    }
}
