//! Reading and writing regular files: directly while the page cache answers, on a thread when the disk must be read.
//!
//! A read is tried with `RWF_NOWAIT` (preadv2(2)), which returns the cached part and `EAGAIN` for the rest; a thread reads
//! the rest. Where the file system lacks this flag, and for every write, the call is timed instead: a slow one marks its
//! file as slow, and a thread makes the calls on it until they are quick again.
//!
//! Invariants: the thread works on copies only. A cancellation does not interrupt these calls: they end with the disk,
//! as in the kernel; the descriptor cannot be closed meanwhile (`busy`).
#![allow(unsafe_code)]

use libc::{c_int, c_void, iovec, off_t, size_t};

use crate::hook::call::Call;
use crate::hook::descriptor::Pace;
use crate::hook::disk::busy::Busy;
use crate::hook::errno::{errno, set_errno};
use crate::hook::{descriptor, raw};
use crate::{MILLISECOND, Nanos, clock};

/// A direct call that takes longer means that the disk is slow.
const SLOW: Nanos = 5 * MILLISECOND;
/// A call on a thread that takes less means that the disk is quick again.
const QUICK: Nanos = MILLISECOND;
/// Bytes that a thread reads at a time: more are read piece by piece, each into a copy of this size.
const PIECE_BYTES: usize = 1 << 20;
/// Bytes written directly: copying more into the page cache blocks the loop too long, even with a quick disk.
const DIRECT_WRITE_BYTES: usize = 1 << 20;

/// The place in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the position of the open file, which moves.
    Position,
    At(off_t),
}

impl Place {
    fn after(self, bytes: usize) -> Place {
        match self {
            Place::Position => Place::Position,
            Place::At(offset) => Place::At(offset.saturating_add_unsigned(bytes as u64)),
        }
    }
}

unsafe fn read_plain(fd: c_int, buffer: *mut c_void, length: size_t, place: Place) -> isize {
    // SAFETY: by the caller's contract.
    unsafe {
        match place {
            Place::Position => raw::read(fd, buffer, length),
            Place::At(offset) => raw::syscall!(SYS_pread64, fd, buffer, length, offset),
        }
    }
}

unsafe fn write_plain(fd: c_int, buffer: *const c_void, length: size_t, place: Place) -> isize {
    // SAFETY: by the caller's contract.
    unsafe {
        match place {
            Place::Position => raw::write(fd, buffer, length),
            Place::At(offset) => raw::syscall!(SYS_pwrite64, fd, buffer, length, offset),
        }
    }
}

/// Reads what the page cache has; `EAGAIN` if that is nothing.
unsafe fn read_cached(fd: c_int, buffer: *mut c_void, length: size_t, place: Place) -> isize {
    let vector = iovec { iov_base: buffer, iov_len: length };
    let offset = match place {
        Place::Position => -1,
        Place::At(offset) => offset,
    };
    // The offset is one register on 64-bit systems, where the other half is ignored. SAFETY: the vector is
    // live, and what it describes by the caller's contract.
    unsafe { raw::syscall!(SYS_preadv2, fd, &raw const vector, 1, offset, 0, libc::RWF_NOWAIT) }
}

/// Makes a direct call, and remembers if it took long.
pub(super) fn timed(fd: c_int, call: impl FnOnce() -> isize) -> isize {
    let begun = clock::now();
    let result = call();
    if clock::now() - begun > SLOW {
        descriptor::set_pace(fd, Pace::Slow);
    }
    result
}

/// Makes a call on a thread. The coroutine waits for its end in any case.
pub(super) fn on_thread<T: Send + 'static>(
    call: Call,
    fd: c_int,
    work: impl FnOnce() -> (isize, T) + Send + 'static,
) -> (isize, T) {
    let busy = Busy::new(fd);
    let saved = errno();
    let ((result, value), error, took) = call.offload_to_end(move || {
        let begun = clock::now();
        let result = work();
        let outcome = (result, errno(), clock::now() - begun);
        drop(busy);
        outcome
    });
    if took < QUICK && descriptor::pace(fd) == Pace::Slow {
        descriptor::set_pace(fd, Pace::Cached);
    }
    set_errno(if result < 0 { error } else { saved });
    (result, value)
}

/// Reads on a thread as much as a blocking read would: all, or up to the end of the file.
unsafe fn read_on_thread(call: Call, fd: c_int, buffer: *mut c_void, length: size_t, place: Place) -> isize {
    let mut done = 0;
    while done < length {
        let (part, place) = ((length - done).min(PIECE_BYTES), place.after(done));
        let (result, bytes) = on_thread(call, fd, move || {
            let mut bytes: Vec<u8> = Vec::with_capacity(part);
            // SAFETY: the vector has room for the part, and as many bytes are in it as were read.
            unsafe {
                let result = read_plain(fd, bytes.as_mut_ptr().cast(), part, place);
                bytes.set_len(result.max(0) as usize);
                (result, bytes)
            }
        });
        if result < 0 {
            return if done > 0 { done as isize } else { result };
        }
        // SAFETY: no more than the part that fits behind what is done.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.byte_add(done).cast(), bytes.len()) };
        done += bytes.len();
        if bytes.len() < part {
            break;
        }
    }
    done as isize
}

