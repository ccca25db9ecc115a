//! The scheduler: slots, the ready queue, and the loop. It decides who runs; [`Switch`] makes them run.
//!
//! Invariants: only the loop enters a coroutine; a coroutine only leaves to the loop; idle contexts are reused last in,
//! first out, so that their stacks are hot; every queue has a limit of [`SchedulerLimits`].

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use crate::coroutine::{Context, Coroutine, CoroutineId, Job, Left, Start, State, Switch};
use crate::family::Family;
use crate::fds::FdTable;
use crate::offload::Offload;
use crate::park::{Wait, Wake};
use crate::reactor::{Event, Reactor};
use crate::scheduler_limits::SchedulerLimits;
use crate::timers::{Due, Timers};
use crate::watch::Heartbeat;
use crate::{Nanos, clock};

/// Keys of the reactor at and above this one belong to the [`Driver`]; below it they are descriptor numbers.
pub const DRIVER_KEY: u64 = 1 << 32;

/// Key of the eventfd by which offload threads report.
const OFFLOAD_KEY: u64 = DRIVER_KEY - 1;

/// Keys from here up are children that nobody waits for, by their pidfd.
pub(crate) const CHILD_KEY: u64 = 1 << 31;

/// Coroutines entered in one turn of the loop before what they have written is sent.
const READY_PER_TURN: usize = 64;

/// What became of a spawned job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spawn {
    /// It has run (and may have ended) or runs in this turn.
    Started,
    /// All coroutines are taken; it waits in the queue.
    Queued,
    /// All coroutines are taken and the queue is full, or no stack could be had. The caller answers 503.
    Refused,
}

/// What the loop serves besides coroutines: listeners, connections, control pipes.
pub trait Driver {
    /// A descriptor registered under `key` (at least [`DRIVER_KEY`]) is ready.
    fn event(&self, event: Event);
    /// The end of a turn, with nothing left to run: flush what was written, expire what is late.
    fn turn(&self, now: Nanos);
    /// When [`Driver::turn`] must be called next though nothing happens.
    fn deadline(&self) -> Option<Nanos>;
    /// A job has waited longer for a coroutine than [`SchedulerLimits::queue_wait_max`]; it will not run.
    fn expired(&self, job: Job) {
        let _ = job;
    }
    /// Coroutines are parked, and nothing that the runtime knows of can ever wake one. `true`: something has been done about
    /// it; else the loop waits for whatever may come, a signal for example.
    fn stalled(&self) -> bool {
        false
    }
    /// Whether the loop should return.
    fn finished(&self) -> bool;
}

/// Counters since start; gauges where said so.
#[derive(Default, Debug)]
pub struct Stats {
    /// Loop turns.
    pub turns: Cell<u64>,
    /// Jobs started.
    pub jobs: Cell<u64>,
    /// Times a coroutine parked.
    pub parks: Cell<u64>,
    /// Jobs refused because the queue was full.
    pub refused: Cell<u64>,
    /// Waits that blocked the whole worker because Zend forbade the switch.
    pub blocked: Cell<u64>,
    /// Gauge: coroutines alive, tasks included.
    pub live: Cell<usize>,
    /// Gauge: tasks alive, or about to start.
    pub tasks: Cell<usize>,
}

pub(crate) enum Ready {
    Wake(Wait),
    Start(Start),
    /// It was first in the queue, and the place that became free is kept for it.
    Queued(Start),
}

/// The scheduler of this process. Made once by [`Runtime::start`], never freed.
pub struct Runtime {
    pub(crate) switch: Box<dyn Switch>,
    pub(crate) limits: SchedulerLimits,
    pub(crate) reactor: RefCell<Reactor>,
    pub(crate) fds: RefCell<FdTable>,
    pub(crate) timers: RefCell<Timers>,
    pub(crate) coroutines: RefCell<Vec<Coroutine>>,
    pub(crate) ready: RefCell<VecDeque<Ready>>,
    pub(crate) offload: Offload,
    /// Counters for the status.
    pub stats: Stats,
    /// What the watch thread looks at.
    pub heartbeat: &'static Heartbeat,
    idle: RefCell<Vec<u32>>,
    vacant: RefCell<Vec<u32>>,
    queue: RefCell<VecDeque<(Start, Nanos)>>,
    /// Of those alive, the tasks.
    live_tasks: Cell<usize>,
    /// Places kept for jobs that are no tasks and have left the queue: who comes now does not overtake them.
    kept: Cell<usize>,
    current: Cell<Option<CoroutineId>>,
    /// Between step_out and step_in: a coroutine runs all the same.
    stepped_out: Cell<bool>,
    /// The last one that was begun.
    pub(crate) families: Cell<Family>,
    now: Cell<Nanos>,
}

