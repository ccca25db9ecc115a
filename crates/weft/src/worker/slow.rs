//! Requests that have taken longer than `request_slow_ms`: each is named once, with the place where its PHP code stands and
//! what it waits for.
//!
//! It must not end or change a request. Invariant: the loop asks, so no request runs meanwhile.

use std::cell::{Cell, RefCell};

use weft_rt::{CoroutineId, MILLISECOND, Nanos, Runtime, SECOND, Standing};
use weft_zend::JobKind;

use crate::php;

/// The shortest interval between two looks.
const LOOK_MIN: Nanos = 50 * MILLISECOND;

/// Who has been named, and when to look again.
#[derive(Debug)]
pub struct Slow {
    after: Nanos,
    next: Cell<Nanos>,
    named: RefCell<Vec<CoroutineId>>,
}

impl Slow {
    /// 0 is off.
    pub fn new(after_ms: u64) -> Slow {
        Slow { after: after_ms.saturating_mul(MILLISECOND), next: Cell::default(), named: RefCell::default() }
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
        let mut named = self.named.borrow_mut();
        let mut still = Vec::new();
        for (id, job, since) in runtime.live() {
            let took = now.saturating_sub(since);
            if JobKind::Task.is_of(job) || took < self.after {
                continue;
            }
            if !named.contains(&id)
                && let Some(standing) = runtime.standing(id)
            {
                let seconds = took as f64 / SECOND as f64;
                tracing::warn!(
                    "{} is slow: {seconds:.1} s so far; it {}",
                    php::describe(job),
                    said(&standing)
                );
            }
            still.push(id);
        }
        *named = still;
    }
}

fn said(standing: &Standing) -> String {
    let doing = if standing.could_run { "computes" } else { "waits" };
    let place = match standing.place.as_str() {
        "" => String::new(),
        place => format!(" in {place}"),
    };
    let what = match standing.waits_for.as_slice() {
        _ if standing.could_run => String::new(),
        [] if standing.has_deadline => "; it waits for a time".to_owned(),
        [] => "; it waits for another request or a thread".to_owned(),
        some => format!("; it waits for {}", some.join(", ")),
    };
    format!("{doing}{place}{what}")
}
