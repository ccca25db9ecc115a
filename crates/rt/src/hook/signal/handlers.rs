//! The handlers that coroutines installed, and the signals that have arrived.
//!
//! This is the lowest layer of the signals: it must not know waits, nor the hooks that fill it. Invariant: all of its
//! state is atomic, because a signal may arrive at any moment.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};

use libc::{c_int, c_void, siginfo_t};

use super::mask;
use crate::CoroutineId;
use crate::hook::raw;

/// The kernel's signals are 1 to 64 (signal(7)).
pub(super) const SIGNALS: usize = 65;

/// A signal's handler, as it was installed.
pub(super) struct Handler {
    pub address: AtomicUsize,
    pub flags: AtomicI32,
    /// The coroutine that installed it, packed; 0 for none.
    pub owner: AtomicU64,
}

pub(super) static HANDLERS: [Handler; SIGNALS] =
    [const { Handler { address: AtomicUsize::new(0), flags: AtomicI32::new(0), owner: AtomicU64::new(0) } };
        SIGNALS];

/// Signals that have arrived since the loop last checked: bit `n - 1` for signal `n`.
pub(super) static ARRIVED: AtomicU64 = AtomicU64::new(0);
/// Signals for which a coroutine has installed a handler: while it is 0, no wait is recorded.
pub(super) static OWNED: AtomicU64 = AtomicU64::new(0);
/// The eventfd that wakes the loop; -1 without one.
pub(super) static WAKER: AtomicI32 = AtomicI32::new(-1);
/// The thread that runs the loop, and with it all handlers; 0 without a loop.
pub(super) static LOOP_THREAD: AtomicI32 = AtomicI32::new(0);
pub(super) fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

pub(super) fn pack(id: CoroutineId) -> u64 {
    u64::from(id.index) << 32 | u64::from(id.generation)
}

pub(super) fn owner(signal: c_int) -> Option<CoroutineId> {
    let word = HANDLERS[signal as usize].owner.load(Ordering::Relaxed);
    (word != 0).then_some(CoroutineId { index: (word >> 32) as u32, generation: word as u32 })
}

pub(super) fn signals(set: u64) -> impl Iterator<Item = c_int> {
    (1..SIGNALS as c_int).filter(move |&signal| set & bit(signal) != 0)
}

/// Whether a coroutine has installed a handler that is still there: a signal may then end waits that nothing else can
/// end.
pub fn has_handlers() -> bool {
    OWNED.load(Ordering::Relaxed) != 0
}

/// Sets the descriptor that wakes the loop, and records which signals belong to the server. Called once, when
/// the runtime starts.
pub(crate) fn start(waker: c_int) {
    mask::reserve_blocked();
    WAKER.store(waker, Ordering::Relaxed);
    // SAFETY: it takes nothing.
    LOOP_THREAD.store(unsafe { raw::syscall!(SYS_gettid) } as c_int, Ordering::Relaxed);
}

/// A forked child has no loop.
pub(crate) fn forget() {
    WAKER.store(-1, Ordering::Relaxed);
    LOOP_THREAD.store(0, Ordering::Relaxed);
    OWNED.store(0, Ordering::Relaxed);
}

/// Calls the handler as the kernel would.
///
/// # Safety
/// `info` and `context` must be what a handler with the flags of this one expects.
pub(super) unsafe fn call_handler(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let handler = &HANDLERS[signal as usize];
    let address = handler.address.load(Ordering::Relaxed);
    if address == libc::SIG_DFL || address == libc::SIG_IGN {
        return; // being replaced at this moment
    }
    // SAFETY: the address is a handler of the form its flags say (sigaction(2)).
    unsafe {
        if handler.flags.load(Ordering::Relaxed) & libc::SA_SIGINFO != 0 {
            let handle: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = std::mem::transmute(address);
            handle(signal, info, context);
        } else {
            let handle: extern "C" fn(c_int) = std::mem::transmute(address);
            handle(signal);
        }
    }
}
