//! The deputy: while one coroutine holds the loop, it passes connections on to workers that are free.
//!
//! It runs on a thread of its own. It must know neither the table of connections nor the handler; it has the ledger,
//! descriptors of its own for the accept queues, and the relay. Invariant: a connection that the relay does not take
//! stays offered, or stays in the gate for the loop; whatever has left through the relay, this worker does not touch
//! again.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use rustix::net::{SocketFlags, accept_with};
use weft_rt::held::{self, Hold};
use weft_rt::ledger::{Offer, Offered, Taker};

use crate::parcel;

/// How long the deputy waits for connections before it looks whether the hold still lasts: at first, and at most. Each look costs the
/// core some microseconds.
const TICK: Duration = Duration::from_millis(5);
const TICK_MAX: Duration = Duration::from_millis(20);
/// A hold that has lasted so many times as long as a tick probably lasts for one more.
const TICKS: u32 = 8;
/// Connections accepted before those that were offered get their turn.
const ACCEPTS_PER_TURN: usize = 64;

/// What loop and deputy share besides the ledger: the way out.
#[derive(Default)]
pub(crate) struct Gate {
    way: Mutex<Way>,
    /// The worker fails, and its handler of signals wants the way. It can only try: a deputy that went on would have the
    /// way again before the next attempt.
    is_failing: AtomicBool,
}

#[derive(Default)]
struct Way {
    /// `None` once the worker drains: nothing leaves it any more.
    relay: Option<OwnedFd>,
    accept_queues: Vec<AcceptQueue>,
    /// Not yet passed on.
    accepted: VecDeque<Accepted>,
}

/// A listener's queue.
pub(crate) struct AcceptQueue {
    pub fd: OwnedFd,
    /// What their next owner is told of its connections: [`Offer::word`].
    word: u32,
}

impl AcceptQueue {
    /// A descriptor of its own for a listener's queue.
    ///
    /// # Errors
    /// Those of fcntl(2).
    pub(crate) fn of(listener: &OwnedFd, service: u32) -> io::Result<AcceptQueue> {
        Ok(AcceptQueue { fd: listener.try_clone()?, word: parcel::word(0, service) })
    }

    /// A connection that waits in it. Any error concerns one connection, or passes; the loop will meet it again.
    fn accept(&self) -> Option<Accepted> {
        let fd = accept_with(&self.fd, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC).ok()?;
        Some(Accepted { fd, word: self.word })
    }
}

/// A connection that was accepted.
pub(crate) struct Accepted {
    pub fd: OwnedFd,
    /// As in its queue.
    pub word: u32,
}

impl Gate {
    pub(crate) fn open(relay: OwnedFd, accept_queues: Vec<AcceptQueue>) -> Arc<Gate> {
        let way = Way { relay: Some(relay), accept_queues, accepted: VecDeque::new() };
        Arc::new(Gate { way: Mutex::new(way), is_failing: AtomicBool::new(false) })
    }

    /// For the deputy: the way, unless the worker fails.
    fn enter(&self) -> Option<MutexGuard<'_, Way>> {
        (!self.is_failing.load(Relaxed)).then(|| self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Way> {
        // A deputy that has panicked left a way that is as good as any.
        self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For a worker that fails: the deputy does nothing any more, and what it has accepted is lent to `pass`. Returns
    /// false if the deputy is in the midst of something. Takes no memory.
    pub(crate) fn silence(&self, mut pass: impl FnMut(BorrowedFd<'_>, u32)) -> bool {
        self.is_failing.store(true, Relaxed);
        let way = match self.way.try_lock() {
            Ok(way) => way,
            Err(TryLockError::Poisoned(way)) => way.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        way.accepted.iter().for_each(|accepted| pass(accepted.fd.as_fd(), accepted.word));
        std::mem::forget(way); // the deputy waits for it until the process has ended
        true
    }

    /// Nothing leaves the worker from here on. Returns what was accepted and has not left.
    pub(crate) fn close(&self) -> VecDeque<Accepted> {
        std::mem::take(&mut *self.lock()).accepted
    }
}

/// Acts for a worker whose loop is held.
pub struct Deputy {
    pub(crate) taker: Taker,
    pub(crate) gate: Arc<Gate>,
    /// Is told when the loop becomes held, and when it is free again.
    pub(crate) tell: Box<dyn FnMut(bool) + Send>,
}

impl held::Deputy for Deputy {
    fn stand_in(&mut self, hold: &Hold<'_>) {
        if !hold.lasts() {
            return;
        }
        (self.tell)(true);
        while hold.lasts() {
            let tick = (hold.span() / TICKS).clamp(TICK, TICK_MAX);
            if !self.pass_on(tick) {
                std::thread::sleep(tick);
            }
        }
        (self.tell)(false);
    }
}

impl Deputy {
    /// Waits for so long for what may leave, and passes it on. Returns false if nothing can leave now.
    fn pass_on(&self, tick: Duration) -> bool {
        let Some(mut way) = self.gate.enter() else { return false };
        let Way { relay: Some(relay), accept_queues, accepted } = &mut *way else { return false };
        if !leave(relay, accepted) {
            return false;
        }
        let (whole, unread): (Vec<Offered>, Vec<Offered>) =
            self.taker.offered().partition(|offered| offered.is_whole);
        if !whole.into_iter().all(|offered| self.take(relay, offered)) {
            return false;
        }
        let queues: Vec<_> = accept_queues.iter().map(|queue| queue.fd.as_fd()).collect();
        let (ready_queues, arrived) = weft_rt::ledger::wait(&queues, &unread, tick);
        let mut goes_on = arrived.into_iter().all(|offered| self.take(relay, offered));
        for queue in ready_queues {
            accepted.extend((0..ACCEPTS_PER_TURN).map_while(|_| accept_queues[queue].accept()));
            goes_on &= leave(relay, accepted);
        }
        goes_on
    }

    /// Takes a connection and passes it on. Returns false if the relay is full.
    fn take(&self, relay: &OwnedFd, offered: Offered) -> bool {
        let mut is_full = false;
        self.taker.take(offered, |connection, offer| {
            is_full = parcel::send(relay, connection, offer).is_err();
            !is_full
        });
        !is_full
    }
}

/// Passes on what was accepted. Returns false if the relay is full.
fn leave(relay: &OwnedFd, accepted: &mut VecDeque<Accepted>) -> bool {
    while let Some(Accepted { fd, word }) = accepted.front() {
        let offer = Offer { word: *word, ..Offer::default() };
        if parcel::send(relay, fd.as_fd(), &offer).is_err() {
            return false;
        }
        accepted.pop_front();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deputy_does_not_come_between_a_failing_worker_and_the_way() {
        let gate = Gate::default();
        let busy = gate.enter().expect("a worker that works");
        assert!(!gate.silence(|_, _| ()));
        drop(busy);
        assert!(gate.enter().is_none());
        assert!(gate.silence(|_, _| ()));
    }
}
