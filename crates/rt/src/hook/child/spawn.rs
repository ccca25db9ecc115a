//! popen, pclose and system, built on posix_spawn(3): libc's versions wait internally, where no hook can see it.
//!
//! The child starts with an empty signal mask and with default actions for the signals that the worker ignores. When a
//! time-out or a cancellation cuts the wait short, the child and its descendants get SIGTERM. They get it later, too, when
//! a stream is freed whose last wait was cut short: an exception may keep it until long after the interruption.
//!
//! Invariants: a stream made by [`popen`] is in [`STREAMS`] until its [`pclose`]; each holds an open descriptor, so
//! `RLIMIT_NOFILE` bounds them. Every child is either awaited or left to the loop ([`children`]).
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use libc::{FILE, c_char, c_int, pid_t};

use super::apart::kept_apart;
use super::signals::of_program;
use super::tree::abandon_child;
use super::{children, owner, posix_spawn, wait};
use crate::family::NOBODY;
use crate::hook::call::Call;
use crate::hook::descriptor::{self, close};
use crate::hook::errno::{errno, fail, set_errno};
use crate::hook::raw;
use crate::hook::real::real;

/// Streams of popen by address, with their processes.
static STREAMS: Mutex<Vec<(usize, pid_t)>> = Mutex::new(Vec::new());

fn streams() -> MutexGuard<'static, Vec<(usize, pid_t)>> {
    STREAMS.lock().unwrap_or_else(PoisonError::into_inner)
}

unsafe extern "C" {
    static environ: *const *mut c_char;
}

/// Starts `sh -c command`, with `pipe_end` as its descriptor `target` if there is one.
unsafe fn shell(
    call: Option<Call>,
    command: *const c_char,
    pipe_end: Option<(c_int, c_int)>,
) -> Result<pid_t, c_int> {
    let arguments = [c"sh".as_ptr(), c"-c".as_ptr(), command, std::ptr::null()];
    let mut pid = 0;
    // SAFETY: the all-zero objects are storage for the init functions, which are called before any other; both are
    // destroyed at the end. All pointers are to live values.
    unsafe {
        let mut actions: libc::posix_spawn_file_actions_t = std::mem::zeroed();
        let mut attributes: libc::posix_spawnattr_t = std::mem::zeroed();
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::posix_spawn_file_actions_init(&raw mut actions);
        libc::posix_spawnattr_init(&raw mut attributes);
        let flags = libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF;
        libc::posix_spawnattr_setflags(&raw mut attributes, flags as _);
        libc::sigemptyset(&raw mut signals);
        libc::posix_spawnattr_setsigmask(&raw mut attributes, &raw const signals);
        for signal in of_program() {
            libc::sigaddset(&raw mut signals, signal);
        }
        libc::posix_spawnattr_setsigdefault(&raw mut attributes, &raw const signals);
        if let Some((end, target)) = pipe_end {
            libc::posix_spawn_file_actions_adddup2(&raw mut actions, end, target);
        }
        if let Some(call) = call.filter(|_| kept_apart()) {
            posix_spawn::close_what_is_not_given(call, &raw mut actions);
        }
        let error = posix_spawn::real_posix_spawn()(
            &raw mut pid,
            c"/bin/sh".as_ptr(),
            &raw const actions,
            &raw const attributes,
            arguments.as_ptr().cast(),
            environ,
        );
        libc::posix_spawn_file_actions_destroy(&raw mut actions);
        libc::posix_spawnattr_destroy(&raw mut attributes);
        if error != 0 {
            return Err(error);
        }
    }
    children::started(call, pid);
    owner::inherited(call.and_then(|call| call.runtime.family()).unwrap_or(NOBODY), false);
    Ok(pid)
}

