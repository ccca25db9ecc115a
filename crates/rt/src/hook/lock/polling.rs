//! Sleeps between two attempts at a record lock: SQLite's busy handler, which counts its sleeps against the timeout.
//!
//! SQLite sleeps when a lock is taken, up to 100 ms at a time, and then tries again. While a coroutine of this process
//! holds the lock, such a sleep ends when the lock is freed: those that poll get it in the order in which they came,
//! instead of whoever happens to wake first. While another process holds it, the first of them looks every millisecond
//! whether it is free. A sleep never takes longer than it was meant to, and never ends early for a lock that is taken
//! again, because each ended sleep counts against the timeout.
//!
//! It must not know what is locked. Only sleeps that SQLite's own library makes are ended early (`caller`). It does not say
//! which lock it waits for, so a coroutine is woken for any; after it was woken in vain, not soon for that one again.
//! Invariant: an entry belongs to a live coroutine, and has a wait only while the coroutine is parked here.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use libc::{c_int, timespec, useconds_t};

use super::record::{self, Range};
use crate::hook::call::Call;
use crate::hook::caller;
use crate::hook::errno::{errno, fail, set_errno};
use crate::hook::raw;
use crate::hook::time::sleep;
use crate::hook::time::timespec::span_of;
use crate::{CoroutineId, MILLISECOND, Nanos, Runtime, SECOND, Wait, clock};

/// SQLite's longest sleep is 100 ms; where it has no shorter ones than a second, that.
const SLEEP_MAX: Nanos = SECOND;
/// A coroutine that has not polled for so long has given up, or has the lock.
const STALE: Nanos = SECOND;
/// A coroutine that sleeps again so soon after it was woken has tried in vain.
const IN_VAIN: Nanos = MILLISECOND;
/// A coroutine that was woken for a lock in vain is not woken for it again for so long.
const NOT_AGAIN: Nanos = 100 * MILLISECOND;
/// The pause of the first that polls for a lock of another process.
const LOOK: Nanos = MILLISECOND;
/// Coroutines pass a lock on among themselves for so long; then other processes have a chance to get it, ...
const CHAIN: Nanos = 100 * MILLISECOND;
/// ... for so long.
const GAP: Nanos = 3 * MILLISECOND;

/// Locks that are known to be polled for, the oldest forgotten first: a coroutine that gets one by itself no longer waits.
const CONTENDED_MAX: usize = 64;

struct Poller {
    id: CoroutineId,
    /// When it polled last.
    seen: Nanos,
    wait: Option<Wait>,
    /// What was freed when it was woken.
    woken: Option<(Range, Nanos)>,
    /// What it does not seem to wait for, and since when.
    not: Vec<(Range, Nanos)>,
}

/// What another process holds.
#[derive(Clone, Copy)]
struct Refused {
    id: CoroutineId,
    fd: c_int,
    lock: libc::flock,
}

thread_local! {
    /// In the order in which they came. Each is a coroutine, so `coroutines_max` limits them.
    static POLLERS: RefCell<Vec<Poller>> = const { RefCell::new(Vec::new()) };
    static COUNT: Cell<usize> = const { Cell::new(0) };
    /// Locks that pollers were left and took.
    static CONTENDED: RefCell<VecDeque<Range>> = const { RefCell::new(VecDeque::new()) };
    static REFUSED: Cell<Option<Refused>> = const { Cell::new(None) };
    /// When the coroutines of this process began to pass on locks without a gap, and did so last.
    static PASSED: Cell<(Nanos, Nanos)> = const { Cell::new((0, 0)) };
}

#[inline]
pub fn somebody_polls() -> bool {
    COUNT.get() > 0
}

fn change<T>(work: impl FnOnce(&mut Vec<Poller>) -> T) -> T {
    POLLERS.with_borrow_mut(|pollers| {
        let result = work(pollers);
        COUNT.set(pollers.len());
        result
    })
}

/// Another process holds a lock that this coroutine asked for.
pub fn refused(id: CoroutineId, fd: c_int, lock: &libc::flock) {
    REFUSED.set(Some(Refused { id, fd, lock: *lock }));
}

/// The coroutine has got a lock. If that is the one it waited for, its place in the line is free. SQLite takes others
/// on its way to each attempt.
pub fn succeeded(id: CoroutineId, range: Range) {
    if !somebody_polls() {
        return;
    }
    let waited_for = |poller: &mut Poller| poller.woken.is_some_and(|(freed, _)| freed == range);
    let told = with(id, waited_for) == Some(true);
    if told || CONTENDED.with_borrow(|contended| contended.contains(&range)) {
        change(|pollers| pollers.retain(|poller| poller.id != id));
    }
    if told {
        CONTENDED.with_borrow_mut(|contended| {
            contended.retain(|known| *known != range);
            contended.push_back(range);
            if contended.len() > CONTENDED_MAX {
                contended.pop_front();
            }
        });
    }
}

pub fn forget_ended(runtime: &Runtime) {
    change(|pollers| pollers.retain(|poller| runtime.since(poller.id).is_some()));
}