thread_local! {
    static RUNTIME: Cell<Option<&'static Runtime>> = const { Cell::new(None) };
}

impl Runtime {
    /// Makes the runtime of this thread. MUST be called after fork, once per process.
    ///
    /// # Errors
    /// Those of epoll_create1(2) and eventfd(2).
    pub fn start(switch: Box<dyn Switch>, limits: SchedulerLimits) -> rustix::io::Result<&'static Runtime> {
        let reactor = Reactor::new()?;
        let offload = Offload::new(limits.offload_threads_max)?;
        reactor.add(offload.fd(), OFFLOAD_KEY)?;
        let runtime: &'static Runtime = Box::leak(Box::new(Runtime {
            switch,
            limits,
            reactor: RefCell::new(reactor),
            fds: RefCell::default(),
            timers: RefCell::default(),
            coroutines: RefCell::default(),
            ready: RefCell::default(),
            offload,
            stats: Stats::default(),
            heartbeat: Box::leak(Box::default()),
            idle: RefCell::default(),
            vacant: RefCell::default(),
            queue: RefCell::default(),
            live_tasks: Cell::new(0),
            kept: Cell::new(0),
            current: Cell::new(None),
            stepped_out: Cell::new(false),
            families: Cell::new(0),
            now: Cell::new(clock::now()),
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

    /// Forgets this thread's runtime: in a child of fork, hooks must be plain system calls again.
    pub fn forget() {
        RUNTIME.set(None);
    }

    /// The running coroutine; `None` in the loop.
    #[inline]
    pub fn current(&self) -> Option<CoroutineId> {
        self.current.get()
    }

    /// From here to [`Runtime::step_in`] no coroutine runs, as everybody sees it: for what must be done in one go.
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

    /// The time at which this turn began: good enough for headers and idle deadlines, free of charge.
    pub fn turn_time(&self) -> Nanos {
        self.now.get()
    }

    /// Access to the reactor for the driver's own descriptors (keys from [`DRIVER_KEY`] up).
    pub fn with_reactor<T>(&self, work: impl FnOnce(&Reactor) -> T) -> T {
        work(&self.reactor.borrow())
    }

    /// The loop. Returns when the driver has finished.
    pub fn run(&self, driver: &dyn Driver) {
        loop {
            self.run_ready();
            if self.ready.borrow().is_empty() {
                crate::hook::before_idle(self);
            }
            driver.turn(self.now.get());
            if driver.finished() {
                return;
            }
            self.poll(driver);
            self.stats.turns.set(self.stats.turns.get() + 1);
            self.expire_timers();
            while let Some(job) = self.expired_job() {
                driver.expired(job);
            }
        }
    }

    fn expire_timers(&self) {
        while let Some(due) = { self.timers.borrow_mut().expire(self.now.get()) } {
            match due {
                Due::Wait(wait) => self.end_wait(wait, Wake::TimedOut),
                Due::Interrupt(id) => self.interrupt(id),
            };
        }
    }

    /// Waits for events no longer than the next deadline, and hands them out.
    fn poll(&self, driver: &dyn Driver) {
        let timeout = if self.ready.borrow().is_empty() {
            let timer = self.timers.borrow().next();
            let next = [timer, self.queue_deadline(), driver.deadline()].into_iter().flatten().min();
            if next.is_none()
                && !self.fds.borrow().has_waiters()
                && self.offload.is_idle()
                && driver.stalled()
            {
                return;
            }
            next.map(|at| at.saturating_sub(clock::now()))
        } else {
            Some(0)
        };
        self.heartbeat.idle();
        let waited = self.reactor.borrow_mut().wait(timeout);
        self.now.set(clock::now());
        crate::hook::deliver(self);
        if waited.is_err() {
            return; // EINTR: the turn goes on with what is due
        }
        for index in 0.. {
            let Some(event) = ({ self.reactor.borrow().event(index) }) else { return };
            match event.key {
                key if key >= DRIVER_KEY => driver.event(event),
                OFFLOAD_KEY => self.offload.finished(|wait| {
                    self.wake(wait, event.readiness);
                }),
                key if key >= CHILD_KEY => crate::hook::child_ended((key - CHILD_KEY) as i32),
                fd => self.fd_ready(fd as i32, event.readiness),
            }
        }
    }

