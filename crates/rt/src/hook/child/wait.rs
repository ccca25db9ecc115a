//! Waiting for child processes: wait, waitpid, wait3, wait4, waitid.
//!
//! A wait for one named child uses a descriptor (pidfd_open(2)) and wakes at once. "Any child" and stopped children have
//! none: the hook asks again after pauses of up to 20 ms. `SIGCHLD` stays with the application. A wait that is cut short
//! leaves its child to the loop ([`children`]), which keeps the status for the next wait. `waitid` does neither.
#![allow(unsafe_code)]

use libc::{c_int, id_t, idtype_t, pid_t, rusage, siginfo_t};

use super::apart::kept_apart;
use super::children;
use crate::hook::backoff::Backoff;
use crate::hook::call::Call;
use crate::hook::descriptor::close;
use crate::hook::errno::{errno, fail, set_errno};
use crate::hook::raw;
use crate::{MILLISECOND, Readiness};

/// Longest pause between two attempts for any child.
const PAUSE_MAX: crate::Nanos = 20 * MILLISECOND;

/// Repeats `ask` with `WNOHANG` (0: no child yet) until it returns something else. `pid` is the child waited for, if it
/// is a single one and only its end counts.
fn until_ended(mut call: Call, pid: Option<pid_t>, mut ask: impl FnMut(c_int) -> isize) -> isize {
    let saved = errno();
    let mut result = ask(libc::WNOHANG);
    if result != 0 {
        return result;
    }
    if call.must_block() {
        return ask(0);
    }
    // pclose() in a coroutine that was interrupted while it read from the command: it must not wait for that command.
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
            Ok(()) => ask(libc::WNOHANG),
            Err(stop) => fail(stop.errno()),
        };
        call = call.again();
    }
    let error = errno();
    if fd >= 0 {
        // SAFETY: it was opened above.
        unsafe { close::close(None, fd) };
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
    let Some(call) = call else {
        // SAFETY: by the caller's contract.
        return unsafe { raw::syscall!(SYS_wait4, pid, status, options, usage) as pid_t };
    };
    let mut asked = Asked { call, pid, options, status: 0, usage: None };
    let result = asked.wait();
    if result < 0 && errno() == libc::ECANCELED && pid > 0 {
        children::abandoned(call.runtime, pid, false);
    }
    // SAFETY: null or live, by the caller's contract.
    if let Some(status) = unsafe { status.as_mut() }.filter(|_| result > 0) {
        *status = asked.status;
    }
    // SAFETY: null or live, by the caller's contract.
    if let Some((usage, used)) = unsafe { usage.as_mut() }.zip(asked.usage) {
        *usage = used;
    }
    result
}

/// [`wait4`] for one child that no other code knows: if the wait is cut short, the caller leaves it behind.
pub fn wait_for(call: Call, pid: pid_t, status: &mut c_int) -> pid_t {
    let mut asked = Asked { call, pid, options: 0, status: 0, usage: None };
    let result = asked.wait();
    *status = asked.status;
    result
}

/// A wait by a coroutine.
struct Asked {
    call: Call,
    pid: pid_t,
    options: c_int,
    status: c_int,
    usage: Option<rusage>,
}

impl Asked {
    fn wait(&mut self) -> pid_t {
        let (call, pid, options) = (self.call, self.pid, self.options);
        if options & libc::WNOHANG != 0 {
            return self.ask(options) as pid_t;
        }
        let one = Some(pid).filter(|&pid| pid > 0 && options & (libc::WUNTRACED | libc::WCONTINUED) == 0);
        until_ended(call, one, |more| self.ask(options | more)) as pid_t
    }

    /// Asks the kernel once. "Any child" excludes those for which other families wait.
    fn ask(&mut self, options: c_int) -> isize {
        if self.pid != -1 || options & libc::WNOHANG == 0 || !kept_apart() {
            return self.ask_for(self.pid, options);
        }
        let mut result = self.kept(-1);
        for pid in children::any(self.call.runtime) {
            if result > 0 {
                break;
            }
            result = match self.ask_for(pid, options) {
                -1 => result,
                running_or_ended => running_or_ended,
            };
        }
        if result < 0 { fail(libc::ECHILD) } else { result }
    }

    fn ask_for(&mut self, pid: pid_t, options: c_int) -> isize {
        // SAFETY: the all-zero rusage is valid storage.
        let mut usage: rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both results are live.
        let result = unsafe { raw::syscall!(SYS_wait4, pid, &raw mut self.status, options, &raw mut usage) };
        if result > 0 {
            self.usage = Some(usage);
            if libc::WIFEXITED(self.status) || libc::WIFSIGNALED(self.status) {
                children::waited(result as pid_t);
            }
        }
        if result == -1 && errno() == libc::ECHILD { self.kept(pid) } else { result }
    }

    /// The end of a child that the loop has seen.
    fn kept(&mut self, pid: pid_t) -> isize {
        let Some(ended) = children::take_ended(self.call.runtime, pid) else { return -1 };
        (self.status, self.usage) = (ended.status, Some(ended.usage));
        ended.pid as isize
    }
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
    let ask = |more| {
        let result = wait(&raw mut found, options | more);
        // SAFETY: it is all zero or filled in for a child.
        if result == 0 && unsafe { found.si_pid() } > 0 { 1 } else { result }
    };
    let ended_only = options & (libc::WSTOPPED | libc::WCONTINUED) == 0;
    let one = Some(id as pid_t).filter(|_| kind == libc::P_PID && ended_only);
    match until_ended(call, one, ask) {
        1 => {
            if options & libc::WNOWAIT == 0 && found.si_code <= libc::CLD_DUMPED {
                // SAFETY: it is filled in for a child.
                children::waited(unsafe { found.si_pid() });
            }
            // SAFETY: null or live by the caller's contract.
            if let Some(info) = unsafe { info.as_mut() } {
                *info = found;
            }
            0
        }
        result => result as c_int,
    }
}
