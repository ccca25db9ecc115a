//! The ticker: a thread that says when a time slice has ended.
//!
//! It compares the loop's heartbeat between its ticks, and calls one function pointer, which MUST be safe from another
//! thread. It sends no signal: a signal would end system calls of the coroutine with EINTR. While one runs that has computed
//! for a while, it waits in poll(2) for the loop's events as well, so that who has come need not wait for a tick. When the
//! loop has been idle for some ticks it sleeps, and the next coroutine that is entered wakes it.
//!
//! It must not know who runs next, or how code is interrupted. Invariants: it reads atomics and asks the kernel, nothing
//! else; a slice costs the loop's fast path no clock and no system call; what it asks is void once the heartbeat has moved;
//! events interrupt at most [`EARLY_MAX`] times, and once more for each tick.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::watch::{Heartbeat, Sleeper};

/// Ticks without any coroutine after which the thread sleeps.
const QUIET_TICKS: u32 = 16;
/// Interruptions between two ticks that may be saved up: a connection comes, then its request, then what that waits for.
const EARLY_MAX: u32 = 4;
/// After an event the thread looks away for this part of a tick: until the loop has taken it.
const LOOK_AWAY: u32 = 16;
/// Ticks for which a coroutine may compute although others are ready, unless it is said otherwise: most need no more.
pub(crate) const ALONE: u32 = 1;

/// What the loop's thread and the ticker tell each other. Each field has one writer, but for `of_others`.
#[derive(Default, Debug)]
pub(crate) struct Board {
    /// How many could run, as far as the loop knows. By the loop.
    pub ready: AtomicUsize,
    /// How many gave way and wait for their turn. By the loop.
    pub behind: AtomicUsize,
    /// The beat at which the loop sent what had been answered. By the loop.
    pub sent_at: AtomicU64,
    /// Ticks for which the running coroutine may compute while only such wait that gave way. By the loop.
    pub own: AtomicU32,
    /// Ticks for which it may although others are ready. By the loop.
    pub alone: AtomicU32,
    /// Ticks since one of those that gave way has run: with a coroutine, or while some of those wait.
    pub of_others: AtomicU32,
    /// All such ticks. By the ticker.
    pub ticked: AtomicU32,
    /// The beat at which the running coroutine should give way to others that are ready. By the ticker.
    awaited: AtomicU64,
    /// The beat at which it should give way, and the ticks that it has run then.
    asked: AtomicU64,
    ticks: AtomicU32,
}

impl Board {
    /// The ticks that the coroutine has run which was asked at this beat; `None`: none was.
    pub(crate) fn asked_at(&self, beat: u64) -> Option<u32> {
        (self.asked.load(Ordering::Acquire) == beat).then(|| self.ticks.load(Ordering::Relaxed))
    }

    fn ask(&self, beat: u64, ticks: u32) {
        self.ticks.store(ticks, Ordering::Relaxed);
        self.asked.store(beat, Ordering::Release);
    }

    /// Whether others are ready, and the coroutine of this beat was asked to give way to them.
    pub(crate) fn is_awaited(&self, beat: u64) -> bool {
        self.awaited.load(Ordering::Relaxed) == beat
    }

    /// Others are ready, and the coroutine of this beat is asked to give way to them.
    pub(crate) fn others_wait(&self, beat: u64) {
        self.awaited.store(beat, Ordering::Relaxed);
    }

    fn has_behind(&self) -> bool {
        self.behind.load(Ordering::Relaxed) > 0
    }