    /// Runs what is ready now, but no more than [`READY_PER_TURN`]: their answers leave before the next ones are made. What
    /// becomes ready meanwhile waits for the next turn, so that I/O is never starved.
    fn run_ready(&self) {
        let mut turns = self.ready.borrow().len().min(READY_PER_TURN);
        while turns > 0 {
            turns -= 1;
            let Some(next) = ({ self.ready.borrow_mut().pop_front() }) else { return };
            match next {
                Ready::Wake(wait) if self.is_ready(wait) => self.enter(wait.coroutine.index, None),
                Ready::Wake(_) => (), // cancelled between its wake and its turn
                Ready::Start(start) => drop(self.start_job(start)),
                Ready::Queued(start) => {
                    self.kept.set(self.kept.get() - usize::from(!start.task));
                    self.start_job(start);
                }
            }
        }
    }

    fn is_ready(&self, wait: Wait) -> bool {
        let coroutines = self.coroutines.borrow();
        let coroutine = &coroutines[wait.coroutine.index as usize];
        coroutine.state == State::Ready
            && coroutine.generation == wait.coroutine.generation
            && coroutine.wait == wait.number
    }

    /// Gives a job to a coroutine. From the loop it starts at once; from a coroutine, in the next turn.
    pub fn spawn(&self, job: Job) -> Spawn {
        let start = Start { job, task: false, family: None };
        if self.is_full() {
            return self.enqueue(start);
        }
        if self.current.get().is_some() || self.stepped_out.get() {
            self.ready.borrow_mut().push_back(Ready::Start(start));
            return Spawn::Started;
        }
        self.start_job(start)
    }

    /// Gives a job of a coroutine's own to another one; it starts in the next turn. False: there are `tasks_max` already.
    pub fn spawn_task(&self, job: Job) -> bool {
        if self.stats.tasks.get() >= self.limits.tasks_max {
            return false;
        }
        self.stats.tasks.set(self.stats.tasks.get() + 1);
        let start = Start { job, task: true, family: self.family() };
        self.ready.borrow_mut().push_back(Ready::Start(start));
        true
    }

    /// Whether `coroutines_max` are alive or about to start (tasks do not count), or as many as the switch admits now.
    fn is_full(&self) -> bool {
        self.taken() >= self.limits.coroutines_max || !self.switch.admits(self.taken())
    }

    fn taken(&self) -> usize {
        self.stats.live.get() - self.live_tasks.get() + self.kept.get()
    }

    /// How many jobs would be started at once; none while others wait.
    pub fn room(&self) -> usize {
        if !self.queue.borrow().is_empty() {
            return 0;
        }
        self.limits.coroutines_max.saturating_sub(self.taken())
    }

    fn enqueue(&self, start: Start) -> Spawn {
        let mut queue = self.queue.borrow_mut();
        if queue.len() >= self.limits.queue_max && !start.task {
            self.stats.refused.set(self.stats.refused.get() + 1);
            return Spawn::Refused;
        }
        queue.push_back((start, self.now.get()));
        Spawn::Queued
    }

    /// When the first job of the queue has waited too long.
    fn queue_deadline(&self) -> Option<Nanos> {
        let queue = self.queue.borrow();
        queue.front().map(|(_, since)| since.saturating_add(self.limits.queue_wait_max))
    }

    fn expired_job(&self) -> Option<Job> {
        let late = self.queue_deadline().is_some_and(|deadline| deadline <= self.now.get());
        let (start, _) = late.then(|| self.queue.borrow_mut().pop_front())??;
        if start.task {
            self.stats.tasks.set(self.stats.tasks.get() - 1);
        }
        Some(start.job)
    }

