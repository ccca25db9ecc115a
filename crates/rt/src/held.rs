//! A loop that one coroutine holds: who notices, and who acts in its place meanwhile.
//!
//! A thread compares the loop's heartbeat between its ticks. When the loop has been idle for long it sleeps, and the
//! next coroutine that is entered wakes it. Must not know what the deputy does. Invariant: a [`Deputy`] acts only while
//! the heartbeat stands still, or has just moved: what it shares with the loop's thread it must share in a way that
//! does not depend on that.

use std::time::{Duration, Instant};

use crate::watch::{Heartbeat, Sleeper};

/// A loop is held when one coroutine has run this long.
const HELD_AFTER: Duration = Duration::from_millis(10);
/// And when it has run this much longer than a slice of time: code that is preempted does not count.
const AFTER_SLICE: Duration = Duration::from_millis(2);
/// How often the thread looks.
const TICK: Duration = Duration::from_millis(5);
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

/// Starts the thread. `slice`: after how long code that can be preempted gives way; zero if it does not.
///
/// # Errors
/// Those of pthread_create(3).
pub fn watch(
    heartbeat: &'static Heartbeat,
    slice: Duration,
    deputy: impl Deputy + 'static,
) -> std::io::Result<()> {
    let thread = std::thread::Builder::new().name("weft-deputy".to_owned()).stack_size(256 * 1024);
    let run = move || run(heartbeat, HELD_AFTER.max(slice + AFTER_SLICE), deputy);
    crate::hook::with_signals_blocked(|| thread.spawn(run)).map(drop)
}

fn run(heartbeat: &'static Heartbeat, held_after: Duration, mut deputy: impl Deputy) {
    let mut last = heartbeat.beat();
    let mut since = Instant::now();
    loop {
        std::thread::sleep(TICK);
        let beat = heartbeat.beat();
        if beat != last {
            (last, since) = (beat, Instant::now());
        } else if Heartbeat::is_in_coroutine(beat) {
            if since.elapsed() >= held_after {
                deputy.stand_in(&Hold { heartbeat, beat, since });
                (last, since) = (heartbeat.beat(), Instant::now());
            }
        } else if since.elapsed() >= AWAKE {
            heartbeat.sleep_until_entered(Sleeper::Deputy, beat);
            (last, since) = (heartbeat.beat(), Instant::now());
        }
    }
}
