//! A loop that one coroutine holds: who notices, and who acts in its place meanwhile.
//!
//! A thread compares the loop's heartbeat between its ticks. When the loop has been idle for long it sleeps, and the
//! next coroutine that is entered wakes it. Where code is preempted it sleeps until the ticker calls it, because one goes on
//! that was asked to give way: that one is probably in C code, and if others wait the loop is known to be held sooner. Must
//! not know what the deputy does. Invariant: a [`Deputy`] acts only while the heartbeat stands still, or has just moved: what
//! it shares with the loop's thread it must share in a way that does not depend on that.

use std::time::{Duration, Instant};

use crate::Runtime;
use crate::board::Board;
use crate::thread_clock::ThreadClock;
use crate::watch::{Heartbeat, Sleeper};

/// A loop is held when one coroutine has run this long: computed for as long, or waited in a call. Whoever waits for the processor
/// itself holds nobody up.
const HELD_AFTER: Duration = Duration::from_millis(10);
/// And when it has run this much longer than a slice of time: code that is preempted does not count.
const AFTER_SLICE: Duration = Duration::from_millis(2);
/// Or when it has computed this long since it was seen to keep others waiting that it was asked to give way to. Processor
/// time: it is not held by a busy machine.
const COMPUTES_ON: Duration = Duration::from_millis(2);
/// How often the thread looks.
const TICK: Duration = Duration::from_millis(3);
/// The thread sleeps when nothing has been entered for this long.
const AWAKE: Duration = Duration::from_secs(1);

/// Acts for a loop that is held.
pub trait Deputy: Send {
    /// The loop is held. Returns when `hold` has ended.
    fn stand_in(&mut self, hold: &Hold<'_>);
}

/// One time for which the loop is held.
#[derive(Debug)]
pub struct Hold<'a> {
    heartbeat: &'a Heartbeat,
    beat: u64,
    since: Instant,
}

impl Hold<'_> {
    /// Whether the same coroutine still holds the loop.
    pub fn lasts(&self) -> bool {
        self.heartbeat.beat() == self.beat
    }

    /// For how long it has.
    pub fn span(&self) -> Duration {
        self.since.elapsed()
    }
}

/// Starts the thread. For the loop's own thread, which the deputy acts for.
///
/// # Errors
/// Those of pthread_create(3) and pthread_getcpuclockid(3).
pub fn watch(runtime: &Runtime, deputy: impl Deputy + 'static) -> std::io::Result<()> {
    let thread = std::thread::Builder::new().name("weft-deputy".to_owned()).stack_size(256 * 1024);
    let slice = Duration::from_nanos(runtime.limits.slice);
    let watch = Watch {
        heartbeat: runtime.heartbeat,
        board: runtime.slices.board,
        clock: ThreadClock::of_this_thread()?,
        held_after: HELD_AFTER.max(slice + AFTER_SLICE),
        computes_on: COMPUTES_ON,
    };
    crate::hook::with_signals_blocked(|| thread.spawn(move || watch.run(deputy))).map(drop)
}

/// The thread, before it is started.
struct Watch {
    heartbeat: &'static Heartbeat,
    board: &'static Board,
    /// Of the loop's thread.
    clock: ThreadClock,
    held_after: Duration,
    computes_on: Duration,
}

/// Since when a coroutine has run, the processor time that the loop's thread had used then, and when others were first seen to
/// wait for it.
struct Seen {
    beat: u64,
    since: Instant,
    used: Duration,
    awaited: Option<Duration>,
}

