//! The registry of children that coroutines started: the family of each child, and the reaping of abandoned ones.
//!
//! A cut-short wait, or the end of a family, leaves a child that would stay in the process table until this process ends.
//! The loop watches such a child through a descriptor (pidfd_open(2)), reaps it when it ends, and keeps its status for a
//! later wait: by an object that outlives its request, or by code that waits twice.
//!
//! It must not know how a child is started. It installs no handler for SIGCHLD, which belongs to the application.
//! Invariants: while code waits for a child, or is expected to, the kernel keeps the status; a status is handed out once;
//! a reused process number belongs to the new child only. `RLIMIT_NPROC` bounds the children, [`ENDED_MAX`] the statuses.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::{c_int, pid_t, rusage};

use crate::Runtime;
use crate::family::{EVERYBODY, Family};
use crate::hook::call::Call;
use crate::hook::errno::{errno, set_errno};
use crate::hook::raw;
use crate::runtime::CHILD_KEY;

/// The number of statuses kept. Beyond that the oldest is dropped.
const ENDED_MAX: usize = 1024;

struct Child {
    pid: pid_t,
    family: Family,
    /// When the loop watches it.
    pidfd: Option<OwnedFd>,
    /// No code knows its number, so nothing will ask for its status.
    forgotten: bool,
}

/// How a child has ended.
pub struct Ended {
    pub pid: pid_t,
    family: Family,
    pub status: c_int,
    pub usage: rusage,
}

thread_local! {
    static CHILDREN: RefCell<Vec<Child>> = const { RefCell::new(Vec::new()) };
    /// How many of them the loop does not watch.
    static UNWATCHED: Cell<usize> = const { Cell::new(0) };
    static ENDED: RefCell<VecDeque<Ended>> = const { RefCell::new(VecDeque::new()) };
}

/// A coroutine has started a child.
pub fn started(call: Option<Call>, pid: pid_t) {
    let Some(family) = call.and_then(|call| call.runtime.family()) else { return };
    ENDED.with_borrow_mut(|ended| ended.retain(|ended| ended.pid != pid));
    waited(pid); // by a call that no hook has seen: the number has been free since then
    add(pid, family);
}

/// The status of a child has been collected: it is gone.
pub fn waited(pid: pid_t) {
    let found = CHILDREN.with_borrow_mut(|children| {
        let at = children.iter().position(|child| child.pid == pid)?;
        Some(children.swap_remove(at))
    });
    match found.map(|child| child.pidfd) {
        Some(Some(pidfd)) => stop_watching(&pidfd),
        Some(None) => UNWATCHED.set(UNWATCHED.get() - 1),
        None => (),
    }
}

/// Children that were started before families were kept apart: every family may wait for them.
pub fn of_the_beginning(pids: impl IntoIterator<Item = pid_t>) {
    pids.into_iter().for_each(|pid| add(pid, EVERYBODY));
}

fn add(pid: pid_t, family: Family) {
    CHILDREN.with_borrow_mut(|children| {
        children.push(Child { pid, family, pidfd: None, forgotten: false });
    });
    UNWATCHED.set(UNWATCHED.get() + 1);
}

/// The wait for this child was given up. `forgotten`: no code knows its number, so none will wait for it again.
pub fn abandoned(runtime: &Runtime, pid: pid_t, forgotten: bool) {
    if CHILDREN.with_borrow(|children| children.iter().all(|child| child.pid != pid)) {
        add(pid, EVERYBODY); // a command whose stream was opened during the boot
    }
    CHILDREN.with_borrow_mut(|children| {
        if let Some(child) = children.iter_mut().find(|child| child.pid == pid) {
            child.forgotten |= forgotten;
            watch(runtime, child);
        }
    });
}

/// A job has ended: the children of ended families are abandoned.
#[inline]
pub fn job_ended(runtime: &Runtime) {
    if UNWATCHED.get() > 0 {
        watch_those_left(runtime);
    }
}

