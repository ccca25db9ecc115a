//! What coroutines wait for, counted by kind: how often, for how long in all, and how many wait now.
//!
//! It must not know how a kind was found out, nor what a service is. Invariant: a wait is counted once, by the kind that was
//! said for it. It ends when the loop learns of its end, not when the coroutine runs again: what it then waits for is the
//! processor.

use std::os::fd::RawFd;

use crate::counter::{Counter, Gauge};
use crate::{Nanos, clock};

/// What a coroutine waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitKind {
    /// Another coroutine, or anything else that this process itself ends.
    Coroutine,
    /// Whoever the server serves.
    Client,
    /// A server of which nothing more is known.
    Server,
    /// A name server.
    Dns,
    /// A pipe, a terminal, or something else that is read like one.
    Pipe,
    /// A disk.
    Disk,
    /// A lock: of a file, a semaphore, a mutex of libc's.
    Lock,
    /// A child process.
    Child,
    /// A time.
    Sleep,
    /// A server that is known better, by whoever [says so](crate::hook::on_connect): its number, below [`SERVICES_MAX`].
    Service(u8),
}

/// In place of the descriptor that a wait is for: it is for none.
pub(crate) const NO_FD: RawFd = -1;

/// The kinds without those of services.
const OWN: usize = 9;
/// How many kinds of services there may be.
pub const SERVICES_MAX: usize = 16;

impl WaitKind {
    /// Kinds, and places in [`Stats::waits`](crate::Stats::waits).
    pub const COUNT: usize = OWN + SERVICES_MAX;

    /// Its place there.
    #[inline]
    pub const fn place(self) -> usize {
        match self {
            WaitKind::Coroutine => 0,
            WaitKind::Client => 1,
            WaitKind::Server => 2,
            WaitKind::Dns => 3,
            WaitKind::Pipe => 4,
            WaitKind::Disk => 5,
            WaitKind::Lock => 6,
            WaitKind::Child => 7,
            WaitKind::Sleep => 8,
            WaitKind::Service(number) => OWN + number as usize % SERVICES_MAX,
        }
    }
}

/// The waits of one kind.
#[derive(Default, Debug)]
#[repr(C)]
pub struct Waits {
    /// Those that have ended.
    pub ended: Counter,
    /// How long those took in all, in nanoseconds.
    pub nanos: Counter,
    /// Gauge: those that last.
    pub lasting: Gauge,
}

impl Waits {
    /// A wait begins; when.
    #[inline]
    pub(crate) fn begin(&self) -> Nanos {
        self.lasting.set(self.lasting.get() + 1);
        clock::now()
    }

    /// The wait that began then has ended, as the loop learned at `now`. Returns how long it took.
    #[inline]
    pub(crate) fn end(&self, since: Nanos, now: Nanos) -> Nanos {
        let took = now.saturating_sub(since);
        self.lasting.set(self.lasting.get() - 1);
        self.ended.add(1);
        self.nanos.add(took);
        took
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_place_of_its_own() {
        use WaitKind::*;
        let own = [Coroutine, Client, Server, Dns, Pipe, Disk, Lock, Child, Sleep];
        let services = (0..SERVICES_MAX as u8).map(Service);
        let places: Vec<_> = own.into_iter().chain(services).map(WaitKind::place).collect();
        assert_eq!(places, (0..WaitKind::COUNT).collect::<Vec<_>>());
    }

    #[test]
    fn a_wait_lasts_until_it_has_ended() {
        let waits = Waits::default();
        let since = waits.begin();
        assert_eq!((waits.lasting.get(), waits.ended.get()), (1, 0));
        waits.end(since, since + 5);
        assert_eq!((waits.lasting.get(), waits.ended.get(), waits.nanos.get()), (0, 1, 5));
        waits.end(waits.begin(), 0);
        assert_eq!(waits.nanos.get(), 5, "one that ended before the loop looked at the clock");
    }
}
