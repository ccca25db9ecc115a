//! Armed timers, by deadline. Deadlines are exact nanoseconds: rounding to milliseconds turned a 10 ms sleep into 11 ms.

use std::collections::BTreeMap;

use crate::clock::Nanos;
use crate::wait::{CoroutineId, Wait};

/// Identifies an armed timer: its deadline and a sequence number that keeps equal deadlines distinct and in
/// order.
pub type TimerKey = (Nanos, u64);

/// What happens at a deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Due {
    /// A wait ends.
    Wait(Wait),
    /// A coroutine is interrupted, whatever it is doing.
    Interrupt(CoroutineId),
}

/// Armed timers by deadline. There is at most one for each parked coroutine, so `coroutines_max` and `tasks_max` limit
/// these. Those that interrupt nest no deeper than the stack of the coroutine that arms them.
#[derive(Default)]
pub struct Timers {
    armed: BTreeMap<TimerKey, Due>,
    sequence: u64,
}

impl Timers {
    /// Arms a timer for `due` at `deadline`.
    pub fn arm(&mut self, deadline: Nanos, due: Due) -> TimerKey {
        self.sequence += 1;
        let key = (deadline, self.sequence);
        self.armed.insert(key, due);
        key
    }

    /// Disarms. False: it has fired, which is not an error.
    pub fn disarm(&mut self, key: TimerKey) -> bool {
        self.armed.remove(&key).is_some()
    }

    /// The next deadline.
    pub fn next(&self) -> Option<Nanos> {
        self.armed.first_key_value().map(|(key, _)| key.0)
    }

    /// Takes a timer whose deadline has passed, the earliest first.
    pub fn expire(&mut self, now: Nanos) -> Option<Due> {
        let entry = self.armed.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(number: u32) -> Due {
        Due::Wait(Wait { coroutine: CoroutineId { index: number, generation: 1 }, number })
    }

    #[test]
    fn expires_in_order_of_deadline_then_of_arming() {
        let mut timers = Timers::default();
        timers.arm(20, wait(2));
        timers.arm(10, wait(0));
        timers.arm(10, wait(1));
        assert_eq!(timers.next(), Some(10));
        assert_eq!(timers.expire(9), None);
        assert_eq!(timers.expire(30), Some(wait(0)));
        assert_eq!(timers.expire(30), Some(wait(1)));
        assert_eq!(timers.expire(30), Some(wait(2)));
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn a_disarmed_timer_does_not_fire() {
        let mut timers = Timers::default();
        let key = timers.arm(10, wait(0));
        assert!(timers.disarm(key));
        assert!(!timers.disarm(key));
        assert_eq!(timers.expire(100), None);
    }
}
