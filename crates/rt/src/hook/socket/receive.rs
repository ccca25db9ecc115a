//! Receiving: recv, recvfrom, recvmsg, read, readv.
#![allow(unsafe_code)]

use libc::{c_int, c_void, iovec, msghdr, size_t, sockaddr, socklen_t};

use crate::Readiness;
use crate::hook::call::Call;
use crate::hook::descriptor::DescriptorKind;
use crate::hook::errno::{errno, fail, set_errno};
use crate::hook::socket::drained;
use crate::hook::socket::timeout::{SocketTimeout, is_nonblocking};
use crate::hook::socket::vectors::Vectors;
use crate::hook::{descriptor, disk, raw};

/// Flags with which a receiving call does not wait in the kernel either: error queue and urgent data.
pub const NEVER_WAITS: c_int = libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE | libc::MSG_OOB;

pub unsafe fn recv(
    call: Option<Call>,
    fd: c_int,
    buffer: *mut c_void,
    length: size_t,
    flags: c_int,
) -> isize {
    // SAFETY: by the caller's contract.
    unsafe { recvfrom(call, fd, buffer, length, flags, std::ptr::null_mut(), std::ptr::null_mut()) }
}

pub unsafe fn recv_chk(
    call: Option<Call>,
    fd: c_int,
    buffer: *mut c_void,
    length: size_t,
    room: size_t,
    flags: c_int,
) -> isize {
    check_room(length, room);
    // SAFETY: by the caller's contract.
    unsafe { recv(call, fd, buffer, length, flags) }
}

#[inline]
pub unsafe fn recvfrom(
    call: Option<Call>,
    fd: c_int,
    buffer: *mut c_void,
    length: size_t,
    flags: c_int,
    address: *mut sockaddr,
    address_length: *mut socklen_t,
) -> isize {
    let Some(call) = call else {
        // SAFETY: by the caller's contract.
        return unsafe { raw::recvfrom(fd, buffer, length, flags, address, address_length) };
    };
    // SAFETY: `done` is at most `length`; all else by the caller's contract.
    let receive = |done: usize, flags| unsafe {
        let (buffer, length) = (buffer.byte_add(done), length - done);
        match address.is_null() {
            true => drained::receive(call, fd, buffer, length, flags),
            // The caller expects datagrams.
            false => raw::recvfrom(fd, buffer, length, flags, address, address_length),
        }
    };
    if flags & NEVER_WAITS != 0 {
        return receive(0, flags);
    }
    let saved = errno();
    let mut timeout = SocketTimeout::RECEIVE;
    let mut done = 0;
    loop {
        let result = call.until_ready(
            fd,
            Readiness::READ,
            &mut timeout,
            || receive(done, flags | libc::MSG_DONTWAIT),
            || receive(done, flags),
        );
        if result <= 0 {
            return partial(done, result, saved);
        }
        done += result as usize;
        if flags & libc::MSG_WAITALL == 0 || done >= length || !goes_on(fd) {
            return done as isize;
        }
        if flags & libc::MSG_PEEK != 0 {
            // The same bytes are seen again, with more after them.
            if call.must_block() {
                // SAFETY: by the caller's contract.
                return unsafe { raw::recvfrom(fd, buffer, length, flags, address, address_length) };
            }
            match call.wait(fd, Readiness::READ, timeout.deadline(fd)) {
                Ok(ready) if !ready.any(END) => done = 0,
                _ => return partial(done, -1, saved),
            }
        }
    }
}

/// The peer sends no more data.
const END: Readiness = Readiness(libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR);

/// Whether a `MSG_WAITALL` call continues after a part: only on blocking byte streams.
fn goes_on(fd: c_int) -> bool {
    descriptor::is_byte_stream(fd) && !is_nonblocking(fd)
}

/// The return value of a call that ended after `done` bytes: those bytes; the error remains for the next call, as in
/// the kernel.
pub fn partial(done: usize, result: isize, saved: c_int) -> isize {
    if done == 0 {
        return result;
    }
    set_errno(saved);
    done as isize
}

pub unsafe fn recvfrom_chk(
    call: Option<Call>,
    fd: c_int,
    buffer: *mut c_void,
    length: size_t,
    room: size_t,
    flags: c_int,
    address: *mut sockaddr,
    address_length: *mut socklen_t,
) -> isize {
    check_room(length, room);
    // SAFETY: by the caller's contract.
    unsafe { recvfrom(call, fd, buffer, length, flags, address, address_length) }
}

