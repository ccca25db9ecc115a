//! Sending: send, sendto, sendmsg, write, writev, sendfile. On a blocking descriptor they return when everything is sent,
//! as the kernel's do.
#![allow(unsafe_code)]

use libc::{c_int, c_void, iovec, msghdr, off_t, size_t, sockaddr, socklen_t};

use crate::Readiness;
use crate::hook::call::Call;
use crate::hook::descriptor::DescriptorKind;
use crate::hook::errno::{errno, fail};
use crate::hook::socket::receive::partial;
use crate::hook::socket::timeout::{SocketTimeout, is_nonblocking};
use crate::hook::socket::vectors::Vectors;
use crate::hook::{descriptor, disk, raw};

pub unsafe fn send(
    call: Option<Call>,
    fd: c_int,
    buffer: *const c_void,
    length: size_t,
    flags: c_int,
) -> isize {
    // SAFETY: by the caller's contract.
    unsafe { sendto(call, fd, buffer, length, flags, std::ptr::null(), 0) }
}

#[inline]
pub unsafe fn sendto(
    call: Option<Call>,
    fd: c_int,
    buffer: *const c_void,
    length: size_t,
    flags: c_int,
    address: *const sockaddr,
    address_length: socklen_t,
) -> isize {
    let Some(call) = call.filter(|_| flags & libc::MSG_DONTWAIT == 0) else {
        // SAFETY: by the caller's contract.
        return unsafe { raw::sendto(fd, buffer, length, flags, address, address_length) };
    };
    let saved = errno();
    let mut timeout = SocketTimeout::SEND;
    let mut done = 0;
    loop {
        // SAFETY: `done` is at most `length`; all else by the caller's contract.
        let send = |flags| unsafe {
            raw::sendto(fd, buffer.byte_add(done), length - done, flags, address, address_length)
        };
        let result = call.until_ready(
            fd,
            Readiness::WRITE,
            &mut timeout,
            || send(flags | libc::MSG_DONTWAIT),
            || send(flags),
        );
        if result < 0 {
            return partial(done, result, saved);
        }
        done += result as usize;
        if done >= length || is_nonblocking(fd) {
            return done as isize;
        }
    }
}

pub unsafe fn sendmsg(call: Option<Call>, fd: c_int, message: *const msghdr, flags: c_int) -> isize {
    let Some(call) = call.filter(|_| flags & libc::MSG_DONTWAIT == 0 && !message.is_null()) else {
        // SAFETY: by the caller's contract.
        return unsafe { raw::sendmsg(fd, message, flags) };
    };
    let saved = errno();
    let mut timeout = SocketTimeout::SEND;
    // SAFETY: the message is live by the caller's contract.
    let send = |message, flags| unsafe { raw::sendmsg(fd, message, flags) };
    let first = call.until_ready(
        fd,
        Readiness::WRITE,
        &mut timeout,
        || send(message, flags | libc::MSG_DONTWAIT),
        || send(message, flags),
    );
    // SAFETY: the kernel has just read the same vectors.
    let total = unsafe { Vectors::total((*message).msg_iov, (*message).msg_iovlen as c_int) };
    if first < 0 || first as usize >= total || is_nonblocking(fd) {
        return first;
    }
    // SAFETY: as above.
    let mut vectors = unsafe { Vectors::of_message(message) };
    vectors.advance(first as usize);
    let mut done = first as usize;
    while !vectors.is_empty() {
        // Control data was sent with the first part.
        let rest = vectors.message();
        let rest = &raw const rest;
        let result = call.until_ready(
            fd,
            Readiness::WRITE,
            &mut timeout,
            || send(rest, flags | libc::MSG_DONTWAIT),
            || send(rest, flags),
        );
        if result < 0 {
            break;
        }
        vectors.advance(result as usize);
        done += result as usize;
    }
    partial(done, first, saved)
}

