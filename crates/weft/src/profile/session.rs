//! A worker takes a profile: a thread looks at what runs, the loop at what waits.
//!
//! Must not know who asked. Invariants: there is one session at a time, and none lasts longer than [`SECONDS_MAX`]; the thread
//! ends with it; what was seen is kept for [`KEPT`] after its end, and then forgotten.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use weft_rt::watch::Heartbeat;
use weft_rt::{Nanos, Runtime, SECOND, clock};
use weft_zend::{can_read_running_stack, running_stack};

use super::folded::Folded;
use crate::wait_names;

/// The longest profile, in seconds.
pub const SECONDS_MAX: f64 = 300.0;
/// Samples a second.
pub const RATE_MAX: u32 = 1000;
/// For how long after its end a profile can be had.
const KEPT: Nanos = 60 * SECOND;
/// Coroutines that wait of which the stacks are read at a time. Of more, the others are taken for the same.
const STACKS_PER_LOOK: usize = 64;
/// The loop may have been held between two looks: what waits then has waited for so many samples at most.
const MISSED_MAX: u64 = 1000;
/// A stack is read into two buffers of 8 KiB.
const THREAD_STACK_BYTES: usize = 256 * 1024;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wanted {
    /// Which profile it is.
    pub number: u64,
    /// For how long, in seconds.
    pub seconds: f64,
    /// Samples a second.
    pub rate: u32,
}

impl Wanted {
    /// As a line, for [`Wanted::parse`].
    pub fn line(&self) -> String {
        format!("{} {} {}", self.number, self.seconds, self.rate)
    }

    /// Such a line, if its numbers are within bounds.
    pub fn parse(line: &str) -> Option<Wanted> {
        let mut words = line.split(' ');
        let number = words.next()?.parse().ok()?;
        let seconds = words.next()?.parse().ok().filter(|seconds| (0.05..=SECONDS_MAX).contains(seconds))?;
        let rate = words.next()?.parse().ok().filter(|rate| (1..=RATE_MAX).contains(rate))?;
        words.next().is_none().then_some(Wanted { number, seconds, rate })
    }
}

type Shared = Arc<Mutex<Folded>>;

struct Session {
    number: u64,
    until: Nanos,
    period: Nanos,
    /// When the loop looks next.
    next: Nanos,
    /// The first coroutine that it looks at then.
    from: usize,
    folded: Shared,
}

/// A worker's part in profiles.
struct Profiler {
    runtime: &'static Runtime,
    session: RefCell<Option<Session>>,
}

/// What does not come.
const NEVER: Nanos = Nanos::MAX;

thread_local! {
    static PROFILER: Cell<Option<&'static Profiler>> = const { Cell::new(None) };
    /// When the loop looks next. Beside the profiler, because each turn asks.
    static NEXT: Cell<Nanos> = const { Cell::new(NEVER) };
}

/// From here on this worker can be asked for profiles.
pub fn open(runtime: &'static Runtime) {
    let profiler = Profiler { runtime, session: RefCell::default() };
    PROFILER.set(Some(Box::leak(Box::new(profiler))));
}

/// Begins a profile in this worker.
///
/// # Errors
/// What is in the way.
pub fn begin(wanted: &Wanted) -> Result<(), String> {
    PROFILER.get().ok_or("this worker takes no profiles")?.begin(wanted, clock::now())
}

/// What was seen for a profile so far.
pub fn taken(number: u64) -> Option<Vec<(String, u64)>> {
    let session = PROFILER.get()?.session.borrow();
    let session = session.as_ref().filter(|session| session.number == number)?;
    let folded = session.folded.lock().unwrap_or_else(PoisonError::into_inner);
    Some(folded.stacks().map(|(stack, count)| (stack.to_owned(), count)).collect())
}

/// The loop's part in a turn: next to nothing while no profile is taken.
#[inline]
pub fn turn(now: Nanos) {
    if now >= NEXT.get()
        && let Some(profiler) = PROFILER.get()
    {
        NEXT.set(profiler.look(now));
    }
}

/// When the loop must look next.
#[inline]
pub fn deadline() -> Nanos {
    NEXT.get()
}

impl Profiler {
    fn begin(&self, wanted: &Wanted, now: Nanos) -> Result<(), String> {
        let mut session = self.session.borrow_mut();
        if let Some(last) = session.as_ref().filter(|last| now < last.until) {
            let seconds = (last.until - now) as f64 / SECOND as f64;
            return Err(format!("another profile is being taken, for {seconds:.1} s more"));
        }
        if !can_read_running_stack() {
            return Err(
                "a filter of system calls forbids process_vm_readv(2), by which stacks are read: allow it"
                    .to_owned(),
            );
        }
        let period = SECOND / u64::from(wanted.rate);
        let until = now + (wanted.seconds * SECOND as f64) as Nanos;
        let folded = Shared::default();
        let sampler = Sampler {
            heartbeat: self.runtime.heartbeat,
            period: Duration::from_nanos(period),
            until: Instant::now() + Duration::from_secs_f64(wanted.seconds),
            folded: Arc::clone(&folded),
            state: File::open("/proc/thread-self/stat").ok(),
        };
        sampler.start().map_err(|error| format!("no thread for a profile: {error}"))?;
        let next = now + period;
        NEXT.set(next);
        *session = Some(Session { number: wanted.number, until, period, next, from: 0, folded });
        Ok(())
    }

