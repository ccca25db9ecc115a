//! Signals that arrive while another coroutine runs, where each coroutine has a PHP of its own: the handler would find
//! another PHP's state. It is therefore called when the coroutine that installed it resumes; until then only the signal's
//! data is kept.
//!
//! Off until [`defer_handlers`] is called. Invariants: whatever the trampoline calls is async-signal-safe; a signal that
//! arrives several times before its handler is called counts once, as a pending signal does.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use libc::{c_int, siginfo_t};

use super::handlers::{SIGNALS, bit, call_handler, owner, pack, signals};
use super::mask::with_signals_blocked;
use crate::CoroutineId;

static ON: AtomicBool = AtomicBool::new(false);
/// The coroutine that runs with its state in place, packed; 0 for none.
static RUNS: AtomicU64 = AtomicU64::new(0);
/// Signals that wait for their coroutine.
static WAITING: AtomicU64 = AtomicU64::new(0);

/// The kernel's information on each of them.
struct Told([UnsafeCell<siginfo_t>; SIGNALS]);

// SAFETY: written by the trampoline before the signal's bit is set in WAITING, read by the same thread with that signal
// blocked.
unsafe impl Sync for Told {}

// SAFETY: the all-zero siginfo_t is valid.
static TOLD: Told = Told([const { UnsafeCell::new(unsafe { std::mem::zeroed() }) }; SIGNALS]);

/// From here on a handler is called only while the coroutine that installed it runs.
pub fn defer_handlers() {
    ON.store(true, Ordering::Relaxed);
}

/// Called by the trampoline. Returns true if the handler is called later.
///
/// # Safety
/// `info` must be null or live; called inside the handler of `signal`.
pub unsafe fn postpone(signal: c_int, info: *const siginfo_t) -> bool {
    let Some(id) = owner(signal).filter(|_| ON.load(Ordering::Relaxed)) else { return false };
    if RUNS.load(Ordering::Relaxed) == pack(id) {
        return false;
    }
    // SAFETY: null or live by contract; the signal is blocked in its own handler, so no other code uses its
    // entry.
    unsafe {
        if let Some(info) = info.as_ref() {
            *TOLD.0[signal as usize].get() = *info;
        }
    }
    WAITING.fetch_or(bit(signal), Ordering::Relaxed);
    true
}

/// The coroutine leaves: its state may be put aside.
#[inline]
pub fn leaves() {
    if ON.load(Ordering::Relaxed) {
        RUNS.store(0, Ordering::Relaxed);
    }
}

/// The coroutine has resumed, or has installed a handler: it runs. Its pending handlers are called.
#[inline]
pub fn runs(id: CoroutineId) {
    if ON.load(Ordering::Relaxed) {
        RUNS.store(pack(id), Ordering::Relaxed);
        if WAITING.load(Ordering::Relaxed) != 0 {
            call_due(id);
        }
    }
}

#[cold]
fn call_due(id: CoroutineId) {
    for signal in signals(WAITING.load(Ordering::Relaxed)).filter(|&signal| owner(signal) == Some(id)) {
        with_signals_blocked(|| {
            WAITING.fetch_and(!bit(signal), Ordering::Relaxed);
            // SAFETY: no code writes it while signals are blocked; the handler is of the form its flags say.
            unsafe { call_handler(signal, TOLD.0[signal as usize].get(), std::ptr::null_mut()) };
        });
    }
}
