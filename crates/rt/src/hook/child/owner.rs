//! The family that owns each descriptor: a child that one request starts gets no descriptor of another request.
//!
//! PHP opens most descriptors without close-on-exec and its children inherit them all, which is right for a process that
//! serves one request. A worker serves many. A program executed by a coroutine therefore inherits what its own
//! [family](crate::family) opened and what was open when the worker started to serve. The child closes everything else.
//!
//! It must not know how a child is made. Invariants: in this process no descriptor's flags change; close-on-exec works as
//! usual; a descriptor that no hook saw being opened belongs to no family, so a missing hook costs a child one of its own
//! descriptors and never gives it a foreign one.
#![allow(unsafe_code)]

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use libc::{c_int, c_uint};

use super::apart::kept_apart;
use super::gate;
use super::nothing::Nothing;
use crate::family::{BITS, EVERYBODY, FIRST, Family, NOBODY};
use crate::hook::call::Call;
use crate::hook::descriptor::{self, DescriptorKind, NUMBERS};
use crate::hook::errno::{errno, set_errno};
use crate::hook::raw;

/// The lowest number that has an owner: the standard streams belong to every family, even when one has replaced them.
const LOWEST: RawFd = 3;

/// Families by descriptor number. The table is zero pages until touched.
static OWNERS: [AtomicU32; NUMBERS] = [const { AtomicU32::new(NOBODY) }; NUMBERS];
static HIGHEST: AtomicU32 = AtomicU32::new(0);

/// The bit above a family's: the descriptor holds a lock (flock(2)), which a copy of it would retain.
const LOCKED: u32 = !BITS;

/// Which others have a copy of a descriptor, by its number: a child of another family ([`STRANGER`]), or a child or
/// program of its own family ([`HEIR`]). The table is zero pages until touched.
static COPIES: [AtomicU8; NUMBERS] = [const { AtomicU8::new(0) }; NUMBERS];

/// A process that has not asked for the file and does not know it: a lock must not outlive its owner there.
const STRANGER: u8 = 1;

/// A child or a program of the same family, or another of its numbers: a lock lives on there, as intended.
const HEIR: u8 = 2;

/// Records the owner of a descriptor.
pub(super) fn set(fd: RawFd, family: Family) {
    if fd >= LOWEST
        && let Some(owner) = OWNERS.get(fd as usize)
    {
        owner.store(family, Ordering::Relaxed);
        COPIES[fd as usize].store(0, Ordering::Relaxed);
        HIGHEST.fetch_max(fd as u32, Ordering::Relaxed);
    }
}

fn of(fd: RawFd) -> u32 {
    OWNERS.get(fd as usize).map_or(NOBODY, |owner| owner.load(Ordering::Relaxed))
}

/// Records and returns the result of a call that opens a descriptor.
#[inline]
pub fn opened(call: Option<Call>, fd: c_int) -> c_int {
    if let Some(call) = call.filter(|_| fd >= LOWEST) {
        set(fd, call.runtime.family().unwrap_or(NOBODY));
    }
    fd
}

/// Records that a number is about to be closed.
#[inline]
pub fn closing(fd: RawFd) {
    if let Some(owner) = usize::try_from(fd).ok().and_then(|fd| OWNERS.get(fd)) {
        if owner.load(Ordering::Relaxed) & LOCKED != 0 {
            gate::wait_for_all();
            unlock_among_strangers(fd);
        }
        owner.store(NOBODY, Ordering::Relaxed);
    }
}

/// The numbers that a family has opened.
pub fn opened_by(family: Family) -> impl Iterator<Item = RawFd> {
    (LOWEST..=highest() as RawFd).filter(move |&fd| of(fd) & BITS == family)
}

/// A lock (flock(2)) belongs to the open file, which a child shares if another family forked it before the lock.
/// Closing the file here releases the lock only if it is released for that child as well.
fn unlock_among_strangers(fd: RawFd) {
    if COPIES[fd as usize].load(Ordering::Relaxed) == STRANGER {
        let saved = errno();
        // SAFETY: it takes numbers.
        unsafe { raw::syscall!(SYS_flock, fd, libc::LOCK_UN) };
        set_errno(saved);
    }
}

