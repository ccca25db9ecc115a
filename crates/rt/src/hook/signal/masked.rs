//! The signal mask of ppoll, pselect and epoll_pwait. A mask applies to the whole thread, so it is not set while the
//! coroutine is parked. A signalfd tells when a signal is pending that only the mask lets through; the next attempt, made
//! with the mask, has the kernel run the handler and return `EINTR`.
#![allow(unsafe_code)]

use libc::{c_int, sigset_t};

use super::mask;
use super::signalfd::SignalFd;

/// A call's mask, and the descriptor to watch for it.
pub struct Masked {
    mask: Box<u64>,
    signals: Option<SignalFd>,
}

impl Masked {
    /// `None` for a call without a mask.
    ///
    /// # Safety
    /// `mask` must be null or live.
    pub unsafe fn new(mask: *const sigset_t) -> Option<Masked> {
        if mask.is_null() {
            return None;
        }
        // SAFETY: by contract.
        let mask = Box::new(unsafe { mask::mask_of(mask) });
        let let_through = mask::blocked_signals() & !*mask;
        // Without a descriptor such a signal waits for the next event.
        let signals = if let_through == 0 { None } else { SignalFd::new(let_through) };
        Some(Masked { mask, signals })
    }

    /// The mask for the attempt.
    pub fn mask(&self) -> *const sigset_t {
        std::ptr::from_ref(&*self.mask).cast()
    }

    /// A descriptor that is readable when a signal that the mask lets through is pending; -1 if there is none.
    pub fn signals(&self) -> c_int {
        self.signals.as_ref().map_or(-1, SignalFd::fd)
    }
}
