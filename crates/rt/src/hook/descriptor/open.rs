//! Calls that make descriptors: socket, socketpair, pipe, dup, mkstemp. The calls themselves are plain; each new
//! descriptor's [owner](crate::hook::child::owner) is recorded.
#![allow(unsafe_code)]

use libc::{c_char, c_int};

use crate::hook::call::Call;
use crate::hook::child::owner::{opened, opened_again};
use crate::hook::raw;
use crate::hook::real::real;

pub unsafe fn socket(call: Option<Call>, domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    // SAFETY: it takes numbers.
    opened(call, unsafe { raw::syscall!(SYS_socket, domain, kind, protocol) } as c_int)
}

pub unsafe fn socketpair(
    call: Option<Call>,
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    ends: *mut c_int,
) -> c_int {
    // SAFETY: by the caller's contract.
    let result = unsafe { raw::syscall!(SYS_socketpair, domain, kind, protocol, ends) };
    // SAFETY: as it has succeeded, the kernel has written two descriptors there.
    unsafe { opened_both(call, result as c_int, ends) }
}

pub unsafe fn pipe(call: Option<Call>, ends: *mut c_int) -> c_int {
    // SAFETY: by the caller's contract.
    unsafe { pipe2(call, ends, 0) }
}

pub unsafe fn pipe2(call: Option<Call>, ends: *mut c_int, flags: c_int) -> c_int {
    // SAFETY: by the caller's contract.
    let result = unsafe { raw::syscall!(SYS_pipe2, ends, flags) };
    // SAFETY: as it has succeeded, the kernel has written two descriptors there.
    unsafe { opened_both(call, result as c_int, ends) }
}

unsafe fn opened_both(call: Option<Call>, result: c_int, ends: *const c_int) -> c_int {
    if result == 0 {
        for end in 0..2 {
            // SAFETY: two descriptors, by the caller's contract.
            opened(call, unsafe { *ends.add(end) });
        }
    }
    result
}

pub unsafe fn dup(call: Option<Call>, fd: c_int) -> c_int {
    // SAFETY: it takes a number.
    opened_again(call, fd, unsafe { raw::syscall!(SYS_dup, fd) } as c_int)
}

/// libc opens the file internally.
pub unsafe fn mkstemp(call: Option<Call>, template: *mut c_char) -> c_int {
    let real = real!(c"mkstemp": fn(*mut c_char) -> c_int);
    // SAFETY: by the caller's contract.
    opened(call, unsafe { real(template) })
}
