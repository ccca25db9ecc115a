//! Requests that have run longer than `request_timeout_ms`: they are cancelled.
//!
//! It must not know how a coroutine is ended that waits or computes. Invariants: the loop asks, so no request runs meanwhile;
//! a request is ended at most an eighth of its limit late, or a second.

use std::cell::Cell;

use weft_rt::{Job, MILLISECOND, Nanos, Runtime, SECOND};
use weft_zend::JobKind;

use crate::config::Config;
use crate::php;

/// The shortest interval between two looks.
const LOOK_MIN: Nanos = 10 * MILLISECOND;

/// When to look again.
#[derive(Debug)]
pub struct Late {
    /// Between two looks; 0: nothing has a limit.
    every: Nanos,
    next: Cell<Nanos>,
    /// The limit of all; `None` where each site has its own.
    common: Option<Nanos>,
}

impl Late {
    pub fn new(config: &Config) -> Late {
        let of_sites = config.sites.iter().map(|site| site.config.limits.request_timeout_ms);
        let limits = of_sites.chain([config.limits.request_timeout_ms]).filter(|limit| *limit > 0);
        let every = limits.min().map_or(0, |limit| between_looks(limit.saturating_mul(MILLISECOND)));
        let common = config.limits.request_timeout_ms.saturating_mul(MILLISECOND);
        Late { every, next: Cell::default(), common: config.sites.is_empty().then_some(common) }
    }

    /// When to look again; `None` while there is no request, or none has a limit.
    pub fn deadline(&self, runtime: &Runtime) -> Option<Nanos> {
        (self.every != 0 && runtime.stats.live.get() > 0).then(|| self.next.get())
    }

    /// Cancels those that are late, if it is time to look.
    pub fn turn(&self, now: Nanos, runtime: &Runtime) {
        if self.every == 0 || now < self.next.get() {
            return;
        }
        self.next.set(now + self.every);
        for (id, job, since) in runtime.live() {
            if self.is_late(job, now.saturating_sub(since)) && runtime.cancel(id) {
                let what = php::describe(job);
                tracing::warn!("{what} is cancelled: it has run longer than request_timeout_ms");
            }
        }
    }

    fn is_late(&self, job: Job, ran: Nanos) -> bool {
        let limit = self.common.unwrap_or_else(|| php::run_max(job));
        limit > 0 && ran >= limit && !JobKind::Task.is_of(job)
    }
}

fn between_looks(limit: Nanos) -> Nanos {
    (limit / 8).clamp(LOOK_MIN, SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_limit_is_kept_more_closely_than_a_long_one() {
        let ms = [1, 800, 8_000, 86_400_000].map(|limit| between_looks(limit * MILLISECOND) / MILLISECOND);
        assert_eq!(ms, [10, 100, 1000, 1000]);
    }
}