/// `holder` has freed a lock: the first that polls may have it.
pub fn freed(range: Range, holder: CoroutineId) {
    let Some(runtime) = Runtime::get().filter(|_| somebody_polls()) else { return };
    let now = clock::now();
    let wait = change(|pollers| {
        let waits = |poller: &&mut Poller| {
            poller.wait.is_some()
                && poller.id != holder
                && !poller.not.iter().any(|(not, since)| *not == range && now - since < NOT_AGAIN)
                && !record::held_by_another(&range, poller.id)
        };
        let first = pollers.iter_mut().find(waits)?;
        first.woken = Some((range, now));
        first.wait.take()
    });
    if let Some(wait) = wait {
        runtime.wake_first(wait);
    }
}

/// The coroutine's place in the line: a new one, or the one that it has had since its first sleep.
fn enter_line(id: CoroutineId) {
    let now = clock::now();
    change(|pollers| {
        pollers.retain(|poller| poller.id != id || now - poller.seen < STALE);
        let Some(poller) = pollers.iter_mut().find(|poller| poller.id == id) else {
            pollers.push(Poller { id, seen: now, wait: None, woken: None, not: Vec::new() });
            return;
        };
        poller.seen = now;
        if let Some((range, at)) = poller.woken.take()
            && now - at < IN_VAIN
        {
            poller.not.retain(|(not, _)| *not != range);
            poller.not.push((range, now));
        }
    });
}

fn with<T>(id: CoroutineId, work: impl FnOnce(&mut Poller) -> T) -> Option<T> {
    change(|pollers| pollers.iter_mut().find(|poller| poller.id == id).map(work))
}

fn is_first(id: CoroutineId) -> bool {
    POLLERS.with_borrow(|pollers| {
        pollers
            .iter()
            .find(|poller| poller.wait.is_some() || poller.id == id)
            .is_some_and(|first| first.id == id)
    })
}

/// Whether the lock that another process held could be taken now.
fn is_free(refused: &Refused) -> bool {
    let (mut lock, saved) = (refused.lock, errno());
    let result = raw::fcntl(refused.fd, libc::F_GETLK, (&raw mut lock).addr());
    set_errno(saved);
    result != 0 || c_int::from(lock.l_type) == libc::F_UNLCK
}

/// The gap that other processes get, if it is time for one.
fn gap(now: Nanos) -> bool {
    let (began, last) = PASSED.get();
    let goes_on = now - last < STALE && now - began < CHAIN;
    PASSED.set((if goes_on { began } else { now }, now));
    !goes_on && now - last < STALE
}

/// Sleeps for `span`, or until the lock is free; what usleep(3) and nanosleep(2) return.
fn until_freed(call: Call, id: CoroutineId, span: Nanos) -> c_int {
    match wait(call, id, clock::now().saturating_add(span)) {
        Ok(()) => 0,
        Err(error) => fail(error) as c_int,
    }
}

fn wait(mut call: Call, id: CoroutineId, deadline: Nanos) -> Result<(), c_int> {
    let elsewhere = REFUSED.take().filter(|refused| refused.id == id);
    enter_line(id);
    loop {
        let now = clock::now();
        let look = elsewhere.filter(|_| is_first(id)).map(|_| now + LOOK);
        let until = look.unwrap_or(deadline).min(deadline);
        let result = call.pause_until(until, |wait| {
            with(id, |poller| poller.wait = Some(wait));
        });
        call = call.again();
        let now = clock::now();
        let woken = with(id, |poller| {
            (poller.wait, poller.seen) = (None, now);
            poller.woken
        });
        if result.is_err() || now >= deadline {
            return result;
        }
        if let Some((range, _)) = woken.flatten() {
            if record::held_by_another(&range, id) {
                with(id, |poller| poller.woken = None);
                continue;
            }
            if gap(now) {
                call.pause_until(deadline.min(now + GAP), |_| ())?;
            }
            with(id, |poller| poller.woken = Some((range, clock::now())));
            return Ok(());
        }
        if elsewhere.as_ref().is_some_and(is_free) {
            return Ok(());
        }
    }
}

/// The coroutine, if this is a sleep between two attempts at a lock that others hold.
fn poller(call: Option<Call>, span: Nanos) -> Option<(Call, CoroutineId)> {
    let call = call.filter(|_| record::somebody_holds_up() || REFUSED.get().is_some())?;
    let id = call.runtime.current()?;
    let waits = record::somebody_holds_up() || REFUSED.get().is_some_and(|refused| refused.id == id);
    // A holder waits for readers, of whom nothing is known.
    let polls = waits
        && span <= SLEEP_MAX
        && !(record::somebody_holds_up() && record::holds(id))
        && call.runtime.can_park();
    (polls && caller::is_library(c"libsqlite3.so")).then_some((call, id))
}

pub unsafe fn usleep(call: Option<Call>, micros: useconds_t) -> c_int {
    let span = Nanos::from(micros) * 1_000;
    match poller(call, span) {
        Some((call, id)) => until_freed(call, id, span),
        // SAFETY: by the caller's contract.
        None => unsafe { sleep::usleep(call, micros) },
    }
}

pub unsafe fn nanosleep(call: Option<Call>, time: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: null or live by the caller's contract.
    let span = unsafe { time.as_ref() }.and_then(span_of);
    match span.and_then(|span| Some((poller(call, span)?, span))) {
        Some(((call, id), span)) => until_freed(call, id, span),
        // SAFETY: by the caller's contract.
        None => unsafe { sleep::nanosleep(call, time, left) },
    }
}
