//! What a coroutine is to the scheduler: a slot, a generation and a state. [`Switch`] gives it the processor.
//!
//! The scheduler must not know what a context consists of. In coroutine mode it is a pooled Fiber; with instances it is
//! an image and a native stack. Each is one implementation of [`Switch`].

use crate::account::Account;
use crate::clock::Nanos;
use crate::family::Family;
use crate::record::{Record, Recorder};
use crate::timers::TimerKey;
use crate::wait::{CoroutineId, Wake};
use crate::waits::WaitKind;

/// An execution context of a [`Switch`], opaque to the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Context(pub usize);

/// Work for a coroutine: a function that the switch knows, and one word for it.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// The kind of work, in the switch's own numbering.
    pub kind: u32,
    /// The argument: a request key, for example.
    pub argument: u64,
    /// Which contexts may run it: those of this pool. Pools are numbered from 0, without large gaps.
    pub pool: u32,
}

/// A job on its way to a coroutine.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    pub job: Job,
    pub task: bool,
    /// The family of the coroutine that spawned it; `None` if the job begins a family.
    pub family: Option<Family>,
    /// The account of the coroutine that spawned it, if it is a task.
    pub account: Option<&'static Account>,
    /// The coroutine whose record a task's waits are in.
    pub recorder: Option<Recorder>,
}

impl Start {
    /// A job that no coroutine has spawned.
    pub(crate) fn of(job: Job) -> Start {
        Start { job, task: false, family: None, account: None, recorder: None }
    }
}

/// The resident memory of a context, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Footprint {
    /// Its stack.
    pub stack: usize,
    /// What else no other context has.
    pub heap: usize,
}

/// Why a context returned the processor to the loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// It is parked inside its job and will be entered again.
    Parked,
    /// Its job has ended; the context is idle and can take another job.
    Ended,
    /// Its job has ended and the context must not be used again (its stack is gone).
    Lost,
}

/// Gives coroutines the processor. Two calls transfer control: `enter` from the loop into a context, `leave` from a
/// context back into the loop.
pub trait Switch {
    /// Creates an idle context, which gets jobs of this pool only, all its life. It costs a stack: 10 us and two mappings
    /// for a Fiber.
    ///
    /// # Errors
    /// The operating system's error, if memory or mappings (`vm.max_map_count`) run out.
    fn create(&self, pool: u32) -> std::io::Result<Context>;

    /// Whether a job may begin now, beside `live` others. If not, it waits in the queue. The scheduler asks again when
    /// one of those has ended, and from time to time ([`crate::Runtime::offer_place`]). MUST be true for 0.
    fn admits(&self, live: usize) -> bool {
        let _ = live;
        true
    }

    /// Gives `context` the processor: with a job if it is idle, with `None` to continue where it left. MUST be
    /// called from the loop only. Returns when the context leaves or ends.
    fn enter(&self, context: Context, job: Option<Job>) -> Left;

    /// Returns the processor to the loop. Returns when `context` is entered again. MUST be called on `context`.
    fn leave(&self, context: Context);

    /// The running context continues and has taken the result of its wait: from here on it may leave again.
    fn resumed(&self, context: Context) {
        let _ = context;
    }

    /// Whether the running context may leave now (Zend forbids it in destructors before PHP 8.4, and in ticks).
    fn may_leave(&self) -> bool;

    /// Tells the running context that one of its waits has just been interrupted or, `for_good`, cancelled. In the
    /// second case all further waits end the same way, and a switch should now stop code that could still run forever.
    fn cancelled(&self, for_good: bool) {
        let _ = for_good;
    }

    /// Whether the running context has not yet noticed that one of its waits was interrupted, because it is still
    /// inside that call. Calls that pause and try again would otherwise continue to their own end.
    fn interruption_pending(&self) -> bool {
        false
    }

    /// Whether the call whose wait has just been cut short was in the middle of a protocol on its descriptor: the
    /// peer's late answer would then be taken for the answer to the next question, whichever coroutine asks it.
    fn in_conversation(&self) -> bool {
        false
    }

    /// Whether the running context closes the stream of a command in order to learn how the command has ended, not only
    /// because nobody has the stream any more.
    fn asks_for_status(&self) -> bool {
        true
    }