#[cold]
fn watch_those_left(runtime: &Runtime) {
    let live = runtime.live_families();
    CHILDREN.with_borrow_mut(|children| {
        let left = |child: &&mut Child| live.binary_search(&child.family).is_err();
        children.iter_mut().filter(left).for_each(|child| watch(runtime, child));
    });
}

/// From here on the loop watches the child. If there is no descriptor for that, the end of the next job tries again.
fn watch(runtime: &Runtime, child: &mut Child) {
    if child.pidfd.is_some() {
        return;
    }
    let saved = errno();
    // SAFETY: it takes numbers. The descriptor is closed on exec.
    let pidfd = unsafe { raw::syscall!(SYS_pidfd_open, child.pid, 0) } as c_int;
    set_errno(saved);
    if pidfd < 0 {
        return;
    }
    // SAFETY: it has just been opened, and no other code knows it.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    let key = CHILD_KEY + pidfd.as_raw_fd() as u64;
    if runtime.with_reactor(|reactor| reactor.add(pidfd.as_raw_fd(), key)).is_ok() {
        child.pidfd = Some(pidfd);
        UNWATCHED.set(UNWATCHED.get() - 1);
    }
}

fn stop_watching(pidfd: &OwnedFd) {
    if let Some(runtime) = Runtime::get() {
        // It is registered for as long as it is open.
        let _ = runtime.with_reactor(|reactor| reactor.delete(pidfd.as_raw_fd()));
    }
}

/// An event of the reactor: a child that the loop watches has ended.
pub fn ended(pidfd: c_int) {
    let of_it = |child: &&Child| child.pidfd.as_ref().is_some_and(|fd| fd.as_raw_fd() == pidfd);
    let found = CHILDREN.with_borrow(|children| {
        children.iter().find(of_it).map(|child| (child.pid, child.family, child.forgotten))
    });
    let Some((pid, family, forgotten)) = found else { return };
    let mut status = 0;
    // SAFETY: the all-zero rusage is valid storage.
    let mut usage: rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both results are live.
    let result = unsafe { raw::syscall!(SYS_wait4, pid, &raw mut status, libc::WNOHANG, &raw mut usage) };
    if result == 0 {
        return;
    }
    waited(pid);
    if result > 0 && !forgotten {
        ENDED.with_borrow_mut(|ended| {
            if ended.len() == ENDED_MAX {
                ended.pop_front();
            }
            ended.push_back(Ended { pid, family, status, usage });
        });
    }
}

/// How the child of this number ended, or, for -1, any child that [`not_others`] admits. Each status is handed out once.
pub fn take_ended(runtime: &Runtime, pid: pid_t) -> Option<Ended> {
    ENDED.with_borrow_mut(|ended| {
        if ended.is_empty() || pid < -1 || pid == 0 {
            return None;
        }
        let not_others = not_others(runtime);
        let at = ended
            .iter()
            .position(|ended| if pid > 0 { ended.pid == pid } else { not_others(ended.family) })?;
        ended.remove(at)
    })
}

/// The children for which the running coroutine's family may wait without naming them.
pub fn any(runtime: &Runtime) -> Vec<pid_t> {
    let not_others = not_others(runtime);
    CHILDREN.with_borrow(|children| {
        children.iter().filter(|child| not_others(child.family)).map(|child| child.pid).collect()
    })
}

/// Whether the running coroutine may wait for a family's children: not for those of other live families, which wait for
/// their children themselves. The children of an ended family are everyone's, as in a process that serves one request
/// after another.
fn not_others(runtime: &Runtime) -> impl Fn(Family) -> bool {
    let (own, live) = (runtime.family(), runtime.live_families());
    move |family| own == Some(family) || live.binary_search(&family).is_err()
}

/// In a forked child: these are its parent's children.
pub fn forget() {
    UNWATCHED.set(0);
    // Their descriptors are closed on exec; closing them here would require the loop.
    CHILDREN.with_borrow_mut(|children| std::mem::take(children).into_iter().for_each(std::mem::forget));
    ENDED.with_borrow_mut(VecDeque::clear);
}
