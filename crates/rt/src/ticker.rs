//! The ticker: a thread that says when a time slice has ended.
//!
//! It compares the loop's heartbeat between its ticks, and calls one function pointer, which MUST be safe from another
//! thread. It sends no signal: a signal would end system calls of the coroutine with EINTR. While one runs that has computed
//! for a while, it waits in poll(2) for the loop's events as well, so that who has come need not wait for a tick; if that one
//! goes on, there are no ticks until its slice ends. If one is still there a tick after it was asked to give way, the
//! deputy is called (`held.rs`), and it is asked again once in [`ASKED_AGAIN_AFTER`] ticks only. When the loop has been idle
//! for some ticks the thread sleeps, and the next coroutine that is entered wakes it.
//!
//! It must not know who runs next, or how code is interrupted. Invariants: it reads atomics and asks the kernel, nothing
//! else; a slice costs the loop's fast path no clock and no system call; what it asks is void once the heartbeat has moved;
//! events interrupt at most [`EARLY_MAX`] times, and once more for each [`TICKS_PER_EARLY`] ticks.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::board::{ALONE, Board};
use crate::watch::{Heartbeat, Sleeper};

/// Ticks without any coroutine after which the thread sleeps.
const QUIET_TICKS: u32 = 16;
/// Interruptions between two ticks that may be saved up: a connection comes, then its request, then what that waits for.
const EARLY_MAX: u32 = 4;
/// After so many ticks there may be one more.
const TICKS_PER_EARLY: u32 = 2;
const SAVED_MAX: u32 = EARLY_MAX * TICKS_PER_EARLY;
/// Ticks that pass as one where nothing can matter sooner.
const STRIDE: u32 = 2;
/// After an event the thread looks away for this part of a tick: until the loop has taken it.
const LOOK_AWAY: u32 = 16;
/// Whole ticks after which one that computes probably goes on for some more.
const WATCHED_AFTER: u32 = 1;
/// After so many ticks one that goes on is asked again to give way, however long a slice is: it may have heard of it where it
/// could not, in a stretch of C code among the VM's, and compute since.
const ASKED_AGAIN_AFTER: u32 = 8;

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