    fn start_job(&self, start: Start) -> Spawn {
        if !start.task && self.is_full() {
            return self.enqueue(start);
        }
        let taken = self.idle.borrow_mut().pop();
        let index = match taken {
            Some(index) => index,
            None => match self.switch.create() {
                Ok(context) => self.insert(context),
                // No memory or no mappings left for another stack: as good as having reached the limit.
                Err(_) => return self.enqueue(start),
            },
        };
        self.stats.live.set(self.stats.live.get() + 1);
        self.live_tasks.set(self.live_tasks.get() + usize::from(start.task));
        self.stats.jobs.set(self.stats.jobs.get() + 1);
        self.enter(index, Some(start));
        Spawn::Started
    }

    /// The job of the running coroutine has ended: it goes on with the one that `next` has, as if it had left and been entered
    /// again with it, which spares two switches when many jobs start in one turn. For the switch, on the coroutine. `None`: there
    /// is none, or others come first; the coroutine leaves.
    pub fn next_job(&self, next: impl FnOnce() -> Option<Job>) -> Option<Job> {
        let id = self.current.get().filter(|_| self.queue.borrow().is_empty())?;
        if self.coroutines.borrow()[id.index as usize].task {
            return None;
        }
        let job = next()?;
        let start = Start { job, task: false, family: None };
        let family = self.family_of(start);
        let id =
            self.coroutines.borrow_mut()[id.index as usize].begin(id.index, start, family, self.now.get());
        crate::hook::job_ended(self);
        self.stats.jobs.set(self.stats.jobs.get() + 1);
        self.current.set(Some(id));
        self.heartbeat.enter(id);
        Some(job)
    }

    fn insert(&self, context: Context) -> u32 {
        let mut coroutines = self.coroutines.borrow_mut();
        let vacant = self.vacant.borrow_mut().pop();
        if let Some(index) = vacant {
            coroutines[index as usize].context = context;
            return index;
        }
        coroutines.push(Coroutine {
            context,
            generation: 0,
            state: State::Idle,
            wait: 0,
            wake: Wake::TimedOut,
            timer: None,
            cancelled: false,
            interrupted: false,
            task: false,
            job: Job { kind: 0, argument: 0 },
            family: 0,
            since: 0,
        });
        coroutines.len() as u32 - 1
    }

    fn enter(&self, index: u32, start: Option<Start>) {
        let (context, id) = {
            let mut coroutines = self.coroutines.borrow_mut();
            let coroutine = &mut coroutines[index as usize];
            if let Some(start) = start {
                coroutine.begin(index, start, self.family_of(start), self.now.get());
            }
            coroutine.state = State::Running;
            (coroutine.context, CoroutineId { index, generation: coroutine.generation })
        };
        self.current.set(Some(id));
        self.heartbeat.enter(id);
        let left = self.switch.enter(context, start.map(|start| start.job));
        crate::hook::end_forked_child();
        self.current.set(None);
        if left != Left::Parked {
            crate::hook::leaves();
            self.ended(index, context, left);
        }
    }

    fn ended(&self, index: u32, context: Context, left: Left) {
        let task = {
            let mut coroutines = self.coroutines.borrow_mut();
            coroutines[index as usize].state = State::Idle;
            coroutines[index as usize].task
        };
        crate::hook::job_ended(self);
        self.stats.live.set(self.stats.live.get() - 1);
        self.live_tasks.set(self.live_tasks.get() - usize::from(task));
        self.stats.tasks.set(self.stats.tasks.get() - usize::from(task));
        let keep = left == Left::Ended && self.idle.borrow().len() < self.limits.idle_max;
        if keep {
            self.idle.borrow_mut().push(index);
        } else {
            self.vacant.borrow_mut().push(index);
            if left == Left::Ended {
                self.switch.destroy(context);
            }
        }
        self.offer_place();
    }

    /// Somebody has ended, or memory may be free again. The end of a task frees a stack, but no place for who is no task.
    pub fn offer_place(&self) {
        let mut queue = self.queue.borrow_mut();
        let Some((start, _)) = queue.front().copied() else { return };
        if start.task || !self.is_full() {
            queue.pop_front();
            self.kept.set(self.kept.get() + usize::from(!start.task));
            self.ready.borrow_mut().push_back(Ready::Queued(start));
        }
    }

    /// Jobs that wait for a coroutine, those included for which a place is kept.
    pub fn queued(&self) -> usize {
        self.queue.borrow().len() + self.kept.get()
    }
}
