//! What the loop's thread and the ticker tell each other.
//!
//! It must not know when a slice ends or who runs next. Invariants: each field has one writer, but for the counts of ticks,
//! to which both threads add, and `strides`, which both clear; a tick is counted once, for the coroutine that ran then.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};

use crate::{Nanos, clock};

/// Ticks for which a coroutine may compute although others are ready, unless it is said otherwise. Most pages need no more: one that
/// is interrupted is overtaken by all that come after it, and each exchange costs the processor's caches.
pub(crate) const ALONE: u32 = 4;

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
    alone: AtomicU32,
    /// Whether the ticker sleeps for several ticks, because those are so many. The loop rings for it at most once.
    strides: AtomicBool,
    /// Ticks since one of those that gave way has run: with a coroutine, or while some of those wait.
    pub of_others: AtomicU32,
    /// All such ticks.
    pub ticked: AtomicU32,
    /// Since when, in nanoseconds, the ticker counts none, because it watches for events only; 0: it counts. Whoever sets it to
    /// 0 again counts those.
    uncounted: AtomicU64,
    /// At most so many ticks are uncounted, of so many nanoseconds each. By the ticker.
    uncounted_max: AtomicU32,
    span: AtomicU64,
    /// By which the loop tells the ticker that it has entered another coroutine. By the ticker.
    bell: OnceLock<OwnedFd>,
    /// The beat at which the running coroutine should give way to others that are ready. By the ticker.
    awaited: AtomicU64,
    /// The beat at which it should give way, and the ticks that it has run then.
    asked: AtomicU64,
    ticks: AtomicU32,
    /// Who is called when a coroutine goes on although it was asked to give way. By itself.
    deputy: OnceLock<Thread>,
    /// The beat of the last one that did, and for how many nanoseconds it had run. By the ticker.
    goes_on: AtomicU64,
    ran: AtomicU64,
}

impl Board {
    /// The ticks that the coroutine has run which was asked at this beat; `None`: none was.
    pub(crate) fn asked_at(&self, beat: u64) -> Option<u32> {
        (self.asked.load(Ordering::Acquire) == beat).then(|| self.ticks.load(Ordering::Relaxed))
    }

    /// Ticks for which the running coroutine may compute although others are ready.
    pub(crate) fn alone(&self) -> u32 {
        self.alone.load(Ordering::SeqCst)
    }

    /// They are so many from now on. If it is sooner than the ticker thinks that somebody may be interrupted, it hears of it.
    pub(crate) fn leave_alone(&self, ticks: u32) {
        self.alone.store(ticks, Ordering::SeqCst);
        if ticks < ALONE && self.strides.load(Ordering::SeqCst) && self.strides.swap(false, Ordering::SeqCst)
        {
            self.ring();
        }
    }

    /// While the ticker waits, it is rung for when somebody may be interrupted sooner. Returns whether it was not, and he may not.
    pub(crate) fn stride(&self, wait: impl FnOnce()) -> bool {
        self.strides.store(true, Ordering::SeqCst);
        if self.alone() >= ALONE {
            wait();
        }
        self.strides.swap(false, Ordering::SeqCst) && self.alone() >= ALONE
    }

    pub(crate) fn ask(&self, beat: u64, ticks: u32) {
        self.ticks.store(ticks, Ordering::Relaxed);
        self.asked.store(beat, Ordering::Release);
    }