unsafe fn read_file(call: Call, fd: c_int, buffer: *mut c_void, length: size_t, place: Place) -> isize {
    let (saved, mut done) = (errno(), 0);
    while descriptor::pace(fd) == Pace::Cached {
        // SAFETY: `done` is below `length`; all else by the caller's contract.
        match unsafe { read_cached(fd, buffer.byte_add(done), length - done, place.after(done)) } {
            0 => return done as isize,
            result @ 1.. => {
                done += result as usize;
                if done == length {
                    return done as isize;
                }
            }
            _ if errno() == libc::EAGAIN => {
                if call.must_block() {
                    break;
                }
                set_errno(saved);
                // SAFETY: as above.
                let rest = unsafe {
                    read_on_thread(call, fd, buffer.byte_add(done), length - done, place.after(done))
                };
                return if rest < 0 && done > 0 { done as isize } else { done as isize + rest };
            }
            _ if matches!(errno(), libc::EOPNOTSUPP | libc::EINVAL | libc::ENOSYS) => {
                descriptor::set_pace(fd, Pace::Timed);
            }
            _ if done > 0 => return done as isize,
            _ => return -1,
        }
    }
    set_errno(saved);
    // SAFETY: as above.
    let (buffer, length, place) = (unsafe { buffer.byte_add(done) }, length - done, place.after(done));
    let rest = if descriptor::pace(fd) == Pace::Slow && !call.must_block() {
        // SAFETY: as above.
        unsafe { read_on_thread(call, fd, buffer, length, place) }
    } else {
        // SAFETY: as above.
        timed(fd, || unsafe { read_plain(fd, buffer, length, place) })
    };
    if rest < 0 && done > 0 { done as isize } else { done as isize + rest }
}

unsafe fn write_file(call: Call, fd: c_int, buffer: *const c_void, length: size_t, place: Place) -> isize {
    let direct = descriptor::pace(fd) != Pace::Slow && length <= DIRECT_WRITE_BYTES;
    if direct || call.must_block() {
        // SAFETY: by the caller's contract.
        return timed(fd, || unsafe { write_plain(fd, buffer, length, place) });
    }
    // In one piece, so that bytes appended by one call stay together. SAFETY: `length` bytes by the caller's
    // contract.
    let bytes = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), length) }.to_vec();
    // SAFETY: the copy is live.
    let write = move || unsafe { (write_plain(fd, bytes.as_ptr().cast(), bytes.len(), place), ()) };
    on_thread(call, fd, write).0
}

/// read(2) of a regular file.
pub unsafe fn read(call: Call, fd: c_int, buffer: *mut c_void, length: size_t) -> isize {
    // SAFETY: by the caller's contract.
    unsafe { read_file(call, fd, buffer, length, Place::Position) }
}

/// write(2) to a regular file.
pub unsafe fn write(call: Call, fd: c_int, buffer: *const c_void, length: size_t) -> isize {
    // SAFETY: by the caller's contract.
    unsafe { write_file(call, fd, buffer, length, Place::Position) }
}

pub unsafe fn pread(call: Option<Call>, fd: c_int, buffer: *mut c_void, length: size_t, at: off_t) -> isize {
    let file = call
        .filter(|_| length > 0 && at >= 0 && descriptor::kind(fd) == Some(descriptor::DescriptorKind::File));
    match file {
        // SAFETY: by the caller's contract.
        Some(call) => unsafe { read_file(call, fd, buffer, length, Place::At(at)) },
        // SAFETY: by the caller's contract.
        None => unsafe { read_plain(fd, buffer, length, Place::At(at)) },
    }
}

pub unsafe fn pwrite(
    call: Option<Call>,
    fd: c_int,
    buffer: *const c_void,
    length: size_t,
    at: off_t,
) -> isize {
    let file = call
        .filter(|_| length > 0 && at >= 0 && descriptor::kind(fd) == Some(descriptor::DescriptorKind::File));
    match file {
        // SAFETY: by the caller's contract.
        Some(call) => unsafe { write_file(call, fd, buffer, length, Place::At(at)) },
        // SAFETY: by the caller's contract.
        None => unsafe { write_plain(fd, buffer, length, Place::At(at)) },
    }
}

fn flushed(call: Option<Call>, fd: c_int, flush: impl Fn() -> isize + Send + Copy + 'static) -> c_int {
    let Some(call) = call.filter(|call| !call.must_block()) else { return flush() as c_int };
    on_thread(call, fd, move || (flush(), ())).0 as c_int
}

pub unsafe fn fsync(call: Option<Call>, fd: c_int) -> c_int {
    // SAFETY: it takes a number.
    flushed(call, fd, move || unsafe { raw::syscall!(SYS_fsync, fd) })
}

pub unsafe fn fdatasync(call: Option<Call>, fd: c_int) -> c_int {
    // SAFETY: it takes a number.
    flushed(call, fd, move || unsafe { raw::syscall!(SYS_fdatasync, fd) })
}
