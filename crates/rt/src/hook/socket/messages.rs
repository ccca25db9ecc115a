//! Several messages in one call: recvmmsg and sendmmsg. libcurl and libcrypto call them for QUIC and DTLS.
//!
//! Datagrams are received and sent as many at a time as the kernel takes without waiting; between two such parts the
//! coroutine parks. Messages of a byte stream go one by one, because only then `MSG_WAITALL` and partial sends are
//! those of the call for one message. Invariant: the result is the number of messages that are done; after the first
//! one no error is reported, and an error of the socket is left for its next call (recvmmsg(2)).
#![allow(unsafe_code)]

use libc::{c_int, c_uint, mmsghdr, timespec};

use super::receive::{NEVER_WAITS, partial, recvmsg};
use super::send::sendmsg;
use super::timeout::{SocketTimeout, is_nonblocking};
use super::vectors::Vectors;
use crate::hook::call::Call;
use crate::hook::errno::errno;
use crate::hook::time::timespec::{span_of, timespec_of};
use crate::hook::{descriptor, raw};
use crate::{Nanos, Readiness, clock};

/// The most messages that one sendmmsg(2) sends; the kernel ignores those beyond (`UIO_MAXIOV`).
const SENT_MAX: c_uint = 1024;

/// The time-out of recvmmsg(2). The kernel looks at it after each message that it has received, and at no other time: a
/// call that waits for a message is not ended by it. Whoever wants that sets `SO_RCVTIMEO`.
struct TimeOut {
    time: *mut timespec,
    /// `None` for a time-out of 0, which ends the call after its first message.
    deadline: Option<Nanos>,
}

impl TimeOut {
    /// Notes what is left of it, as the kernel does. Says whether it is over.
    unsafe fn over(&self) -> bool {
        if self.time.is_null() {
            return false;
        }
        let left = self.deadline.map_or(0, |deadline| deadline.saturating_sub(clock::now()));
        // SAFETY: not null, and live by the contract of the call.
        unsafe { *self.time = timespec_of(left) };
        left == 0
    }

    /// How many of `count` messages may be received before it is asked again.
    fn part(&self, count: c_uint) -> c_uint {
        if self.time.is_null() || self.deadline.is_some() { count } else { count.min(1) }
    }
}

pub unsafe fn recvmmsg(
    call: Option<Call>,
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    time: *mut timespec,
) -> c_int {
    // SAFETY: null or live by the caller's contract.
    let span = unsafe { time.as_ref() }.map(span_of);
    let waits = call.filter(|_| flags & NEVER_WAITS == 0 && !messages.is_null() && count > 0);
    // The kernel refuses a time that is none. QUIC's descriptors do not wait: one system call more must do for them.
    let waits = waits.filter(|_| !is_nonblocking(fd));
    let (Some(call), Some(span)) = (waits, span.map_or(Some(None), |span| span.map(Some))) else {
        // SAFETY: by the caller's contract.
        return unsafe { raw::recvmmsg(fd, messages, count, flags, time) } as c_int;
    };
    let deadline = span.filter(|&span| span > 0).map(|span| clock::now().saturating_add(span));
    let (timeout, one_by_one) = (TimeOut { time, deadline }, descriptor::is_byte_stream(fd));
    let (saved, mut done) = (errno(), 0);
    while done < count {
        // SAFETY: `done` is below `count`; all else by the caller's contract.
        let rest = unsafe { messages.add(done as usize) };
        // The first message is waited for. MSG_WAITFORONE says that no other one is.
        let flags =
            if done > 0 && flags & libc::MSG_WAITFORONE != 0 { flags | libc::MSG_DONTWAIT } else { flags };
        let result = if one_by_one {
            // SAFETY: as above.
            unsafe { receive_one(call, fd, rest, flags & !libc::MSG_WAITFORONE) }
        } else {
            // SAFETY: as above.
            unsafe { receive_some(call, fd, rest, timeout.part(count - done), flags, done > 0) }
        };
        if result <= 0 {
            return partial(done as usize, result, saved) as c_int;
        }
        done += result as c_uint;
        // SAFETY: by the caller's contract.
        if unsafe { timeout.over() } {
            break;
        }
    }
    done as c_int
}

/// One message of a byte stream, with all that the call for one message does. Returns 1, or -1.
unsafe fn receive_one(call: Call, fd: c_int, message: *mut mmsghdr, flags: c_int) -> isize {
    // SAFETY: by the caller's contract.
    let received = unsafe { recvmsg(Some(call), fd, &raw mut (*message).msg_hdr, flags) };
    if received < 0 {
        return received;
    }
    // SAFETY: as above.
    unsafe { (*message).msg_len = received as c_uint };
    1
}

/// As many datagrams as there are, at least one. If the call already has some (`later`), it ends with 0 when the socket
/// has an error: that is not taken, but left for the next call.
unsafe fn receive_some(
    call: Call,
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    later: bool,
) -> isize {
    // SAFETY: by the caller's contract.
    let receive = |flags| unsafe { raw::recvmmsg(fd, messages, count, flags, std::ptr::null_mut()) };
    let attempt = || {
        if later && raw::has_error(fd) {
            return 0;
        }
        receive(flags | libc::MSG_DONTWAIT)
    };
    if flags & libc::MSG_DONTWAIT != 0 {
        return attempt();
    }
    // Where the coroutine may not leave, this part waits for one message, and the caller comes again.
    let block = || receive(flags | libc::MSG_WAITFORONE);
    let mut timeout = SocketTimeout::RECEIVE;
    call.until_ready(fd, Readiness::READ, &mut timeout, attempt, block)
}

pub unsafe fn sendmmsg(
    call: Option<Call>,
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    let waits = call.filter(|_| flags & libc::MSG_DONTWAIT == 0 && !messages.is_null());
    let Some(call) = waits.filter(|_| !is_nonblocking(fd)) else {
        // SAFETY: by the caller's contract.
        return unsafe { raw::sendmmsg(fd, messages, count, flags) } as c_int;
    };
    let (count, one_by_one) = (count.min(SENT_MAX), descriptor::is_byte_stream(fd));
    let (saved, mut done) = (errno(), 0);
    while done < count {
        // SAFETY: `done` is below `count`; all else by the caller's contract.
        let rest = unsafe { messages.add(done as usize) };
        if one_by_one {
            // SAFETY: as above.
            let sent = unsafe { sendmsg(Some(call), fd, &raw const (*rest).msg_hdr, flags) };
            if sent < 0 {
                return partial(done as usize, sent, saved) as c_int;
            }
            done += 1;
            // SAFETY: as above; the kernel has just read the same message.
            unsafe {
                (*rest).msg_len = sent as c_uint;
                let header = &(*rest).msg_hdr;
                if (sent as usize) < Vectors::total(header.msg_iov, header.msg_iovlen as c_int) {
                    break;
                }
            }
            continue;
        }
        // SAFETY: as above.
        let send = |flags| unsafe { raw::sendmmsg(fd, rest, count - done, flags) };
        let attempt = || send(flags | libc::MSG_DONTWAIT);
        let mut timeout = SocketTimeout::SEND;
        let result = call.until_ready(fd, Readiness::WRITE, &mut timeout, attempt, || send(flags));
        if result <= 0 {
            return partial(done as usize, result, saved) as c_int;
        }
        done += result as c_uint;
    }
    done as c_int
}
