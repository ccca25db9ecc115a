//! Waiting for signals: sigtimedwait, sigwaitinfo, sigwait. The hook first asks for a pending signal without waiting; a
//! signalfd(2) then tells when to ask again. The descriptor serves only to wake: the call itself takes the signal.
//!
//! A signal must be blocked to be waited for. Unblocked signals have no descriptor: the hook asks again after pauses.
#![allow(unsafe_code)]

use libc::{c_int, siginfo_t, sigset_t, timespec};

use crate::Readiness;
use crate::hook::backoff::Backoff;
use crate::hook::call::Call;
use crate::hook::errno::{errno, fail, set_errno};
use crate::hook::raw;
use crate::hook::signal::mask::blocked_signals;
use crate::hook::signal::signalfd::SignalFd;
use crate::hook::time::timespec::{span_of, timespec_of};

pub unsafe fn sigtimedwait(
    call: Option<Call>,
    set: *const sigset_t,
    info: *mut siginfo_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: by the caller's contract.
    let wait = |time: *const timespec| unsafe {
        raw::syscall!(SYS_rt_sigtimedwait, set, info, time, raw::SIGSET_BYTES)
    };
    // SAFETY: null or live by the caller's contract.
    let span = unsafe { time.as_ref() }.map(span_of);
    let (Some(mut call), Some(span)) = (call, span.map_or(Some(None), |span| span.map(Some))) else {
        return wait(time) as c_int;
    };
    let now = timespec_of(0);
    let (deadline, saved) = (call.runtime.deadline(span), errno());
    let first = wait(&raw const now);
    if first >= 0 || errno() != libc::EAGAIN {
        return first as c_int;
    }
    if call.must_block() {
        return wait(time) as c_int;
    }
    // SAFETY: live by the caller's contract; the kernel's signal set is the first 64 bits of glibc's.
    let wanted = unsafe { set.cast::<u64>().read_unaligned() };
    let all_blocked = wanted & !blocked_signals() == 0;
    let pending = if all_blocked { SignalFd::new(wanted) } else { None };
    let mut backoff = Backoff::new();
    let result = loop {
        let paused = match &pending {
            Some(pending) => call.wait(pending.fd(), Readiness::READ, deadline).map(drop),
            None => call.pause(&mut backoff, deadline),
        };
        if let Err(stop) = paused {
            break fail(stop.errno());
        }
        let result = wait(&raw const now);
        if result >= 0 || errno() != libc::EAGAIN {
            break result;
        }
        call = call.again();
    };
    let error = errno();
    drop(pending);
    set_errno(if result < 0 { error } else { saved });
    result as c_int
}

pub unsafe fn sigwaitinfo(call: Option<Call>, set: *const sigset_t, info: *mut siginfo_t) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { sigtimedwait(call, set, info, std::ptr::null()) }
}

/// It returns the error number and does not change errno.
pub unsafe fn sigwait(call: Option<Call>, set: *const sigset_t, signal: *mut c_int) -> c_int {
    let saved = errno();
    loop {
        // SAFETY: by the caller's contract.
        let got = unsafe { sigtimedwait(call, set, std::ptr::null_mut(), std::ptr::null()) };
        let error = errno();
        set_errno(saved);
        match (got, error) {
            (1.., _) => {
                // SAFETY: by the caller's contract.
                unsafe { *signal = got };
                return 0;
            }
            (_, libc::EINTR) => (),
            (_, error) => return error,
        }
    }
}
