//! Waiting for readiness itself: poll, ppoll, epoll_wait. [`select`](super::select) is built on these.
#![allow(unsafe_code)]

use libc::{c_int, epoll_event, nfds_t, pollfd, sigset_t, size_t, timespec};

use crate::hook::call::{Call, Stop};
use crate::hook::descriptor::DescriptorKind;
use crate::hook::errno::{errno, fail, set_errno};
use crate::hook::signal::masked::Masked;
use crate::hook::time::timespec::{span_of, span_of_ms};
use crate::hook::{descriptor, raw};
use crate::{Nanos, Readiness, Wake, clock};

/// Events that the reactor reports with the same bits.
const PLAIN_EVENTS: i16 = libc::POLLIN | libc::POLLOUT | libc::POLLPRI | libc::POLLRDHUP;

/// What poll(2) reports whether it is asked for or not. PHP's streams ask for it.
const ALWAYS: i16 = libc::POLLERR | libc::POLLHUP | libc::POLLNVAL;

pub unsafe fn poll(call: Option<Call>, fds: *mut pollfd, count: nfds_t, timeout_ms: c_int) -> c_int {
    let span = span_of_ms(timeout_ms);
    // SAFETY: by the caller's contract.
    let plain = || unsafe { raw::ppoll(fds, count as usize, span, std::ptr::null()) };
    match call.filter(|_| timeout_ms != 0) {
        // SAFETY: by the caller's contract.
        Some(call) => (unsafe { poll_span(call, fds, count as usize, span, None, plain) }) as c_int,
        None => plain() as c_int,
    }
}

pub unsafe fn poll_chk(
    call: Option<Call>,
    fds: *mut pollfd,
    count: nfds_t,
    timeout_ms: c_int,
    _: size_t,
) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { poll(call, fds, count, timeout_ms) }
}

pub unsafe fn ppoll(
    call: Option<Call>,
    fds: *mut pollfd,
    count: nfds_t,
    time: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: null or live by the caller's contract. The system call would write the remaining time; the plain function
    // does not.
    let time = unsafe { time.as_ref() }.copied();
    let plain = || {
        let mut time = time;
        let time = time.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
        // SAFETY: by the caller's contract.
        unsafe { raw::syscall!(SYS_ppoll, fds, count, time, mask, raw::SIGSET_BYTES) }
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
        poll_span(call, fds, count as usize, span, masked, plain) as c_int
    }
}

pub unsafe fn ppoll_chk(
    call: Option<Call>,
    fds: *mut pollfd,
    count: nfds_t,
    time: *const timespec,
    mask: *const sigset_t,
    _: size_t,
) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { ppoll(call, fds, count, time, mask) }
}

/// poll(2) with a span in nanoseconds (`None` means forever) and a signal mask, if there is one; `plain` is the call as
/// it was made.
pub unsafe fn poll_span(
    call: Call,
    fds: *mut pollfd,
    count: usize,
    span: Option<Nanos>,
    masked: Option<Masked>,
    plain: impl FnOnce() -> isize,
) -> isize {
    let saved = errno();
    // SAFETY: by the caller's contract.
    let receives = unsafe { one_to_receive(call, fds, count) };
    if let Some(fd) = receives.filter(|_| masked.is_none() && span != Some(0)) {
        let result = poll_one(call, fd, call.runtime.deadline(span));
        if result >= 0 {
            set_errno(saved);
        }
        return result;
    }
    let mask = masked.as_ref().map_or(std::ptr::null(), Masked::mask);
    // SAFETY: by the caller's contract; the mask is live.
    let now = unsafe { raw::ppoll(fds, count, Some(0), mask) };
    if now != 0 || span == Some(0) {
        return now;
    }
    if call.must_block() {
        return plain();
    }
    let fds = match count {
        0 => &mut [],
        // SAFETY: the kernel has just read and written these entries.
        _ => unsafe { std::slice::from_raw_parts_mut(fds, count) },
    };
    let deadline = call.runtime.deadline(span);
    let result = match fds {
        [fd] if masked.is_none() && fd.events & !(PLAIN_EVENTS | ALWAYS) == 0 && watched(fd.fd) >= 0 => {
            poll_one(call, fd, deadline)
        }
        fds => poll_many(call, fds, deadline, masked.as_ref()),
    };
    if result >= 0 {
        set_errno(saved);
    }
    result
}

/// The only entry, if it asks for what can be received and is known to have nothing: there is no need to ask the kernel
/// first.
unsafe fn one_to_receive<'a>(call: Call, fds: *mut pollfd, count: usize) -> Option<&'a mut pollfd> {
    const RECEIVES: i16 = libc::POLLIN | libc::POLLPRI | libc::POLLRDHUP | ALWAYS;
    if count != 1 {
        return None;
    }
    // SAFETY: one entry, by the caller's contract.
    let fd = unsafe { fds.as_mut() }?;
    (fd.events & !RECEIVES == 0 && call.can_only_wait(fd.fd)).then_some(fd)
}

