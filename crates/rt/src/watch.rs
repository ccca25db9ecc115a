//! The watch thread: notices a coroutine that holds the loop too long or past its job's time limit, and ticks the time
//! slices of coroutine mode.
//!
//! It reads a few atomics and calls function pointers, which MUST be safe from another thread (they set flags on which
//! the loop's thread acts). The loop's fast path reads no clock: the thread compares the heartbeat between its ticks. While
//! no coroutine is entered there are none.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use crate::board::Board;
use crate::{CoroutineId, Nanos, clock};

/// What the loop publishes: which coroutine it entered, and how many it has entered.
#[derive(Default, Debug)]
pub struct Heartbeat {
    /// Number of entries, shifted left by one; the low bit is set while the loop itself runs.
    beat: AtomicU64,
    coroutine: AtomicU64,
    /// When the job of that coroutine began; [`NEVER_LATE`] if it may take any time.
    since: AtomicU64,
    /// Who must be told when a coroutine is entered: [`SLEEPERS`], [`TICKER`].
    told: AtomicU8,
    sleepers: [OnceLock<Thread>; 3],
    board: OnceLock<&'static Board>,
}

/// Threads in [`Heartbeat::sleep_until_entered`].
const SLEEPERS: u8 = 1;
/// The ticker, which watches for events only.
const TICKER: u8 = 2;

/// Who sleeps while the loop is idle: one thread each.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sleeper {
    Deputy,
    Ticker,
    Watch,
}

impl Heartbeat {
    #[inline]
    pub(crate) fn enter(&self, id: CoroutineId, since: Nanos) {
        self.since.store(since, Ordering::Relaxed);
        self.coroutine.store(u64::from(id.generation) << 32 | u64::from(id.index), Ordering::Relaxed);
        let beat = self.beat.load(Ordering::Relaxed);
        self.beat.store((beat | 1) + 1, Ordering::Relaxed);
        if self.told.load(Ordering::Relaxed) != 0 {
            self.tell();
        }
    }

    #[cold]
    fn tell(&self) {
        let told = self.told.swap(0, Ordering::Relaxed);
        if told & SLEEPERS != 0 {
            self.sleepers.iter().filter_map(OnceLock::get).for_each(Thread::unpark);
        }
        if let Some(board) = self.board.get().filter(|_| told & TICKER != 0) {
            board.ring();
        }
    }

    /// Until [`Heartbeat::tell_no_more`] or the first time, the board's bell rings when a coroutine is entered. One that is
    /// being entered at this moment may be missed.
    pub(crate) fn tell_when_entered(&self, board: &'static Board) {
        self.board.get_or_init(|| board);
        self.told.fetch_or(TICKER, Ordering::SeqCst);
    }

    pub(crate) fn tell_no_more(&self) {
        self.told.fetch_and(!TICKER, Ordering::Relaxed);
    }

    /// A number that changes when a coroutine is entered or the loop becomes idle.
    pub(crate) fn beat(&self) -> u64 {
        self.beat.load(Ordering::Relaxed)
    }

    /// Whether a coroutine runs at this beat.
    pub(crate) fn is_in_coroutine(beat: u64) -> bool {
        beat & 1 == 0 && beat != 0
    }

    /// Sleeps until the beat is no longer `beat`, at which the loop was idle.
    pub(crate) fn sleep_until_entered(&self, sleeper: Sleeper, beat: u64) {
        /// Longer than it takes until a store of one thread is seen by another.
        const SEEN: Duration = Duration::from_millis(5);
        self.sleepers[sleeper as usize].get_or_init(std::thread::current);
        self.told.fetch_or(SLEEPERS, Ordering::SeqCst);
        // The loop's thread stores its beat and then reads the flag, without a barrier between them. If it has not seen
        // the flag, its beat is seen after this time.
        let seen = Instant::now() + SEEN;
        while self.beat() == beat {
            // Waking one wakes all, so a thread may find that it was woken for an earlier sleep.
            match seen.checked_duration_since(Instant::now()) {
                Some(rest) => std::thread::park_timeout(rest),
                None => std::thread::park(),
            }
        }
    }

    /// The beat at which a coroutine was entered that runs now; `None`: the loop runs, or waits. Any thread may ask.
    pub fn running(&self) -> Option<u64> {
        Some(self.beat()).filter(|beat| Heartbeat::is_in_coroutine(*beat))
    }

    #[inline]
    pub(crate) fn idle(&self) {
        let beat = self.beat.load(Ordering::Relaxed);
        self.beat.store(beat | 1, Ordering::Relaxed);
    }

    fn read(&self) -> (u64, CoroutineId) {
        let id = self.coroutine.load(Ordering::Relaxed);
        let id = CoroutineId { index: id as u32, generation: (id >> 32) as u32 };
        (self.beat.load(Ordering::Relaxed), id)
    }
}

