//! One worker as the master sees it: its process, the stage of its life, and the line to it.
//!
//! Must not know: other workers, or when one is started. Invariant: a worker that was told to end has a time at which it is
//! killed.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::control::{MasterEnd, Received, Status, ToMaster, ToWorker};
use super::silence::Silence;
use crate::board::Page;

/// The extra time of a worker on top of its drain deadline before it is killed.
const DRAIN_GRACE: Duration = Duration::from_secs(2);
/// The time of a worker after `Stop` before it is killed.
const STOP_GRACE: Duration = Duration::from_millis(500);

/// The slot of a worker.
#[derive(Debug, Default)]
pub struct WorkerSlot {
    /// When a new worker is to be started here, if at all.
    pub wanted: Option<Instant>,
    /// Consecutive deaths.
    pub failures: u32,
}

/// A worker process.
#[derive(Debug)]
pub struct Worker {
    pub pid: Pid,
    pub slot: usize,
    pub generation: u32,
    pub stage: Stage,
    control: MasterEnd,
    control_closed: bool,
    pub born: Instant,
    /// Its last message.
    pub fatal: Option<String>,
    pub status: Status,
    pub silence: Silence,
    /// Whether one computation holds its loop.
    pub is_held: bool,
    /// Whether it may still accept a connection.
    pub accepts: bool,
    /// Where it counts; `None` if an earlier image started it.
    pub page: Option<&'static Page>,
    /// Slots from whose sockets it was told to accept, besides its own.
    pub stands_in_for: Vec<usize>,
    /// Whether it was told to take one connection at a time; `None` if an earlier image may have.
    pub accepts_singly: Option<bool>,
}

/// The stage of a worker's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Loading the application.
    Booting {
        /// When it is killed for not being ready.
        until: Instant,
    },
    /// Serving.
    Ready,
    /// Finishing its running requests.
    Draining {
        /// When it is killed for not having finished.
        until: Instant,
    },
    /// SIGKILL was sent.
    Killed,
}

impl Worker {
    /// A worker with its control end.
    pub fn new(pid: Pid, slot: usize, generation: u32, stage: Stage, control: MasterEnd) -> Self {
        let (born, status) = (Instant::now(), Status::default());
        Worker {
            pid,
            slot,
            generation,
            stage,
            control,
            control_closed: false,
            born,
            fatal: None,
            status,
            silence: Silence::new(),
            is_held: false,
            accepts: matches!(stage, Stage::Ready | Stage::Booting { .. }),
            page: None,
            stands_in_for: Vec::new(),
            accepts_singly: Some(false),
        }
    }

    /// The descriptor to watch, while the worker may send messages.
    pub fn control_fd(&self) -> Option<BorrowedFd<'_>> {
        (!self.control_closed).then(|| self.control.fd())
    }

    /// The control end, to be passed on.
    pub fn control(&self) -> BorrowedFd<'_> {
        self.control.fd()
    }

    /// When it needs attention.
    pub fn deadline(&self) -> Option<Instant> {
        match self.stage {
            Stage::Booting { until } | Stage::Draining { until } => Some(until),
            Stage::Ready | Stage::Killed => None,
        }
    }

    /// Sends a message if the worker reads; one that does not is ended by its deadline.
    pub fn tell(&self, message: &ToWorker) {
        if let Err(e) = self.control.send(message) {
            tracing::debug!("{} did not take {message:?}: {e}", self.name());
        }
    }

    /// Sends a socket with the message, if the worker reads.
    pub fn tell_with(&self, message: &ToWorker, socket: BorrowedFd<'_>) {
        if let Err(e) = self.control.send_with(message, socket) {
            tracing::debug!("{} did not take {message:?}: {e}", self.name());
        }
    }

    /// For the log.
    pub fn name(&self) -> String {
        format!("worker {} (pid {}, generation {})", self.slot, self.pid, self.generation)
    }

    /// The number of its requests in its last report, for the log.
    pub fn load(&self) -> String {
        let Status { live, connections, requests, .. } = self.status;
        format!("last seen with {live} running requests on {connections} connections, {requests} answered")
    }

    /// Whether it serves or is starting.
    pub fn is_staying(&self) -> bool {
        matches!(self.stage, Stage::Ready | Stage::Booting { .. })
    }

    /// Has it finish what runs and end; sooner, if it does already.
    pub fn drain(&mut self, timeout_ms: u64) {
        self.end(&ToWorker::Drain { deadline_ms: timeout_ms }, timeout_ms);
    }

    /// The same, but its tunnels stay for `keep_ms`, unless it drains already.
    pub fn retire(&mut self, timeout_ms: u64, keep_ms: u64) {
        if self.stage != Stage::Ready || keep_ms == 0 {
            return self.drain(timeout_ms);
        }
        self.tell(&ToWorker::Keep { ms: keep_ms });
        self.drain(timeout_ms.saturating_add(keep_ms));
    }

    /// The same while others of its image go on.
    pub fn leave(&mut self, timeout_ms: u64) {
        self.end(&ToWorker::Leave { deadline_ms: timeout_ms }, timeout_ms);
    }

    fn end(&mut self, message: &ToWorker, timeout_ms: u64) {
        self.tell(message);
        if let Stage::Draining { until } = self.stage {
            self.stage = Stage::Draining { until: until.min(drain_ends(timeout_ms)) };
            return;
        }
        // A worker that is still loading has nothing to finish, and may not read its control end for long.
        self.accepts &= self.stage == Stage::Ready;
        let timeout_ms = if self.stage == Stage::Ready { timeout_ms } else { 0 };
        self.stage = Worker::drained_by(timeout_ms);
    }

    /// The stage of one that drains from now on.
    pub fn drained_by(timeout_ms: u64) -> Stage {
        Stage::Draining { until: drain_ends(timeout_ms) }
    }

    /// Has it end at once.
    pub fn stop(&mut self) {
        self.tell(&ToWorker::Stop);
        self.stage = Stage::Draining { until: Instant::now() + STOP_GRACE };
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.stage = Stage::Killed;
        // It may have died already; then its SIGCHLD is on the way.
        let _ = kill_process(self.pid, Signal::KILL);
    }

    /// The next message it has sent.
    pub fn hear(&mut self) -> Option<ToMaster> {
        match self.control.receive() {
            Received::Message(message) => Some(message),
            Received::Nothing => None,
            Received::Closed => {
                self.control_closed = true;
                None
            }
        }
    }
}

/// When one that drains from now on is killed.
fn drain_ends(timeout_ms: u64) -> Instant {
    Instant::now() + Duration::from_millis(timeout_ms) + DRAIN_GRACE
}
