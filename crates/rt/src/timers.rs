//! Who waits until when. Deadlines are exact nanoseconds: rounding to milliseconds made a 10 ms sleep 11 ms.

use std::collections::BTreeMap;

use crate::{Nanos, park::Wait};

/// Names one armed timer: its deadline and a sequence number that keeps equal deadlines apart and in order.
pub type TimerKey = (Nanos, u64);

/// Armed timers by deadline. As many as there are parked coroutines, so `coroutines_max` bounds it.
#[derive(Default)]
pub struct Timers {
    armed: BTreeMap<TimerKey, Wait>,
    sequence: u64,
}

impl Timers {
    /// Arms a timer that will end `wait` at `deadline`.
    pub fn arm(&mut self, deadline: Nanos, wait: Wait) -> TimerKey {
        self.sequence += 1;
        let key = (deadline, self.sequence);
        self.armed.insert(key, wait);
        key
    }

    /// Disarms; a timer that has fired is not there any more, which is no error.
    pub fn disarm(&mut self, key: TimerKey) {
        self.armed.remove(&key);
    }

    /// The next deadline.
    pub fn next(&self) -> Option<Nanos> {
        self.armed.first_key_value().map(|(key, _)| key.0)
    }

    /// Takes one wait whose deadline has passed, earliest first.
    pub fn expire(&mut self, now: Nanos) -> Option<Wait> {
        let entry = self.armed.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CoroutineId;

    fn wait(number: u32) -> Wait {
        Wait { coroutine: CoroutineId { index: number, generation: 1 }, number }
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
        timers.disarm(key);
        timers.disarm(key);
        assert_eq!(timers.expire(100), None);
    }
}
