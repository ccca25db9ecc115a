//! The switch within one PHP instance: each coroutine is a pooled Fiber (or, for a script's main, a bare context).
//!
//! `c/fiber_switch.c` implements the switch; this file only adapts it to the scheduler.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io;

use weft_rt::{Context, Footprint, Job, Left, Runtime, Switch};

use crate::abi::JobKind;
use crate::{native, sys};

impl JobKind {
    /// A job of this kind, for the scheduler.
    pub fn job(self, argument: u64) -> Job {
        self.job_in(0, argument)
    }

    /// A job of this kind for a context of this pool.
    pub fn job_in(self, pool: u32, argument: u64) -> Job {
        Job { kind: self as u32, argument, pool }
    }

    /// Whether a job is of this kind.
    pub fn is_of(self, job: Job) -> bool {
        job.kind == self as u32
    }
}

/// Switches between the Fibers of this process's one PHP instance.
#[derive(Debug)]
pub struct FiberSwitch(());

impl FiberSwitch {
    /// For requests: pooled Fibers with C stacks of `stack_bytes`. The calling context becomes the loop's. Call
    /// it after [`crate::Engine::begin`].
    pub fn pooled(stack_bytes: usize) -> FiberSwitch {
        // SAFETY: only notes the current context and replaces method handlers; the engine runs (begin).
        unsafe { sys::weft_switch_start(false, stack_bytes) };
        FiberSwitch(())
    }

    /// For one script: a bare context, and pooled Fibers for its tasks, with C stacks of `stack_bytes`.
    pub fn bare(stack_bytes: usize) -> FiberSwitch {
        // SAFETY: as in `pooled`.
        unsafe { sys::weft_switch_start(true, stack_bytes) };
        FiberSwitch(())
    }

    /// Asks the running coroutine to yield at its next VM interrupt check. Any thread may call this.
    pub fn preempt() {
        // SAFETY: only stores to two flags, one of them atomic; documented for any thread.
        unsafe { sys::weft_interrupt_preempt() };
    }

    /// Asks the running coroutine to stop at its next VM interrupt check, if it has run for too long
    /// ([`Runtime::is_late`]). Any thread may call this.
    pub fn stop_if_late() {
        // SAFETY: as in `preempt`.
        unsafe { sys::weft_interrupt_late() };
    }
}

/// Writes the current place in PHP code: "function() at file:line". Returns the number of bytes, or 0 if no PHP code
/// runs. A signal handler on the thread that runs PHP may call this, in a process that will not continue.
pub fn code_location(text: &mut [u8]) -> usize {
    // SAFETY: the buffer is as long as it says; what is read are the frames of this thread, which stands still meanwhile.
    unsafe { sys::weft_code_location(text.as_mut_ptr().cast(), text.len()) }
}

/// The same with the places from which it was called, in a process whose memory may be damaged.
pub fn crash_location(text: &mut [u8]) -> usize {
    // SAFETY: the buffer is as long as it says; frames that cannot be read end the search.
    unsafe { sys::weft_crash_location(text.as_mut_ptr().cast(), text.len()) }
}

/// The PHP stack of the code that runs at this moment, outermost function first, with `;` between them; empty if none runs, or
/// it could not be read. Any thread may call this; what runs goes on meanwhile.
#[must_use]
pub fn running_stack() -> String {
    // SAFETY: the buffer is as long as it says; memory that may be gone is read by the kernel, which refuses what is not there.
    native::stack(|text, size| unsafe { sys::weft_code_stack_running(text, size) })
}

/// The place in PHP code that runs at this moment, "function() at file:line", and the request that it belongs to; empty if none runs,
/// or it could not be read. Code that the JIT has compiled may be some lines further. Any thread may call this; what runs goes on
/// meanwhile.
#[must_use]
pub fn running_place() -> (String, Option<u64>) {
    let mut request = 0;
    // SAFETY: as in `running_stack`; the number is written before the call returns.
    let place =
        native::place(|text, size| unsafe { sys::weft_code_place_running(text, size, &raw mut request) });
    (place, Some(request).filter(|request| *request != 0))
}

/// Whether [`running_stack`] can read anything here: a filter of system calls may forbid process_vm_readv(2).
#[must_use]
pub fn can_read_running_stack() -> bool {
    // SAFETY: it reads a variable of its own.
    unsafe { sys::weft_code_stack_can_run() }
}

/// Writes the internal function of PHP that runs, and the beginning of its first argument if that is a string: "fopen
/// http://a.example". Returns the number of bytes, or 0 if none runs. For the thread that runs PHP.
pub fn code_function(text: &mut [u8]) -> usize {
    // SAFETY: the buffer is as long as it says; what is read is the frame on top, of a function that is running.
    unsafe { sys::weft_code_function(text.as_mut_ptr().cast(), text.len()) }
}