    /// Whether coroutines have run before the one of this beat since answers were last sent: theirs may wait.
    fn has_unsent(&self, beat: u64) -> bool {
        (beat >> 1).saturating_sub(self.sent_at.load(Ordering::Relaxed) >> 1) > 1
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

/// What the thread has seen.
#[derive(Default)]
struct Seen {
    /// The beat of the last tick.
    beat: u64,
    /// Whole ticks for which that coroutine has run.
    ticks: u32,
    /// Ticks without any.
    quiet: u32,
    /// Interruptions between ticks that are left.
    early: u32,
}

impl Seen {
    fn ticks_at(&self, beat: u64) -> u32 {
        if beat == self.beat { self.ticks } else { 0 }
    }
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
        let mut seen = Seen { early: EARLY_MAX, ..Seen::default() };
        let mut tick = Instant::now() + self.span;
        loop {
            let rest = tick.saturating_duration_since(Instant::now());
            if !rest.is_zero() && self.looks_for_events(&seen) {
                if crate::reactor::wait_for_events(&self.events, rest) {
                    self.has_come(&mut seen);
                    std::thread::sleep((self.span / LOOK_AWAY).min(rest));
                }
                continue;
            }
            std::thread::sleep(rest);
            tick = Instant::now() + self.span;
            self.tick(&mut seen);
        }
    }

    /// Whether the coroutine that runs may be interrupted by events before the next tick.
    fn looks_for_events(&self, seen: &Seen) -> bool {
        let beat = self.heartbeat.beat();
        self.slice != 0
            && seen.early > 0
            && self.yields_to_events(beat, seen.ticks_at(beat))
            && self.board.asked_at(beat).is_none()
    }

    /// Whether who runs at this beat, since so many ticks, has had what it may compute although others are ready.
    fn yields_to_events(&self, beat: u64, ticks: u32) -> bool {
        Heartbeat::is_in_coroutine(beat) && ticks >= self.board.alone.load(Ordering::Relaxed)
    }

    /// Between two ticks, events have come.
    fn has_come(&self, seen: &mut Seen) {
        let beat = self.heartbeat.beat();
        let ticks = seen.ticks_at(beat);
        if self.yields_to_events(beat, ticks) {
            seen.early -= 1;
            self.board.others_wait(beat);
            self.board.ask(beat, ticks);
            (self.interrupt)();
        }
    }

    fn tick(&self, seen: &mut Seen) {
        let beat = self.heartbeat.beat();
        let moved = beat != seen.beat;
        seen.beat = beat;
        seen.ticks = if moved { 0 } else { seen.ticks.saturating_add(1) };
        seen.early = EARLY_MAX.min(seen.early + 1);
        let runs = Heartbeat::is_in_coroutine(beat);
        if runs || self.board.has_behind() {
            self.board.of_others.fetch_add(1, Ordering::Relaxed);
            self.board.ticked.fetch_add(1, Ordering::Relaxed);
            seen.quiet = 0;
        } else {
            seen.quiet = if moved { 0 } else { seen.quiet + 1 };
            if seen.quiet > QUIET_TICKS {
                self.heartbeat.sleep_until_entered(Sleeper::Ticker, beat);
                seen.quiet = 0;
            }
        }
        if runs && self.should_end(beat, seen.ticks) {
            self.board.ask(beat, seen.ticks);
            (self.interrupt)();
        }
    }

    /// Whether the slice ends of who has run for so many whole ticks: it is used up, or somebody else could run.
    fn should_end(&self, beat: u64, ticks: u32) -> bool {
        let board = self.board;
        let others_are_ready = ticks >= board.alone.load(Ordering::Relaxed)
            && (board.ready.load(Ordering::Relaxed) > 0
                || board.has_unsent(beat)
                || crate::reactor::has_events(&self.events));
        if others_are_ready {
            board.others_wait(beat);
        }
        let has_used_its_own = || ticks >= board.own.load(Ordering::Relaxed) && board.has_behind();
        self.slice == 0 || ticks >= self.slice || others_are_ready || ticks >= 1 && has_used_its_own()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CoroutineId;
    use std::io::Write;
    use std::sync::mpsc::{Receiver, Sender, channel};

    static INTERRUPTED: std::sync::Mutex<Option<Sender<()>>> = std::sync::Mutex::new(None);

    fn interrupt() {
        INTERRUPTED.lock().unwrap().as_ref().unwrap().send(()).unwrap();
    }

    /// A ticker that never ticks, the loop's side of it, and a descriptor that has an event when it is written to.
    fn start() -> (&'static Heartbeat, &'static Board, std::io::PipeWriter, Receiver<()>) {
        let heartbeat: &'static Heartbeat = Box::leak(Box::default());
        let board: &'static Board = Box::leak(Box::default());
        let (reader, writer) = std::io::pipe().unwrap();
        let (tell, told) = channel();
        *INTERRUPTED.lock().unwrap() = Some(tell);
        let (events, span) = (Arc::new(OwnedFd::from(reader)), Duration::from_secs(3600));
        board.own.store(5, Ordering::Relaxed);
        heartbeat.enter(CoroutineId { index: 0, generation: 1 }, 0);
        Ticker { heartbeat, board, events, span, slice: 10, interrupt }.start().unwrap();
        (heartbeat, board, writer, told)
    }

    #[test]
    fn an_event_interrupts_who_has_computed_before_without_a_tick_and_only_once() {
        let (heartbeat, board, mut event, told) = start();
        event.write_all(b"x").unwrap();
        told.recv().unwrap();
        assert_eq!(board.asked_at(heartbeat.beat()), Some(0));
        assert!(told.try_recv().is_err());
    }

    #[test]
    fn answers_wait_as_soon_as_another_coroutine_has_run_since_they_were_sent() {
        let (heartbeat, board): (&Heartbeat, Board) = (&Heartbeat::default(), Board::default());
        let id = CoroutineId { index: 0, generation: 1 };
        heartbeat.idle();
        board.sent_at.store(heartbeat.beat(), Ordering::Relaxed);
        heartbeat.enter(id, 0);
        assert!(!board.has_unsent(heartbeat.beat()));
        heartbeat.enter(id, 0);
        assert!(board.has_unsent(heartbeat.beat()));
        board.sent_at.store(heartbeat.beat(), Ordering::Relaxed);
        heartbeat.enter(id, 0);
        assert!(!board.has_unsent(heartbeat.beat()));
    }
}
