//! errno of the calling thread.
//!
//! It must not know who sets it. Invariant: it reads and writes this thread's errno and nothing else.
#![allow(unsafe_code)]

use libc::c_int;

/// errno of this thread.
#[inline]
pub fn errno() -> c_int {
    // SAFETY: the location is valid for the life of the thread.
    unsafe { *libc::__errno_location() }
}

/// Sets errno of this thread.
#[inline]
pub fn set_errno(errno: c_int) {
    // SAFETY: the location is valid for the life of the thread.
    unsafe { *libc::__errno_location() = errno };
}

/// Sets errno and returns -1.
pub fn fail(errno: c_int) -> isize {
    set_errno(errno);
    -1
}
