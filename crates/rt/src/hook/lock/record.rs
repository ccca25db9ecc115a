//! Which coroutine holds which record lock (fcntl(2)) for writing.
//!
//! To the kernel they all belong to the process. A program that locks records so that several of its own connections to
//! one file take turns, as SQLite does, remembers in its own memory which connection has the lock; the kernel sees when
//! it is taken and when it is freed. Whoever holds one runs before the others when he is ready: they may all wait for
//! him. This file must not know how they wait.
//!
//! Invariant: an entry is a lock that a live coroutine of this thread has taken and not freed; a lock that somebody frees
//! on behalf of another is freed.

use std::cell::{Cell, RefCell};

use libc::c_int;

use super::resource::Resource;
use crate::{CoroutineId, Runtime};

/// Part of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    file: Resource,
    start: i64,
    end: i64,
}

impl Range {
    /// What `lock` names. Ranges that begin elsewhere than at the file's start are taken for the whole file.
    pub fn of(fd: c_int, lock: &libc::flock) -> Range {
        let file = Resource::of_file(fd);
        if c_int::from(lock.l_whence) != libc::SEEK_SET || lock.l_len < 0 {
            return Range { file, start: 0, end: i64::MAX };
        }
        let end = if lock.l_len == 0 { i64::MAX } else { lock.l_start.saturating_add(lock.l_len) };
        Range { file, start: lock.l_start, end }
    }

    /// All of the file.
    pub fn whole(fd: c_int) -> Range {
        Range { file: Resource::of_file(fd), start: 0, end: i64::MAX }
    }

    pub fn overlaps(&self, other: &Range) -> bool {
        self.file == other.file && self.start < other.end && other.start < self.end
    }
}

struct Held {
    range: Range,
    holder: CoroutineId,
    /// How often coroutines had parked when it was taken.
    parks: u64,
}

thread_local! {
    static HELD: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// Whether a coroutine holds such a lock.
#[inline]
pub fn somebody_holds_up() -> bool {
    COUNT.get() > 0
}

/// Whether the coroutine holds such a lock.
#[cold]
pub fn holds(id: CoroutineId) -> bool {
    HELD.with_borrow(|held| held.iter().any(|held| held.holder == id))
}

/// Whether another coroutine than `id` holds a part of the range.
pub fn held_by_another(range: &Range, id: CoroutineId) -> bool {
    let blocks = |held: &Held| held.holder != id && held.range.overlaps(range);
    somebody_holds_up() && HELD.with_borrow(|held| held.iter().any(blocks))
}

fn change(work: impl FnOnce(&mut Vec<Held>)) {
    HELD.with_borrow_mut(|held| {
        work(held);
        COUNT.set(held.len());
    });
}

/// The coroutine has taken it.
pub fn taken(runtime: &Runtime, range: Range, holder: CoroutineId) {
    change(|held| held.push(Held { range, holder, parks: runtime.stats.parks.get() }));
}

/// The range is free. Returns the locks that were held while another coroutine may have run, and who held them: nobody
/// waits for the others. Locks are freed only as a whole: what SQLite locks at once it frees at once, or more.
pub fn freed(runtime: &Runtime, range: &Range) -> Vec<(Range, CoroutineId)> {
    let mut gone = Vec::new();
    change(|held| gone.extend(held.extract_if(.., |held| held.range.overlaps(range))));
    let parks = runtime.stats.parks.get();
    gone.iter().filter(|held| held.parks != parks).map(|held| (held.range, held.holder)).collect()
}

/// Forgets the locks of coroutines that have ended.
pub fn forget_ended(runtime: &Runtime) {
    change(|held| held.retain(|held| runtime.since(held.holder).is_some()));
}
