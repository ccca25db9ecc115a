//! Ending a child together with its descendants, which /proc lists.
//!
//! It must not know what they run. Invariant: a process is stopped before its children are read, so it cannot start
//! others meanwhile.
#![allow(unsafe_code)]

use libc::{c_int, pid_t};

use super::children;
use crate::hook::call::Call;
use crate::hook::raw;

/// How many processes of one command are told to end.
const PROCESSES_MAX: usize = 64;

/// Tells a child and the processes it has started to end: a shell's command is a separate process. All are stopped
/// first, because a running one could start another meanwhile, or continue with the next command.
pub fn abandon_child(call: Call, pid: pid_t) {
    // SAFETY: it takes numbers. The child has not been waited for, so its number is still its own; the numbers of the
    // processes it started were theirs a moment ago.
    let signal = |pid: pid_t, signal: c_int| unsafe { raw::syscall!(SYS_kill, pid, signal) };
    signal(pid, libc::SIGSTOP);
    let until = libc::WSTOPPED | libc::WEXITED | libc::WNOWAIT;
    // This takes as long as a signal takes, so the thread may wait for it. SAFETY: null is allowed for both
    // results.
    unsafe { raw::syscall!(SYS_waitid, libc::P_PID, pid, 0, until, 0) };
    let mut processes = vec![pid];
    let mut at = 0;
    while at < processes.len() && processes.len() < PROCESSES_MAX {
        signal(processes[at], libc::SIGSTOP);
        processes.extend(children_of(processes[at]));
        at += 1;
    }
    for process in processes {
        signal(process, libc::SIGTERM);
        signal(process, libc::SIGCONT);
    }
    children::abandoned(call.runtime, pid, true);
}

/// The children of a process, as far as one page of /proc lists them (proc_tid_children(5)). Uses raw system calls,
/// because this is part of a hook.
pub fn children_of(pid: pid_t) -> Vec<pid_t> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(path, flags, rustix::fs::Mode::empty()) else { return Vec::new() };
    let mut text = [0; 4096];
    let length = rustix::io::read(&file, &mut text).unwrap_or(0);
    let numbers = text[..length].split(|byte| *byte == b' ');
    numbers.filter_map(|number| std::str::from_utf8(number).ok()?.parse().ok()).collect()
}
