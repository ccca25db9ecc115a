//! What the hooks remember of a descriptor number: its kind, and how often it was closed.
//!
//! It must not know who waits (that is [`crate::fds`]). One word per number, shared by all threads and without a lock,
//! so that it is right after fork and in every thread.
//!
//! Invariant: each close, by any thread, starts a new generation of unknown kind. Closes inside libc that no hook sees
//! (closedir, freopen) leave a wrong kind behind; that costs one system call or one blocking call, never a wrong result.
#![allow(unsafe_code)]

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use libc::c_int;

use crate::fds::Stream;
use crate::hook::raw;
use crate::{Nanos, Runtime, SECOND};

/// The numbers remembered: Linux's default `fs.nr_open`. Those above are queried each time. The table is zero pages
/// until touched.
pub const NUMBERS: usize = 1 << 20;

/// Bits 0-1: kind. Bit 2: closed by a thread without a runtime. Bits 3-4: pace of a file. Bit 5: a wait for it was cut
/// short. From bit 6: generation.
static STATES: [AtomicU32; NUMBERS] = [const { AtomicU32::new(0) }; NUMBERS];
static HIGHEST: AtomicU32 = AtomicU32::new(0);

const KIND: u32 = 3;
const STALE: u32 = 4;
const PACE: u32 = 8 | 16;
const CUT_SHORT: u32 = 32;
const GENERATION: u32 = 64;

/// How the disk of a regular file is treated ([`disk`](crate::hook::disk)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Pace {
    /// The page cache is asked first: it can report that it does not have the bytes.
    Cached = 0,
    /// The page cache cannot report that: direct calls are timed.
    Timed = 8,
    /// A call has taken long: a thread makes the next one.
    Slow = 16,
}

/// The pace of an open file.
pub fn pace(fd: RawFd) -> Pace {
    match state(fd).map_or(0, |state| state.load(Ordering::Relaxed) & PACE) {
        8 => Pace::Timed,
        16 => Pace::Slow,
        _ => Pace::Cached,
    }
}

/// Remembers the pace of an open file, and of files on its disk that are opened from now on.
pub fn set_pace(fd: RawFd, pace: Pace) {
    if let Some(state) = state(fd) {
        let next = |old: u32| Some(old & !PACE | pace as u32);
        let _ = state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }
    // SAFETY: the all-zero stat is valid storage.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: fstat only writes `stat`. It is not hooked.
    if unsafe { libc::fstat(fd, &raw mut stat) } == 0 {
        let mut disks = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
        disks.retain(|&(device, _)| device != stat.st_dev);
        disks.push((stat.st_dev, pace));
    }
}

/// The disks whose files do not begin as [`Pace::Cached`], by device number: as many as are mounted.
static DISKS: Mutex<Vec<(libc::dev_t, Pace)>> = Mutex::new(Vec::new());

/// This does not wait: in a forked child, a thread that does not exist there may have left it locked.
fn pace_of_disk(device: libc::dev_t) -> Pace {
    let Ok(disks) = DISKS.try_lock() else { return Pace::Cached };
    disks.iter().find(|&&(known, _)| known == device).map_or(Pace::Cached, |&(_, pace)| pace)
}

/// How reading and writing a descriptor behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum DescriptorKind {
    /// Regular file, directory, block device: always ready.
    File = 1,
    /// Socket: `MSG_DONTWAIT` tries without blocking.
    Socket = 2,
    /// Pipe, terminal, eventfd and similar: poll(2) tells whether it would block.
    Stream = 3,
}

fn state(fd: RawFd) -> Option<&'static AtomicU32> {
    STATES.get(usize::try_from(fd).ok()?)
}

/// The kind of an open descriptor, for one fstat(2) in its life. `None` if it is not open.
#[inline]
pub fn kind(fd: RawFd) -> Option<DescriptorKind> {
    match state(fd)?.load(Ordering::Relaxed) & KIND {
        1 => Some(DescriptorKind::File),
        2 => Some(DescriptorKind::Socket),
        3 => Some(DescriptorKind::Stream),
        _ => learn(fd),
    }
}

