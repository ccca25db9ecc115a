//! When a worker asks to be replaced: after a number of requests, an amount of growth, or a time. Zero turns a
//! rule off.
//!
//! It only decides; the master replaces, and the worker serves until its replacement is ready.

use weft_rt::{Nanos, SECOND, clock};

use crate::config;
use crate::master::control::Status;

/// Memory is compared with its value after this many requests, when caches are filled.
const WARM_REQUESTS: u64 = 1_000;

/// The rules and the values with which they compare.
#[derive(Debug)]
pub struct Recycle {
    rules: config::Recycle,
    born: Nanos,
    warm_memory_bytes: Option<u64>,
    asked: bool,
}

impl Recycle {
    /// Starts the clock of the age rule.
    pub fn new(rules: &config::Recycle) -> Recycle {
        Recycle { rules: rules.clone(), born: clock::now(), warm_memory_bytes: None, asked: false }
    }

    /// Why the worker should be replaced now; returned once.
    pub fn due(&mut self, status: &Status) -> Option<String> {
        if self.warm_memory_bytes.is_none() && status.requests >= WARM_REQUESTS {
            self.warm_memory_bytes = Some(status.memory_bytes);
        }
        if self.asked {
            return None;
        }
        let reason = self.reason(status)?;
        self.asked = true;
        Some(reason)
    }

    fn reason(&self, status: &Status) -> Option<String> {
        let reached = |limit: u64, value: u64| limit != 0 && value >= limit;
        if reached(self.rules.requests_max, status.requests) {
            return Some(format!("requests_max: {} requests answered", status.requests));
        }
        let growth =
            status.memory_bytes.saturating_sub(self.warm_memory_bytes.unwrap_or(status.memory_bytes));
        if reached(self.rules.memory_growth_bytes_max, growth) {
            return Some(format!("memory_growth_bytes_max: grown by {growth} bytes"));
        }
        let age = clock::now().saturating_sub(self.born) / SECOND;
        if reached(self.rules.age_s_max, age) {
            return Some(format!("age_s_max: {age} s old"));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(requests: u64, memory_bytes: u64) -> Status {
        Status { requests, memory_bytes, ..Status::default() }
    }

    #[test]
    fn each_rule_fires_once_and_names_itself() {
        let rules = config::Recycle { requests_max: 10, ..config::Recycle::default() };
        let mut recycle = Recycle::new(&rules);
        assert_eq!(recycle.due(&status(9, 0)), None);
        assert!(recycle.due(&status(10, 0)).is_some_and(|reason| reason.starts_with("requests_max")));
        assert_eq!(recycle.due(&status(11, 0)), None);
    }

    #[test]
    fn growth_is_counted_from_a_warm_worker() {
        let rules = config::Recycle { memory_growth_bytes_max: 100, ..config::Recycle::default() };
        let mut recycle = Recycle::new(&rules);
        assert_eq!(recycle.due(&status(1, 0)), None);
        assert_eq!(recycle.due(&status(WARM_REQUESTS, 5_000)), None);
        assert_eq!(recycle.due(&status(WARM_REQUESTS + 1, 5_099)), None);
        assert!(recycle.due(&status(WARM_REQUESTS + 2, 5_100)).is_some());
    }

    #[test]
    fn without_rules_a_worker_lives_for_ever() {
        assert_eq!(Recycle::new(&config::Recycle::default()).due(&status(u64::MAX, u64::MAX)), None);
    }
}
