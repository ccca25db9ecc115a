//! File locks: flock, fcntl(F_SETLKW, F_OFD_SETLKW), lockf. A coroutine that parks while it holds one would otherwise
//! deadlock the process against itself.
//!
//! The hook tries the non-blocking form; an unlock by one coroutine wakes another that waits. The kernel's order of
//! waiters and its `EDEADLK` for cycles of processes therefore do not apply to coroutines. Record locks belong to the
//! process (fcntl(2)): coroutines of one worker never contend for them, as threads do not.
#![allow(unsafe_code)]

use libc::{c_int, off_t};

use super::brief::{answered, brief, holder};
use super::contend::{file_freed, is_waited_for, until_free};
use super::resource::Resource;
use super::{seen, whole};
use crate::hook::call::Call;
use crate::hook::child::owner;
use crate::hook::errno::errno;
use crate::hook::raw;
use crate::hook::real::real;

pub unsafe fn flock(call: Option<Call>, fd: c_int, operation: c_int) -> c_int {
    // SAFETY: it takes numbers.
    let lock = |operation: c_int| unsafe { raw::syscall!(SYS_flock, fd, operation) };
    let unlocks = operation & libc::LOCK_UN != 0;
    let waits = operation & libc::LOCK_NB == 0 && !unlocks;
    // Otherwise a child that is forked during the wait would have the lock as well.
    let had_one = call.is_some() && !unlocks && owner::locked(fd, true);
    let result = match call.filter(|_| waits) {
        None => lock(operation),
        Some(call) => {
            let attempt = || lock(operation | libc::LOCK_NB);
            let file = || Resource::of_file(fd);
            until_free(call, file, &[libc::EWOULDBLOCK], None, attempt, || lock(operation))
        }
    };
    let has_none = if unlocks { result == 0 } else { result != 0 && !had_one };
    if call.is_some() && has_none {
        owner::locked(fd, false);
    }
    if call.is_some() && result == 0 {
        if unlocks {
            whole::freed(fd);
        } else {
            whole::locked(fd, || is_waited_for(fd));
        }
    }
    // Unlocked, or an exclusive lock has become a shared one.
    if operation & (libc::LOCK_UN | libc::LOCK_SH) != 0 && result == 0 {
        file_freed(fd);
    }
    result as c_int
}

/// Takes a lock without waiting, or unlocks.
fn set_lock(fd: c_int, command: c_int, argument: usize) -> c_int {
    if let Some(holder) = holder(fd) {
        // SAFETY: the caller's lock, which the kernel reads as well.
        holder.frees(unsafe { &*(argument as *const libc::flock) });
    }
    if command == libc::F_SETLK
        && let Some(answer) = answered(fd, command, argument)
    {
        return answer;
    }
    let result = raw::fcntl(fd, command, argument) as c_int;
    if result != 0 && !matches!(errno(), libc::EAGAIN | libc::EACCES) {
        return result;
    }
    // SAFETY: the kernel has just read the lock there.
    let lock = unsafe { &*(argument as *const libc::flock) };
    if result == 0 && c_int::from(lock.l_type) == libc::F_UNLCK {
        file_freed(fd);
    }
    if brief(fd).is_none() {
        seen::answered(fd, lock, result);
    }
    result
}

/// `argument` is a number or a pointer, depending on `command`, and is passed on unchanged.
pub unsafe fn fcntl(call: Option<Call>, fd: c_int, command: c_int, argument: usize) -> c_int {
    let attempt = match command {
        libc::F_SETLKW => libc::F_SETLK,
        libc::F_OFD_SETLKW => libc::F_OFD_SETLK,
        libc::F_SETLK | libc::F_OFD_SETLK => return set_lock(fd, command, argument),
        libc::F_GETLK => {
            return answered(fd, command, argument)
                .unwrap_or_else(|| raw::fcntl(fd, command, argument) as c_int);
        }
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => {
            return owner::opened_again(call, fd, raw::fcntl(fd, command, argument) as c_int);
        }
        _ => return raw::fcntl(fd, command, argument) as c_int,
    };
    let Some(call) = call.filter(|_| brief(fd).is_none()) else {
        let result = raw::fcntl(fd, command, argument) as c_int;
        if let Some(holder) = holder(fd).filter(|_| result == 0) {
            // SAFETY: the kernel has just read the lock there.
            holder.locked(unsafe { &*(argument as *const libc::flock) });
        }
        return result;
    };
    call.yield_by_chance();
    let attempt = || raw::fcntl(fd, attempt, argument);
    let busy = [libc::EAGAIN, libc::EACCES];
    let result = until_free(
        call,
        || Resource::of_file(fd),
        &busy,
        None,
        attempt,
        || raw::fcntl(fd, command, argument),
    );
    if result == 0 {
        // SAFETY: the kernel has just read the lock there.
        seen::answered(fd, unsafe { &*(argument as *const libc::flock) }, 0);
    }
    result as c_int
}

pub unsafe fn lockf(call: Option<Call>, fd: c_int, command: c_int, length: off_t) -> c_int {
    let real = real!(c"lockf": fn(c_int, c_int, off_t) -> c_int);
    // SAFETY: it takes numbers.
    let lock = |command| unsafe { real(fd, command, length) as isize };
    let Some(call) = call.filter(|_| command == libc::F_LOCK) else { return lock(command) as c_int };
    let busy = [libc::EAGAIN, libc::EACCES];
    let file = || Resource::of_file(fd);
    until_free(call, file, &busy, None, || lock(libc::F_TLOCK), || lock(command)) as c_int
}
