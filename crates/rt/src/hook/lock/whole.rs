//! Which coroutine holds the lock of a whole file (flock(2)), and whether others of this thread wait for it.
//!
//! Whoever holds up others runs before them when he is ready. It must not know how they wait. Invariant: an entry is a
//! descriptor whose lock a coroutine has taken and not freed; only a live coroutine that others wait for comes first.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use libc::c_int;

use super::resource::Resource;
use crate::{CoroutineId, Runtime};

/// Locks among which the holder of one is looked for; with more, he takes his turn as all others.
const SEARCHED_MAX: usize = 256;

thread_local! {
    static HOLDERS: RefCell<HashMap<c_int, CoroutineId>> = RefCell::default();
    static COUNT: Cell<usize> = const { Cell::new(0) };
    /// Those that others wait for.
    static FIRST: RefCell<HashSet<CoroutineId>> = RefCell::default();
    static FIRST_COUNT: Cell<usize> = const { Cell::new(0) };
}

fn change_first(work: impl FnOnce(&mut HashSet<CoroutineId>)) {
    FIRST.with_borrow_mut(|first| {
        work(first);
        FIRST_COUNT.set(first.len());
    });
}

/// Whether others wait for a lock that this coroutine holds.
#[inline]
pub fn holds_up(id: CoroutineId) -> bool {
    FIRST_COUNT.get() > 0 && FIRST.with_borrow(|first| first.contains(&id))
}

/// The running coroutine has the lock; `waited_for`: others wait for it.
pub fn locked(fd: c_int, waited_for: impl FnOnce() -> bool) {
    let Some(id) = Runtime::get().and_then(Runtime::current) else { return };
    HOLDERS.with_borrow_mut(|holders| {
        holders.insert(fd, id);
        COUNT.set(holders.len());
    });
    if waited_for() {
        change_first(|first| _ = first.insert(id));
    }
}

/// The lock is free, or its descriptor is closed.
#[inline]
pub fn freed(fd: c_int) {
    if COUNT.get() > 0 {
        forget(fd);
    }
}

fn forget(fd: c_int) {
    let holder = HOLDERS.with_borrow_mut(|holders| {
        let holder = holders.remove(&fd);
        COUNT.set(holders.len());
        holder
    });
    if let Some(id) = holder {
        change_first(|first| _ = first.remove(&id));
    }
}

/// A coroutine begins to wait for the lock: its holder, if known, comes first from now on.
pub fn waited_for(resource: Resource) {
    let holder = HOLDERS.with_borrow(|holders| {
        let mut known = holders.iter().take(SEARCHED_MAX);
        known.find(|(fd, _)| Resource::of_file(**fd) == resource).map(|(_, id)| *id)
    });
    if let Some(id) = holder {
        change_first(|first| _ = first.insert(id));
    }
}

/// A job has ended; a lock that it leaves lives on with its descriptor, but holds no coroutine up.
#[inline]
pub fn job_ended(runtime: &Runtime) {
    if FIRST_COUNT.get() > 0 {
        change_first(|first| first.retain(|id| runtime.since(*id).is_some()));
    }
}