/// The longest tick while jobs have a time limit.
const LATE_TICK: Duration = Duration::from_millis(250);

/// The beginning of a job that has no time limit.
pub(crate) const NEVER_LATE: Nanos = Nanos::MAX;

/// How long a coroutine may hold the loop after it was told to end.
pub const GIVEN_UP_AFTER: Duration = Duration::from_secs(3);

/// What to do, and when. The functions run on the watch thread.
pub struct Watch {
    /// A coroutine that has blocked the loop this long is reported, once. Zero: never.
    pub held_max: Duration,
    /// Reports it, with the time it has held the loop so far.
    pub held: Box<dyn Fn(CoroutineId, Duration) + Send>,
    /// A coroutine that has run this long is asked to yield. Zero: never.
    pub slice: Duration,
    /// Asks the running coroutine to yield.
    pub preempt: fn(),
    /// A coroutine that holds the loop and whose job began this long ago is told to end. Zero: never.
    pub late_after: Duration,
    /// Tells it. Called at each tick from then on.
    pub late: fn(),
    /// It has held the loop for [`GIVEN_UP_AFTER`] since it was told first: it is in code that cannot be told. Called once.
    pub give_up: fn(CoroutineId),
}

impl Watch {
    /// Starts the thread if a limit is set.
    ///
    /// # Errors
    /// Those of pthread_create(3).
    pub fn start(self, heartbeat: &'static Heartbeat) -> std::io::Result<()> {
        let Some(tick) = self.tick() else { return Ok(()) };
        let thread = std::thread::Builder::new().name("weft-watch".to_owned()).stack_size(64 * 1024);
        let run = move || self.run(heartbeat, tick);
        crate::hook::with_signals_blocked(|| thread.spawn(run)).map(drop)
    }

    fn tick(&self) -> Option<Duration> {
        let quarter = self.held_max / 4;
        let smallest = [quarter, self.slice, (self.late_after / 4).min(LATE_TICK)]
            .into_iter()
            .filter(|span| !span.is_zero())
            .min()?;
        Some(smallest.max(Duration::from_millis(1)))
    }

    fn is_late(&self, heartbeat: &Heartbeat) -> bool {
        let since = heartbeat.since.load(Ordering::Relaxed);
        !self.late_after.is_zero()
            && u128::from(clock::now().saturating_sub(since)) >= self.late_after.as_nanos()
    }

    fn run(self, heartbeat: &Heartbeat, tick: Duration) {
        let (mut last, mut held, mut is_reported, mut told) = (0, Duration::ZERO, false, None);
        let mut given_up = false;
        loop {
            std::thread::sleep(tick);
            let (beat, coroutine) = heartbeat.read();
            let in_coroutine = Heartbeat::is_in_coroutine(beat);
            if beat != last || !in_coroutine {
                let is_idle = beat == last;
                (last, held, is_reported, told) = (beat, Duration::ZERO, false, None);
                if is_idle {
                    heartbeat.sleep_until_entered(Sleeper::Watch, beat);
                }
                continue;
            }
            held += tick;
            if !self.slice.is_zero() && held >= self.slice {
                (self.preempt)();
            }
            if self.is_late(heartbeat) {
                (self.late)();
                let since: Duration = *told.get_or_insert(held);
                if held - since >= GIVEN_UP_AFTER && !given_up {
                    given_up = true;
                    (self.give_up)(coroutine);
                }
            }
            if !self.held_max.is_zero() && held >= self.held_max && !is_reported {
                is_reported = true;
                (self.held)(coroutine, held);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    static HELD: AtomicUsize = AtomicUsize::new(0);

    fn wait_until(what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(30), "{what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn the_thread_sleeps_while_nothing_is_entered_and_then_watches_again() {
        let heartbeat: &'static Heartbeat = Box::leak(Box::default());
        heartbeat.idle();
        let watch = Watch {
            held_max: Duration::from_millis(8),
            held: Box::new(|_, _| {
                HELD.fetch_add(1, Ordering::SeqCst);
            }),
            slice: Duration::ZERO,
            preempt: || (),
            late_after: Duration::ZERO,
            late: || (),
            give_up: |_| (),
        };
        watch.start(heartbeat).unwrap();
        for round in 1..=3 {
            wait_until("it sleeps", || heartbeat.told.load(Ordering::SeqCst) & SLEEPERS != 0);
            heartbeat.enter(CoroutineId { index: 0, generation: 1 }, NEVER_LATE);
            wait_until("it reports", || HELD.load(Ordering::SeqCst) == round);
            heartbeat.idle();
        }
    }
}
