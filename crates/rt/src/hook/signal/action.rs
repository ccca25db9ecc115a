//! Installing handlers: sigaction, signal; blocking signals: sigprocmask.
//!
//! The kernel gets the trampoline in place of the handler, and the installing coroutine is recorded. Invariant: signals
//! that report a fault of the running instruction, and PHP's execution timer, are installed unchanged.
#![allow(unsafe_code)]

use std::sync::atomic::Ordering;

use libc::{c_int, sigaction as Sigaction, sighandler_t, sigset_t};

use super::deferred;
use super::handlers::{HANDLERS, OWNED, SIGNALS, bit, pack};
use super::mask::keep_faults;
use super::trampoline::trampoline;
use crate::CoroutineId;
use crate::hook::call::Call;
use crate::hook::real::real;

/// Faults of the running instruction, and the timer of `max_execution_time`: they interrupt no wait.
const UNTOUCHED: [c_int; 8] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
    libc::SIGPROF,
];

pub unsafe fn sigaction(
    call: Option<Call>,
    signal: c_int,
    new: *const Sigaction,
    old: *mut Sigaction,
) -> c_int {
    let real = real!(c"sigaction": fn(c_int, *const Sigaction, *mut Sigaction) -> c_int);
    if !(1..SIGNALS as c_int).contains(&signal) || UNTOUCHED.contains(&signal) {
        // SAFETY: by the caller's contract.
        return unsafe { real(signal, new, old) };
    }
    let handler = &HANDLERS[signal as usize];
    let before = (handler.address.load(Ordering::Relaxed), handler.flags.load(Ordering::Relaxed));
    // SAFETY: null or live by the caller's contract.
    let given = unsafe { new.as_ref() };
    let installs = given.filter(|new| new.sa_sigaction != libc::SIG_DFL && new.sa_sigaction != libc::SIG_IGN);
    let mut installed = installs.copied();
    if let Some(new) = &mut installed {
        handler.address.store(new.sa_sigaction, Ordering::Relaxed);
        handler.flags.store(new.sa_flags, Ordering::Relaxed);
        new.sa_sigaction = trampoline as *const () as sighandler_t;
        new.sa_flags |= libc::SA_SIGINFO;
        keep_faults(&mut new.sa_mask);
    }
    // SAFETY: `installed` is live; all else by the caller's contract.
    let result = unsafe { real(signal, installed.as_ref().map_or(new, std::ptr::from_ref), old) };
    if result != 0 {
        handler.address.store(before.0, Ordering::Relaxed);
        handler.flags.store(before.1, Ordering::Relaxed);
        return result;
    }
    if given.is_some() {
        own(signal, installs.and(call).and_then(|call| call.runtime.current()));
    }
    // SAFETY: null or live by the caller's contract, and just written.
    if let Some(old) = unsafe { old.as_mut() }
        && old.sa_sigaction == trampoline as *const () as sighandler_t
    {
        old.sa_sigaction = before.0;
        old.sa_flags = old.sa_flags & !libc::SA_SIGINFO | before.1 & libc::SA_SIGINFO;
    }
    result
}

fn own(signal: c_int, id: Option<CoroutineId>) {
    HANDLERS[signal as usize].owner.store(id.map_or(0, pack), Ordering::Relaxed);
    match id {
        Some(id) => {
            deferred::runs(id);
            OWNED.fetch_or(bit(signal), Ordering::Relaxed)
        }
        None => OWNED.fetch_and(!bit(signal), Ordering::Relaxed),
    };
}

/// Faults that are resolved stay unblocked: the kernel would end the process.
pub unsafe fn sigprocmask(_: Option<Call>, how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int {
    let real = real!(c"sigprocmask": fn(c_int, *const sigset_t, *mut sigset_t) -> c_int);
    // SAFETY: null or live by the caller's contract.
    let mut set = unsafe { new.as_ref() }.copied();
    if let Some(set) = set.as_mut().filter(|_| how != libc::SIG_UNBLOCK) {
        keep_faults(set);
    }
    // SAFETY: `set` is live; all else by the caller's contract.
    unsafe { real(how, set.as_ref().map_or(std::ptr::null(), std::ptr::from_ref), old) }
}

/// signal(2) as glibc has it: the handler stays installed, and system calls are restarted.
pub unsafe fn signal(call: Option<Call>, number: c_int, address: sighandler_t) -> sighandler_t {
    // SAFETY: the all-zero sigaction is valid storage.
    let (mut new, mut old): (Sigaction, Sigaction) = unsafe { std::mem::zeroed() };
    new.sa_sigaction = address;
    new.sa_flags = libc::SA_RESTART;
    // SAFETY: both are live.
    unsafe {
        libc::sigaddset(&raw mut new.sa_mask, number);
        if sigaction(call, number, &raw const new, &raw mut old) != 0 {
            return libc::SIG_ERR;
        }
    }
    old.sa_sigaction
}
