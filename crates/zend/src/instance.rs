//! The switch between PHP instances: many isolated PHPs in one process, one of them active at a time.
//!
//! Each job has an instance to itself, and with it everything that is global to PHP. `c/instance/` implements the
//! switch (read `instance.h` first); this file adapts it to the scheduler and adds limits.
//!
//! Invariant: there are at most as many instances as were requested, and no job starts beside others while the process
//! has more memory than it may (`memory_bound.rs`); the scheduler's queue holds the jobs that must wait.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::time::Duration;

use weft_rt::{Context, Footprint, Job, Left, Switch};

use crate::memory_bound::MemoryBound;
use crate::native::{self, pointer};
use crate::sys;

/// Limits of the pool of instances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InstanceOptions {
    /// Instances in this process, at least 2. Each runs one request at a time.
    pub instances_max: u32,
    /// C stack of each, in bytes; only touched pages cost memory. PHP's own default is 8 MiB.
    pub stack_bytes: usize,
    /// Resident memory of the process, in bytes, above which idle instances return what they can, and a job waits until
    /// it is alone or there is memory again.
    pub memory_bytes_max: u64,
    /// For debugging: compare whole pages at each switch, and look for pointers between instances.
    pub verify: bool,
}

/// The current state of the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InstanceFigures {
    /// Existing instances, including idle ones.
    pub instances: u32,
    /// Pages of the image that are compared at a switch.
    pub pages: u32,
    /// Lines of 64 bytes that the active instance had when it was last saved.
    pub lines: u32,
    /// Images exchanged since start.
    pub switches: u64,
    /// Address space of all heaps, in bytes.
    pub heap_bytes: u64,
}

/// Switches between PHP instances.
#[derive(Debug)]
pub struct InstanceSwitch {
    memory: MemoryBound,
}

impl InstanceSwitch {
    /// Turns this process into one with instances. Call it in the worker, after [`crate::Engine::start`] with
    /// `instances`, before any request: each instance begins with PHP's current state.
    ///
    /// # Errors
    /// Why instances are impossible here, and what to do.
    pub fn start(options: InstanceOptions) -> Result<InstanceSwitch, String> {
        let heap_bytes =
            usize::try_from(options.memory_bytes_max).unwrap_or(usize::MAX / 4).saturating_mul(4);
        weft_rt::hook::on_record_lock(record_lock);
        weft_rt::hook::defer_handlers();
        native::start(options.stack_bytes);
        // SAFETY: the engine runs, on this thread, and no coroutine exists yet; the reason is a string of static storage.
        let reason = unsafe {
            let reason = sys::weft_instances_start(options.instances_max, heap_bytes, options.verify);
            (!reason.is_null()).then(|| CStr::from_ptr(reason).to_string_lossy().into_owned())
        };
        match reason {
            Some(reason) => {
                Err(format!("no PHP instances in this worker: {reason}; --instances 1 does without"))
            }
            None => Ok(InstanceSwitch { memory: MemoryBound::new(options.memory_bytes_max) }),
        }
    }

    /// For tests: from here on, others run after at most `most` machine instructions of PHP code, on x86-64, if the runtime
    /// has [`weft_rt::Runtime::end_each_slice`]. A SIGTRAP after each instruction finds them: a thousand times slower.
    pub fn step(most: u32) {
        // SAFETY: the engine runs, on this thread, and no coroutine exists yet.
        unsafe { sys::weft_timeslice_step(most) };
    }

    /// Why an engine that has been started for instances can have none; it continues without them. For the master,
    /// before the first fork.
    pub fn unfit() -> Option<String> {
        // SAFETY: the engine runs, on this thread; the reason is a string of static storage.
        unsafe {
            let reason = sys::weft_instances_unfit();
            (!reason.is_null()).then(|| CStr::from_ptr(reason).to_string_lossy().into_owned())
        }
    }

    /// Returns the memory of heaps and stacks of instances that have been idle for `idle`. The loop calls it from time
    /// to time.
    pub fn trim(idle: Duration) {
        // SAFETY: called on the engine's thread, from the loop; it looks at idle instances only.
        unsafe { sys::weft_instances_trim(u64::try_from(idle.as_nanos()).unwrap_or(u64::MAX)) };
    }

    /// Instances that are in the same wait as at the last check return memory that they do not need meanwhile: free
    /// pages of their heaps and stacks. The loop calls it from time to time. Returns whether others remain for the next
    /// check.
    #[must_use]
    pub fn look() -> bool {
        // SAFETY: called on the engine's thread, from the loop; it looks at instances that do not run.
        unsafe { sys::weft_instances_look() }
    }

    /// Called at the end of each turn of the loop.
    pub fn turn() {
        // SAFETY: called on the engine's thread, from the loop.
        unsafe { sys::weft_process_turn() };
    }

    /// The current figures of the pool.
    pub fn figures() -> InstanceFigures {
        // SAFETY: reads counters.
        let figures = unsafe { sys::weft_instances_report() };
        InstanceFigures {
            instances: figures.instances,
            pages: figures.pages,
            lines: figures.lines,
            switches: figures.switches,
            heap_bytes: figures.heap_bytes,
        }
    }
}

/// opcache's lock for readers is counted per instance, not per process.
fn record_lock(fd: c_int, command: c_int, lock: usize) -> Option<c_int> {
    let mut result = 0;
    // SAFETY: the caller of fcntl passes a live struct flock for these commands; it is null-checked.
    let answered =
        unsafe { sys::weft_process_record_lock(fd, command, lock as *mut c_void, &raw mut result) };
    answered.then_some(result)
}

impl Switch for InstanceSwitch {
    fn create(&self, pool: u32) -> io::Result<Context> {
        // SAFETY: called on the engine's thread, from the loop.
        native::created(unsafe { sys::weft_instance_create(pool) })
    }

    fn admits(&self, live: usize) -> bool {
        live == 0 || self.memory.has_room()
    }

    fn enter(&self, context: Context, job: Option<Job>) -> Left {
        let (kind, argument) = native::parts(job);
        // SAFETY: the context came from `create` and has not been destroyed; the scheduler enters from the loop only.
        let left = native::left(unsafe {
            sys::weft_instance_enter(pointer(context), job.is_some(), kind, argument)
        });
        if left == Left::Lost {
            weft_rt::hook::close_what_it_opened();
        }
        left
    }

    fn leave(&self, context: Context) {
        // SAFETY: the scheduler calls it on the context that runs.
        unsafe { sys::weft_instance_leave(pointer(context)) };
    }

    fn place(&self, context: Context) -> String {
        // SAFETY: the scheduler names a context that is parked; the buffer is as long as it says.
        native::place(|text, size| unsafe { sys::weft_instance_waiting(pointer(context), text, size) })
    }

    fn stack(&self, context: Context) -> String {
        // SAFETY: the scheduler names a context that is parked; the buffer is as long as it says.
        native::stack(|text, size| unsafe { sys::weft_instance_stack(pointer(context), text, size) })
    }

    native::native_answers!();

    fn footprint(&self, context: Context) -> Footprint {
        // SAFETY: the scheduler names a context that exists, of which nothing is changed; the result is written before the call returns.
        native::footprint(|found| unsafe { sys::weft_instance_footprint(pointer(context), found) })
    }

    fn destroy(&self, context: Context) {
        // SAFETY: the scheduler destroys idle contexts only, once.
        unsafe { sys::weft_instance_destroy(pointer(context)) };
    }
}
