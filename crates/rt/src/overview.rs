//! Which coroutines are alive: for cancellation, status and reports.
//!
//! Must not know why anybody asks. Invariant: whoever has ended is in no answer.

use crate::coroutine::{CoroutineId, Job, State};
use crate::{Nanos, Runtime};

impl Runtime {
    /// When a coroutine's job was started; `None` when it has ended.
    pub fn since(&self, id: CoroutineId) -> Option<Nanos> {
        let coroutines = self.coroutines.borrow();
        let coroutine = coroutines.get(id.index as usize)?;
        (coroutine.generation == id.generation && coroutine.state != State::Idle).then_some(coroutine.since)
    }

    /// The coroutines alive, with their jobs and since when they run: for cancellation, status and reports.
    pub fn live(&self) -> Vec<(CoroutineId, Job, Nanos)> {
        let coroutines = self.coroutines.borrow();
        let alive = coroutines.iter().enumerate().filter(|(_, coroutine)| coroutine.state != State::Idle);
        alive
            .map(|(index, coroutine)| {
                let id = CoroutineId { index: index as u32, generation: coroutine.generation };
                (id, coroutine.job, coroutine.since)
            })
            .collect()
    }
}