#[cold]
fn learn(fd: RawFd) -> Option<DescriptorKind> {
    // SAFETY: the all-zero stat is valid storage.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: fstat only writes `stat`. It is not hooked.
    if unsafe { libc::fstat(fd, &raw mut stat) } < 0 {
        return None;
    }
    let kind = match stat.st_mode & libc::S_IFMT {
        libc::S_IFREG | libc::S_IFDIR | libc::S_IFBLK => DescriptorKind::File,
        libc::S_IFSOCK => DescriptorKind::Socket,
        _ => DescriptorKind::Stream,
    };
    if let Some(state) = state(fd) {
        let pace = if kind == DescriptorKind::File { pace_of_disk(stat.st_dev) } else { Pace::Cached };
        state.fetch_or(kind as u32 | pace as u32, Ordering::Relaxed);
        HIGHEST.fetch_max(fd as u32, Ordering::Relaxed);
    }
    Some(kind)
}

/// How often the number was closed. If it changes during a wait, the wait MUST NOT touch the number again.
pub fn generation(fd: RawFd) -> u32 {
    state(fd).map_or(0, |state| state.load(Ordering::Relaxed) / GENERATION)
}

/// The number is about to be closed: from here on it is another generation, of unknown kind. `by_loop`: the closing
/// thread has a runtime, which forgets the registration at once.
pub(super) fn next_generation(fd: RawFd, by_loop: bool) {
    if let Some(state) = state(fd) {
        let stale = if by_loop { 0 } else { STALE };
        let next = |old: u32| Some((old & !(KIND | PACE | CUT_SHORT) | stale).wrapping_add(GENERATION));
        let _ = state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }
}

/// The highest number of which something is remembered.
pub(super) fn highest() -> u32 {
    HIGHEST.load(Ordering::Relaxed)
}

/// Before a wait: drops the registration of a number that another thread has closed meanwhile.
pub fn drop_stale(runtime: &Runtime, fd: RawFd) {
    let Some(state) = state(fd) else { return };
    HIGHEST.fetch_max(fd as u32, Ordering::Relaxed);
    if state.load(Ordering::Relaxed) & STALE != 0 {
        state.fetch_and(!STALE, Ordering::Relaxed);
        runtime.closed_elsewhere(fd);
    }
}

/// Remembers that a wait for a connection or a pipe was cut short: what its peer says next may be meant for the coroutine
/// that waited.
pub fn set_cut_short(fd: RawFd) {
    if let Some(state) = state(fd) {
        HIGHEST.fetch_max(fd as u32, Ordering::Relaxed);
        state.fetch_or(CUT_SHORT, Ordering::Relaxed);
    }
}

/// Ends a connection if a wait for it was cut short since it was opened: before another coroutine uses it.
pub fn end_if_cut_short(fd: RawFd) {
    if was_cut_short(fd) {
        raw::end_connection(fd);
    }
}

/// Whether a wait for a pipe was cut short, and nothing has been read or written since.
pub fn was_cut_short(fd: RawFd) -> bool {
    state(fd).is_some_and(|state| state.load(Ordering::Relaxed) & CUT_SHORT != 0)
}

/// A pipe has been read or written: whatever was cut short before, its owner has gone on.
#[inline]
pub fn goes_on(fd: RawFd) {
    if was_cut_short(fd)
        && let Some(state) = state(fd)
    {
        state.fetch_and(!CUT_SHORT, Ordering::Relaxed);
    }
}

/// `SO_RCVTIMEO` or `SO_SNDTIMEO` of a socket; `None` if there is none.
pub fn socket_timeout(fd: RawFd, option: c_int) -> Option<Nanos> {
    let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
    if !raw::getsockopt(fd, option, &mut time) {
        return None;
    }
    let span = time.tv_sec as u64 * SECOND + time.tv_usec as u64 * 1_000;
    (span > 0).then_some(span)
}

/// What a receive that returns less than it had room for says of a socket: three system calls at most.
pub fn stream(fd: RawFd) -> Stream {
    let option = |option| {
        let mut value: c_int = 0;
        raw::getsockopt(fd, option, &mut value).then_some(value)
    };
    if option(libc::SO_TYPE) != Some(libc::SOCK_STREAM) {
        return Stream::Other;
    }
    match option(libc::SO_DOMAIN) {
        Some(libc::AF_UNIX) => Stream::Unix,
        // Others are made of messages (SCTP), or of streams of their own (MPTCP).
        Some(libc::AF_INET | libc::AF_INET6) if option(libc::SO_PROTOCOL) == Some(libc::IPPROTO_TCP) => {
            Stream::Tcp
        }
        _ => Stream::Other,
    }
}

/// Whether a socket is a byte stream, which may return less than was asked for.
pub fn is_byte_stream(fd: RawFd) -> bool {
    let mut kind: c_int = 0;
    raw::getsockopt(fd, libc::SO_TYPE, &mut kind) && kind == libc::SOCK_STREAM
}
