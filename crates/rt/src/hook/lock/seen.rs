//! What the hooks see of file locks, told to those who keep account of them: `record`, `whole` and `polling`.
//!
//! It keeps nothing itself. Invariant: who waits hears of a lock only after it is free.

use libc::c_int;

use super::record::{self, Range};
use super::{polling, whole};
use crate::{CoroutineId, Runtime};

/// Whether the coroutine runs before others when it is ready: they may wait for it.
#[inline]
pub fn comes_first(id: CoroutineId) -> bool {
    (record::somebody_holds_up() && record::holds(id)) || whole::holds_up(id)
}

/// The kernel has answered a request for a record lock, or an unlock, of the running coroutine.
pub fn answered(fd: c_int, lock: &libc::flock, result: c_int) {
    let Some(runtime) = Runtime::get() else { return };
    let Some(id) = runtime.current() else { return };
    if result != 0 {
        polling::refused(id, fd, lock);
    } else if c_int::from(lock.l_type) == libc::F_WRLCK {
        let range = Range::of(fd, lock);
        polling::succeeded(id, range);
        record::taken(runtime, range, id);
    } else if record::somebody_holds_up() {
        freed(runtime, &Range::of(fd, lock)); // unlocked, or others may read from now on
    }
}

/// All locks of the file are freed with this descriptor (fcntl(2)).
pub fn closing(fd: c_int) {
    if let Some(runtime) = Runtime::get().filter(|_| record::somebody_holds_up()) {
        freed(runtime, &Range::whole(fd));
    }
    whole::freed(fd);
}

fn freed(runtime: &Runtime, range: &Range) {
    for (range, holder) in record::freed(runtime, range) {
        polling::freed(range, holder);
    }
}

/// A job has ended.
#[inline]
pub fn job_ended(runtime: &Runtime) {
    whole::job_ended(runtime);
    if record::somebody_holds_up() || polling::somebody_polls() {
        forget_ended(runtime);
    }
}

#[cold]
fn forget_ended(runtime: &Runtime) {
    record::forget_ended(runtime);
    polling::forget_ended(runtime);
}
