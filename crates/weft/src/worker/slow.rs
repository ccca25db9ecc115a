//! Requests that have taken longer than `request_slow_ms`: each is named once, with the place where its PHP code stands, what
//! it waits for, and where its time went.
//!
//! It must not end or change a request. Invariants: the loop asks, so no request runs meanwhile; without the setting nothing is
//! recorded of any.

mod words;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use weft_rt::{CoroutineId, MILLISECOND, Nanos, Runtime, SECOND};
use weft_zend::JobKind;

use self::words::Long;
use crate::php;

/// The shortest interval between two looks.
const LOOK_MIN: Nanos = 50 * MILLISECOND;
/// Long waits whose places in PHP code are read at one look; those of others are not known later.
const PLACES_PER_LOOK: usize = 16;

/// A request at which the looks have something to remember.
#[derive(Debug, Default)]
struct Seen {
    named: bool,
    /// The longest wait that was met while it lasted: its number, and where the code stood.
    long: Option<(u32, String)>,
}

/// Who was seen, and when to look again.
#[derive(Debug)]
pub struct Slow {
    after: Nanos,
    next: Cell<Nanos>,
    seen: RefCell<HashMap<CoroutineId, Seen>>,
}

impl Slow {
    /// 0 is off.
    pub fn new(after_ms: u64) -> Slow {
        Slow { after: after_ms.saturating_mul(MILLISECOND), next: Cell::default(), seen: RefCell::default() }
    }

    /// When to look again; `None` while there is no request, or this is off.
    pub fn deadline(&self, runtime: &Runtime) -> Option<Nanos> {
        (self.after != 0 && runtime.stats.live.get() > 0).then(|| self.next.get())
    }

    /// Looks for slow requests if it is time.
    pub fn turn(&self, now: Nanos, runtime: &Runtime) {
        if self.after == 0 || now < self.next.get() {
            return;
        }
        self.next.set(now + (self.after / 4).clamp(LOOK_MIN, SECOND));
        let mut before = self.seen.borrow_mut();
        let (mut still, mut places) = (HashMap::new(), PLACES_PER_LOOK);
        for (id, job, since) in runtime.live() {
            if JobKind::Task.is_of(job) {
                continue;
            }
            let took = now.saturating_sub(since);
            let mut seen = before.remove(&id).unwrap_or_default();
            if !seen.named && took >= self.after {
                if let Some(line) = said(runtime, id, now, took, &seen) {
                    tracing::warn!("{} is slow: {line}", php::describe(job));
                }
                seen = Seen { named: true, long: None };
            } else if !seen.named && places > 0 && self.meets_long(runtime, id, now, &mut seen) {
                places -= 1;
            }
            if seen.named || seen.long.is_some() {
                still.insert(id, seen);
            }
        }
        *before = still;
    }

    /// Remembers where a request stands, if it is in a wait that may become its longest. Returns whether it is.
    fn meets_long(&self, runtime: &Runtime, id: CoroutineId, now: Nanos, seen: &mut Seen) -> bool {
        let (lasts, longest) = runtime.waits_of(id, now);
        let Some(lasts) = lasts else { return false };
        let is_long = lasts.took >= self.after / 8 && longest.is_none_or(|longest| lasts.took > longest.took);
        let is_known = seen.long.as_ref().is_some_and(|(number, _)| *number == lasts.number);
        if !is_long || is_known {
            return false;
        }
        seen.long = runtime.standing(id).map(|standing| (lasts.number, standing.place));
        true
    }
}

/// What the log says of a request; `None` if it has ended.
fn said(runtime: &Runtime, id: CoroutineId, now: Nanos, took: Nanos, seen: &Seen) -> Option<String> {
    let (standing, record) = (runtime.standing(id)?, runtime.record(id)?);
    let (lasts, longest) = runtime.waits_of(id, now);
    let is_over = |wait: &weft_rt::SingleWait| lasts.is_none_or(|lasts| lasts.took <= wait.took);
    let long = longest.filter(is_over).map(|wait| {
        let place = seen.long.as_ref().filter(|(number, _)| *number == wait.number);
        Long { wait, place: place.map_or("", |(_, place)| place) }
    });
    let seconds = took as f64 / SECOND as f64;
    let time = words::time(took, &record, lasts, long);
    Some(format!("{seconds:.1} s so far; it {}; {time}", words::standing(&standing)))
}
