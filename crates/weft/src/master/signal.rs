//! The signals of master and worker.
//!
//! Must not know what a signal leads to. Invariant: the master's signals are blocked from start to end and only read
//! from a descriptor, so no handler ever interrupts anything; a worker starts with none blocked.

#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::worker::lost;

/// The signals that the master handles.
const TAKEN: [i32; 6] =
    [libc::SIGTERM, libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGUSR1, libc::SIGCHLD];

/// A descriptor from which signals are read.
#[derive(Debug)]
pub struct Signals(OwnedFd);

impl Signals {
    /// Blocks the master's signals and opens the descriptor.
    ///
    /// # Errors
    /// The kernel's error, if no descriptor is left.
    pub fn take() -> io::Result<Self> {
        let set = mask(libc::SIG_BLOCK);
        // SAFETY: the set is initialised; -1 asks for a new descriptor.
        let fd = unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: signalfd has just returned this descriptor, and no other code owns it.
        Ok(Signals(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// The descriptor to watch for readability.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// The next pending signal's number.
    pub fn next(&self) -> Option<i32> {
        let mut packet = [0u8; size_of::<libc::signalfd_siginfo>()];
        // ssi_signo is the structure's first field (signalfd(2)).
        match rustix::io::read(&self.0, &mut packet) {
            Ok(_) => Some(u32::from_ne_bytes([packet[0], packet[1], packet[2], packet[3]]) as i32),
            Err(_) => None,
        }
    }
}

fn mask(how: i32) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the set before it is read; the numbers are valid; the last argument may be NULL.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in TAKEN {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(how, set.as_ptr(), std::ptr::null_mut());
        set.assume_init()
    }
}

/// A worker's signals. Those that a terminal sends to the whole group concern the master, so they are ignored here; the
/// others get their default action; none is blocked.
///
/// `orphan_grace_s` is how long the worker may outlive its master. An orphan notices the closed control end and drains;
/// the signal is for a worker that is stuck and never checks.
pub fn prepare_worker(orphan_grace_s: u32) {
    let set = |signal, action: libc::sighandler_t| {
        // SAFETY: SIG_IGN and SIG_DFL are valid actions.
        unsafe { libc::signal(signal, action) };
    };
    set(libc::SIGINT, libc::SIG_IGN);
    set(libc::SIGQUIT, libc::SIG_IGN);
    set(libc::SIGHUP, libc::SIG_IGN);
    set(libc::SIGTERM, libc::SIG_IGN);
    set(libc::SIGCHLD, libc::SIG_DFL);
    set(libc::SIGUSR1, libc::SIG_IGN);
    lost::prepare(orphan_grace_s);
    mask(libc::SIG_UNBLOCK);
    let signal = rustix::process::Signal::from_named_raw(lost::LOST);
    // This fails only for an invalid signal number; the closed control end still works.
    let _ = rustix::process::set_parent_process_death_signal(signal);
}
