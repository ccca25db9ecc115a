//! fork and exec, the two calls that split or replace this process.
//!
//! Must not know what the child does, or what is handed over. Invariant: fork happens while the process has one
//! thread, so the child may do anything; exec keeps the blocked signals blocked, so none is lost in between.

#![allow(unsafe_code)]

use std::ffi::{CString, OsStr};
use std::io;

use rustix::process::Pid;

/// Which process this is after a fork.
#[derive(Debug)]
pub enum Forked {
    /// The new one.
    Child,
    /// The old one, and the new one's pid.
    Parent(Pid),
}

/// Splits the process.
///
/// # Errors
/// The kernel's error: process limit or memory (fork(2)).
pub fn fork() -> io::Result<Forked> {
    // SAFETY: the master has one thread up to here (logs are written directly, and the engine keeps no threads), so no
    // lock can be held by a thread that the child does not have.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        pid => Ok(Forked::Parent(Pid::from_raw(pid).expect("fork gives a positive pid"))),
    }
}

/// Becomes another program image in the same process. Returns only if that failed.
///
/// `std`'s `exec` is not used because it unblocks signals first: a SIGTERM between that and the new image's start
/// would end the server.
pub fn exec(program: &CString, arguments: &[CString], variables: &[CString]) -> io::Error {
    let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
        texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (argv, envp) = (pointers(arguments), pointers(variables));
    // SAFETY: both arrays are NULL-terminated and point to NUL-terminated strings that outlive the call.
    unsafe { libc::execve(program.as_ptr(), argv.as_ptr(), envp.as_ptr()) };
    io::Error::last_os_error()
}

/// Sets a variable of this process's environment.
pub fn set_variable(name: &str, value: &OsStr) {
    // SAFETY: called at the start of a forked child, when the process has one thread.
    unsafe { std::env::set_var(name, value) };
}

/// Removes a variable from this process's environment.
pub fn remove_variable(name: &str) {
    // SAFETY: called at the start of main and at the start of a forked child, when the process has one thread.
    unsafe { std::env::remove_var(name) };
}
