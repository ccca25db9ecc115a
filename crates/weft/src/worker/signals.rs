//! The process itself: its signals, as readable events, and its end.
//!
//! SIGTERM and SIGQUIT drain it. SIGINT and SIGHUP concern the master; a terminal sends them to the whole process
//! group, so here they are read and ignored.
//!
//! Invariant: they stay blocked, whatever handlers PHP installs (zend_signal takes TERM, INT, HUP and USR1 at each
//! request), so none of them ever interrupts PHP code.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// SIGUSR2 is not among them: with it the kernel tells a worker that its master has died (`super::lost`).
const TAKEN: [libc::c_int; 5] = [libc::SIGTERM, libc::SIGQUIT, libc::SIGINT, libc::SIGHUP, libc::SIGUSR1];

/// The blocked signals of this process, as a descriptor.
#[derive(Debug)]
pub struct Signals(OwnedFd);

impl Signals {
    /// Blocks them and opens the descriptor.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub fn block() -> Result<Signals, String> {
        weft_rt::hook::signals_are_own();
        // SAFETY: sigemptyset initialises the set before it is used; the descriptor is new, and no other code owns it.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in TAKEN {
                libc::sigaddset(&raw mut set, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
                -1 => Err(format!("no descriptor for signals: {}", std::io::Error::last_os_error())),
                fd => Ok(Signals(OwnedFd::from_raw_fd(fd))),
            }
        }
    }

    /// The descriptor, to be watched for readability.
    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Reads the signals that arrived; returns true if the worker must drain.
    pub fn take(&self) -> bool {
        let mut drain = false;
        let mut info = [0u8; size_of::<libc::signalfd_siginfo>()];
        while rustix::io::read(&self.0, &mut info).is_ok_and(|length| length == info.len()) {
            // ssi_signo is the first field (signalfd(2)).
            let signal = i32::from_ne_bytes([info[0], info[1], info[2], info[3]]);
            drain |= signal == libc::SIGTERM || signal == libc::SIGQUIT;
        }
        drain
    }
}

/// Ends the process without running exit handlers.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: ends the process; nothing runs after it.
    unsafe { libc::_exit(status) }
}

/// What the main thread of a process (a pid, or "self") is doing outside of interpreted PHP code (proc_pid_syscall(5),
/// proc_pid_wchan(5)).
pub fn busy_with(process: &str) -> String {
    blocked_in(process)
        .unwrap_or_else(|| "it computes, in a C function or in code compiled by the JIT".to_owned())
}

/// The same, where it waits in a system call.
pub fn blocked_in(process: &str) -> Option<String> {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{process}/{name}")).unwrap_or_default();
    let syscall = read("syscall");
    match syscall.split(' ').next().unwrap_or_default().trim() {
        "running" | "" => None,
        number => Some(format!(
            "it is blocked in system call {number} ({}), which no hook made cooperative",
            read("wchan")
        )),
    }
}
