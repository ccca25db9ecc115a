//! The numbers of one answer, read once.
//!
//! Must not know how they are written down. Invariant: a sum over workers includes those that have ended, as far as the
//! board knows them.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::param::clock_ticks_per_second;
use weft_serve::Durations;

use super::insides::{self, Blocked, Insides};
use super::routes::{self, Route};
use crate::board::{Board, Counted, Page, Stage};
use crate::config::Mode;
use crate::trace::Exemplar;
use crate::wait_names::NAMES;

/// Everything that is reported.
pub struct Snapshot {
    pub mode: &'static str,
    pub master: u64,
    pub since: u64,
    pub now: u64,
    pub generation: u64,
    pub wanted: usize,
    pub is_ready: bool,
    pub failed_reloads: u64,
    pub deaths: u64,
    pub queue_max: usize,
    pub sums: Sums,
    /// What the link to other hosts does, if there is one.
    pub link: Option<Link>,
    pub workers: Vec<Worker>,
    pub routes: Vec<Route>,
    /// Where calls have blocked.
    pub blocked: Vec<Blocked>,
    /// Whether each request has a PHP instance, or PHP to itself.
    pub has_instances: bool,
    /// The last of each class of durations.
    pub exemplars: [Option<Exemplar>; Durations::BOUNDS.len() + 1],
}

/// What the link to other hosts says of itself.
pub struct Link {
    pub is_connected: bool,
    pub hosts: usize,
    pub sent: u64,
    pub received: u64,
    pub dropped: u64,
    pub gaps: u64,
}

/// What all workers have counted together.
#[derive(Debug, Default, Clone, Copy)]
pub struct Sums {
    pub accepted: u64,
    pub requests: u64,
    pub refused: u64,
    pub turned_away: u64,
    pub timed_out: u64,
    pub evicted: u64,
    pub http2_floods: u64,
    pub messages_received: u64,
    pub messages_dropped: u64,
    pub messages_delivered: u64,
    pub datagrams_received: u64,
    pub datagrams_sent: u64,
    pub datagrams_dropped: u64,
    /// Only the kernel counts them: [`weft_serve::Server::datagrams_overflowed`].
    pub datagrams_overflowed: u64,
    pub spans_sent: u64,
    pub spans_dropped: u64,
    pub answers: [u64; 5],
    pub durations: [u64; Durations::BOUNDS.len() + 1],
    pub duration_sum: u64,
    pub turns: u64,
    pub waits: u64,
    pub waits_of: [Waits; NAMES.len()],
    pub blocked: u64,
    pub ran: u64,
}

/// The waits of one kind.
#[derive(Debug, Default, Clone, Copy)]
pub struct Waits {
    pub ended: u64,
    pub nanos: u64,
    pub lasting: usize,
}

/// One worker.
pub struct Worker {
    pub pid: u64,
    pub slot: u64,
    pub generation: u64,
    pub since: u64,
    pub stage: &'static str,
    pub is_held: bool,
    pub room: usize,
    pub requests: u64,
    pub in_flight: usize,
    pub queued: usize,
    pub connections: usize,
    pub busy_connections: usize,
    pub websockets: usize,
    pub coroutines: usize,
    pub tasks: usize,
    pub ran: u64,
    pub turned_away: u64,
    pub waiting: [usize; NAMES.len()],
    pub insides: Insides,
    pub process: Process,
}

/// What the kernel knows of a process.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Process {
    /// Seconds of CPU time in its own code.
    pub user_s: f64,
    /// Seconds of CPU time in the kernel.
    pub system_s: f64,
    /// Seconds for which it could have run, and others did.
    pub run_queue_s: f64,
    /// Times that it gave its core away, because it had nothing to do.
    pub switches: u64,
    /// Times that its core was taken from it, for others.
    pub preemptions: u64,
    /// Resident memory.
    pub memory_bytes: u64,
    /// The most that it was.
    pub memory_peak_bytes: u64,
}

impl Snapshot {
    /// Reads the board, and what the kernel knows of the workers.
    pub fn take(board: &Board, mode: &'static str, queue_max: usize) -> Snapshot {
        let master = &board.master;
        let mut workers: Vec<_> = board.workers().map(Worker::of).collect();
        workers.sort_by_key(|worker| (worker.slot, worker.pid));
        Snapshot {
            mode,
            master: master.pid.get(),
            since: master.since.get(),
            now: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            generation: master.generation.get(),
            wanted: master.wanted.get(),
            is_ready: master.ready.get() == 1,
            failed_reloads: master.failed_reloads.get(),
            deaths: master.deaths.get(),
            queue_max,
            sums: board.sum(|all| {
                let mut sums = Sums::default();
                all.for_each(|counted| sums.add(counted));
                sums
            }),
            link: (board.link.used.get() == 1).then(|| Link {
                is_connected: board.link.connected.get() == 1,
                hosts: board.link.hosts.get(),
                sent: board.link.sent.get(),
                received: board.link.received.get(),
                dropped: board.link.dropped.get(),
                gaps: board.link.gaps.get(),
            }),
            workers,
            routes: routes::gather(board),
            blocked: insides::blocked(board),
            has_instances: mode != Mode::Coroutine.name(),
            exemplars: exemplars(board),
        }
    }

    /// The sum of a number of each worker.
    pub fn total(&self, of: impl Fn(&Worker) -> usize) -> usize {
        self.workers.iter().map(of).sum()
    }
}

