//! Which signals a child finds with their default actions, whatever this process does with them: a program keeps an ignored
//! signal ignored, and could not be ended.
//!
//! It must not know how a child is made. Invariant: every way of making one asks here.

use std::sync::atomic::{AtomicBool, Ordering};

use libc::c_int;

use crate::hook::signal::handlers;

/// Whether the process handles [`OWN`] itself.
static SIGNALS_ARE_OWN: AtomicBool = AtomicBool::new(false);

/// A server ignores or reads them; PHP catches them only to act as their default does, later, which is too late in a child
/// that has executed a program meanwhile.
const OWN: [c_int; 5] = [libc::SIGTERM, libc::SIGQUIT, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

/// Ignored in every mode, and by every child of a shell that runs in the background.
const IGNORED: [c_int; 3] = [libc::SIGPIPE, libc::SIGINT, libc::SIGXFSZ];

/// Declares that this process handles SIGTERM, SIGQUIT, SIGHUP, SIGUSR1 and SIGUSR2 itself: neither that they are
/// ignored nor a handler for one of them belongs to the code that starts a child, and no child keeps it.
pub fn signals_are_own() {
    SIGNALS_ARE_OWN.store(true, Ordering::Relaxed);
}

/// Those of a program that is started. What a script's user ignores stays ignored, as with nohup(1).
pub fn of_program() -> impl Iterator<Item = c_int> {
    let own = SIGNALS_ARE_OWN.load(Ordering::Relaxed);
    IGNORED.into_iter().chain(OWN.into_iter().filter(move |_| own))
}

/// Those of a forked child. PHP code that handles signals keeps its handlers.
pub fn of_fork() -> impl Iterator<Item = c_int> {
    let own = SIGNALS_ARE_OWN.load(Ordering::Relaxed);
    let kept = move |&signal: &c_int| own || (signal != libc::SIGQUIT && !handlers::has_handlers());
    IGNORED.into_iter().chain(OWN.into_iter().filter(kept))
}
