//! Which coroutine has a mutex that knows its owner: to libc that is the thread, which all coroutines share. So a recursive mutex would
//! let every one of them in while another is parked inside, and an error-checking one cannot tell who locks it twice.
//!
//! Only such mutexes are noted, and only while a coroutine has them; all others cost a look at their type. It must not know how
//! one waits. Invariant: an entry is a mutex that a coroutine of this thread has locked and not unlocked, or memory that has been
//! freed since: whoever locks a mutex for the first time takes its entry over.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, Ordering};

use libc::pthread_mutex_t;

use crate::{CoroutineId, Runtime};

thread_local! {
    static HELD: RefCell<Vec<(usize, CoroutineId)>> = const { RefCell::new(Vec::new()) };
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// What a mutex does when its owner locks it again (pthread_mutexattr_settype(3)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Again {
    /// It waits for ever; its owner is nobody's concern.
    Waits,
    Counts,
    Fails,
}

/// The words of a mutex, in 64-bit glibc: lock, count, owner, users, kind (sysdeps/nptl/bits/struct_mutex.h, and that of x86).
unsafe fn word(mutex: *mut pthread_mutex_t, index: usize) -> u32 {
    // SAFETY: a live mutex by the caller's contract, at least so long and so aligned.
    unsafe { AtomicU32::from_ptr(mutex.cast::<u32>().add(index)) }.load(Ordering::Relaxed)
}

/// The type of a mutex.
///
/// # Safety
/// It must be live.
#[inline]
pub unsafe fn again(mutex: *mut pthread_mutex_t) -> Again {
    // SAFETY: by contract. The low two bits are the type (PTHREAD_MUTEX_RECURSIVE_NP, PTHREAD_MUTEX_ERRORCHECK_NP).
    match unsafe { word(mutex, 4) } & 3 {
        1 => Again::Counts,
        2 => Again::Fails,
        _ => Again::Waits,
    }
}

/// How often its owner has locked a recursive mutex.
///
/// # Safety
/// It must be live.
pub unsafe fn depth(mutex: *mut pthread_mutex_t) -> u32 {
    // SAFETY: by contract.
    unsafe { word(mutex, 1) }
}

/// Whose it is.
pub fn owner(mutex: *mut pthread_mutex_t) -> Option<CoroutineId> {
    HELD.with_borrow(|held| held.iter().find(|(known, _)| *known == mutex.addr()).map(|&(_, id)| id))
}

/// The thread has just locked it, for `id`. False: another coroutine of this thread has it, and it must be unlocked again.
///
/// # Safety
/// It must be live.
pub unsafe fn locked(runtime: &Runtime, mutex: *mut pthread_mutex_t, id: CoroutineId) -> bool {
    // SAFETY: by contract.
    if unsafe { again(mutex) == Again::Counts && depth(mutex) > 1 } {
        // Who has ended without unlocking it never will.
        let alive = |owner: &CoroutineId| runtime.since(*owner).is_some();
        if owner(mutex).filter(alive).is_some_and(|owner| owner != id) {
            return false;
        }
    }
    HELD.with_borrow_mut(|held| {
        held.retain(|(known, _)| *known != mutex.addr());
        held.push((mutex.addr(), id));
        COUNT.set(held.len());
    });
    true
}

/// It is about to be unlocked.
///
/// # Safety
/// It must be live.
#[inline]
pub unsafe fn unlocks(mutex: *mut pthread_mutex_t) {
    // SAFETY: by contract.
    let last = || unsafe { again(mutex) != Again::Counts || depth(mutex) == 1 };
    if COUNT.get() > 0 && Runtime::get().is_some() && last() {
        HELD.with_borrow_mut(|held| {
            held.retain(|(known, _)| *known != mutex.addr());
            COUNT.set(held.len());
        });
    }
}
