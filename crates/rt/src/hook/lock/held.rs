//! The coroutine that holds a mutex, for mutexes that know their owner. libc takes the thread for the owner, and all
//! coroutines share it: a recursive mutex would admit each of them while another is parked inside, and an error-checking
//! one could not tell which coroutine locks it twice.
//!
//! Only these two types are recorded, and only while a coroutine holds one; any other mutex costs one look at its type. It
//! must not know how a coroutine waits for a mutex. Invariant: an entry is a mutex that a coroutine of this thread has
//! locked and not unlocked, or freed memory; the first lock of a new mutex at that address replaces the entry.
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
    /// It waits forever; its owner does not matter.
    Waits,
    Counts,
    Fails,
}

/// The words of a mutex, in 64-bit glibc: lock, count, owner, users, kind (sysdeps/nptl/bits/struct_mutex.h, and that
/// of x86).
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

/// The coroutine that holds it.
pub fn owner(mutex: *mut pthread_mutex_t) -> Option<CoroutineId> {
    HELD.with_borrow(|held| held.iter().find(|(known, _)| *known == mutex.addr()).map(|&(_, id)| id))
}

/// The thread has just locked it, for `id`. Returns false if another coroutine of this thread has it; it must then be
/// unlocked again.
///
/// # Safety
/// It must be live.
pub unsafe fn locked(runtime: &Runtime, mutex: *mut pthread_mutex_t, id: CoroutineId) -> bool {
    // SAFETY: by contract.
    if unsafe { again(mutex) == Again::Counts && depth(mutex) > 1 } {
        // A coroutine that has ended without unlocking it never will.
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
