//! The thread that sends spans, and what it has not sent yet.
//!
//! Must not know what a span is. Invariants: whoever has a span never waits; what is kept has a bound in bytes, beyond which spans
//! are dropped; what is dropped is counted and told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
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

/// What the thread is given.
enum Given {
    /// What a request has done: a list of so many spans.
    Spans(String, u64),
    /// Nothing follows; whom to tell when all is sent.
    End(Sender<()>),
}

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
    bytes: AtomicUsize,
    dropped: AtomicU64,
    ends: AtomicBool,
}

/// A worker's way to the collector.
pub struct Exporter {
    to: Sender<Given>,
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
        let (to, given) = mpsc::channel();
        let shared = Arc::new(Shared::default());
        let post = Post { collector, given, shared: Arc::clone(&shared), counts, fails: false };
        let thread = std::thread::Builder::new().name("weft-trace".into());
        // Otherwise the kernel may give it one of the worker's signals, whose handler it must not run.
        let thread = weft_rt::hook::with_signals_blocked(|| thread.spawn(move || post.run()))
            .map_err(|error| format!("no thread for traces: {error}"))?;
        Ok(Some(Exporter { to, shared, counts, thread: thread.thread().clone() }))
    }

    /// Sends a list of so many spans soon, if there is room.
    pub fn send(&self, spans: String, count: u64) {
        // The thread may have held a lock of the channel at the fork.
        if log::is_forked() {
            return;
        }
        let bytes = spans.len();
        if self.shared.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes > KEPT_BYTES_MAX {
            self.shared.bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.shared.dropped.fetch_add(count, Ordering::Relaxed);
            self.counts.unkept.add(count);
            return;
        }
        // It takes all until it is told that nothing follows.
        let _ = self.to.send(Given::Spans(spans, count));
    }

    /// Waits until all is sent, for at most `patience`.
    pub fn finish(&self, patience: Duration) {
        if log::is_forked() {
            return;
        }
        let (done, is_done) = mpsc::channel();
        self.shared.ends.store(true, Ordering::Release);
        let _ = self.to.send(Given::End(done));
        self.thread.unpark();
        let _ = is_done.recv_timeout(patience);
    }
}

/// What the thread has.
struct Post {
    collector: Collector,
    given: Receiver<Given>,
    shared: Arc<Shared>,
    counts: &'static Counts,
    /// Whether the collector did not take the last message.
    fails: bool,
}

/// Spans for one message.
#[derive(Default)]
struct Batch {
    spans: String,
    count: u64,
    /// As they were counted when they came.
    bytes: usize,
    end: Option<Sender<()>>,
}

impl Batch {
    fn add(&mut self, given: Given) {
        match given {
            Given::Spans(spans, count) => {
                if !self.spans.is_empty() {
                    self.spans.push(',');
                }
                self.spans.push_str(&spans);
                self.bytes += spans.len();
                self.count += count;
            }
            Given::End(done) => self.end = Some(done),
        }
    }

    fn is_full(&self) -> bool {
        self.spans.len() >= BATCH_BYTES || self.end.is_some()
    }
}

impl Post {
    fn run(mut self) {
        while let Ok(first) = self.given.recv() {
            let mut batch = Batch::default();
            batch.add(first);
            self.collect(&mut batch);
            if batch.count > 0 {
                self.deliver(&batch);
                self.shared.bytes.fetch_sub(batch.bytes, Ordering::Relaxed);
            }
            if let Some(done) = batch.end {
                self.say_dropped();
                let _ = done.send(());
                return;
            }
        }
    }

    /// Waits for more, and takes it.
    fn collect(&self, batch: &mut Batch) {
        let until = Instant::now() + LINGER;
        while !batch.is_full() {
            match self.given.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(more) => batch.add(more),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
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
