//! The limits of the scheduler, each with its default.
//!
//! Invariant: no queue and no table of this crate grows beyond one of these numbers.

use crate::{Nanos, SECOND};

/// Limits of the scheduler.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerLimits {
    /// Coroutines alive at once, parked ones included. Default 10,000.
    pub coroutines_max: usize,
    /// Live coroutines that coroutines have spawned themselves
    /// ([`Runtime::spawn_task`](crate::Runtime::spawn_task)). Default 10,000. This is separate from
    /// `coroutines_max`, so that requests that wait for their tasks can never keep those from starting.
    pub tasks_max: usize,
    /// Jobs that wait for a coroutine when all are in use. Default 1,000; further ones are refused.
    pub queue_max: usize,
    /// How long a job may wait in that queue. Default 5 s; then [`Driver::expired`](crate::Driver::expired) gets it.
    pub queue_wait_max: Nanos,
    /// Idle contexts that are kept. Default 1,024; further ones are freed.
    pub idle_max: usize,
    /// Offload threads. Default 8, started when needed.
    pub offload_threads_max: usize,
    /// How long a coroutine computes before it gives way to others that could run. Default 0: until it waits.
    /// Only with a switch that can interrupt ([`Switch::interrupter`](crate::Switch::interrupter)).
    pub slice: Nanos,
    /// How long a job that is not a task may run before [`Runtime::is_late`](crate::Runtime::is_late). Default 0: for
    /// any time.
    pub run_max: Nanos,
}

impl Default for SchedulerLimits {
    fn default() -> SchedulerLimits {
        SchedulerLimits {
            coroutines_max: 10_000,
            tasks_max: 10_000,
            queue_max: 1_000,
            queue_wait_max: 5 * SECOND,
            idle_max: 1_024,
            offload_threads_max: 8,
            slice: 0,
            run_max: 0,
        }
    }
}