/// What the thread does next.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// It sleeps until the next tick.
    Tick,
    /// It waits for events until then.
    Events,
    /// It waits for so many ticks, in which nothing but another coroutine, or an event, can matter.
    Watch { most: u32, for_events: bool },
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
    /// Interruptions between ticks that are left, in ticks.
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
        let mut seen = Seen { early: SAVED_MAX, ..Seen::default() };
        let mut last = Instant::now();
        loop {
            let stride = self.stride(&seen);
            let rest = (last + self.span * stride).saturating_duration_since(Instant::now());
            let has_come = match self.next(&seen, rest) {
                Next::Tick => {
                    let is_time = self.sleep(rest, stride);
                    let ticks = self.ticks_since(last).min(stride);
                    if is_time && ticks > 0 {
                        last = Instant::now();
                        self.tick(&mut seen, ticks);
                    }
                    false
                }
                Next::Events => self.wait(rest, true),
                Next::Watch { most, for_events } => {
                    let (has_come, until) = self.watch(&mut seen, last, (most, for_events));
                    last = until;
                    has_come
                }
            };
            if has_come {
                self.has_come(&mut seen);
                std::thread::sleep((self.span / LOOK_AWAY).min(rest));
            }
        }
    }

    /// How many ticks pass as one: while somebody runs who may compute for longer whoever is ready, those in between would find
    /// nothing to do. If he does not do what he was asked to, the deputy is to know soon.
    fn stride(&self, seen: &Seen) -> u32 {
        let is_alone = self.slice >= ALONE && self.board.alone() >= ALONE;
        if is_alone && self.board.asked_at(seen.beat).is_none() { STRIDE } else { 1 }
    }

    /// Sleeps until so many ticks have passed, or somebody runs for whom they are too many. Returns whether they have.
    fn sleep(&self, rest: Duration, stride: u32) -> bool {
        if stride == 1 || self.board.bell().is_none() {
            std::thread::sleep(rest);
            return true;
        }
        self.board.stride(|| {
            self.wait(rest, false);
        })
    }

    /// Whole ticks since then.
    fn ticks_since(&self, last: Instant) -> u32 {
        u32::try_from(last.elapsed().as_nanos() / self.span.as_nanos()).unwrap_or(u32::MAX)
    }

    /// What the thread does next, so long before the next tick is due.
    fn next(&self, seen: &Seen, rest: Duration) -> Next {
        if rest.is_zero() {
            return Next::Tick;
        }
        if self.slice > 1 && self.goes_on(seen) {
            return Next::Watch { most: self.slice.min(ASKED_AGAIN_AFTER), for_events: false };
        }
        if !self.looks_for_events(seen) {
            return Next::Tick;
        }
        match self.ticks_to_watch(seen) {
            0 | 1 => Next::Events,
            most => Next::Watch { most, for_events: true },
        }
    }

    /// Whether who runs goes on although it was asked to give way, and the deputy knows: most are in C code, and give way as soon
    /// as they come back. Each tick would cost the core some microseconds, and change nothing.
    fn goes_on(&self, seen: &Seen) -> bool {
        seen.beat == self.heartbeat.beat() && self.board.goes_on(seen.beat).is_some()
    }

    /// Waits until the loop rings, and for its events if so wanted. Returns whether there are events.
    fn wait(&self, most: Duration, for_events: bool) -> bool {
        let Some(bell) = self.board.bell() else { return false };
        let events = for_events.then_some(&*self.events);
        let [has_come, has_rung] = crate::reactor::wait_for_events(events, bell, most);
        if has_rung {
            self.board.heard();
        }
        has_come
    }

    /// For how many ticks nothing but an event or the end of the coroutine's run can matter.
    fn ticks_to_watch(&self, seen: &Seen) -> u32 {
        if seen.ticks < WATCHED_AFTER || seen.beat != self.heartbeat.beat() {
            return 1;
        }
        let own = self.board.own.load(Ordering::Relaxed).min(self.slice);
        let end = if self.board.has_behind() { own } else { self.slice };
        end.saturating_sub(seen.ticks)
    }

    /// Waits for so many ticks since `last`, for events if so wanted, without waking at each of them; the loop tells when it enters
    /// another coroutine. Returns whether events have come, and when the last tick was.
    fn watch(&self, seen: &mut Seen, last: Instant, (most, for_events): (u32, bool)) -> (bool, Instant) {
        self.board.stop_counting(most, self.span.as_nanos() as u64);
        self.heartbeat.tell_when_entered(self.board);
        let until = (last + self.span * most).saturating_duration_since(Instant::now());
        let has_come = self.heartbeat.beat() == seen.beat && self.wait(until, for_events);
        self.heartbeat.tell_no_more();
        self.board.catch_up();
        let ticks = self.ticks_since(last).min(most);
        self.passed(seen, ticks);
        if !has_come {
            self.end_if_due(seen);
        }
        (has_come, if ticks == most { Instant::now() } else { last + self.span * ticks })
    }

    /// Whether the coroutine that runs may be interrupted by events before the next tick.
    fn looks_for_events(&self, seen: &Seen) -> bool {
        let beat = self.heartbeat.beat();
        self.slice != 0
            && seen.early >= TICKS_PER_EARLY
            && self.yields_to_events(beat, seen.ticks_at(beat))
            && self.board.asked_at(beat).is_none()
    }

    /// Whether who runs at this beat, since so many ticks, has had what it may compute although others are ready.
    fn yields_to_events(&self, beat: u64, ticks: u32) -> bool {
        Heartbeat::is_in_coroutine(beat) && ticks >= self.board.alone()
    }

    /// Between two ticks, events have come.
    fn has_come(&self, seen: &mut Seen) {
        let beat = self.heartbeat.beat();
        let ticks = seen.ticks_at(beat);
        if self.yields_to_events(beat, ticks) {
            seen.early -= TICKS_PER_EARLY;
            self.board.others_wait(beat);
            self.board.ask(beat, ticks);
            (self.interrupt)();
        }
    }

    fn tick(&self, seen: &mut Seen, ticks: u32) {
        let moved = self.passed(seen, ticks);
        if Heartbeat::is_in_coroutine(seen.beat) || self.board.has_behind() {
            self.board.count(ticks);
            seen.quiet = 0;
        } else {
            seen.quiet = if moved { 0 } else { seen.quiet + 1 };
            if seen.quiet > QUIET_TICKS {
                self.heartbeat.sleep_until_entered(Sleeper::Ticker, seen.beat);
                seen.quiet = 0;
            }
        }
        self.end_if_due(seen);
    }

    /// So many ticks have passed. Returns whether another coroutine runs now.
    fn passed(&self, seen: &mut Seen, ticks: u32) -> bool {
        let beat = self.heartbeat.beat();
        let moved = beat != seen.beat;
        seen.beat = beat;
        seen.ticks = if moved { 0 } else { seen.ticks.saturating_add(ticks) };
        seen.early = SAVED_MAX.min(seen.early + ticks);
        moved
    }

    fn end_if_due(&self, seen: &Seen) {
        if Heartbeat::is_in_coroutine(seen.beat) && self.should_end(seen.beat, seen.ticks) {
            if self.board.asked_at(seen.beat).is_some() {
                self.board.call_deputy(seen.beat, self.span * seen.ticks);
            }
            self.board.ask(seen.beat, seen.ticks);
            (self.interrupt)();
        }
    }

    /// Whether the slice ends of who has run for so many whole ticks: it is used up, or somebody else could run.
    fn should_end(&self, beat: u64, ticks: u32) -> bool {
        let board = self.board;
        let others_are_ready = ticks >= board.alone()
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
        board.hang_bell().unwrap();
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
    fn who_goes_on_is_watched_without_ticks_until_another_is_entered() {
        let heartbeat: &'static Heartbeat = Box::leak(Box::default());
        let board: &'static Board = Box::leak(Box::default());
        let (events, _silent) = std::io::pipe().unwrap();
        let (events, span) = (Arc::new(OwnedFd::from(events)), Duration::from_millis(1));
        let is_watched = |index| {
            board.sent_at.store(heartbeat.beat(), Ordering::Relaxed);
            heartbeat.enter(CoroutineId { index, generation: 1 }, 0);
            let begun = Instant::now();
            while board.counts() && begun.elapsed() < Duration::from_secs(60) {
                std::thread::yield_now();
            }
            !board.counts()
        };
        board.hang_bell().unwrap();
        Ticker { heartbeat, board, events, span, slice: 1_000_000, interrupt: || () }.start().unwrap();
        assert!(is_watched(0));
        let counted = board.ticked.load(Ordering::Relaxed);
        let begun = Instant::now();
        while begun.elapsed() < 5 * span {}
        // Only the bell ends a watch of so many ticks.
        assert!(is_watched(1));
        assert!(board.ticked.load(Ordering::Relaxed) >= counted + 5);
    }

    #[test]
    fn who_is_in_c_code_is_asked_only_now_and_then() {
        let heartbeat: &'static Heartbeat = Box::leak(Box::default());
        let board: &'static Board = Box::leak(Box::default());
        let (events, mut event) = std::io::pipe().unwrap();
        event.write_all(b"x").unwrap();
        heartbeat.enter(CoroutineId { index: 0, generation: 1 }, 0);
        board.leave_alone(ALONE);
        let span = Duration::from_millis(1);
        let events = Arc::new(OwnedFd::from(events));
        let mut ticker = Ticker { heartbeat, board, events, span, slice: 6, interrupt: || () };
        let seen = Seen { beat: heartbeat.beat(), ticks: ALONE, quiet: 0, early: SAVED_MAX };
        assert_eq!(ticker.next(&seen, span), Next::Watch { most: 6 - ALONE, for_events: true });
        board.ask(seen.beat, seen.ticks);
        assert_eq!(ticker.next(&seen, span), Next::Tick);
        board.call_deputy(seen.beat, span);
        assert_eq!(ticker.next(&seen, span), Next::Watch { most: 6, for_events: false });
        ticker.slice = 60_000;
        let again = ASKED_AGAIN_AFTER;
        assert_eq!(ticker.next(&seen, span), Next::Watch { most: again, for_events: false }, "it computes");
        heartbeat.enter(CoroutineId { index: 1, generation: 1 }, 0);
        assert_eq!(ticker.next(&seen, span), Next::Tick);
    }

    #[test]
    fn ticks_pass_as_one_while_nobody_may_interrupt() {
        let (heartbeat, board): (&Heartbeat, &Board) = (Box::leak(Box::default()), Box::leak(Box::default()));
        let (events, _silent) = std::io::pipe().unwrap();
        let (events, span) = (Arc::new(OwnedFd::from(events)), Duration::from_millis(1));
        let mut ticker = Ticker { heartbeat, board, events, span, slice: 10, interrupt: || () };
        let seen = Seen { beat: 8, ..Seen::default() };
        for (alone, stride) in [(ALONE, STRIDE), (ALONE - 1, 1), (0, 1)] {
            board.leave_alone(alone);
            assert_eq!(ticker.stride(&seen), stride, "{alone}");
        }
        board.leave_alone(ALONE);
        ticker.slice = ALONE - 1;
        assert_eq!(ticker.stride(&seen), 1, "a shorter slice would end in between");
        ticker.slice = ALONE;
        assert_eq!(ticker.stride(&seen), STRIDE);
        board.ask(seen.beat, ALONE);
        assert_eq!(ticker.stride(&seen), 1, "the deputy is to know");
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