/// Records that a child of `family` was started with copies of its family's descriptors; `forked`: with copies of all
/// others too.
pub fn inherited(family: Family, forked: bool) {
    if !kept_apart() {
        return;
    }
    for fd in LOWEST..=highest() as RawFd {
        match of(fd) & BITS {
            0..FIRST => (),
            owner if owner == family => mark(fd, HEIR),
            _ if forked => mark(fd, STRANGER),
            _ => (),
        }
    }
}

/// [`opened`] for another number of a file that is already open as `from`.
pub fn opened_again(call: Option<Call>, from: RawFd, fd: c_int) -> c_int {
    let fd = opened(call, fd);
    if call.is_some() && fd >= 0 {
        mark(from, HEIR);
        mark(fd, HEIR);
    }
    fd
}

fn mark(fd: RawFd, copy: u8) {
    if let Some(copies) = usize::try_from(fd).ok().and_then(|fd| COPIES.get(fd)) {
        copies.fetch_or(copy, Ordering::Relaxed);
    }
}

/// The highest number that has had an owner.
pub fn highest() -> u32 {
    HIGHEST.load(Ordering::Relaxed)
}

/// Records whether the calling coroutine has a lock on a file, or is about to wait for one.
///
/// Returns whether it had one before.
pub fn locked(fd: RawFd, locked: bool) -> bool {
    if of(fd) & BITS < FIRST {
        return false;
    }
    let owner = &OWNERS[fd as usize];
    let before = if locked {
        owner.fetch_or(LOCKED, Ordering::Relaxed)
    } else {
        owner.fetch_and(BITS, Ordering::Relaxed)
    };
    before & LOCKED != 0
}

/// The ranges of numbers that a child of `family` does not get, in order; the last one ends with `c_uint::MAX`.
pub fn not_given(family: Family, mut range: impl FnMut(c_uint, c_uint)) {
    let mut first = LOWEST as c_uint;
    for fd in LOWEST as c_uint..=highest() {
        let owner = of(fd as RawFd) & BITS;
        if owner != NOBODY && (owner == family || owner == EVERYBODY) {
            if first < fd {
                range(first, fd - 1);
            }
            first = fd + 1;
        }
    }
    range(first, c_uint::MAX);
}

/// In a child made by fork(2). Descriptors that are not its own are closed when it executes a program, but it may also
/// continue as PHP for as long as it likes. So those that it would hold open or locked meanwhile are replaced, if a
/// family in `live` (in order) has them: connections, pipes, locked files. Their numbers stay taken, because objects in
/// this child's copy of memory use them. Other files stay usable: the child also writes to the log that another request
/// happened to open first.
pub fn settle_child(family: Family, live: &[Family], nothing: &Nothing) {
    not_given(family, |first, last| {
        // SAFETY: it takes numbers.
        unsafe { raw::syscall!(SYS_close_range, first, last, libc::CLOSE_RANGE_CLOEXEC) };
    });
    for fd in LOWEST..=highest() as RawFd {
        let owner = of(fd);
        let others = owner & BITS >= FIRST && owner & BITS != family;
        if others && live.binary_search(&(owner & BITS)).is_ok() && is_held(fd, owner) {
            nothing.take(fd);
        }
    }
}

/// Whether a coroutine of another family holds a lock, which a child shares until [`settle_child`] has replaced it.
pub fn others_hold_locks(family: Family) -> bool {
    let locked = |fd| of(fd) & LOCKED != 0 && of(fd) & BITS != family;
    kept_apart() && (LOWEST..=highest() as RawFd).any(locked)
}

/// Whether a copy of the descriptor makes others wait: for the end of a connection or a pipe, or for a lock.
fn is_held(fd: RawFd, owner: u32) -> bool {
    match descriptor::kind(fd) {
        Some(DescriptorKind::Socket) => !is_datagram(fd),
        Some(DescriptorKind::Stream) => true,
        Some(DescriptorKind::File) => owner & LOCKED != 0,
        None => false,
    }
}

fn is_datagram(fd: RawFd) -> bool {
    let mut kind: c_int = 0;
    raw::getsockopt(fd, libc::SO_TYPE, &mut kind) && kind == libc::SOCK_DGRAM
}
