//! The switch below PHP: each coroutine has a native stack, and Zend does not know about it.
//!
//! For classic mode, where each job begins and ends its own PHP request. `c/native.c` implements the switch. It saves
//! none of PHP's state: one request at a time is in PHP, so it MUST run with `coroutines_max` = 1.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io;

use weft_rt::{Context, Footprint, Job, Left, Switch};

use crate::abi::EnterResult;
use crate::sys;

/// The methods of a [`Switch`] that are the same for all contexts with a native stack: to Zend it is one plain stack,
/// so it may leave anywhere.
macro_rules! native_answers {
    () => {
        fn may_leave(&self) -> bool {
            true
        }

        fn cancelled(&self, for_good: bool) {
            // SAFETY: the scheduler calls it on the context that runs, inside a call that PHP code has made.
            unsafe { crate::sys::weft_cancel(for_good) };
        }

        fn in_conversation(&self) -> bool {
            // SAFETY: the scheduler calls it on the context that runs; it reads what PHP runs now.
            unsafe { crate::sys::weft_in_conversation() }
        }

        fn asks_for_status(&self) -> bool {
            // SAFETY: reads a global of PHP.
            unsafe { crate::sys::weft_asks_for_status() }
        }

        fn interrupter(&self) -> Option<fn()> {
            // SAFETY: reads what was found out at the start.
            unsafe { crate::sys::weft_timeslice_can() }.then_some(crate::native::end_slice)
        }

        fn stop(&self) {
            // SAFETY: the scheduler calls it on the context that runs; it sets flags.
            unsafe { crate::sys::weft_timeslice_stop() };
        }

        fn blocks(&self, symbol: &'static str) {
            crate::native::report_blocked(symbol);
        }

        fn stands_at(&self, tell: &mut dyn FnMut(&[u8], u32)) {
            crate::native::stands_at(tell);
        }
    };
}
pub(crate) use native_answers;

/// Tells in which file and line the code of the context that runs stands.
pub(crate) fn stands_at(tell: &mut dyn FnMut(&[u8], u32)) {
    let mut line = 0;
    // SAFETY: called on the context that runs; the number is written before the call returns.
    let file = unsafe { sys::weft_stands_at(&raw mut line) };
    // SAFETY: a name ends with a NUL, and is there while the code of its file runs, which waits for this.
    let name = if file.is_null() { c"" } else { unsafe { std::ffi::CStr::from_ptr(file) } };
    tell(name.to_bytes(), line);
}

/// What `measure` writes.
pub(crate) fn footprint(measure: impl FnOnce(*mut sys::Footprint)) -> Footprint {
    let mut found = sys::Footprint::default();
    measure(&raw mut found);
    Footprint { stack: found.stack, heap: found.heap }
}

/// Reports where a call of `symbol` blocks the worker. For the scheduler, on the running context.
pub(crate) fn report_blocked(symbol: &str) {
    let Ok(symbol) = std::ffi::CString::new(symbol) else { return };
    // SAFETY: called on the context that runs; the text is live.
    unsafe { sys::weft_report_blocked(symbol.as_ptr()) };
}

/// Asks the coroutine that runs whether its slice has ended. On any thread.
pub(crate) fn end_slice() {
    // SAFETY: sets a flag, or the rights of pages at whose next execution the engine's thread asks.
    unsafe { sys::weft_timeslice_end() };
}

/// Enables native stacks of `stack_bytes`; from here on an overflow of one is an Error in PHP. Call it in the worker,
/// when the engine has started.
pub(crate) fn start(stack_bytes: usize) {
    // SAFETY: notes a number, and installs handlers of the engine that runs; no coroutine exists yet.
    unsafe {
        sys::weft_native_start(stack_bytes);
        sys::weft_failure_start(false);
        sys::weft_stack_start();
        sys::weft_timeslice_start();
    }
}

