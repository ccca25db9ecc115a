//! Brief locks: record locks that are held for microseconds and guard memory shared by processes.
//!
//! It must not know what the memory contains. Invariant: each setting is made once, before the first lock.

use std::sync::OnceLock;

use libc::c_int;

use super::holder::Holder;

/// Answers a record lock in place of the kernel; gets the descriptor, the command and the address of the
/// `struct flock`.
pub type RecordLock = fn(c_int, c_int, usize) -> Option<c_int>;

static RECORD_LOCK: OnceLock<RecordLock> = OnceLock::new();

/// Calls `answer` before each `F_SETLK` and `F_GETLK` of a descriptor that [`on_brief_locks`] names, in every thread,
/// also while a coroutine has stepped out (opcache counts its readers while it compiles). To the kernel, locks of one
/// process never conflict, although its coroutines may be separate users of the lock. The first call counts.
pub fn on_record_lock(answer: RecordLock) {
    let _ = RECORD_LOCK.set(answer);
}

/// The state of such locks.
pub(super) struct Brief {
    descriptors: Vec<c_int>,
    pub holder: Option<&'static Holder>,
}

static BRIEF: OnceLock<Brief> = OnceLock::new();

/// Names descriptors whose record locks are held for microseconds, by code beside which no other may run: a coroutine
/// waits for such a lock as it would without the hooks. From then on it is known, here and in all children, who holds
/// one for writing. The first call counts.
pub fn on_brief_locks(descriptors: Vec<c_int>) {
    let _ = BRIEF.set(Brief { descriptors, holder: Holder::shared() });
}

/// Whether the memory that brief locks guard may be half written: process `pid` holds one for writing, or ended while
/// it held one, or another process did so before. Async-signal-safe.
pub fn may_be_half_written(pid: u32) -> bool {
    BRIEF.get().and_then(|brief| brief.holder).is_some_and(|holder| holder.may_be_half_written(pid))
}

/// Their state, if the descriptor has such locks.
pub(super) fn brief(fd: c_int) -> Option<&'static Brief> {
    BRIEF.get().filter(|brief| brief.descriptors.contains(&fd))
}

/// Where their holder is recorded.
pub(super) fn holder(fd: c_int) -> Option<&'static Holder> {
    brief(fd)?.holder
}

/// The answer in place of the kernel.
pub(super) fn answered(fd: c_int, command: c_int, argument: usize) -> Option<c_int> {
    brief(fd)?;
    RECORD_LOCK.get()?(fd, command, argument)
}
