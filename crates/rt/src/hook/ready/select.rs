//! select and pselect, built on poll(2) as in the kernel: the events of each set are those of `fs/select.c`.
#![allow(unsafe_code)]

use libc::{c_int, fd_set, pollfd, sigset_t, timespec, timeval};

use crate::hook::call::Call;
use crate::hook::errno::fail;
use crate::hook::raw;
use crate::hook::ready::poll::poll_span;
use crate::hook::signal::masked::Masked;
use crate::hook::time::timespec::{span_of, timespec_of};
use crate::{Nanos, clock};

const READ: i16 = libc::POLLRDNORM | libc::POLLRDBAND | libc::POLLIN | libc::POLLHUP | libc::POLLERR;
const WRITE: i16 = libc::POLLWRBAND | libc::POLLWRNORM | libc::POLLOUT | libc::POLLERR;
const EXCEPT: i16 = libc::POLLPRI;

/// The three sets of a call, each null or live, and the event that stands for each.
type Sets = [(*mut fd_set, i16, i16); 3];

pub unsafe fn select(
    call: Option<Call>,
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *mut timeval,
) -> c_int {
    // SAFETY: null or live by the caller's contract.
    let given = unsafe { time.as_mut() };
    let span = given.as_ref().map(|time| span_of_timeval(time));
    if span == Some(None) {
        return fail(libc::EINVAL) as c_int;
    }
    let (span, start) = (span.flatten(), clock::now());
    let plain = || {
        let mut time = span.map(timespec_of);
        let time = time.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
        // SAFETY: by the caller's contract.
        unsafe { raw::syscall!(SYS_pselect6, count, read, write, except, time, 0) }
    };
    let result = match call.filter(|_| span != Some(0)) {
        // SAFETY: by the caller's contract.
        Some(call) => unsafe { select_span(call, count, [read, write, except], span, None, plain) },
        None => plain(),
    };
    // Linux returns the remaining time (select(2)).
    if let (Some(span), Some(given)) = (span, given) {
        let left = span.saturating_sub(clock::now() - start);
        given.tv_sec = (left / crate::SECOND) as _;
        given.tv_usec = (left % crate::SECOND / 1_000) as _;
    }
    result as c_int
}

pub unsafe fn pselect(
    call: Option<Call>,
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: null or live by the caller's contract. The system call would write the remaining time; the plain function
    // does not.
    let time = unsafe { time.as_ref() }.copied();
    let plain = || {
        let mut time = time;
        let time = time.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
        let masked = [mask as usize, raw::SIGSET_BYTES];
        // SAFETY: by the caller's contract; `masked` is the pair that pselect6 takes as its last argument.
        unsafe { raw::syscall!(SYS_pselect6, count, read, write, except, time, masked.as_ptr()) }
    };
    let span = match time.as_ref().map(span_of) {
        Some(None | Some(0)) => return plain() as c_int,
        Some(span) => span,
        None => None,
    };
    let Some(call) = call else { return plain() as c_int };
    // SAFETY: by the caller's contract.
    unsafe {
        let masked = Masked::new(mask);
        select_span(call, count, [read, write, except], span, masked, plain) as c_int
    }
}

unsafe fn select_span(
    call: Call,
    count: c_int,
    [read, write, except]: [*mut fd_set; 3],
    span: Option<Nanos>,
    masked: Option<Masked>,
    plain: impl FnOnce() -> isize,
) -> isize {
    if !(0..=libc::FD_SETSIZE as c_int).contains(&count) {
        // More descriptors than the type holds: the kernel reads larger arrays, so the plain call answers for
        // them.
        return plain();
    }
    let sets: Sets =
        [(read, libc::POLLIN, READ), (write, libc::POLLOUT, WRITE), (except, libc::POLLPRI, EXCEPT)];
    // SAFETY: by the caller's contract the sets hold `count` descriptors.
    let mut fds = unsafe { members(&sets, count) };
    let (pointer, length) = (fds.as_mut_ptr(), fds.len());
    // A coroutine that may not leave makes the call as it was given: the sets are still untouched.
    let mut blocked = false;
    let block = || {
        blocked = true;
        plain()
    };
    // SAFETY: the entries are live for the call.
    let result = unsafe { poll_span(call, pointer, length, span, masked, block) };
    if result < 0 || blocked {
        return result;
    }
    if fds.iter().any(|fd| fd.revents & libc::POLLNVAL != 0) {
        return fail(libc::EBADF);
    }
    // SAFETY: as above.
    unsafe { answer(&sets, &fds) }
}

unsafe fn members(sets: &Sets, count: c_int) -> Vec<pollfd> {
    let mut fds = Vec::new();
    for fd in 0..count {
        let mut events = 0;
        for &(set, event, _) in sets {
            // SAFETY: null or live; `fd` is below FD_SETSIZE.
            if !set.is_null() && unsafe { libc::FD_ISSET(fd, set) } {
                events |= event;
            }
        }
        if events != 0 {
            fds.push(pollfd { fd, events, revents: 0 });
        }
    }
    fds
}

unsafe fn answer(sets: &Sets, fds: &[pollfd]) -> isize {
    let mut found = 0;
    for &(set, event, meaning) in sets {
        for fd in fds.iter().filter(|fd| fd.events & event != 0) {
            if fd.revents & meaning != 0 {
                found += 1;
            } else {
                // SAFETY: the set is live: its event was asked for.
                unsafe { libc::FD_CLR(fd.fd, set) };
            }
        }
    }
    found
}

fn span_of_timeval(time: &timeval) -> Option<Nanos> {
    let seconds = Nanos::try_from(time.tv_sec).ok()?;
    let micros = Nanos::try_from(time.tv_usec).ok()?;
    Some(seconds.saturating_mul(crate::SECOND).saturating_add(micros.saturating_mul(1_000)))
}
