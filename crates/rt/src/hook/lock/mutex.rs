//! Mutexes and read-write locks of C libraries. A coroutine may park while it holds one (APCu's, while it computes a value
//! under its lock); another coroutine of this thread that blocked for it would deadlock the process.
//!
//! A free lock costs one call of the real trylock. Rust's own locks are futexes and never come here, nor do libc's own.
//! These calls cannot fail, so a cancelled coroutine waits for the lock too. libc knows the owner of a recursive or
//! error-checking mutex by its thread; [`held`] knows the coroutine.
#![allow(unsafe_code)]

use libc::{c_int, c_void, pthread_mutex_t, pthread_rwlock_t, pthread_spinlock_t, pthread_t};

use crate::hook::backoff::Backoff;
use crate::hook::call::Call;
use crate::hook::lock::held;
use crate::hook::lock::held::Again;
use crate::hook::real::real;

/// Takes a lock with `attempt` (which returns an error number) and pauses; anything but `EBUSY` is final.
#[inline]
fn until_taken(call: Call, attempt: impl Fn() -> c_int, block: impl FnOnce() -> c_int) -> c_int {
    match attempt() {
        libc::EBUSY => pause_until_taken(call, attempt, block),
        result => result,
    }
}

#[cold]
fn pause_until_taken(call: Call, attempt: impl Fn() -> c_int, block: impl FnOnce() -> c_int) -> c_int {
    if call.must_block() {
        return block();
    }
    let mut backoff = Backoff::new();
    loop {
        call.pause_uncancelled(&mut backoff);
        let result = attempt();
        if result != libc::EBUSY {
            return result;
        }
    }
}

pub unsafe fn lock(call: Option<Call>, mutex: *mut pthread_mutex_t) -> c_int {
    let real = real!(c"pthread_mutex_lock": fn(*mut pthread_mutex_t) -> c_int);
    // SAFETY: by the caller's contract.
    let block = || unsafe { real(mutex) };
    let Some(call) = call else { return block() };
    // SAFETY: by the caller's contract.
    until_taken(
        call,
        || unsafe { attempt(call, mutex, libc::EDEADLK) },
        || unsafe { noted(call, mutex, block()) },
    )
}

pub unsafe fn try_lock(call: Option<Call>, mutex: *mut pthread_mutex_t) -> c_int {
    let real = real!(c"pthread_mutex_trylock": fn(*mut pthread_mutex_t) -> c_int);
    match call {
        // SAFETY: by the caller's contract.
        Some(call) => unsafe { attempt(call, mutex, libc::EBUSY) },
        // SAFETY: by the caller's contract.
        None => unsafe { real(mutex) },
    }
}

pub unsafe fn unlock(_: Option<Call>, mutex: *mut pthread_mutex_t) -> c_int {
    let real = real!(c"pthread_mutex_unlock": fn(*mut pthread_mutex_t) -> c_int);
    // SAFETY: by the caller's contract.
    unsafe {
        held::unlocks(mutex);
        real(mutex)
    }
}

/// Tries to take it. If another coroutine of this thread has it, the result is `EBUSY`, whatever its type; `twice` is
/// returned for an error-checking one that the caller has.
unsafe fn attempt(call: Call, mutex: *mut pthread_mutex_t, twice: c_int) -> c_int {
    let real = real!(c"pthread_mutex_trylock": fn(*mut pthread_mutex_t) -> c_int);
    // SAFETY: by the caller's contract.
    let result = unsafe { noted(call, mutex, real(mutex)) };
    let fails = || {
        // SAFETY: by the caller's contract.
        let again = unsafe { held::again(mutex) };
        again == Again::Fails && held::owner(mutex).is_some_and(|owner| Some(owner) == call.runtime.current())
    };
    if result == libc::EBUSY && fails() { twice } else { result }
}

/// The result of locking it, after its owner is recorded: `EBUSY` if another coroutine has it, and it is unlocked
/// again.
unsafe fn noted(call: Call, mutex: *mut pthread_mutex_t, result: c_int) -> c_int {
    // SAFETY: by the caller's contract.
    if unsafe { held::again(mutex) } == Again::Waits || !matches!(result, 0 | libc::EOWNERDEAD) {
        return result;
    }
    let Some(id) = call.runtime.current() else { return result };
    // SAFETY: by the caller's contract; this thread has just locked it.
    if unsafe { held::locked(call.runtime, mutex, id) } {
        return result;
    }
    let real = real!(c"pthread_mutex_unlock": fn(*mut pthread_mutex_t) -> c_int);
    // SAFETY: as above.
    unsafe { real(mutex) };
    libc::EBUSY
}

/// A spinning thread would spin for the coroutine that has the lock, and thereby keep it from running.
pub unsafe fn spin_lock(call: Option<Call>, lock: *mut pthread_spinlock_t) -> c_int {
    let real = real!(c"pthread_spin_lock": fn(*mut pthread_spinlock_t) -> c_int);
    // SAFETY: by the caller's contract.
    let block = || unsafe { real(lock) };
    let Some(call) = call else { return block() };
    let attempt = real!(c"pthread_spin_trylock": fn(*mut pthread_spinlock_t) -> c_int);
    // SAFETY: by the caller's contract.
    until_taken(call, || unsafe { attempt(lock) }, block)
}

pub unsafe fn read_lock(call: Option<Call>, lock: *mut pthread_rwlock_t) -> c_int {
    let real = real!(c"pthread_rwlock_rdlock": fn(*mut pthread_rwlock_t) -> c_int);
    // SAFETY: by the caller's contract.
    let block = || unsafe { real(lock) };
    let Some(call) = call else { return block() };
    let attempt = real!(c"pthread_rwlock_tryrdlock": fn(*mut pthread_rwlock_t) -> c_int);
    // SAFETY: by the caller's contract.
    until_taken(call, || unsafe { attempt(lock) }, block)
}

pub unsafe fn write_lock(call: Option<Call>, lock: *mut pthread_rwlock_t) -> c_int {
    let real = real!(c"pthread_rwlock_wrlock": fn(*mut pthread_rwlock_t) -> c_int);
    // SAFETY: by the caller's contract.
    let block = || unsafe { real(lock) };
    let Some(call) = call else { return block() };
    let attempt = real!(c"pthread_rwlock_trywrlock": fn(*mut pthread_rwlock_t) -> c_int);
    // SAFETY: by the caller's contract.
    until_taken(call, || unsafe { attempt(lock) }, block)
}

/// A thread that ends soon: curl joins its resolver's.
pub unsafe fn join(call: Option<Call>, thread: pthread_t, value: *mut *mut c_void) -> c_int {
    let real = real!(c"pthread_join": fn(pthread_t, *mut *mut c_void) -> c_int);
    // SAFETY: by the caller's contract.
    let block = || unsafe { real(thread, value) };
    let Some(call) = call else { return block() };
    let attempt = real!(c"pthread_tryjoin_np": fn(pthread_t, *mut *mut c_void) -> c_int);
    // SAFETY: by the caller's contract.
    until_taken(call, || unsafe { attempt(thread, value) }, block)
}
