//! Waiting for resources that have no readiness: file locks, semaphores, message queues. The attempt is repeated after
//! pauses, because other processes may release the resource; a release in this thread wakes a waiter at once.
//!
//! It must not know more of a resource than its identity. Invariants: waiters for one file get its lock in the order of
//! arrival, and only the first of them tries; a waiter that leaves, with or without the lock, wakes the next, so a wake is
//! never lost with a cancelled coroutine.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use libc::c_int;

use super::resource::Resource;
use super::whole;
use crate::Wait;
use crate::hook::backoff::Backoff;
use crate::hook::call::{Call, Stop};
use crate::hook::errno::{errno, fail, set_errno};
use crate::{Nanos, Readiness, Runtime};

struct Waiter {
    resource: Resource,
    ticket: u64,
    wait: Option<Wait>,
}

/// The waiters, in the order in which they came. Each is a parked coroutine, so `coroutines_max` limits them.
#[derive(Default)]
struct Waiters {
    queue: VecDeque<Waiter>,
    next_ticket: u64,
}

thread_local! {
    static WAITERS: RefCell<Waiters> = RefCell::default();
    /// Their number: a release costs nothing while it is 0.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// Whether a coroutine waits, so that it is worth finding out what is freed.
#[inline]
pub fn anybody_waits() -> bool {
    COUNT.get() > 0
}

/// Whether a coroutine waits for the lock on the file behind `fd`.
pub fn is_waited_for(fd: c_int) -> bool {
    anybody_waits() && {
        let file = Resource::of_file(fd);
        WAITERS.with_borrow(|waiters| waiters.queue.iter().any(|waiter| waiter.resource == file))
    }
}

/// The lock on the file behind `fd` may be free.
pub fn file_freed(fd: c_int) {
    if anybody_waits() {
        wake(Resource::of_file(fd), 1);
    }
}

/// A resource was freed that several waiters may get, or that some of them cannot use.
pub fn freed(resource: Resource) {
    if anybody_waits() {
        wake(resource, usize::MAX);
    }
}

fn wake(resource: Resource, at_most: usize) {
    let Some(runtime) = Runtime::get() else { return };
    let waits: Vec<Wait> = WAITERS.with_borrow(|waiters| {
        let waiting = waiters.queue.iter().filter(|waiter| waiter.resource == resource);
        waiting.filter_map(|waiter| waiter.wait).take(at_most).collect()
    });
    for wait in waits {
        if at_most == 1 {
            runtime.wake_first(wait); // nobody else may take it before him
        } else {
            runtime.wake(wait, Readiness::default());
        }
    }
}

/// A place in the line.
struct Place {
    resource: Resource,
    ticket: u64,
}

impl Place {
    fn take(resource: Resource) -> Place {
        COUNT.set(COUNT.get() + 1);
        let ticket = WAITERS.with_borrow_mut(|waiters| {
            waiters.next_ticket += 1;
            let ticket = waiters.next_ticket;
            waiters.queue.push_back(Waiter { resource, ticket, wait: None });
            ticket
        });
        Place { resource, ticket }
    }

    fn set(&self, wait: Option<Wait>) {
        WAITERS.with_borrow_mut(|waiters| {
            if let Some(waiter) = waiters.queue.iter_mut().find(|waiter| waiter.ticket == self.ticket) {
                waiter.wait = wait;
            }
        });
    }

    /// Whether it may try: waiters of a file take turns; for everything else all try.
    fn tries(&self) -> bool {
        let first = |waiters: &Waiters| {
            waiters.queue.iter().find(|waiter| waiter.resource == self.resource).map(|waiter| waiter.ticket)
        };
        !matches!(self.resource, Resource::File(..)) || WAITERS.with_borrow(first) == Some(self.ticket)
    }

    /// Pauses until the next attempt.
    fn pause(&self, mut call: Call, backoff: &mut Backoff, deadline: Option<Nanos>) -> Result<(), Stop> {
        loop {
            let backoff = self.tries().then_some(&mut *backoff);
            let paused = call.pause_for(backoff, deadline, |wait| self.set(Some(wait)));
            self.set(None);
            if paused.is_err() || self.tries() {
                return paused;
            }
            call = call.again();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        COUNT.set(COUNT.get() - 1);
        WAITERS.with_borrow_mut(|waiters| waiters.queue.retain(|waiter| waiter.ticket != self.ticket));
        wake(self.resource, 1);
    }
}

/// Repeats `attempt` while it fails with one of `busy`, and pauses in between.
pub fn until_free(
    mut call: Call,
    resource: impl FnOnce() -> Resource,
    busy: &[c_int],
    deadline: Option<Nanos>,
    mut attempt: impl FnMut() -> isize,
    block: impl FnOnce() -> isize,
) -> isize {
    let saved = errno();
    let result = attempt();
    if result >= 0 || !busy.contains(&errno()) {
        return result;
    }
    if call.must_block() {
        return block();
    }
    let resource = resource();
    if matches!(resource, Resource::File(..)) {
        whole::waited_for(resource);
    }
    let place = Place::take(resource);
    let mut backoff = Backoff::new();
    loop {
        match place.pause(call, &mut backoff, deadline) {
            Ok(()) => call = call.again(),
            Err(Stop::Expired) => return fail(libc::EAGAIN),
            Err(Stop::Failed(errno)) => return fail(errno),
        }
        let result = attempt();
        if result >= 0 {
            set_errno(saved);
            return result;
        }
        if !busy.contains(&errno()) {
            return result;
        }
    }
}