    /// The coroutine of this beat, which has run for so long, goes on although it was asked to give way.
    pub(crate) fn call_deputy(&self, beat: u64, ran: Duration) {
        if self.goes_on.load(Ordering::Relaxed) != beat {
            self.ran.store(u64::try_from(ran.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
            self.goes_on.store(beat, Ordering::Release);
            self.deputy.get().inspect(|thread| thread.unpark());
        }
    }

    /// Whether there is a ticker, which calls. The calling thread is the one that will be called.
    pub(crate) fn calls_this_thread(&self) -> bool {
        let has_ticker = self.bell.get().is_some();
        if has_ticker {
            self.deputy.get_or_init(std::thread::current);
        }
        has_ticker
    }

    /// For how long the coroutine of this beat had run when it was seen to go on; `None`: it was not.
    pub(crate) fn goes_on(&self, beat: u64) -> Option<Duration> {
        (self.goes_on.load(Ordering::Acquire) == beat)
            .then(|| Duration::from_nanos(self.ran.load(Ordering::Relaxed)))
    }

    /// Whether others are ready, and the coroutine of this beat was asked to give way to them.
    pub(crate) fn is_awaited(&self, beat: u64) -> bool {
        self.awaited.load(Ordering::Relaxed) == beat
    }

    /// Others are ready, and the coroutine of this beat is asked to give way to them.
    pub(crate) fn others_wait(&self, beat: u64) {
        self.awaited.store(beat, Ordering::Relaxed);
    }

    pub(crate) fn has_behind(&self) -> bool {
        self.behind.load(Ordering::Relaxed) > 0
    }

    /// Whether coroutines have run before the one of this beat since answers were last sent: theirs may wait.
    pub(crate) fn has_unsent(&self, beat: u64) -> bool {
        (beat >> 1).saturating_sub(self.sent_at.load(Ordering::Relaxed) >> 1) > 1
    }

    /// These ticks have passed.
    pub(crate) fn count(&self, ticks: u32) {
        self.of_others.fetch_add(ticks, Ordering::Relaxed);
        self.ticked.fetch_add(ticks, Ordering::Relaxed);
    }

    /// The ticker counts none from now on, for at most so many ticks of so many nanoseconds.
    pub(crate) fn stop_counting(&self, most: u32, span: Nanos) {
        self.uncounted_max.store(most, Ordering::Relaxed);
        self.span.store(span, Ordering::Relaxed);
        self.uncounted.store(clock::now(), Ordering::Release);
    }

    #[cfg(test)]
    pub(crate) fn counts(&self) -> bool {
        self.uncounted.load(Ordering::Relaxed) == 0
    }

    /// Counts what has passed since, unless the other thread has done so.
    #[inline]
    pub(crate) fn catch_up(&self) {
        if self.uncounted.load(Ordering::Relaxed) != 0 {
            self.count_uncounted();
        }
    }

    #[cold]
    fn count_uncounted(&self) {
        let since = self.uncounted.swap(0, Ordering::Acquire);
        if since != 0 {
            let ticks = clock::now().saturating_sub(since) / self.span.load(Ordering::Relaxed).max(1);
            let most = self.uncounted_max.load(Ordering::Relaxed);
            self.count(u32::try_from(ticks).unwrap_or(most).min(most));
        }
    }

    /// Makes the bell. Before the ticker's thread is started.
    ///
    /// # Errors
    /// Those of eventfd(2).
    pub(crate) fn hang_bell(&self) -> rustix::io::Result<()> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let _ = self.bell.set(bell);
        Ok(())
    }

    pub(crate) fn bell(&self) -> Option<&OwnedFd> {
        self.bell.get()
    }

    /// The ticker, which watches, is told that another coroutine is entered. What has passed belongs to those before it.
    pub(crate) fn ring(&self) {
        self.catch_up();
        if let Some(bell) = self.bell.get() {
            // It fails if it has rung already.
            let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
        }
    }

    /// The ticker has heard it.
    pub(crate) fn heard(&self) {
        if let Some(bell) = self.bell.get() {
            let _ = rustix::io::read(bell, &mut [0; 8]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MILLISECOND;

    #[test]
    fn who_sleeps_for_several_ticks_hears_of_those_for_whom_they_are_too_many() {
        let board = Board::default();
        board.hang_bell().unwrap();
        let has_rung = || rustix::io::read(board.bell().unwrap(), &mut [0; 8]).is_ok();
        board.leave_alone(ALONE);
        assert!(board.stride(|| board.leave_alone(ALONE + 1)) && !has_rung());
        assert!(!board.stride(|| board.leave_alone(ALONE - 1)) && has_rung());
        // Nor does it go to sleep then.
        assert!(!board.stride(|| panic!("he may be interrupted")));
        board.leave_alone(0);
        assert!(!has_rung(), "nobody sleeps");
    }

    #[test]
    fn uncounted_ticks_are_counted_once_and_only_so_many() {
        let board = Board::default();
        board.stop_counting(3, 1);
        board.ring();
        board.catch_up();
        assert_eq!(board.ticked.load(Ordering::Relaxed), 3);
        board.stop_counting(3, 3600 * 1000 * MILLISECOND);
        board.catch_up();
        assert_eq!(board.ticked.load(Ordering::Relaxed), 3, "no tick has passed");
    }
}
