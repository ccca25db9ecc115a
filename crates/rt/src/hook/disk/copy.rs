//! Copying between files: copy_file_range. Small copies are made directly; a thread makes larger ones piece by piece.
//!
//! Invariants: the thread works on copies of the offsets only; no descriptor can be closed while the thread uses it
//! (`busy`).
#![allow(unsafe_code)]

use libc::{c_int, off_t, size_t};

use super::busy::Busy;
use super::file::{on_thread, timed};
use crate::hook::call::Call;
use crate::hook::descriptor::{self, Pace};
use crate::hook::errno::{errno, set_errno};
use crate::hook::raw;

/// Bytes copied directly: about as many as the kernel copies in 20 us.
const DIRECT_COPY_BYTES: u64 = 128 << 10;
/// Bytes that a thread copies at a time; between two pieces the coroutine's other threads get their turn.
const COPY_PIECE_BYTES: usize = 16 << 20;

/// Bytes from the position of `from` to its end; `None` if that is unknown.
fn bytes_left(from: c_int, offset: *const off_t) -> Option<u64> {
    // SAFETY: the all-zero stat is valid storage; fstat and lseek are not hooked; the offset is null or live.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        if libc::fstat(from, &raw mut stat) != 0 {
            return None;
        }
        let at = offset.as_ref().copied().unwrap_or_else(|| libc::lseek(from, 0, libc::SEEK_CUR));
        u64::try_from(stat.st_size - at).ok()
    }
}

/// Copies between files: small ranges directly, others on a thread.
pub unsafe fn copy_file_range(
    call: Option<Call>,
    from: c_int,
    from_offset: *mut off_t,
    to: c_int,
    to_offset: *mut off_t,
    length: size_t,
    flags: libc::c_uint,
) -> isize {
    // SAFETY: by the caller's contract.
    let plain =
        || unsafe { raw::syscall!(SYS_copy_file_range, from, from_offset, to, to_offset, length, flags) };
    let Some(call) = call else { return plain() };
    let saved = errno();
    let size = bytes_left(from, from_offset).unwrap_or(0).min(length as u64);
    set_errno(saved);
    let slow = [from, to].into_iter().any(|fd| descriptor::pace(fd) == Pace::Slow);
    if size == 0 || size <= DIRECT_COPY_BYTES && !slow || call.must_block() {
        return timed(to, plain);
    }
    let (mut done, mut pieces) = (0, true);
    while pieces && done < length {
        // SAFETY: null or live by the caller's contract.
        let (at, target) = unsafe { (from_offset.as_ref().copied(), to_offset.as_ref().copied()) };
        let part = (length - done).min(COPY_PIECE_BYTES);
        let other = Busy::new(from);
        let (result, (at, target)) = on_thread(call, to, move || {
            let (mut at, mut target) = (at, target);
            let pointer =
                |offset: &mut Option<off_t>| offset.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
            let (reads, writes) = (pointer(&mut at), pointer(&mut target));
            // SAFETY: both offsets are null or live.
            let result = unsafe { raw::syscall!(SYS_copy_file_range, from, reads, to, writes, part, flags) };
            drop(other);
            (result, (at, target))
        });
        // SAFETY: as above; each is present if it was given.
        unsafe {
            if let (Some(place), Some(at)) = (from_offset.as_mut(), at) {
                *place = at;
            }
            if let (Some(place), Some(target)) = (to_offset.as_mut(), target) {
                *place = target;
            }
        }
        if result < 0 {
            return if done > 0 { done as isize } else { result };
        }
        done += result as usize;
        pieces = result > 0;
    }
    done as isize
}
