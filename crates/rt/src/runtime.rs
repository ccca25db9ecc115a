//! The scheduler: its state, and the running coroutine. It decides which coroutine runs; [`Switch`] runs it.
//!
//! Its parts: `turn` is the loop, `start` gives a job a coroutine, `queue` holds the jobs that wait for one, `accounts`
//! tells what they are charged to, `records` which of them are recorded, `footprint` what they cost; `trim` gives back what
//! they do not need. Waiting is in [`crate::park`]. This file must know no hook; it only tells the signals which descriptor
//! wakes the loop. Invariants: a coroutine leaves only to the loop; every queue has a limit in [`SchedulerLimits`].

mod accounts;
mod footprint;
mod idle;
mod queue;
mod ready;
mod records;
mod slice;
mod start;
mod trim;
mod turn;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::os::fd::RawFd;

pub use accounts::AccountOf;
use accounts::Accounts;
use idle::Idle;
pub(crate) use ready::Ready;
use ready::ReadyQueue;
pub(crate) use records::Records;
pub use records::{RecordOf, Recorded};
pub use start::Spawn;
pub use turn::Driver;

use crate::behind::Slices;
use crate::blocking::Blocking;
use crate::board::Board;
use crate::contexts::{Contexts, Round};
use crate::coroutine::{Coroutine, Job, Start, Switch};
use crate::counter::{Counter, Gauge};
use crate::family::Family;
use crate::fds::FdTable;
use crate::lag::Lag;
use crate::offload::Offload;
use crate::reactor::Reactor;
use crate::scheduler_limits::SchedulerLimits;
use crate::timers::Timers;
use crate::waits::NO_FD;
use crate::watch::Heartbeat;
use crate::{Account, CoroutineId, Nanos, WaitKind, Waits, clock};

/// Keys of the reactor at and above this one belong to the [`Driver`]; below it they are descriptor numbers.
pub const DRIVER_KEY: u64 = 1 << 32;

/// Key of the eventfd by which offload threads report.
const OFFLOAD_KEY: u64 = DRIVER_KEY - 1;

/// Keys from here up are abandoned children, by their pidfd.
pub(crate) const CHILD_KEY: u64 = 1 << 31;

/// Counters since the start, except for those marked as gauges.
#[derive(Default, Debug)]
#[repr(C)]
pub struct Stats {
    /// Loop turns.
    pub turns: Counter,
    /// Jobs started.
    pub jobs: Counter,
    /// Times a coroutine parked.
    pub parks: Counter,
    /// Jobs refused because the queue was full.
    pub refused: Counter,
    /// Waits that blocked the whole worker because Zend forbade the switch.
    pub blocked: Counter,
    /// Where they did.
    pub blocking: Blocking,
    /// For how long the loop was away from what had become ready.
    pub lag: Lag,
    /// Gauge: jobs that wait for a coroutine.
    pub queued: Gauge,
    /// Gauge: coroutines alive, tasks included.
    pub live: Gauge,
    /// Gauge: tasks alive, or about to start.
    pub tasks: Gauge,
    /// Gauges: contexts without a job, and what all cost, where [`Runtime::measure_contexts`] is called.
    pub contexts: Contexts,
    /// For how long coroutines had the loop, in nanoseconds, where accounts or records are kept.
    pub ran: Counter,
    /// What coroutines wait for, by [`WaitKind`].
    pub waits: [Waits; WaitKind::COUNT],
}

