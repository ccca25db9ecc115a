//! What a coroutine is to the scheduler: a slot, a generation and a state. [`Switch`] gives it the processor.
//!
//! The scheduler must not know what a context consists of. In coroutine mode it is a pooled Fiber; with instances it is
//! an image and a native stack. Each is one implementation of [`Switch`].

use crate::clock::Nanos;
use crate::family::Family;
use crate::timers::TimerKey;
use crate::wait::{CoroutineId, Wake};

/// An execution context of a [`Switch`], opaque to the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Context(pub usize);

/// Work for a coroutine: a function of the switch's world and one word for it.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// What kind of work, in the switch's own numbering.
    pub kind: u32,
    /// The argument: a request key, for example.
    pub argument: u64,
}

/// A job on its way to a coroutine.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    pub job: Job,
    pub task: bool,
    /// That of who spawned it; `None`: it begins one.
    pub family: Option<Family>,
}

/// Why a context gave the processor back to the loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// It is parked inside its job and will be entered again.
    Parked,
    /// Its job has ended; the context is idle and can take another.
    Ended,
    /// Its job has ended and the context must not be used again (its stack is gone).
    Lost,
}

/// Gives coroutines the processor. Two calls move control: `enter` from the loop into a context, `leave` from a context
/// back into the loop.
pub trait Switch {
    /// Makes an idle context. It costs a stack: 10 us and two mappings for a Fiber.
    ///
    /// # Errors
    /// The operating system's, when memory or mappings (`vm.max_map_count`) run out.
    fn create(&self) -> std::io::Result<Context>;

    /// Whether a job may begin now, beside `live` others. What may not waits in the queue, and is asked for again when one of
    /// those has ended, and now and then ([`crate::Runtime::offer_place`]). MUST be true for 0.
    fn admits(&self, live: usize) -> bool {
        let _ = live;
        true
    }

    /// Gives `context` the processor: with a job when it is idle, with `None` to go on where it left.
    /// MUST be called from the loop only. Returns when the context leaves or ends.
    fn enter(&self, context: Context, job: Option<Job>) -> Left;

    /// Gives the processor back to the loop; returns when `context` is entered again. MUST be called on `context`.
    fn leave(&self, context: Context);

    /// The running context goes on, and what its wait has brought is in hand: from here on it may leave again.
    fn resumed(&self, context: Context) {
        let _ = context;
    }

    /// Whether the running context may leave now (Zend forbids it inside GC destructors and ticks).
    fn may_leave(&self) -> bool;

    /// Tells the running context that a wait of it has just ended because it was interrupted, or, `for_good`, cancelled: then
    /// all further waits end the same way, and a switch whose code could go on for ever all the same should stop it here.
    fn cancelled(&self, for_good: bool) {
        let _ = for_good;
    }

    /// Whether the running context has yet to see that a wait of it was interrupted: it is still inside the call whose wait
    /// that was. Calls that pause and try again would otherwise go on to their own end.
    fn interruption_pending(&self) -> bool {
        false
    }

    /// Whether the call whose wait has just been cut short speaks a protocol of its own over the descriptor it waited for: what
    /// its peer still says would be taken for the answer to the next question, whoever asks it.
    fn in_conversation(&self) -> bool {
        false
    }

    /// A signal's handler has run, and there may be work of it that no coroutine has done: the loop has nothing left to
    /// run. Called from the loop; it may spawn.
    fn signalled(&self) {}

    /// The running context makes a call of `symbol` that blocks the loop, for the first time.
    fn blocks(&self, symbol: &'static str) {
        let _ = symbol;
    }

    /// Frees an idle context.
    fn destroy(&self, context: Context);
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Idle,
    Running,
    Parked,
    /// Woken, in the ready queue.
    Ready,
}

pub(crate) struct Coroutine {
    pub context: Context,
    pub generation: u32,
    pub state: State,
    /// Number of the present wait; a wake for an older one is stale and ignored.
    pub wait: u32,
    pub wake: Wake,
    pub timer: Option<TimerKey>,
    /// Every wait ends as cancelled from now on.
    pub cancelled: bool,
    /// The present wait or the next one ends as cancelled, once.
    pub interrupted: bool,
    /// Spawned as a task: it counts for `tasks_max`, not for `coroutines_max`.
    pub task: bool,
    pub job: Job,
    /// It and those it has spawned, and theirs: who shares descriptors and children.
    pub family: Family,
    /// Loop turn time when the job was started.
    pub since: Nanos,
}

impl Coroutine {
    /// Turns to another job, as a new coroutine: ids of the last run no longer match. `index` is its own place.
    pub(crate) fn begin(&mut self, index: u32, start: Start, family: Family, now: Nanos) -> CoroutineId {
        self.generation = self.generation.wrapping_add(1);
        (self.cancelled, self.interrupted) = (false, false);
        (self.job, self.task, self.family, self.since) = (start.job, start.task, family, now);
        CoroutineId { index, generation: self.generation }
    }
}
