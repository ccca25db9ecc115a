//! The switch below PHP: each coroutine has a native stack, and Zend knows nothing of it.
//!
//! For classic mode, where each job begins and ends a PHP request of its own. What happens at a switch is in `c/native.c`.
//! It puts nothing of PHP's state aside: one request at a time is in PHP, so it MUST run with `coroutines_max` = 1.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io;

use weft_rt::{Context, Job, Left, Switch};

use crate::sys;

/// Switches between the loop and one request that has PHP to itself.
#[derive(Debug)]
pub struct NativeSwitch(());

impl NativeSwitch {
    /// Stacks of `stack_bytes` each; only touched pages cost memory. Call it in the worker, when the engine has started:
    /// from here on an overflow of such a stack is an Error in PHP.
    pub fn new(stack_bytes: usize) -> NativeSwitch {
        // SAFETY: notes a number, and installs handlers of the engine that runs; no coroutine exists yet.
        unsafe {
            sys::weft_native_start(stack_bytes);
            sys::weft_failure_start(false);
        }
        NativeSwitch(())
    }
}

fn pointer(context: Context) -> *mut c_void {
    context.0 as *mut c_void
}

impl Switch for NativeSwitch {
    fn create(&self) -> io::Result<Context> {
        // SAFETY: called on the engine's thread, from the loop.
        let coroutine = unsafe { sys::weft_native_create() };
        if coroutine.is_null() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(Context(coroutine as usize))
    }

    fn enter(&self, context: Context, job: Option<Job>) -> Left {
        let (kind, argument) = job.map_or((0, 0), |job| (job.kind, job.argument));
        // SAFETY: the context came from `create` and has not been destroyed; the scheduler enters from the loop only.
        match unsafe { sys::weft_native_enter(pointer(context), job.is_some(), kind, argument) } {
            0 => Left::Parked,
            _ => Left::Ended,
        }
    }

    fn leave(&self, context: Context) {
        // SAFETY: the scheduler calls it on the context that runs.
        unsafe { sys::weft_native_leave(pointer(context)) };
    }

    fn may_leave(&self) -> bool {
        true // to Zend this is one plain stack, wherever it stands
    }

    fn cancelled(&self, for_good: bool) {
        // SAFETY: the scheduler calls it on the context that runs, inside a call that PHP code has made.
        unsafe { sys::weft_cancel(for_good) };
    }

    fn blocks(&self, symbol: &'static str) {
        crate::fiber::report_blocked(symbol);
    }

    fn destroy(&self, context: Context) {
        // SAFETY: the scheduler destroys idle contexts only, once.
        unsafe { sys::weft_native_destroy(pointer(context)) };
    }
}
