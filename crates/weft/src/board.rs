//! The board: memory in which the master and its workers write what they do, and which each of them reads.
//!
//! It must not know what is made of the numbers. Invariants: a page belongs to one process at a time, and each number on it
//! has one writer: the worker for what it counts, the master for what it knows of the worker. What workers counted that have
//! ended is added up, so that sums never fall while the master's image lives; a reload begins a new board.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use weft_rt::counter::{Counter, Gauge};

use crate::routes::{Figures, Names, counters};
use crate::trace;

/// Workers that can be on the board at once; others work, but are not seen.
pub const PAGES: usize = 256;

/// The memory.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Board {
    /// What the master knows of itself.
    pub master: MasterPage,
    /// What the link to other hosts says of itself.
    pub link: LinkPage,
    /// What routes are called.
    pub routes: Names,
    /// Odd while a page is being cleared.
    version: AtomicU64,
    /// What workers counted that have ended.
    gone: Counted,
    pages: Pages,
}

/// What the master knows of itself.
#[derive(Debug, Default)]
#[repr(C)]
pub struct MasterPage {
    /// Its process.
    pub pid: Counter,
    /// When its image began, in seconds since 1970.
    pub since: Counter,
    /// Which code it runs: 1, and one more with each reload.
    pub generation: Counter,
    /// Workers that there should be.
    pub wanted: Gauge,
    /// 1 once the first workers are ready, 0 again when it stops.
    pub ready: Gauge,
    /// Reloads that failed in this image; one that succeeds ends the image.
    pub failed_reloads: Counter,
    /// Workers that died without being told to end.
    pub deaths: Counter,
}

/// The link to other hosts, which is one process.
#[derive(Debug, Default)]
#[repr(C)]
pub struct LinkPage {
    /// 1 once there is one.
    pub used: Gauge,
    /// 1 while it is connected to the backplane.
    pub connected: Gauge,
    /// Other hosts that are there.
    pub hosts: Gauge,
    /// Messages that it has passed to other hosts.
    pub sent: Counter,
    /// Messages of other hosts that it has put on the bus.
    pub received: Counter,
    /// Messages that it could not keep until the backplane took them.
    pub dropped: Counter,
    /// Times that messages of another host were missed, and could not be had any more.
    pub gaps: Counter,
}

/// One worker.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Page {
    /// Its process; 0 if the page is free.
    pub pid: Counter,
    /// Its slot.
    pub slot: Counter,
    /// Which code it runs.
    pub generation: Counter,
    /// When it began, in seconds since 1970.
    pub since: Counter,
    /// See [`Stage`].
    pub stage: Gauge,
    /// 1 while one computation holds its loop.
    pub held: Gauge,
    /// Requests that it can run at once.
    pub room: Gauge,
    /// Requests that wait for their share.
    pub waiting: Gauge,
    /// What it counts.
    pub counted: Counted,
}

/// The stage of a worker's life, as the board has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Stage {
    /// It loads the application.
    Booting,
    /// It serves.
    Ready,
    /// It finishes its requests.
    Draining,
}

impl Stage {
    /// Every stage, in order, with its name.
    pub const ALL: [(Stage, &str); 3] =
        [(Stage::Booting, "booting"), (Stage::Ready, "ready"), (Stage::Draining, "draining")];

    /// The stage of this number.
    pub fn name(number: usize) -> &'static str {
        Self::ALL.get(number).map_or("unknown", |(_, name)| name)
    }
}

/// What a worker counts.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Counted {
    /// The scheduler's.
    pub runtime: weft_rt::Stats,
    /// The server's.
    pub server: weft_serve::Stats,
    /// Spans of traces.
    pub spans: trace::Counts,
    /// Requests whose traces are recorded.
    pub exemplars: trace::Exemplars,
    /// By route.
    pub routes: Figures,
}

#[derive(Debug)]
#[repr(transparent)]
struct Pages([Page; PAGES]);

impl Default for Pages {
    fn default() -> Self {
        Pages(std::array::from_fn(|_| Page::default()))
    }
}