/// One descriptor: the readiness that ended the wait is the answer, unless another coroutine has received what had come.
fn poll_one(mut call: Call, fd: &mut pollfd, deadline: Option<Nanos>) -> isize {
    loop {
        let ready = match call.wait(fd.fd, Readiness(fd.events), deadline) {
            Ok(ready) => ready.0 & (fd.events | libc::POLLERR | libc::POLLHUP),
            Err(Stop::Expired) => return raw::poll_now(std::slice::from_mut(fd)),
            Err(Stop::Failed(libc::EBADF)) => libc::POLLNVAL,
            Err(Stop::Failed(errno)) => return fail(errno),
        };
        fd.revents = ready;
        if ready == 0 || ready == libc::POLLIN && !call.runtime.still_has(fd.fd) {
            raw::poll_now(std::slice::from_mut(fd));
        }
        if fd.revents != 0 {
            return 1;
        }
        call = call.again();
    }
}

/// Many descriptors: parks until something happens to one of them, then asks the kernel about all.
fn poll_many(call: Call, fds: &mut [pollfd], deadline: Option<Nanos>, masked: Option<&Masked>) -> isize {
    let mut call = call;
    let mut watched: Vec<_> = fds.iter().map(|fd| (watched(fd.fd), interest(fd.events))).collect();
    watched.extend(masked.map(|masked| (masked.signals(), Readiness::READ)));
    let mask = masked.map_or(std::ptr::null(), Masked::mask);
    fds.iter().for_each(|fd| descriptor::drop_stale(call.runtime, fd.fd));
    let generations: Vec<_> = fds.iter().map(|fd| descriptor::generation(fd.fd)).collect();
    loop {
        let wake = call.wait_any(&watched, deadline);
        let mut closed = 0;
        for (fd, &generation) in fds.iter_mut().zip(&generations) {
            fd.revents = 0;
            if descriptor::generation(fd.fd) != generation {
                fd.revents = libc::POLLNVAL;
                closed += 1;
            }
        }
        match wake {
            _ if closed > 0 => return closed,
            Wake::Cancelled => return fail(libc::ECANCELED),
            Wake::Ready(ready) if ready.any(Readiness::INTERRUPTED) => return fail(libc::EINTR),
            Wake::Ready(_) | Wake::TimedOut => (),
        }
        // SAFETY: the entries and the mask are live.
        let ready = unsafe { raw::ppoll(fds.as_mut_ptr(), fds.len(), Some(0), mask) };
        if ready != 0 || wake == Wake::TimedOut {
            return ready;
        }
        call = call.again();
    }
}

/// The descriptor to watch. A file is either ready at once or never, so there is nothing to watch.
pub(super) fn watched(fd: c_int) -> c_int {
    if descriptor::kind(fd) == Some(DescriptorKind::File) { -1 } else { fd }
}

/// The reactor registers the basic events; poll's other names for them follow from these.
pub(super) fn interest(events: i16) -> Readiness {
    let mut interest = events & PLAIN_EVENTS;
    if events & (libc::POLLRDNORM | libc::POLLRDBAND) != 0 {
        interest |= libc::POLLIN | libc::POLLPRI;
    }
    if events & (libc::POLLWRNORM | libc::POLLWRBAND) != 0 {
        interest |= libc::POLLOUT;
    }
    Readiness(interest)
}

pub unsafe fn epoll_wait(
    call: Option<Call>,
    fd: c_int,
    events: *mut epoll_event,
    events_max: c_int,
    timeout_ms: c_int,
) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { epoll_pwait(call, fd, events, events_max, timeout_ms, std::ptr::null()) }
}

/// An epoll descriptor is readable if it has events, so this is a wait for a descriptor.
pub unsafe fn epoll_pwait(
    call: Option<Call>,
    fd: c_int,
    events: *mut epoll_event,
    events_max: c_int,
    timeout_ms: c_int,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: by the caller's contract.
    let wait = |timeout_ms: c_int, mask: *const sigset_t| unsafe {
        raw::syscall!(SYS_epoll_pwait, fd, events, events_max, timeout_ms, mask, raw::SIGSET_BYTES)
    };
    let Some(mut call) = call.filter(|_| timeout_ms != 0) else { return wait(timeout_ms, mask) as c_int };
    // SAFETY: null or live by the caller's contract.
    let masked = unsafe { Masked::new(mask) };
    let now_mask = masked.as_ref().map_or(std::ptr::null(), Masked::mask);
    let (saved, now) = (errno(), wait(0, now_mask));
    if now != 0 {
        return now as c_int;
    }
    if call.must_block() {
        return wait(timeout_ms, mask) as c_int;
    }
    let deadline = span_of_ms(timeout_ms).map(|span| clock::now() + span);
    let signals = masked.as_ref().map_or(-1, Masked::signals);
    let generation = descriptor::generation(fd);
    descriptor::drop_stale(call.runtime, fd);
    loop {
        let wake = call.wait_any(&[(fd, Readiness::READ), (signals, Readiness::READ)], deadline);
        match wake {
            _ if descriptor::generation(fd) != generation => return fail(libc::EBADF) as c_int,
            Wake::Cancelled => return fail(libc::ECANCELED) as c_int,
            Wake::Ready(ready) if ready.any(Readiness::INTERRUPTED) => return fail(libc::EINTR) as c_int,
            Wake::Ready(_) | Wake::TimedOut => (),
        }
        let ready = wait(0, now_mask);
        if ready != 0 || wake == Wake::TimedOut {
            if ready >= 0 {
                set_errno(saved);
            }
            return ready as c_int;
        }
        call = call.again();
    }
}