/// The scheduler of this process. Created once by [`Runtime::start`], never freed.
pub struct Runtime {
    pub(crate) switch: Box<dyn Switch>,
    pub(crate) limits: SchedulerLimits,
    pub(crate) reactor: RefCell<Reactor>,
    pub(crate) fds: RefCell<FdTable>,
    pub(crate) timers: RefCell<Timers>,
    pub(crate) coroutines: RefCell<Vec<Coroutine>>,
    pub(crate) ready: RefCell<ReadyQueue>,
    pub(crate) offload: Offload,
    pub(crate) slices: Slices,
    /// What it counts.
    pub stats: &'static Stats,
    /// What the watch thread reads.
    pub heartbeat: &'static Heartbeat,
    idle: RefCell<Idle>,
    vacant: RefCell<Vec<u32>>,
    queue: RefCell<VecDeque<(Start, Nanos)>>,
    /// The number of tasks among them.
    live_tasks: Cell<usize>,
    /// Places kept for jobs that are not tasks and have left the queue: new jobs do not overtake them.
    kept: Cell<usize>,
    current: Cell<Option<CoroutineId>>,
    /// Set between step_out and step_in, although a coroutine runs.
    stepped_out: Cell<bool>,
    /// The family that was begun last.
    pub(crate) families: Cell<Family>,
    on_ended: Cell<Option<fn(Job)>>,
    pub(crate) run_max_of: Cell<Option<RunMax>>,
    pub(crate) waits_for: Cell<(WaitKind, RawFd)>,
    pub(crate) accounts: Accounts,
    pub(crate) records: Records,
    round: Cell<Round>,
    now: Cell<Nanos>,
    /// When the kernel was last asked for events.
    asked: Cell<Nanos>,
    /// How many of the events that it told then have been dispatched.
    dispatched: Cell<usize>,
}

/// How long a job may run; 0: for any time.
pub type RunMax = fn(Job) -> Nanos;

thread_local! {
    static RUNTIME: Cell<Option<&'static Runtime>> = const { Cell::new(None) };
}