fn exemplars(board: &Board) -> [Option<Exemplar>; Durations::BOUNDS.len() + 1] {
    let mut last: [Option<Exemplar>; Durations::BOUNDS.len() + 1] = Default::default();
    for of_worker in board.workers().map(|page| page.counted.exemplars.all()) {
        let newer = |kept: Option<Exemplar>, other: Option<Exemplar>| {
            kept.into_iter().chain(other).max_by_key(|one| one.at_ms)
        };
        last = std::array::from_fn(|class| newer(last[class], of_worker[class]));
    }
    last
}

impl Sums {
    fn add(&mut self, counted: &Counted) {
        let (runtime, server, spans) = (&counted.runtime, &counted.server, &counted.spans);
        self.accepted += server.accepted.get();
        self.requests += server.requests.get();
        self.refused += server.refused.get();
        self.turned_away += runtime.refused.get();
        self.timed_out += server.timed_out.get();
        self.evicted += server.evicted.get();
        self.http2_floods += server.http2_floods.get();
        self.messages_received += server.messages_received.get();
        self.messages_dropped += server.messages_dropped.get();
        self.messages_delivered += server.messages_delivered.get();
        self.datagrams_received += server.datagrams_received.get();
        self.datagrams_sent += server.datagrams_sent.get();
        self.datagrams_dropped += server.datagrams_dropped.get();
        self.spans_sent += spans.taken.get();
        self.spans_dropped += spans.lost.get() + spans.unkept.get();
        self.turns += runtime.turns.get();
        self.waits += runtime.parks.get();
        for (sum, (kind, _)) in self.waits_of.iter_mut().zip(NAMES) {
            let waits = &runtime.waits[kind.place()];
            sum.ended += waits.ended.get();
            sum.nanos += waits.nanos.get();
            sum.lasting += waits.lasting.get();
        }
        self.blocked += runtime.blocked.get();
        self.ran += runtime.ran.get();
        let add = |sums: &mut [u64], counters: &[weft_rt::counter::Counter]| {
            sums.iter_mut().zip(counters).for_each(|(sum, counter)| *sum += counter.get());
        };
        // Each answer was counted once: with its route, or with those that have none.
        for answers in counted.routes.0.iter().map(|route| &route.answers).chain([&server.answers]) {
            self.duration_sum += answers.durations.sum.get();
            add(&mut self.answers, &answers.by_class);
            add(&mut self.durations, &answers.durations.counts);
        }
    }
}

impl Worker {
    fn of(page: &Page) -> Worker {
        let (runtime, server) = (&page.counted.runtime, &page.counted.server);
        Worker {
            pid: page.pid.get(),
            slot: page.slot.get(),
            generation: page.generation.get(),
            since: page.since.get(),
            stage: Stage::name(page.stage.get()),
            is_held: page.held.get() == 1,
            room: page.room.get(),
            requests: server.requests.get(),
            in_flight: server.in_flight.get(),
            queued: runtime.queued.get() + server.unread.get() + page.waiting.get(),
            connections: server.connections.get(),
            busy_connections: server.busy.get(),
            websockets: server.tunnels.get(),
            coroutines: runtime.live.get(),
            tasks: runtime.tasks.get(),
            ran: runtime.ran.get(),
            turned_away: runtime.refused.get(),
            waiting: NAMES.map(|(kind, _)| runtime.waits[kind.place()].lasting.get()),
            insides: Insides::of(&page.counted),
            process: Process::of(page.pid.get()),
        }
    }
}

impl Process {
    /// Zeros if it has ended, or /proc hides it.
    fn of(pid: u64) -> Process {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
        Process::parse(&read("stat"), &read("schedstat"), &read("status"))
    }

    /// By the texts of `stat`, `schedstat` and `status` (proc(5)).
    fn parse(stat: &str, schedstat: &str, status: &str) -> Process {
        // The name in parentheses may contain anything; utime and stime are the 14th and 15th field.
        let fields = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        let mut times = fields.split(' ').skip(11).map_while(|field| field.parse::<f64>().ok());
        let mut seconds = || times.next().unwrap_or(0.0) / clock_ticks_per_second() as f64;
        let second =
            |text: &str| text.split_ascii_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok());
        let count = |name| status.lines().find(|line| line.starts_with(name)).and_then(second).unwrap_or(0);
        let bytes = |name| count(name) << 10;
        Process {
            user_s: seconds(),
            system_s: seconds(),
            run_queue_s: second(schedstat).unwrap_or(0) as f64 / 1e9,
            switches: count("voluntary_ctxt_switches:"),
            preemptions: count("nonvoluntary_ctxt_switches:"),
            memory_bytes: bytes("VmRSS:"),
            memory_peak_bytes: bytes("VmHWM:"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_texts_are_read() {
        let ticks = clock_ticks_per_second() as f64;
        let stat = "7 (weft: a) b) S 1 7 7 0 -1 4194560 1 2 3 4 250 50 0 0 20 0 9 0";
        let status = "Name:\tVmRSS: 7\nVmPeak:\t  900 kB\nVmHWM:\t   20 kB\nVmRSS:\t   10 kB\n\
            voluntary_ctxt_switches:\t30\nnonvoluntary_ctxt_switches:\t4\n";
        let process = Process::parse(stat, "1 2500000000 3\n", status);
        let (memory_bytes, memory_peak_bytes) = (10 << 10, 20 << 10);
        let (user_s, system_s) = (250.0 / ticks, 50.0 / ticks);
        let (switches, preemptions, run_queue_s) = (30, 4, 2.5);
        let known =
            Process { user_s, system_s, run_queue_s, switches, preemptions, memory_bytes, memory_peak_bytes };
        assert_eq!(process, known);
        assert_eq!(Process::parse("", "", ""), Process::default());
    }
}
