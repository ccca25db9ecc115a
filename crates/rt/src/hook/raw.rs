//! The plain system calls behind the hooks. libc::syscall sets errno as libc's own wrappers do and is not hooked, so
//! nothing here can return to a hook. No allocation, no std I/O.
//!
//! Only calls that every 64-bit Linux architecture has: ppoll for poll, dup3 for dup2, and so on.
#![allow(unsafe_code)]

use std::os::fd::RawFd;

use libc::{c_int, c_uint, c_void, iovec, mmsghdr, msghdr, pollfd, size_t, sockaddr, socklen_t, timespec};

use super::errno::{errno, set_errno};
use super::time::timespec::timespec_of;
use crate::Nanos;

/// The size of the kernel's signal set, in bytes (`_NSIG / 8`).
pub const SIGSET_BYTES: usize = 8;

/// `syscall!(NAME, arguments…)`: libc::syscall with every argument widened to a register.
macro_rules! syscall {
    ($name:ident $(, $argument:expr)* $(,)?) => { libc::syscall(libc::$name $(, $argument as libc::c_long)*) as isize };
}
pub(super) use syscall;

pub fn fcntl(fd: RawFd, command: c_int, argument: usize) -> isize {
    // SAFETY: the callers pass integers, or a pointer that the hooked call was given for this command.
    unsafe { syscall!(SYS_fcntl, fd, command, argument) }
}

pub fn close(fd: RawFd) -> isize {
    // SAFETY: close takes a number.
    unsafe { syscall!(SYS_close, fd) }
}

/// Ends a connection in both directions and drops what has already arrived: its next read is the end. The descriptor
/// stays open.
pub fn end_connection(fd: RawFd) {
    let mut dropped = [0_u8; 4096];
    let (bytes, count) = (dropped.as_mut_ptr(), dropped.len());
    let null = std::ptr::null_mut::<u8>();
    // SAFETY: shutdown takes numbers; the buffer is live for each call.
    unsafe {
        syscall!(SYS_shutdown, fd, libc::SHUT_RDWR);
        // Nothing more is received: the loop ends with the kernel's buffer.
        while syscall!(SYS_recvfrom, fd, bytes, count, libc::MSG_DONTWAIT, null, null) > 0 {}
    }
}

/// Reads a socket option of exactly `T`'s size. `false` on any error; errno is kept.
pub fn getsockopt<T>(fd: RawFd, option: c_int, value: &mut T) -> bool {
    let saved = errno();
    let mut length = size_of::<T>() as socklen_t;
    let (value, length) = (std::ptr::from_mut(value), &raw mut length);
    // SAFETY: both pointers are to live storage of the size told to the kernel.
    let result = unsafe { syscall!(SYS_getsockopt, fd, libc::SOL_SOCKET, option, value, length) };
    set_errno(saved);
    result == 0
}

/// Checks which of `fds` are ready, without waiting.
pub fn poll_now(fds: &mut [pollfd]) -> isize {
    // SAFETY: the slice is live for the call.
    unsafe { ppoll(fds.as_mut_ptr(), fds.len(), Some(0), std::ptr::null()) }
}

/// Whether one descriptor is ready for `events`, now. An error counts as ready: the call itself will report it.
pub fn is_ready(fd: RawFd, events: i16) -> bool {
    poll_now(&mut [pollfd { fd, events, revents: 0 }]) != 0
}

/// Whether a descriptor has an error to report, now. The error stays where it is.
pub fn has_error(fd: RawFd) -> bool {
    let mut entry = [pollfd { fd, events: 0, revents: 0 }];
    poll_now(&mut entry) > 0 && entry[0].revents & libc::POLLERR != 0
}

/// Blocks the thread until one descriptor is ready, the deadline has passed or a signal came.
pub fn block_until_ready(fd: RawFd, events: i16, deadline: Option<Nanos>) {
    let span = deadline.map(|deadline| deadline.saturating_sub(crate::clock::now()));
    let mut entry = pollfd { fd, events, revents: 0 };
    // SAFETY: the entry is live for the call.
    unsafe { ppoll(&raw mut entry, 1, span, std::ptr::null()) };
}

/// # Safety
/// `fds` must point to `count` entries, `mask` to a signal set or nothing.
pub unsafe fn ppoll(
    fds: *mut pollfd,
    count: usize,
    span: Option<Nanos>,
    mask: *const libc::sigset_t,
) -> isize {
    // The kernel writes the remaining time.
    let mut time = span.map(timespec_of);
    let time = time.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
    // SAFETY: by contract, and `time` outlives the call.
    unsafe { syscall!(SYS_ppoll, fds, count, time, mask, SIGSET_BYTES) }
}

/// # Safety
/// As recvfrom(2).
#[inline]
pub unsafe fn recvfrom(
    fd: RawFd,
    buffer: *mut c_void,
    length: size_t,
    flags: c_int,
    address: *mut sockaddr,
    address_length: *mut socklen_t,
) -> isize {
    // SAFETY: by contract.
    unsafe { syscall!(SYS_recvfrom, fd, buffer, length, flags, address, address_length) }
}

/// # Safety
/// As sendto(2).
#[inline]
pub unsafe fn sendto(
    fd: RawFd,
    buffer: *const c_void,
    length: size_t,
    flags: c_int,
    address: *const sockaddr,
    address_length: socklen_t,
) -> isize {
    // SAFETY: by contract.
    unsafe { syscall!(SYS_sendto, fd, buffer, length, flags, address, address_length) }
}

/// # Safety
/// As recvmsg(2).
pub unsafe fn recvmsg(fd: RawFd, message: *mut msghdr, flags: c_int) -> isize {
    // SAFETY: by contract.
    unsafe { syscall!(SYS_recvmsg, fd, message, flags) }
}

/// # Safety
/// As sendmsg(2).
pub unsafe fn sendmsg(fd: RawFd, message: *const msghdr, flags: c_int) -> isize {
    // SAFETY: by contract.
    unsafe { syscall!(SYS_sendmsg, fd, message, flags) }
}

/// # Safety
/// As recvmmsg(2).
pub unsafe fn recvmmsg(
    fd: RawFd,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    time: *mut timespec,
) -> isize {
    // SAFETY: by contract.
    unsafe { syscall!(SYS_recvmmsg, fd, messages, count, flags, time) }
}

/// # Safety
/// As sendmmsg(2).
pub unsafe fn sendmmsg(fd: RawFd, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> isize {
    // SAFETY: by contract.
    unsafe { syscall!(SYS_sendmmsg, fd, messages, count, flags) }
}

/// # Safety
/// As read(2).
#[inline]
pub unsafe fn read(fd: RawFd, buffer: *mut c_void, length: size_t) -> isize {
    // SAFETY: by contract.
    unsafe { syscall!(SYS_read, fd, buffer, length) }
}

/// # Safety
/// As write(2).
#[inline]
pub unsafe fn write(fd: RawFd, buffer: *const c_void, length: size_t) -> isize {
    // SAFETY: by contract.
    unsafe { syscall!(SYS_write, fd, buffer, length) }
}

/// # Safety
/// As readv(2).
pub unsafe fn readv(fd: RawFd, vectors: *const iovec, count: c_int) -> isize {
    // SAFETY: by contract.
    unsafe { syscall!(SYS_readv, fd, vectors, count) }
}

/// # Safety
/// As writev(2).
pub unsafe fn writev(fd: RawFd, vectors: *const iovec, count: c_int) -> isize {
    // SAFETY: by contract.
    unsafe { syscall!(SYS_writev, fd, vectors, count) }
}