impl Board {
    /// A new board, which children of fork(2) share.
    ///
    /// # Errors
    /// Those of mmap(2).
    pub fn new() -> rustix::io::Result<&'static Board> {
        // SAFETY: the mapping is new, so nothing else refers to it, and it is never unmapped. It is zeroed, and a page
        // boundary is aligned enough: a Board consists of atomic numbers, for which zero is a value.
        unsafe {
            let (access, kind) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
            let memory = mmap_anonymous(std::ptr::null_mut(), size_of::<Board>(), access, kind)?;
            Ok(&*memory.cast::<Board>())
        }
    }

    /// A free page, if there is one; for the master.
    pub fn free(&'static self) -> Option<&'static Page> {
        self.pages.0.iter().find(|page| page.pid.get() == 0)
    }

    /// Every worker on it.
    pub fn workers(&self) -> impl Iterator<Item = &Page> {
        self.pages.0.iter().filter(|page| page.pid.get() != 0)
    }

    /// The worker has ended: what it counted is kept, and its page is free.
    pub fn clear(&self, page: &Page) {
        self.version.fetch_add(1, Ordering::AcqRel);
        self.gone.add(&page.counted);
        page.counted.clear();
        for number in [&page.slot, &page.generation, &page.since, &page.pid] {
            number.set(0);
        }
        for number in [&page.stage, &page.held, &page.room, &page.waiting] {
            number.set(0);
        }
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// All that was ever counted, by `read`, which may be called more than once: it gets the counters of each worker, and
    /// those of all that have ended.
    pub fn sum<T>(&self, mut read: impl FnMut(&mut dyn Iterator<Item = &Counted>) -> T) -> T {
        /// The master clears a page in some microseconds; a reader that is unlucky so often takes what it has.
        const TRIES: usize = 1000;
        for _ in 0..TRIES {
            let before = self.version.load(Ordering::Acquire);
            let all = read(&mut self.counted());
            std::sync::atomic::fence(Ordering::Acquire);
            if before.is_multiple_of(2) && before == self.version.load(Ordering::Relaxed) {
                return all;
            }
        }
        read(&mut self.counted())
    }

    fn counted(&self) -> impl Iterator<Item = &Counted> {
        self.workers().map(|page| &page.counted).chain([&self.gone])
    }
}

impl Counted {
    fn counters(&self) -> impl Iterator<Item = &Counter> {
        let (runtime, server, spans) = (&self.runtime, &self.server, &self.spans);
        [&runtime.turns, &runtime.jobs, &runtime.parks, &runtime.refused, &runtime.blocked, &runtime.ran]
            .into_iter()
            .chain([&server.accepted, &server.requests, &server.refused, &server.timed_out, &server.evicted])
            .chain([
                &server.http2_floods,
                &server.messages_received,
                &server.messages_dropped,
                &server.messages_delivered,
                &server.datagrams_received,
                &server.datagrams_sent,
                &server.datagrams_dropped,
            ])
            .chain([&spans.taken, &spans.lost, &spans.unkept])
            .chain(server.answers.counters())
            .chain(runtime.lag.counters())
            .chain(runtime.waits.iter().flat_map(|waits| [&waits.ended, &waits.nanos]))
            .chain(self.routes.0.iter().flat_map(counters))
    }

    fn add(&self, other: &Counted) {
        self.counters().zip(other.counters()).for_each(|(sum, counter)| sum.add(counter.get()));
        self.runtime.blocking.merge(&other.runtime.blocking);
    }

    fn clear(&self) {
        self.counters().for_each(|counter| counter.set(0));
        self.exemplars.clear();
        self.runtime.blocking.clear();
        let (runtime, server) = (&self.runtime, &self.server);
        for gauge in [
            &runtime.live,
            &runtime.tasks,
            &runtime.queued,
            &server.connections,
            &server.busy,
            &server.in_flight,
            &server.unread,
            &server.tunnels,
        ]
        .into_iter()
        .chain(runtime.contexts.gauges())
        .chain(server.connection_states.gauges())
        .chain(server.stream_states.gauges())
        {
            gauge.set(0);
        }
        runtime.waits.iter().for_each(|waits| waits.lasting.set(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(board: &Board) -> u64 {
        board.sum(|all| all.map(|counted| counted.server.requests.get()).sum())
    }

    #[test]
    fn a_sum_does_not_fall_when_a_worker_ends() {
        let board = Board::new().unwrap();
        let pages: Vec<_> = (1..=2)
            .map(|pid| {
                let page = board.free().unwrap();
                page.pid.set(pid);
                page.counted.server.requests.set(10 * pid);
                page.counted.server.connections.set(3);
                page
            })
            .collect();
        assert_eq!((requests(board), board.workers().count()), (30, 2));
        board.clear(pages[0]);
        assert_eq!((requests(board), board.workers().count()), (30, 1));
        let page = board.free().unwrap();
        assert!(std::ptr::eq(page, pages[0]), "its page is free");
        page.pid.set(3);
        assert_eq!((page.counted.server.requests.get(), page.counted.server.connections.get()), (0, 0));
        page.counted.server.requests.set(5);
        assert_eq!(requests(board), 35);
    }

    #[test]
    fn a_full_board_has_no_page() {
        let board = Board::new().unwrap();
        for pid in 1..=PAGES as u64 {
            board.free().unwrap().pid.set(pid);
        }
        assert!(board.free().is_none());
    }
}
