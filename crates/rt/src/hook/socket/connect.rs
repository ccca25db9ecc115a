//! Making connections: connect, accept, accept4.
#![allow(unsafe_code)]

use libc::{c_int, sockaddr, socklen_t};

use crate::Readiness;
use crate::hook::backoff::Backoff;
use crate::hook::call::{Call, Stop};
use crate::hook::child::owner;
use crate::hook::errno::{errno, fail, set_errno};
use crate::hook::socket::receive::read_when_ready;
use crate::hook::socket::timeout::{SocketTimeout, is_nonblocking};
use crate::hook::{purpose, raw};

/// Makes one call with the descriptor in non-blocking mode. The mode is restored before any other coroutine of this
/// thread can run.
pub fn without_blocking(fd: c_int, call: impl FnOnce() -> isize) -> isize {
    let flags = raw::fcntl(fd, libc::F_GETFL, 0);
    if flags < 0 || flags as c_int & libc::O_NONBLOCK != 0 {
        return call();
    }
    raw::fcntl(fd, libc::F_SETFL, flags as usize | libc::O_NONBLOCK as usize);
    let result = call();
    let saved = errno();
    raw::fcntl(fd, libc::F_SETFL, flags as usize);
    set_errno(saved);
    result
}

pub unsafe fn connect(call: Option<Call>, fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: by the caller's contract.
    let plain = || unsafe { raw::syscall!(SYS_connect, fd, address, length) };
    if call.is_some() {
        purpose::connects(fd, address, length);
    }
    let Some(mut call) = call.filter(|_| !is_nonblocking(fd)) else {
        return plain() as c_int;
    };
    let saved = errno();
    let mut timeout = SocketTimeout::SEND;
    let mut backoff = Backoff::new();
    loop {
        if without_blocking(fd, plain) >= 0 {
            set_errno(saved);
            return 0;
        }
        match errno() {
            libc::EINPROGRESS | libc::EALREADY => break,
            // A Unix socket whose listener's queue is full: it has no readiness.
            libc::EAGAIN if call.must_block() => return plain() as c_int,
            libc::EAGAIN => match call.pause(&mut backoff, timeout.deadline(fd)) {
                Ok(()) => call = call.again(),
                Err(stop) => return fail(stop.errno()) as c_int,
            },
            _ => return -1,
        }
    }
    // A socket that is not connected yet is reported as hung up; poll(2) after the wake tells whether that is
    // still so.
    while !raw::is_ready(fd, libc::POLLOUT) {
        if call.must_block() {
            raw::block_until_ready(fd, libc::POLLOUT, timeout.deadline(fd));
            if !raw::is_ready(fd, libc::POLLOUT) {
                return fail(libc::EINPROGRESS) as c_int;
            }
            break;
        }
        match call.wait(fd, Readiness::WRITE, timeout.deadline(fd)) {
            Ok(_) => call = call.again(),
            // SO_SNDTIMEO: the kernel continues to connect (socket(7)).
            Err(Stop::Expired) => return fail(libc::EINPROGRESS) as c_int,
            Err(stop) => return fail(stop.errno()) as c_int,
        }
    }
    let mut error: c_int = 0;
    raw::getsockopt(fd, libc::SO_ERROR, &mut error);
    if error != 0 {
        return fail(error) as c_int;
    }
    set_errno(saved);
    0
}

pub unsafe fn accept(call: Option<Call>, fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { accept4(call, fd, address, length, 0) }
}

pub unsafe fn accept4(
    call: Option<Call>,
    fd: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
) -> c_int {
    // SAFETY: by the caller's contract.
    let plain = || unsafe { raw::syscall!(SYS_accept4, fd, address, length, flags) };
    match call {
        None => plain() as c_int,
        Some(call) => owner::opened(Some(call), read_when_ready(call, fd, plain) as c_int),
    }
}