/// From here on `report` is called once before the process dies of a crash, by a handler of signals on this thread,
/// which is the loop's.
pub fn report_crashes(report: extern "C" fn(i32)) {
    // SAFETY: installs handlers; the function is one.
    unsafe { sys::weft_crash_start(report) };
}

/// Calls `work` in a handler of signals of a process that is about to end. If that fails or takes longer than half a
/// second, the process ends without it: by this signal, or with status 1 if that is 0.
pub fn attempt_last_words(work: extern "C" fn(), signal: i32) {
    // SAFETY: the function is one; what it leaves half done is gone with the process.
    unsafe { sys::weft_crash_attempt(work, signal) };
}

fn pointer(context: Context) -> *mut c_void {
    context.0 as *mut c_void
}

impl Switch for FiberSwitch {
    fn create(&self, _: u32) -> io::Result<Context> {
        // SAFETY: called on the engine's thread, from the loop.
        let coroutine = unsafe { sys::weft_coroutine_create() };
        if coroutine.is_null() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(Context(coroutine as usize))
    }

    fn enter(&self, context: Context, job: Option<Job>) -> Left {
        let (kind, argument) = job.map_or((0, 0), |job| (job.kind, job.argument));
        // SAFETY: the context came from `create` and has not been destroyed; the scheduler enters from the loop only.
        native::left(unsafe { sys::weft_coroutine_enter(pointer(context), job.is_some(), kind, argument) })
    }

    fn leave(&self, context: Context) {
        // SAFETY: the scheduler calls it on the context that runs.
        unsafe { sys::weft_coroutine_leave(pointer(context)) };
    }

    fn place(&self, context: Context) -> String {
        // SAFETY: the scheduler names a context that is parked; the buffer is as long as it says.
        native::place(|text, size| unsafe { sys::weft_code_waiting(pointer(context), text, size) })
    }

    fn stack(&self, context: Context) -> String {
        // SAFETY: the scheduler names a context that is parked; the buffer is as long as it says.
        native::stack(|text, size| unsafe { sys::weft_code_stack(pointer(context), text, size) })
    }

    fn resumed(&self, context: Context) {
        // SAFETY: the scheduler calls it on the context that runs.
        unsafe { sys::weft_coroutine_resumed(pointer(context)) };
    }

    fn may_leave(&self) -> bool {
        // SAFETY: reads a counter of the engine.
        unsafe { sys::weft_coroutine_may_leave() }
    }

    fn cancelled(&self, for_good: bool) {
        // SAFETY: the scheduler calls it on the context that runs, inside a call that PHP code has made.
        unsafe { sys::weft_cancel(for_good) };
    }

    fn interruption_pending(&self) -> bool {
        // SAFETY: reads a pointer of the engine.
        unsafe { sys::weft_cancel_pending() }
    }

    fn in_conversation(&self) -> bool {
        // SAFETY: the scheduler calls it on the context that runs; it reads what PHP runs now.
        unsafe { sys::weft_in_conversation() }
    }

    fn asks_for_status(&self) -> bool {
        // SAFETY: reads a global of PHP.
        unsafe { sys::weft_asks_for_status() }
    }

    fn blocks(&self, symbol: &'static str) {
        native::report_blocked(symbol);
    }

    fn stands_at(&self, tell: &mut dyn FnMut(&[u8], u32)) {
        native::stands_at(tell);
    }

    /// All coroutines share one heap.
    fn footprint(&self, context: Context) -> Footprint {
        // SAFETY: the scheduler names a context that exists, of which nothing is changed.
        Footprint { stack: unsafe { sys::weft_coroutine_stack(pointer(context)) }, heap: 0 }
    }

    fn trim(&self, context: Context) {
        // SAFETY: the scheduler names a context that does not run, from the loop.
        unsafe { sys::weft_coroutine_trim(pointer(context)) };
    }

    fn signalled(&self) {
        // SAFETY: reads one flag of the engine, on its thread.
        if unsafe { sys::weft_signals_pending() }
            && let Some(runtime) = Runtime::get()
        {
            // If no coroutine is left, the existing ones will check when they resume.
            let _ = runtime.spawn(JobKind::Signals.job(0));
        }
    }

    fn destroy(&self, context: Context) {
        // SAFETY: the scheduler destroys idle contexts only, once.
        unsafe { sys::weft_coroutine_destroy(pointer(context)) };
    }
}
