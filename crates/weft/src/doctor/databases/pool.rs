//! How many connections the workers open to one server, and for how long they keep idle ones.
//!
//! Must not know the server, nor what it allows. Invariant: only the application knows the bounds of its pool, so they are those of a
//! pool that was told none, unless the URL has said otherwise, and a report says which.

use crate::doctor::checks::Plan;

/// The application's pool in each worker, by the names of its parameters (docs/reference/pools.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    /// Connections that it opens; `None` if nobody has said.
    max: Option<u64>,
    /// Seconds after which it closes an idle one.
    idle_seconds: u64,
}

/// `Weft\Pool::__construct` in php/src/Pool.php.
const MAX: u64 = 16;
const IDLE_SECONDS: u64 = 60;

impl Default for Pool {
    fn default() -> Pool {
        Pool { max: None, idle_seconds: IDLE_SECONDS }
    }
}

impl Pool {
    /// Takes an option of a URL; `false` if it is none of a pool's, or no number that a pool takes.
    pub fn take(&mut self, name: &str, value: &str) -> bool {
        let number = value.parse::<u32>().ok().map(u64::from);
        match (name, number) {
            ("max", Some(max @ 1..)) => self.max = Some(max),
            ("idleTimeout", Some(seconds @ 1..)) => self.idle_seconds = seconds,
            _ => return false,
        }
        true
    }

    /// Seconds after which it closes an idle connection.
    pub fn idle_seconds(&self) -> u64 {
        self.idle_seconds
    }

    /// Connections that all workers open: a pool for each worker where requests share one PHP, otherwise one for each request.
    pub fn connections(&self, plan: &Plan) -> u64 {
        plan.workers * if plan.shares_php { self.max.unwrap_or(MAX) } else { plan.running }
    }

    /// Who opens how many.
    pub fn told(&self, plan: &Plan) -> String {
        let (workers, all) = (plan.workers, self.connections(plan));
        if !plan.shares_php {
            return format!(
                "{workers} workers with {} requests at once in each open up to {all}",
                plan.running
            );
        }
        match self.max {
            Some(max) => format!("{workers} workers with a pool of {max} each open up to {all}"),
            None => format!("{workers} workers with a pool of {MAX} each, its default, open up to {all}"),
        }
    }
}
