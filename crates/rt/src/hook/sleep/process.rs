//! Waiting for child processes: wait, waitpid, wait3, wait4, waitid.
//!
//! One named child is a descriptor (pidfd_open(2)) and wakes at once. For "any child" and for stopped children there is
//! none: they are asked for again after pauses up to 20 ms. `SIGCHLD` stays with the server.
#![allow(unsafe_code)]

use libc::{c_int, id_t, idtype_t, pid_t, rusage, siginfo_t};

use crate::hook::call::{Backoff, Call, errno, fail, set_errno};
use crate::hook::{note, raw};
use crate::{MILLISECOND, Readiness};

/// Longest pause between two questions for any child.
const PAUSE_MAX: crate::Nanos = 20 * MILLISECOND;

/// Repeats `attempt` (0: no child yet) until it says something else. `pid` is the one child waited for, if it is one and
/// only its end counts.
fn until_ended(
    call: Call,
    pid: Option<pid_t>,
    mut attempt: impl FnMut() -> isize,
    block: impl FnOnce() -> isize,
) -> isize {
    let saved = errno();
    let mut result = attempt();
    if result != 0 {
        return result;
    }
    if call.must_block() {
        return block();
    }
    // pclose() of a coroutine that was interrupted while it read from the command: it must not wait for that command.
    if call.runtime.switch.interruption_pending() {
        return fail(libc::ECANCELED);
    }
    // SAFETY: it takes numbers. The descriptor is closed on exec.
    let fd = pid.map_or(-1, |pid| unsafe { raw::syscall!(SYS_pidfd_open, pid, 0) }) as c_int;
    let mut backoff = Backoff::up_to(PAUSE_MAX);
    while result == 0 {
        let waited = match fd {
            0.. => call.wait(fd, Readiness::READ, None).map(drop),
            _ => call.pause(&mut backoff, None),
        };
        result = match waited {
            Ok(()) => attempt(),
            Err(stop) => fail(stop.errno()),
        };
    }
    let error = errno();
    if fd >= 0 {
        // SAFETY: it was opened above.
        unsafe { note::close(None, fd) };
    }
    set_errno(if result < 0 { error } else { saved });
    result
}

pub unsafe fn wait4(
    call: Option<Call>,
    pid: pid_t,
    status: *mut c_int,
    options: c_int,
    usage: *mut rusage,
) -> pid_t {
    // SAFETY: by the caller's contract.
    let wait = |options: c_int| unsafe { raw::syscall!(SYS_wait4, pid, status, options, usage) };
    let Some(call) = call.filter(|_| options & libc::WNOHANG == 0) else { return wait(options) as pid_t };
    let one = Some(pid).filter(|&pid| pid > 0 && options & (libc::WUNTRACED | libc::WCONTINUED) == 0);
    until_ended(call, one, || wait(options | libc::WNOHANG), || wait(options)) as pid_t
}

pub unsafe fn waitpid(call: Option<Call>, pid: pid_t, status: *mut c_int, options: c_int) -> pid_t {
    // SAFETY: by the caller's contract.
    unsafe { wait4(call, pid, status, options, std::ptr::null_mut()) }
}

pub unsafe fn wait(call: Option<Call>, status: *mut c_int) -> pid_t {
    // SAFETY: by the caller's contract.
    unsafe { wait4(call, -1, status, 0, std::ptr::null_mut()) }
}

pub unsafe fn wait3(call: Option<Call>, status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t {
    // SAFETY: by the caller's contract.
    unsafe { wait4(call, -1, status, options, usage) }
}

pub unsafe fn waitid(
    call: Option<Call>,
    kind: idtype_t,
    id: id_t,
    info: *mut siginfo_t,
    options: c_int,
) -> c_int {
    // SAFETY: by the caller's contract.
    let wait = |info: *mut siginfo_t, options: c_int| unsafe {
        raw::syscall!(SYS_waitid, kind, id, info, options, 0)
    };
    let Some(call) = call.filter(|_| options & libc::WNOHANG == 0) else {
        return wait(info, options) as c_int;
    };
    // SAFETY: the all-zero siginfo_t is valid; the kernel leaves si_pid 0 when no child is there yet.
    let mut found: siginfo_t = unsafe { std::mem::zeroed() };
    let attempt = || {
        let result = wait(&raw mut found, options | libc::WNOHANG);
        // SAFETY: it is all zero or filled in for a child.
        if result == 0 && unsafe { found.si_pid() } > 0 { 1 } else { result }
    };
    let ended_only = options & (libc::WSTOPPED | libc::WCONTINUED) == 0;
    let one = Some(id as pid_t).filter(|_| kind == libc::P_PID && ended_only);
    match until_ended(call, one, attempt, || wait(info, options)) {
        1 => {
            // SAFETY: null or live by the caller's contract.
            if let Some(info) = unsafe { info.as_mut() } {
                *info = found;
            }
            0
        }
        result => result as c_int,
    }
}
