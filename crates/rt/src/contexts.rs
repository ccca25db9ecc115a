//! What coroutines cost in memory: the figures, and a round that gathers them.
//!
//! Must not know when contexts are looked at, nor by whom. Invariant: the memory may be shared with other processes.

use crate::coroutine::Footprint;
use crate::counter::Gauge;

/// Contexts that have no job, and the resident memory of all.
#[derive(Default, Debug)]
#[repr(C)]
pub struct Contexts {
    /// Those without a job, which wait for one.
    pub idle: Gauge,
    /// The stacks of those with a job, in bytes.
    pub live_stacks: Gauge,
    /// The stacks of those without.
    pub idle_stacks: Gauge,
    /// What those with a job have alone besides, in bytes: the heaps of PHP instances.
    pub live_heaps: Gauge,
    /// The same of those without.
    pub idle_heaps: Gauge,
}

impl Contexts {
    /// Every number of it.
    pub fn gauges(&self) -> [&Gauge; 5] {
        [&self.idle, &self.live_stacks, &self.idle_stacks, &self.live_heaps, &self.idle_heaps]
    }
}

/// How far a round over all contexts has come.
#[derive(Default, Clone, Copy)]
pub(crate) struct Round {
    pub next: usize,
    pub live: Footprint,
    pub idle: Footprint,
}