    /// A signal's handler has run and may have left work that no coroutine has done: the loop has nothing left to run.
    /// Called from the loop; it may spawn.
    fn signalled(&self) {}

    /// Tells in which file and line the running context's code stands, once; an empty name: it has no file.
    fn stands_at(&self, tell: &mut dyn FnMut(&[u8], u32)) {
        tell(b"", 0);
    }

    /// How much memory a context has.
    fn footprint(&self, context: Context) -> Footprint {
        let _ = context;
        Footprint::default()
    }

    /// Gives memory of the stacks of a context that does not run back to the system: what lies beyond where it stands. Called
    /// from the loop.
    fn trim(&self, context: Context) {
        let _ = context;
    }

    /// The running context makes a call of `symbol` that blocks the loop, for the first time.
    fn blocks(&self, symbol: &'static str) {
        let _ = symbol;
    }

    /// What asks the running context, from another thread, to call [`Runtime::give_way`](crate::Runtime::give_way) if
    /// [`Runtime::slice_has_ended`](crate::Runtime::slice_has_ended) says so, at its next instruction at which it may
    /// leave. `None`: this switch cannot interrupt.
    fn interrupter(&self) -> Option<fn()> {
        None
    }

    /// The running context was cancelled while others ran, and computes: it should stop as soon as it can. Called each
    /// time it continues.
    fn stop(&self) {}

    /// Where a context's code stands that is parked inside its job, for reports to the operator. Called from the loop.
    fn place(&self, context: Context) -> String {
        let _ = context;
        String::new()
    }

    /// The stack of a context's code that is parked inside its job, outermost function first, with `;` between them, for
    /// profiles. Called from the loop.
    fn stack(&self, context: Context) -> String {
        let _ = context;
        String::new()
    }

    /// Frees an idle context.
    fn destroy(&self, context: Context);
}

/// What a look has found of a coroutine that does not run: in which wait of which job it is, or after which one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct RestSeen {
    pub generation: u32,
    pub waits: u32,
    pub is_trimmed: bool,
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
    /// The pool to which the context belongs.
    pub pool: u32,
    pub generation: u32,
    pub state: State,
    /// What it waits for, while it is parked.
    pub waits_for: WaitKind,
    /// Since when.
    pub waits_since: Nanos,
    /// Number of the current wait; a wake for an older one is stale and ignored.
    pub wait: u32,
    pub wake: Wake,
    pub timer: Option<TimerKey>,
    /// Whether every wait ends as cancelled from now on.
    pub cancelled: bool,
    /// Whether the current or the next wait ends as cancelled, once.
    pub interrupted: bool,
    /// Whether it was spawned as a task: it then counts for `tasks_max`, not for `coroutines_max`.
    pub task: bool,
    pub job: Job,
    /// Its family: the coroutines that share its descriptors and children.
    pub family: Family,
    /// Loop turn time when the job was started.
    pub since: Nanos,
    /// Ticks for which it has computed, in all.
    pub computed: u32,
    /// How often its job has waited. The ends of slices do not count.
    pub waits: u32,
    /// Whether it has stayed where it is, as it was last looked at.
    pub rest_seen: RestSeen,
    /// Ticks that were left of its slice when it gave way.
    pub rest: u32,
    /// What its job is charged to.
    pub account: Option<&'static Account>,
    /// The coroutine whose record has what it does: itself, or the one that spawned it as a task.
    pub recorder: Option<Recorder>,
    /// The record of its job.
    pub record: Option<Box<Record>>,
    /// Whom a wait is for that its record will list.
    pub peer: Option<Box<str>>,
}

impl Coroutine {
    /// Turns to another job, as a new coroutine: ids of the last run no longer match. `index` is its own place.
    pub(crate) fn begin(&mut self, index: u32, start: Start, family: Family, now: Nanos) -> CoroutineId {
        self.generation = self.generation.wrapping_add(1);
        (self.cancelled, self.interrupted, self.computed, self.waits) = (false, false, 0, 0);
        (self.job, self.task, self.family, self.since) = (start.job, start.task, family, now);
        self.account = start.account;
        CoroutineId { index, generation: self.generation }
    }

    /// Whether it computes for less than so many ticks from one wait to the next, on average.
    pub(crate) fn waits_within(&self, ticks: u32) -> bool {
        self.computed < self.waits.saturating_mul(ticks)
    }
}
