//! The ticker: a thread that says when a time slice has ended.
//!
//! It compares the loop's heartbeat between its ticks, and calls one function pointer, which MUST be safe from another
//! thread. It sends no signal: a signal would end system calls of the coroutine with EINTR. When the loop has been idle for
//! some ticks it sleeps, and the next coroutine that is entered wakes it.
//!
//! It must not know who runs next, or how code is interrupted. Invariants: it reads atomics and asks the kernel, nothing
//! else; a slice costs the loop's fast path no clock and no system call; what it asks is void once the heartbeat has moved.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::watch::{Heartbeat, Sleeper};

/// Ticks without any coroutine after which the thread sleeps.
const QUIET_TICKS: u32 = 16;

/// What the loop's thread and the ticker tell each other. Each field has one writer, but for `of_others`.
#[derive(Default, Debug)]
pub(crate) struct Board {
    /// How many could run, as far as the loop knows. By the loop.
    pub ready: AtomicUsize,
    /// How many gave way and wait for their turn. By the loop.
    pub behind: AtomicUsize,
    /// Ticks for which the running coroutine may compute while these wait. By the loop.
    pub own: AtomicU32,
    /// Ticks with a coroutine since one of those that gave way has run.
    pub of_others: AtomicU32,
    /// The beat at which the running coroutine should give way, and the ticks that it has run then.
    asked: AtomicU64,
    ticks: AtomicU32,
}

impl Board {
    /// The ticks that the coroutine has run which was asked at this beat; `None`: none was.
    pub(crate) fn asked_at(&self, beat: u64) -> Option<u32> {
        (self.asked.load(Ordering::Acquire) == beat).then(|| self.ticks.load(Ordering::Relaxed))
    }
}

/// The thread, before it is started.
pub(crate) struct Ticker {
    pub heartbeat: &'static Heartbeat,
    pub board: &'static Board,
    /// Readable while the loop has events to take.
    pub events: Arc<OwnedFd>,
    pub span: Duration,
    /// A slice, in ticks. 0: one ends at each tick, for tests.
    pub slice: u32,
    /// Asks the coroutine that runs to look whether it should give way.
    pub interrupt: fn(),
}

impl Ticker {
    /// Starts the thread.
    ///
    /// # Errors
    /// Those of pthread_create(3).
    pub(crate) fn start(self) -> std::io::Result<()> {
        let thread = std::thread::Builder::new().name("weft-ticker".to_owned()).stack_size(64 * 1024);
        crate::hook::with_signals_blocked(|| thread.spawn(move || self.run())).map(drop)
    }

    fn run(self) {
        let (mut last, mut ticks, mut quiet) = (0, 0u32, 0);
        loop {
            std::thread::sleep(self.span);
            let beat = self.heartbeat.beat();
            let moved = beat != last;
            last = beat;
            if !Heartbeat::is_in_coroutine(beat) {
                quiet = if moved { 0 } else { quiet + 1 };
                if quiet > QUIET_TICKS {
                    self.heartbeat.sleep_until_entered(Sleeper::Ticker, beat);
                    quiet = 0;
                }
                continue;
            }
            quiet = 0;
            ticks = if moved { 0 } else { ticks.saturating_add(1) };
            self.board.of_others.fetch_add(1, Ordering::Relaxed);
            if self.should_end(ticks) {
                self.board.ticks.store(ticks, Ordering::Relaxed);
                self.board.asked.store(beat, Ordering::Release);
                (self.interrupt)();
            }
        }
    }

    /// Whether the slice ends of who has run for so many whole ticks: it is used up, or somebody else could run.
    fn should_end(&self, ticks: u32) -> bool {
        if self.slice == 0 || ticks >= self.slice {
            return true;
        }
        let board = self.board;
        let has_used_its_own =
            || ticks >= board.own.load(Ordering::Relaxed) && board.behind.load(Ordering::Relaxed) > 0;
        let others_are_ready =
            || board.ready.load(Ordering::Relaxed) > 0 || crate::reactor::has_events(&self.events);
        ticks >= 1 && (has_used_its_own() || others_are_ready())
    }
}