impl Watch {
    fn run(self, mut deputy: impl Deputy) {
        let mut seen = self.look();
        loop {
            if self.board.calls_this_thread() {
                self.wait_for_call(&mut seen);
            }
            std::thread::sleep(TICK);
            let beat = self.heartbeat.beat();
            if beat != seen.beat {
                seen = self.look();
            } else if Heartbeat::is_in_coroutine(beat) {
                if self.has_run_for_long(&seen) || self.computes_on(&mut seen) {
                    deputy.stand_in(&Hold { heartbeat: self.heartbeat, beat, since: seen.since });
                    seen = self.look();
                }
            } else if seen.since.elapsed() >= AWAKE {
                self.heartbeat.sleep_until_entered(Sleeper::Deputy, beat);
                seen = self.look();
            }
        }
    }

    /// Sleeps until the ticker says of a coroutine that it goes on, and that one still runs.
    fn wait_for_call(&self, seen: &mut Seen) {
        loop {
            let beat = self.heartbeat.beat();
            if let Some(ran) = self.board.goes_on(beat) {
                if seen.beat != beat {
                    *seen = self.look();
                    // Of the processor time that it had until now nothing is known: that counts from here.
                    seen.since = seen.since.checked_sub(ran).unwrap_or(seen.since);
                }
                return;
            }
            // A call that has come since then ends this at once.
            std::thread::park();
        }
    }

    fn look(&self) -> Seen {
        let (beat, used) = (self.heartbeat.beat(), self.clock.used());
        Seen { beat, since: Instant::now(), used, awaited: self.board.is_awaited(beat).then_some(used) }
    }

    fn has_run_for_long(&self, seen: &Seen) -> bool {
        seen.since.elapsed() >= self.held_after
            && (self.clock.used() >= seen.used + self.held_after || !self.clock.is_runnable())
    }

    /// Whether who was seen to keep others waiting has computed on since.
    fn computes_on(&self, seen: &mut Seen) -> bool {
        match seen.awaited {
            Some(used) => self.clock.used() >= used + self.computes_on,
            None => {
                seen.awaited = self.board.is_awaited(seen.beat).then(|| self.clock.used());
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CoroutineId;

    /// More processor time than the test itself needs, also where a processor is emulated.
    const LONG: Duration = Duration::from_millis(200);

    fn compute(clock: &ThreadClock, span: Duration) {
        let end = clock.used() + span;
        while clock.used() < end {}
    }

    #[test]
    fn who_has_run_for_long_has_computed_or_waits_in_a_call() {
        let heartbeat: &'static Heartbeat = Box::leak(Box::default());
        let board: &'static Board = Box::leak(Box::default());
        heartbeat.enter(CoroutineId { index: 0, generation: 1 }, 0);
        let clock = ThreadClock::of_this_thread().unwrap();
        let watch = Watch { heartbeat, board, clock, held_after: LONG, computes_on: Duration::MAX };
        let mut seen = watch.look();
        seen.since = seen.since.checked_sub(watch.held_after).expect("the machine runs for longer");
        assert!(!watch.has_run_for_long(&seen), "this thread is runnable, and has computed nothing");
        compute(&watch.clock, watch.held_after);
        assert!(watch.has_run_for_long(&seen));
    }

    #[test]
    fn who_computes_while_others_wait_holds_the_loop_and_who_waits_for_the_processor_does_not() {
        let heartbeat: &'static Heartbeat = Box::leak(Box::default());
        let board: &'static Board = Box::leak(Box::default());
        heartbeat.enter(CoroutineId { index: 0, generation: 1 }, 0);
        let clock = ThreadClock::of_this_thread().unwrap();
        let watch = Watch { heartbeat, board, clock, held_after: Duration::MAX, computes_on: LONG };
        let mut seen = watch.look();
        compute(&watch.clock, LONG);
        assert!(!watch.computes_on(&mut seen), "nobody waits for it");
        board.others_wait(heartbeat.beat());
        assert!(!watch.computes_on(&mut seen), "others have only begun to wait");
        std::thread::sleep(2 * LONG);
        assert!(!watch.computes_on(&mut seen), "it has not had the processor");
        compute(&watch.clock, LONG);
        assert!(watch.computes_on(&mut seen));
    }
}
