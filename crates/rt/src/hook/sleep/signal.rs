//! Waiting for signals: sigtimedwait, sigwaitinfo, sigwait. A signal pending for the process is asked for without waiting,
//! again after pauses.
#![allow(unsafe_code)]

use libc::{c_int, siginfo_t, sigset_t, timespec};

use super::contend::{Resource, until_free};
use crate::hook::call::{Call, errno, set_errno, span_of, timespec_of};
use crate::hook::raw;

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
    let (Some(call), Some(span)) = (call, span.map_or(Some(None), |span| span.map(Some))) else {
        return wait(time) as c_int;
    };
    let deadline = call.runtime.deadline(span);
    let now = timespec_of(0);
    until_free(call, || Resource::Unseen, &[libc::EAGAIN], deadline, || wait(&raw const now), || wait(time))
        as c_int
}

pub unsafe fn sigwaitinfo(call: Option<Call>, set: *const sigset_t, info: *mut siginfo_t) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { sigtimedwait(call, set, info, std::ptr::null()) }
}

/// It returns the error number and leaves errno alone.
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