    /// Looks at what waits, or forgets a session that nobody has asked for. Returns when to look next.
    fn look(&self, now: Nanos) -> Nanos {
        let mut open = self.session.borrow_mut();
        let Some(session) = open.as_mut() else { return NEVER };
        if now >= session.until {
            let forgotten = session.until + KEPT;
            if now < forgotten {
                return forgotten;
            }
            *open = None;
            return NEVER;
        }
        let missed = (now - session.next) / session.period;
        session.next += (missed + 1) * session.period;
        let (stacks, all) = self.runtime.stacks(session.from, STACKS_PER_LOOK);
        session.from = session.from.wrapping_add(stacks.len());
        let each = (all / stacks.len().max(1)) as u64 * (missed + 1).min(MISSED_MAX);
        let mut folded = session.folded.lock().unwrap_or_else(PoisonError::into_inner);
        // The loop has its turn because one gave way that computes: that one is seen by the thread. The others wait for it.
        let mut gave_way = false;
        for stacked in stacks {
            if stacked.waits_for.is_none() && !std::mem::replace(&mut gave_way, true) {
                continue;
            }
            let why = stacked.waits_for.map_or("ready", wait_names::name_of);
            folded.add(&line("off-CPU", &stacked.stack, &format!("[{why}]")), each);
        }
        session.next
    }
}

/// Below the code of each request in coroutine mode: the Fiber that runs it.
const OWN_FRAMES: &str = "Fiber::start;{coroutine}";

/// A stack below a kind, with what stands on top of it.
fn line(kind: &str, stack: &str, top: &str) -> String {
    let stack = stack.strip_prefix(OWN_FRAMES).map_or(stack, |stack| stack.trim_start_matches(';'));
    let top = if stack.is_empty() && top.is_empty() { "[weft]" } else { top };
    let words = [kind, stack, top];
    let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(";")
}

/// The thread that looks at what runs.
struct Sampler {
    heartbeat: &'static Heartbeat,
    period: Duration,
    until: Instant,
    folded: Shared,
    /// proc(5) of the loop's thread.
    state: Option<File>,
}

impl Sampler {
    fn start(self) -> std::io::Result<()> {
        let thread = std::thread::Builder::new().name("weft-profile".to_owned());
        let thread = thread.stack_size(THREAD_STACK_BYTES);
        weft_rt::hook::with_signals_blocked(|| thread.spawn(move || self.run())).map(drop)
    }

    fn run(self) {
        let mut next = Instant::now();
        loop {
            next = (next + self.period).max(Instant::now());
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            if Instant::now() >= self.until {
                return;
            }
            if let Some(line) = self.sample() {
                self.folded.lock().unwrap_or_else(PoisonError::into_inner).add(&line, 1);
            }
        }
    }

    /// What the loop's thread does; nothing if it is idle.
    fn sample(&self) -> Option<String> {
        let running = self.heartbeat.running();
        let Some(beat) = running else {
            return self.has_processor().then(|| line("on-CPU", "", "[weft]"));
        };
        let has_processor = self.has_processor();
        let stack = running_stack();
        // Another coroutine may have been entered meanwhile: it is not known whose stack that is.
        let stack = if self.heartbeat.running() == Some(beat) { stack } else { String::new() };
        Some(match (has_processor, stack.is_empty()) {
            (true, true) => line("on-CPU", "", "[weft]"),
            (true, false) => line("on-CPU", &stack, ""),
            (false, _) => line("off-CPU", &stack, "[blocked]"),
        })
    }

    /// Whether the loop's thread runs, or could. Where that cannot be known, it is taken to.
    fn has_processor(&self) -> bool {
        let mut text = [0; 128];
        let length = self.state.as_ref().and_then(|state| state.read_at(&mut text, 0).ok()).unwrap_or(0);
        let text = &text[..length];
        // The name in brackets may have brackets in it.
        let after = text.iter().rposition(|byte| *byte == b')').and_then(|at| text.get(at + 2));
        after.is_none_or(|state| *state == b'R')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_within_bounds() {
        let wanted = Wanted { number: 7, seconds: 0.5, rate: 99 };
        assert_eq!(Wanted::parse(&wanted.line()), Some(wanted));
        for wrong in ["", "1", "1 2", "1 0 99", "1 301 99", "1 NaN 99", "1 2 0", "1 2 1001", "1 2 99 1"] {
            assert_eq!(Wanted::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_line_has_no_empty_word() {
        assert_eq!(line("on-CPU", "", "[weft]"), "on-CPU;[weft]");
        assert_eq!(line("off-CPU", "a;b", "[disk]"), "off-CPU;a;b;[disk]");
        assert_eq!(line("on-CPU", "a;b", ""), "on-CPU;a;b");
        assert_eq!(line("on-CPU", "Fiber::start;{coroutine};a", ""), "on-CPU;a");
        assert_eq!(line("on-CPU", "Fiber::start;{coroutine}", ""), "on-CPU;[weft]");
    }
}