pub unsafe fn recvmsg(call: Option<Call>, fd: c_int, message: *mut msghdr, flags: c_int) -> isize {
    let Some(call) = call.filter(|_| flags & NEVER_WAITS == 0 && !message.is_null()) else {
        // SAFETY: by the caller's contract.
        return unsafe { raw::recvmsg(fd, message, flags) };
    };
    let saved = errno();
    let mut timeout = SocketTimeout::RECEIVE;
    // SAFETY: `message` is live by the caller's contract.
    let receive = |message, flags| unsafe { raw::recvmsg(fd, message, flags) };
    let first = call.until_ready(
        fd,
        Readiness::READ,
        &mut timeout,
        || receive(message, flags | libc::MSG_DONTWAIT),
        || receive(message, flags),
    );
    if first <= 0 || flags & libc::MSG_WAITALL == 0 || flags & libc::MSG_PEEK != 0 {
        return first;
    }
    // SAFETY: the kernel has just read the same vectors.
    let mut vectors = unsafe { Vectors::of_message(message) };
    vectors.advance(first as usize);
    let mut done = first as usize;
    while !vectors.is_empty() && goes_on(fd) {
        // The control data and the flags of the first part belong to the caller; the rest is plain bytes.
        let mut rest = vectors.message();
        let rest = &raw mut rest;
        let result = call.until_ready(
            fd,
            Readiness::READ,
            &mut timeout,
            || receive(rest, flags | libc::MSG_DONTWAIT),
            || receive(rest, flags),
        );
        if result <= 0 {
            break;
        }
        vectors.advance(result as usize);
        done += result as usize;
    }
    partial(done, first, saved)
}

#[inline]
pub unsafe fn read(call: Option<Call>, fd: c_int, buffer: *mut c_void, length: size_t) -> isize {
    // SAFETY: by the caller's contract.
    let plain = || unsafe { raw::read(fd, buffer, length) };
    let Some(call) = call.filter(|_| length > 0) else { return plain() };
    match descriptor::kind(fd) {
        Some(DescriptorKind::Socket) => {
            // SAFETY: by the caller's contract; for sockets read(2) is recv(2) without flags.
            unsafe { recv(Some(call), fd, buffer, length, 0) }
        }
        Some(DescriptorKind::Stream) => read_pipe(call, fd, plain),
        // SAFETY: by the caller's contract.
        Some(DescriptorKind::File) => unsafe { disk::read(call, fd, buffer, length) },
        None => plain(),
    }
}

fn read_pipe(call: Call, fd: c_int, plain: impl Fn() -> isize) -> isize {
    let result = read_when_ready(call, fd, plain);
    if result >= 0 {
        descriptor::goes_on(fd);
    } else if errno() == libc::ECANCELED && !call.runtime.switch.in_conversation() {
        // PHP's stream takes an unknown error for the end of the file, and whoever reads on later would get nothing.
        set_errno(libc::EAGAIN);
    }
    result
}

pub unsafe fn read_chk(
    call: Option<Call>,
    fd: c_int,
    buffer: *mut c_void,
    length: size_t,
    room: size_t,
) -> isize {
    check_room(length, room);
    // SAFETY: by the caller's contract.
    unsafe { read(call, fd, buffer, length) }
}

pub unsafe fn readv(call: Option<Call>, fd: c_int, vectors: *const iovec, count: c_int) -> isize {
    // SAFETY: by the caller's contract.
    let plain = || unsafe { raw::readv(fd, vectors, count) };
    let Some(call) = call else { return plain() };
    match descriptor::kind(fd) {
        Some(DescriptorKind::Socket | DescriptorKind::Stream) => read_when_ready(call, fd, plain),
        Some(DescriptorKind::File) | None => plain(),
    }
}

/// Makes a call that may block only when poll(2) says that it will not.
pub fn read_when_ready(call: Call, fd: c_int, plain: impl Fn() -> isize) -> isize {
    let mut timeout = match descriptor::kind(fd) {
        Some(DescriptorKind::Socket) => SocketTimeout::RECEIVE,
        _ => SocketTimeout::NONE,
    };
    let attempt = || if raw::is_ready(fd, libc::POLLIN) { plain() } else { fail(libc::EAGAIN) };
    call.until_ready(fd, Readiness::READ, &mut timeout, attempt, &plain)
}

/// The check of glibc's fortified aliases: the buffer has room for the requested length.
fn check_room(length: size_t, room: size_t) {
    assert!(length <= room, "*** buffer overflow detected ***: a read of {length} bytes into {room}");
}
