//! Code that the tests of this crate share: a [`Switch`] that is not PHP's (stackful contexts of corosensei), and a
//! loop that runs until no coroutine is left.
#![allow(unsafe_code, dead_code)]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use corosensei::{Coroutine, CoroutineResult, Yielder};
use weft_rt::{Context, Driver, Job, Left, Nanos, Runtime, SchedulerLimits, Spawn, Switch};

type Task = Box<dyn FnOnce()>;
type Stack = Coroutine<Task, Option<()>, ()>;

thread_local! {
    static TASKS: RefCell<Vec<Option<Task>>> = const { RefCell::new(Vec::new()) };
    /// Whether coroutines of this thread may park: Zend forbids it at times.
    pub static MAY_LEAVE: Cell<bool> = const { Cell::new(true) };
    /// The contexts that were trimmed, since somebody took them.
    pub static TRIMMED: RefCell<Vec<Context>> = const { RefCell::new(Vec::new()) };
    static YIELDER: Cell<*const Yielder<Task, Option<()>>> = const { Cell::new(std::ptr::null()) };
}

/// Runs closures on corosensei stacks, one job after another on the same stack, as the Fiber pool does.
#[derive(Default)]
struct Stacks {
    stacks: RefCell<HashMap<usize, Rc<RefCell<Stack>>>>,
    next: Cell<usize>,
    created: Rc<Cell<usize>>,
}

impl Switch for Stacks {
    fn create(&self, _: u32) -> std::io::Result<Context> {
        let stack = Coroutine::new(|yielder: &Yielder<Task, Option<()>>, mut task: Task| {
            loop {
                YIELDER.set(yielder);
                task();
                task = yielder.suspend(Some(()));
            }
        });
        self.created.set(self.created.get() + 1);
        self.next.set(self.next.get() + 1);
        self.stacks.borrow_mut().insert(self.next.get(), Rc::new(RefCell::new(stack)));
        Ok(Context(self.next.get()))
    }

    fn enter(&self, context: Context, job: Option<Job>) -> Left {
        let stack = Rc::clone(&self.stacks.borrow()[&context.0]);
        let task = match job {
            Some(job) => TASKS.with_borrow_mut(|tasks| tasks[job.argument as usize].take()).unwrap(),
            None => Box::new(|| ()),
        };
        match stack.borrow_mut().resume(task) {
            CoroutineResult::Yield(Some(())) => Left::Ended,
            _ => Left::Parked,
        }
    }

    fn leave(&self, _: Context) {
        let yielder = YIELDER.get();
        // SAFETY: the coroutine that runs now has set it, and its yielder lives as long as its stack.
        drop(unsafe { &*yielder }.suspend(None));
        YIELDER.set(yielder);
    }

    fn may_leave(&self) -> bool {
        MAY_LEAVE.get()
    }

    fn trim(&self, context: Context) {
        TRIMMED.with_borrow_mut(|trimmed| trimmed.push(context));
    }

    fn destroy(&self, context: Context) {
        self.stacks.borrow_mut().remove(&context.0);
    }
}

/// A driver that ends the loop when no coroutine is left.
pub struct UntilDone(pub &'static Runtime);

impl Driver for UntilDone {
    fn event(&self, _: weft_rt::reactor::Event) {}
    fn turn(&self, _: Nanos) {}
    fn deadline(&self) -> Option<Nanos> {
        None
    }
    fn finished(&self) -> bool {
        self.0.stats.live.get() == 0
    }
}

pub fn start(limits: SchedulerLimits) -> (&'static Runtime, Rc<Cell<usize>>) {
    let stacks = Stacks::default();
    let created = Rc::clone(&stacks.created);
    (Runtime::start(Box::new(stacks), limits).unwrap(), created)
}

pub fn spawn(runtime: &Runtime, task: impl FnOnce() + 'static) -> Spawn {
    let argument = TASKS.with_borrow_mut(|tasks| {
        tasks.push(Some(Box::new(task)));
        tasks.len() as u64 - 1
    });
    runtime.spawn(Job { kind: 0, argument, pool: 0 })
}

pub fn log() -> (Rc<RefCell<Vec<&'static str>>>, impl Fn(&'static str) + Clone) {
    let entries = Rc::new(RefCell::new(Vec::new()));
    let writer = Rc::clone(&entries);
    (entries, move |entry| writer.borrow_mut().push(entry))
}

/// Runs these coroutines until all have ended.
pub fn run(tasks: impl IntoIterator<Item = Box<dyn FnOnce()>>) -> &'static Runtime {
    let runtime = Runtime::get().unwrap_or_else(|| start(SchedulerLimits::default()).0);
    for task in tasks {
        assert_eq!(spawn(runtime, task), Spawn::Started);
    }
    runtime.run(&UntilDone(runtime));
    runtime
}

/// The progress of a coroutine, for another to wait for.
#[derive(Clone, Default)]
pub struct Stage(Rc<Cell<u32>>);

impl Stage {
    /// Announces a stage. Whatever the coroutine does up to its next wait happens before another coroutine sees
    /// it.
    pub fn reach(&self, stage: u32) {
        self.0.set(stage);
    }

    /// Whether it has been reached.
    pub fn has_reached(&self, stage: u32) -> bool {
        self.0.get() >= stage
    }

    /// Waits until the other has reached this stage.
    pub fn until(&self, stage: u32) {
        while !self.has_reached(stage) {
            // SAFETY: usleep takes a number.
            unsafe { libc::usleep(200) };
        }
    }
}

/// `tasks![closure, …]`: coroutines for [`run`].
#[macro_export]
macro_rules! tasks {
    ($($task:expr),* $(,)?) => { [$(Box::new($task) as Box<dyn FnOnce()>),*] };
}
