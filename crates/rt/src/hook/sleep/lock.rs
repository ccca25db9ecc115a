//! File locks: flock, fcntl(F_SETLKW, F_OFD_SETLKW), lockf. A coroutine that holds one and parks would otherwise deadlock
//! the process against itself.
//!
//! The attempt is the non-blocking form. So the kernel's order of waiters and its `EDEADLK` for cycles of processes do not
//! apply to waiting coroutines. Record locks belong to the process (fcntl(2)): between coroutines of one worker they never
//! contend, as between threads.
#![allow(unsafe_code)]

use libc::{c_int, off_t};

use crate::hook::call::{Backoff, Call, Stop, errno, fail, set_errno};
use crate::hook::raw;
use crate::hook::real::real;

/// Repeats `attempt` while it fails with one of `busy`, pausing in between.
pub fn until_free(
    call: Call,
    busy: &[c_int],
    deadline: Option<crate::Nanos>,
    mut attempt: impl FnMut() -> isize,
    block: impl FnOnce() -> isize,
) -> isize {
    let saved = errno();
    let mut backoff = Backoff::new();
    let mut first = true;
    loop {
        let result = attempt();
        if result >= 0 {
            set_errno(saved);
            return result;
        }
        if !busy.contains(&errno()) {
            return result;
        }
        if std::mem::take(&mut first) && call.must_block() {
            return block();
        }
        match call.pause(&mut backoff, deadline) {
            Ok(()) => (),
            Err(Stop::Expired) => return fail(libc::EAGAIN),
            Err(Stop::Failed(errno)) => return fail(errno),
        }
    }
}

pub unsafe fn flock(call: Option<Call>, fd: c_int, operation: c_int) -> c_int {
    // SAFETY: it takes numbers.
    let lock = |operation: c_int| unsafe { raw::syscall!(SYS_flock, fd, operation) };
    let waits = operation & libc::LOCK_NB == 0 && operation & libc::LOCK_UN == 0;
    let Some(call) = call.filter(|_| waits) else { return lock(operation) as c_int };
    let attempt = || lock(operation | libc::LOCK_NB);
    until_free(call, &[libc::EWOULDBLOCK], None, attempt, || lock(operation)) as c_int
}

/// `argument` is a number or a pointer, as `command` says, and is passed on as it came.
pub unsafe fn fcntl(call: Option<Call>, fd: c_int, command: c_int, argument: usize) -> c_int {
    let attempt = match command {
        libc::F_SETLKW => libc::F_SETLK,
        libc::F_OFD_SETLKW => libc::F_OFD_SETLK,
        _ => return raw::fcntl(fd, command, argument) as c_int,
    };
    let Some(call) = call else { return raw::fcntl(fd, command, argument) as c_int };
    let attempt = || raw::fcntl(fd, attempt, argument);
    let busy = [libc::EAGAIN, libc::EACCES];
    until_free(call, &busy, None, attempt, || raw::fcntl(fd, command, argument)) as c_int
}

pub unsafe fn lockf(call: Option<Call>, fd: c_int, command: c_int, length: off_t) -> c_int {
    let real = real!(c"lockf": fn(c_int, c_int, off_t) -> c_int);
    // SAFETY: it takes numbers.
    let lock = |command| unsafe { real(fd, command, length) as isize };
    let Some(call) = call.filter(|_| command == libc::F_LOCK) else { return lock(command) as c_int };
    let busy = [libc::EAGAIN, libc::EACCES];
    until_free(call, &busy, None, || lock(libc::F_TLOCK), || lock(command)) as c_int
}