/// The stream's descriptor is closed on exec, with or without `e` in the mode: POSIX wants later children of popen not to
/// have it.
pub unsafe fn popen(call: Option<Call>, command: *const c_char, mode: *const c_char) -> *mut FILE {
    // SAFETY: a C string by the caller's contract.
    let mode = match unsafe { CStr::from_ptr(mode) }.to_bytes() {
        b"r" | b"re" | b"er" => c"r",
        b"w" | b"we" | b"ew" => c"w",
        _ => {
            set_errno(libc::EINVAL);
            return std::ptr::null_mut();
        }
    };
    let mut pipe = [0; 2];
    // SAFETY: room for two descriptors.
    if unsafe { raw::syscall!(SYS_pipe2, pipe.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
        return std::ptr::null_mut();
    }
    let (ours, theirs, target) = if mode == c"r" { (pipe[0], pipe[1], 1) } else { (pipe[1], pipe[0], 0) };
    // SAFETY: a C string by the caller's contract.
    let started = unsafe { shell(call, command, Some((theirs, target))) };
    // SAFETY: this end is the child's.
    unsafe { close::close(None, theirs) };
    let pid = match started {
        Ok(pid) => pid,
        Err(error) => return abandon(ours, error),
    };
    // SAFETY: an open descriptor and a valid mode.
    let file = unsafe { libc::fdopen(ours, mode.as_ptr()) };
    if file.is_null() {
        return abandon(ours, libc::ENOMEM);
    }
    let mut streams = streams();
    // An existing entry with this address belongs to a stream that was closed with fclose.
    streams.retain(|&(stream, _)| stream != file as usize);
    streams.push((file as usize, pid));
    file
}

fn abandon(fd: c_int, error: c_int) -> *mut FILE {
    // SAFETY: the descriptor is ours.
    unsafe { close::close(None, fd) };
    set_errno(error);
    std::ptr::null_mut()
}

pub unsafe fn pclose(call: Option<Call>, file: *mut FILE) -> c_int {
    let pid = {
        let mut streams = streams();
        let found = streams.iter().position(|&(stream, _)| stream == file as usize);
        found.map(|index| streams.swap_remove(index).1)
    };
    let Some(pid) = pid else {
        let real = real!(c"pclose": fn(*mut FILE) -> c_int);
        // SAFETY: by the caller's contract: libc knows the stream.
        return unsafe { real(file) };
    };
    // SAFETY: the stream is open by the caller's contract.
    let cut_short = descriptor::was_cut_short(unsafe { libc::fileno(file) });
    // SAFETY: the stream is open by the caller's contract.
    unsafe { close::fclose(None, file) };
    match call.filter(|call| cut_short && !call.runtime.switch.asks_for_status()) {
        Some(call) => status_or_end(call, pid),
        None => status_of(call, pid),
    }
}

/// The status of a child that has ended; others are told to end, and nobody waits for them.
fn status_or_end(call: Call, pid: pid_t) -> c_int {
    let mut status = 0;
    // SAFETY: `status` is live.
    match unsafe { wait::waitpid(Some(call), pid, &raw mut status, libc::WNOHANG) } {
        0 => {
            abandon_child(call, pid);
            fail(libc::ECANCELED) as c_int
        }
        -1 => -1,
        _ => status,
    }
}

/// Waits for a child and returns its status, or -1 with errno.
fn status_of(call: Option<Call>, pid: pid_t) -> c_int {
    let mut status = 0;
    loop {
        let ended = match call {
            Some(call) => wait::wait_for(call, pid, &mut status),
            // SAFETY: `status` is live.
            None => unsafe { wait::waitpid(None, pid, &raw mut status, 0) },
        };
        match ended {
            -1 if errno() == libc::EINTR => (),
            -1 => {
                if let Some(call) = call.filter(|_| errno() == libc::ECANCELED) {
                    abandon_child(call, pid);
                    set_errno(libc::ECANCELED);
                }
                return -1;
            }
            _ => return status,
        }
    }
}

/// In a coroutine, SIGINT, SIGQUIT and SIGCHLD of the worker stay as they are, because they belong to the
/// server.
pub unsafe fn system(call: Option<Call>, command: *const c_char) -> c_int {
    let Some(call) = call.filter(|_| !command.is_null()) else {
        let real = real!(c"system": fn(*const c_char) -> c_int);
        // SAFETY: by the caller's contract.
        return unsafe { real(command) };
    };
    // SAFETY: a C string by the caller's contract.
    match unsafe { shell(Some(call), command, None) } {
        Ok(pid) => status_of(Some(call), pid),
        Err(error) => fail(error) as c_int,
    }
}
