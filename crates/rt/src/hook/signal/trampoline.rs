//! The function that the kernel calls in place of an installed handler.
//!
//! It records the signal and makes the loop's eventfd readable, so a signal that arrives just before the loop waits is not
//! missed. Then it calls the handler, or leaves that for later. It must not know what a handler does. Invariant: it is
//! async-signal-safe: atomics, one write(2), the handler.
#![allow(unsafe_code)]

use std::sync::atomic::Ordering;

use libc::{c_int, c_void, siginfo_t};

use super::deferred;
use super::handlers::{ARRIVED, LOOP_THREAD, WAKER, bit, call_handler};
use crate::hook::errno::{errno, set_errno};
use crate::hook::raw;

/// A library's thread may not block signals, and the kernel may choose it. Then the signal is passed on to the loop's
/// thread with all its information except the code: the kernel lets threads send only `SI_QUEUE` (rt_sigqueueinfo(2)).
unsafe fn is_passed_on(signal: c_int, info: *mut siginfo_t) -> bool {
    let wanted = LOOP_THREAD.load(Ordering::Relaxed);
    // SAFETY: they take numbers and the siginfo that the kernel made for this handler; both calls are async-signal-safe.
    unsafe {
        if wanted == 0 || raw::syscall!(SYS_gettid) as c_int == wanted {
            return false;
        }
        (*info).si_code = libc::SI_QUEUE;
        raw::syscall!(SYS_rt_tgsigqueueinfo, raw::syscall!(SYS_getpid), wanted, signal, info) == 0
    }
}

/// The handler that is installed in the kernel.
pub(super) unsafe extern "C" fn trampoline(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let interrupted = errno();
    // SAFETY: as the kernel calls it.
    if unsafe { is_passed_on(signal, info) } {
        return set_errno(interrupted);
    }
    if ARRIVED.fetch_or(bit(signal), Ordering::Relaxed) == 0 {
        let waker = WAKER.load(Ordering::Relaxed);
        if waker >= 0 {
            let one = 1u64;
            // SAFETY: eight live bytes; write(2) is async-signal-safe.
            unsafe { raw::write(waker, (&raw const one).cast(), size_of_val(&one)) };
        }
    }
    set_errno(interrupted);
    // SAFETY: as the kernel calls it.
    unsafe {
        if !deferred::postpone(signal, info) {
            call_handler(signal, info, context);
        }
    }
}