impl Runtime {
    /// Creates the runtime of this thread. MUST be called after fork, once per process.
    ///
    /// # Errors
    /// Those of epoll_create1(2) and eventfd(2).
    pub fn start(switch: Box<dyn Switch>, limits: SchedulerLimits) -> rustix::io::Result<&'static Runtime> {
        Runtime::start_counting(switch, limits, Box::leak(Box::default()))
    }

    /// The same with counters that the caller has placed.
    ///
    /// # Errors
    /// As for [`Runtime::start`].
    pub fn start_counting(
        switch: Box<dyn Switch>,
        limits: SchedulerLimits,
        stats: &'static Stats,
    ) -> rustix::io::Result<&'static Runtime> {
        let reactor = Reactor::new()?;
        let offload = Offload::new(limits.offload_threads_max)?;
        reactor.add(offload.fd(), OFFLOAD_KEY)?;
        let board: &'static Board = Box::leak(Box::default());
        let runtime: &'static Runtime = Box::leak(Box::new(Runtime {
            switch,
            limits,
            reactor: RefCell::new(reactor),
            fds: RefCell::default(),
            timers: RefCell::default(),
            coroutines: RefCell::default(),
            ready: RefCell::new(ReadyQueue::new(board)),
            offload,
            slices: Slices::new(board),
            stats,
            heartbeat: Box::leak(Box::default()),
            idle: RefCell::default(),
            vacant: RefCell::default(),
            queue: RefCell::default(),
            live_tasks: Cell::new(0),
            kept: Cell::new(0),
            current: Cell::new(None),
            stepped_out: Cell::new(false),
            families: Cell::new(0),
            on_ended: Cell::new(None),
            run_max_of: Cell::new(None),
            waits_for: Cell::new((WaitKind::Coroutine, NO_FD)),
            accounts: Accounts::default(),
            records: Records::default(),
            round: Cell::default(),
            now: Cell::new(clock::now()),
            asked: Cell::new(0),
            dispatched: Cell::new(0),
        }));
        crate::hook::start_signals(runtime.offload.fd());
        RUNTIME.set(Some(runtime));
        Ok(runtime)
    }

    /// The runtime of this thread, if it has one.
    #[inline]
    pub fn get() -> Option<&'static Runtime> {
        RUNTIME.get()
    }

    /// Removes this thread's runtime: in a child of fork, hooks must be plain system calls again.
    pub fn forget() {
        RUNTIME.set(None);
    }

    /// When the loop last asked the kernel for events.
    #[inline]
    pub(crate) fn turn_began(&self) -> Nanos {
        self.now.get()
    }

    /// The same, also while it puts that off because coroutines are ready.
    #[inline]
    pub(crate) fn asked(&self) -> Nanos {
        self.asked.get()
    }

    /// What the next wait of the running coroutine is for, if it has one before another coroutine runs. Otherwise it is
    /// [`WaitKind::Coroutine`].
    #[inline]
    pub fn waits_for(&self, kind: WaitKind) {
        self.waits_for.set((kind, NO_FD));
    }

    /// [`Runtime::waits_for`] with the descriptor that will be ready.
    #[inline]
    pub(crate) fn waits_for_fd(&self, kind: WaitKind, fd: RawFd) {
        self.waits_for.set((kind, fd));
    }

    /// The running coroutine; `None` in the loop.
    #[inline]
    pub fn current(&self) -> Option<CoroutineId> {
        self.current.get()
    }

    /// The running coroutine and its job. For a handler of signals on the loop's thread: `None` also if it has
    /// interrupted a change of the table.
    pub fn running(&self) -> Option<(CoroutineId, crate::Job)> {
        let id = self.current.get()?;
        let coroutines = self.coroutines.try_borrow().ok()?;
        Some((id, coroutines.get(id.index as usize)?.job))
    }

    /// From here to [`Runtime::step_in`] no coroutine seems to run: for work that must not be interleaved.
    pub fn step_out(&self) -> Option<CoroutineId> {
        let current = self.current.take();
        self.stepped_out.set(current.is_some());
        current
    }

    /// Ends [`Runtime::step_out`], for the coroutine that called it.
    pub fn step_in(&self, id: CoroutineId) {
        self.stepped_out.set(false);
        self.current.set(Some(id));
    }

    /// Whether the caller is a coroutine that may park now.
    #[inline]
    pub fn can_park(&self) -> bool {
        self.current.get().is_some() && self.switch.may_leave()
    }

    /// Has `tell` called with each job that a coroutine has run, whatever its end. It MUST NOT spawn.
    pub fn on_ended(&self, tell: fn(Job)) {
        self.on_ended.set(Some(tell));
    }

    /// Lets jobs differ in how long they may run: `of` is asked in place of
    /// [`run_max`](crate::SchedulerLimits::run_max). It MUST NOT call the runtime.
    pub fn limit_runs(&self, of: RunMax) {
        self.run_max_of.set(Some(of));
    }

    /// From here on jobs are charged to the accounts that `of` names, unless [`Runtime::charge_to`] has named one when a job's
    /// first wait begins, or it ends. It MUST NOT call the runtime.
    pub fn keep_accounts(&self, of: AccountOf) {
        self.accounts.keep(of);
    }

    /// From here on the job of the running coroutine is charged to this account, or to one that it is asked for. In the loop it
    /// means nothing.
    #[inline]
    pub fn charge_to(&self, account: Option<&'static Account>) {
        self.accounts.charge_to(account);
    }

    /// From here on the jobs that `of` names have records; those that list waits go to `to` when the job has ended. Neither MUST
    /// call the runtime.
    pub fn keep_records(&self, of: RecordOf, to: Recorded) {
        self.records.keep(of, to);
        self.accounts.measure();
    }

    /// The time at which this turn began: accurate enough for headers and idle deadlines, at no cost.
    pub fn turn_time(&self) -> Nanos {
        self.now.get()
    }

    /// Access to the reactor for the driver's own descriptors (keys from [`DRIVER_KEY`] up).
    pub fn with_reactor<T>(&self, work: impl FnOnce(&Reactor) -> T) -> T {
        work(&self.reactor.borrow())
    }
}
