//! Mutexes and read-write locks of C libraries. A coroutine may park while it holds one (APCu's, when a value is made
//! under its lock); another coroutine of this thread that blocked for it would deadlock the process.
//!
//! A free lock costs one call of the real trylock. Rust's own locks are futexes and never come here, nor do libc's own.
//! These calls cannot fail, so that a cancelled coroutine waits for the lock as well. A recursive mutex is free for every
//! coroutine of the thread that holds it: its owner is the thread.
#![allow(unsafe_code)]

use libc::{c_int, c_void, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, pthread_t, sem_t, timespec};

use super::contend::{Resource, until_free};
use crate::hook::call::{Backoff, Call};
use crate::hook::real::real;

/// Takes a lock by `attempt` (which returns an error number) with pauses; anything but `EBUSY` is final.
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
    let attempt = real!(c"pthread_mutex_trylock": fn(*mut pthread_mutex_t) -> c_int);
    // SAFETY: by the caller's contract.
    until_taken(call, || unsafe { attempt(mutex) }, block)
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

/// A POSIX semaphore. It can fail, so that a cancelled coroutine gets `ECANCELED`.
pub unsafe fn semaphore_wait(call: Option<Call>, semaphore: *mut sem_t) -> c_int {
    let real = real!(c"sem_wait": fn(*mut sem_t) -> c_int);
    // SAFETY: by the caller's contract.
    let block = || unsafe { real(semaphore) as isize };
    let Some(call) = call else { return block() as c_int };
    let attempt = real!(c"sem_trywait": fn(*mut sem_t) -> c_int);
    // SAFETY: by the caller's contract.
    let attempt = || unsafe { attempt(semaphore) as isize };
    until_free(call, || Resource::Unseen, &[libc::EAGAIN], None, attempt, block) as c_int
}

/// A condition is signalled by another thread, which no coroutine can be: it blocks for real and is counted.
pub unsafe fn condition_wait(
    call: Option<Call>,
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
) -> c_int {
    if let Some(call) = call {
        call.count_blocked();
    }
    let real = real!(c"pthread_cond_wait": fn(*mut pthread_cond_t, *mut pthread_mutex_t) -> c_int);
    // SAFETY: by the caller's contract.
    unsafe { real(condition, mutex) }
}

/// As [`condition_wait`].
pub unsafe fn condition_timed_wait(
    call: Option<Call>,
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    time: *const timespec,
) -> c_int {
    if let Some(call) = call {
        call.count_blocked();
    }
    let real = real!(c"pthread_cond_timedwait": fn(*mut pthread_cond_t, *mut pthread_mutex_t, *const timespec) -> c_int);
    // SAFETY: by the caller's contract.
    unsafe { real(condition, mutex, time) }
}