#[inline]
pub unsafe fn write(call: Option<Call>, fd: c_int, buffer: *const c_void, length: size_t) -> isize {
    let Some(call) = call.filter(|_| length > 0) else {
        // SAFETY: by the caller's contract.
        return unsafe { raw::write(fd, buffer, length) };
    };
    match descriptor::kind(fd) {
        // SAFETY: by the caller's contract; for sockets write(2) is send(2) without flags.
        Some(DescriptorKind::Socket) => unsafe { send(Some(call), fd, buffer, length, 0) },
        // SAFETY: by the caller's contract.
        Some(DescriptorKind::Stream) => unsafe { write_stream(call, fd, buffer, length) },
        // SAFETY: by the caller's contract.
        Some(DescriptorKind::File) => unsafe { disk::write(call, fd, buffer, length) },
        // SAFETY: by the caller's contract.
        None => unsafe { raw::write(fd, buffer, length) },
    }
}

/// Writes to a pipe or terminal in parts of `PIPE_BUF` bytes: if poll(2) reports writable, a part that small does not
/// block (pipe(7)), and it is as atomic as POSIX guarantees. The mode of the open file, which other processes may
/// share, is not changed.
unsafe fn write_stream(call: Call, fd: c_int, buffer: *const c_void, length: size_t) -> isize {
    let (saved, mut timeout) = (errno(), SocketTimeout::NONE);
    let mut done = 0;
    while done < length {
        // SAFETY: `done` is below `length`, the part ends within it.
        let write = |part: usize| unsafe { raw::write(fd, buffer.byte_add(done), part) };
        let part = (length - done).min(libc::PIPE_BUF);
        let attempt = || if raw::is_ready(fd, libc::POLLOUT) { write(part) } else { fail(libc::EAGAIN) };
        if length > libc::PIPE_BUF && done == 0 && is_nonblocking(fd) {
            return write(length);
        }
        let result = call.until_ready(fd, Readiness::WRITE, &mut timeout, attempt, || write(length - done));
        if result <= 0 {
            return partial(done, result, saved);
        }
        descriptor::goes_on(fd);
        done += result as usize;
    }
    done as isize
}

pub unsafe fn writev(call: Option<Call>, fd: c_int, vectors: *const iovec, count: c_int) -> isize {
    let kind = call.and_then(|_| descriptor::kind(fd));
    let waits = matches!(kind, Some(DescriptorKind::Socket | DescriptorKind::Stream)) && count > 0;
    let Some(call) = call.filter(|_| waits) else {
        // SAFETY: by the caller's contract.
        return unsafe { raw::writev(fd, vectors, count) };
    };
    // SAFETY: by the caller's contract.
    let mut rest = unsafe { Vectors::new(vectors, count as usize) };
    if kind == Some(DescriptorKind::Socket) {
        let message = rest.message();
        // SAFETY: for sockets writev(2) is sendmsg(2) without address, control data and flags.
        return unsafe { sendmsg(Some(call), fd, &raw const message, 0) };
    }
    let (saved, mut done) = (errno(), 0);
    for vector in rest.as_slice().iter().filter(|vector| vector.iov_len > 0) {
        // SAFETY: by the caller's contract.
        let result = unsafe { write_stream(call, fd, vector.iov_base, vector.iov_len) };
        if result < 0 {
            return partial(done, result, saved);
        }
        done += result as usize;
        if (result as usize) < vector.iov_len {
            break;
        }
    }
    done as isize
}

pub unsafe fn sendfile(
    call: Option<Call>,
    to: c_int,
    from: c_int,
    offset: *mut off_t,
    count: size_t,
) -> isize {
    // SAFETY: by the caller's contract.
    let send = |count: usize| unsafe { raw::syscall!(SYS_sendfile, to, from, offset, count) };
    let blocking = call.filter(|_| descriptor::kind(to) != Some(DescriptorKind::File) && !is_nonblocking(to));
    let Some(call) = blocking else { return send(count) };
    let (saved, mut done) = (errno(), 0);
    let mut timeout = SocketTimeout::SEND;
    while done < count {
        // sendfile(2) has no flag for this: the call is made in non-blocking mode.
        let attempt = || super::connect::without_blocking(to, || send(count - done));
        let result = call.until_ready(to, Readiness::WRITE, &mut timeout, attempt, || send(count - done));
        if result <= 0 {
            return partial(done, result, saved);
        }
        done += result as usize;
    }
    done as isize
}
