//! fsync, fdatasync.
//!
//! The thread uses the caller's number: a duplicate would be worse, since closing any descriptor of a file drops the
//! process's record locks on it (fcntl(2)), SQLite's among them. A cancelled caller may have closed the number by then; the
//! thread then flushes another file or none, which is harmless.
#![allow(unsafe_code)]

use libc::c_int;

use crate::hook::call::{Call, errno, fail, set_errno};
use crate::hook::raw;

fn offloaded(call: Option<Call>, flush: impl Fn() -> isize + Send + Copy + 'static) -> c_int {
    let Some(call) = call.filter(|call| !call.must_block()) else { return flush() as c_int };
    let saved = errno();
    match call.runtime.offload(move || (flush(), errno())) {
        Some((0, _)) => {
            set_errno(saved);
            0
        }
        Some((_, error)) => fail(error) as c_int,
        None => fail(libc::ECANCELED) as c_int,
    }
}

pub unsafe fn fsync(call: Option<Call>, fd: c_int) -> c_int {
    // SAFETY: it takes a number.
    offloaded(call, move || unsafe { raw::syscall!(SYS_fsync, fd) })
}

pub unsafe fn fdatasync(call: Option<Call>, fd: c_int) -> c_int {
    // SAFETY: it takes a number.
    offloaded(call, move || unsafe { raw::syscall!(SYS_fdatasync, fd) })
}