/// The context that C created, as the scheduler knows it.
pub(crate) fn created(pointer: *mut c_void) -> io::Result<Context> {
    if pointer.is_null() { Err(io::ErrorKind::OutOfMemory.into()) } else { Ok(Context(pointer as usize)) }
}

pub(crate) fn pointer(context: Context) -> *mut c_void {
    context.0 as *mut c_void
}

/// The place that `look` writes into a buffer of this size, of which it returns the number of bytes.
pub(crate) fn place(look: impl FnOnce(*mut std::ffi::c_char, usize) -> usize) -> String {
    text_of::<2048>(look)
}

/// The same for a stack.
pub(crate) fn stack(look: impl FnOnce(*mut std::ffi::c_char, usize) -> usize) -> String {
    text_of::<STACK_BYTES_MAX>(look)
}

/// Bytes of the text of a stack; of a longer one, the inner part is told.
pub(crate) const STACK_BYTES_MAX: usize = 8192;

fn text_of<const SIZE: usize>(look: impl FnOnce(*mut std::ffi::c_char, usize) -> usize) -> String {
    let mut text = [0u8; SIZE];
    let length = look(text.as_mut_ptr().cast(), text.len());
    String::from_utf8_lossy(&text[..length.min(text.len())]).into_owned()
}

/// Kind and argument of a job, for C.
pub(crate) fn parts(job: Option<Job>) -> (u32, u64) {
    job.map_or((0, 0), |job| (job.kind, job.argument))
}

/// What an `enter` in C has returned, as the scheduler knows it.
pub(crate) fn left(returned: u32) -> Left {
    match EnterResult::from_c(returned) {
        Some(EnterResult::Parked) => Left::Parked,
        Some(EnterResult::Ended) => Left::Ended,
        Some(EnterResult::Lost) | None => Left::Lost,
    }
}

/// Switches between the loop and one request that has PHP to itself.
#[derive(Debug)]
pub struct NativeSwitch(());

impl NativeSwitch {
    /// Stacks of `stack_bytes` each; only touched pages cost memory. Call it in the worker, when the engine has
    /// started: from here on an overflow of such a stack is an Error in PHP.
    pub fn new(stack_bytes: usize) -> NativeSwitch {
        start(stack_bytes);
        NativeSwitch(())
    }
}

impl Switch for NativeSwitch {
    fn create(&self, pool: u32) -> io::Result<Context> {
        // SAFETY: called on the engine's thread, from the loop.
        created(unsafe { sys::weft_native_create(pool) })
    }

    fn enter(&self, context: Context, job: Option<Job>) -> Left {
        let (kind, argument) = parts(job);
        // SAFETY: the context came from `create` and has not been destroyed; the scheduler enters from the loop only.
        left(unsafe { sys::weft_native_enter(pointer(context), job.is_some(), kind, argument) })
    }

    fn leave(&self, context: Context) {
        // SAFETY: the scheduler calls it on the context that runs.
        unsafe { sys::weft_native_leave(pointer(context)) };
    }

    fn place(&self, context: Context) -> String {
        // SAFETY: the scheduler names a context that is parked; the buffer is as long as it says.
        place(|text, size| unsafe { sys::weft_code_waiting(pointer(context), text, size) })
    }

    fn stack(&self, context: Context) -> String {
        // SAFETY: the scheduler names a context that is parked; the buffer is as long as it says.
        stack(|text, size| unsafe { sys::weft_code_stack(pointer(context), text, size) })
    }

    native_answers!();

    fn footprint(&self, context: Context) -> Footprint {
        // SAFETY: the scheduler names a context that exists, of which nothing is changed; the result is written before the call returns.
        footprint(|found| unsafe { sys::weft_native_footprint(pointer(context), found) })
    }

    fn destroy(&self, context: Context) {
        // SAFETY: the scheduler destroys idle contexts only, once.
        unsafe { sys::weft_native_destroy(pointer(context)) };
    }
}
