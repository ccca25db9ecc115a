//! Receiving from a socket, and what the result says of it: whether the next wait may park without asking the kernel, and
//! whether the peer is still there.
//!
//! It must not know who waits; [`crate::fds`] keeps what is learned. Invariant: a socket is called drained only if the
//! kernel had nothing more, or nothing at all, when the call returned.
#![allow(unsafe_code)]

use std::os::fd::RawFd;

use libc::{c_int, c_void, iovec, msghdr, size_t};

use crate::fds::Stream;
use crate::hook::call::Call;
use crate::hook::errno::{errno, fail};
use crate::hook::{descriptor, raw};
use crate::{MILLISECOND, Nanos, clock};

/// recv(2) without an address.
///
/// # Safety
/// As recv(2).
#[inline]
pub unsafe fn receive(call: Call, fd: RawFd, buffer: *mut c_void, length: size_t, flags: c_int) -> isize {
    if length == 1 && flags == IS_ALIVE && is_quiet(call, fd) {
        return fail(libc::EAGAIN);
    }
    let null = std::ptr::null_mut();
    let stream = call.runtime.stream(fd);
    let (result, cut) = match stream {
        // SAFETY: by contract.
        Stream::Unix => unsafe { receive_told(fd, buffer, length, flags) },
        // SAFETY: by contract.
        _ => (unsafe { raw::recvfrom(fd, buffer, length, flags, null, null.cast()) }, false),
    };
    if stream != Stream::Other {
        learn(call, fd, length, flags, result, cut);
    } else if result > 0 && call.runtime.count_receive(fd) {
        descriptor::drop_stale(call.runtime, fd);
        call.runtime.watch_stream(fd, descriptor::stream(fd));
    }
    result
}

/// How PHP's streams ask whether a peer is still there, before each use of a connection and, in ext-redis, before each answer.
const IS_ALIVE: c_int = libc::MSG_PEEK | libc::MSG_DONTWAIT;

/// So old may be what the reactor has said of a connection whose user asks whether it is alive: the peer may leave
/// right after any answer, and whoever serves clients again after a restart takes longer.
const SAID_WITHIN: Nanos = 10 * MILLISECOND;

/// Whether nothing has come to a drained socket, the end included, as far as the reactor knows; and it was asked just now.
fn is_quiet(call: Call, fd: RawFd) -> bool {
    descriptor::drop_stale(call.runtime, fd);
    call.runtime.is_drained(fd) && clock::now() < call.runtime.asked() + SAID_WITHIN
}

/// A receive from a Unix stream ends behind descriptors that were sent, and where the credentials change, although more
/// may follow (unix(7)). Only recvmsg(2) says so, as control data that was cut off.
unsafe fn receive_told(fd: RawFd, buffer: *mut c_void, length: size_t, flags: c_int) -> (isize, bool) {
    let mut vector = iovec { iov_base: buffer, iov_len: length };
    // SAFETY: the all-zero msghdr is valid and empty.
    let mut message: msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    // SAFETY: the message is live, its buffer by the caller's contract.
    let result = unsafe { raw::recvmsg(fd, &raw mut message, flags) };
    (result, message.msg_flags & libc::MSG_CTRUNC != 0)
}

/// Flags with which the result says nothing about what is left: bytes that stay, and data beside the stream.
const ASIDE: c_int = libc::MSG_PEEK | libc::MSG_OOB | libc::MSG_ERRQUEUE;

/// `cut`: the kernel has stopped before the end of what was there.
fn learn(call: Call, fd: RawFd, length: size_t, flags: c_int, result: isize, cut: bool) {
    if flags & ASIDE != 0 {
        return;
    }
    let all = match result {
        0 => false, // the end
        1.. => (result as usize) < length && !cut,
        _ => errno() == libc::EAGAIN,
    };
    call.runtime.received_all(fd, all);
}
