//! The process that joins topics to those of other hosts ([`crate::link`]): when it is started, and what follows its end.
//!
//! Must not know what it does. Invariants: there is one while a backplane is configured, started anew when it has died; it
//! ends after the last worker, because what that one has published is to reach other hosts, and by itself when the master
//! is gone, for it has the other end of its leash.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitStatus, kill_process};

use super::Master;
use super::fork::{Forked, fork};
use super::link_state::Running;
use crate::link::LinkSetup;

/// The death of a link that lived longer does not count as a repeated failure.
const HEALTHY_LIFE: Duration = Duration::from_secs(10);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// How long it has for its last words.
const LAST_WORDS: Duration = Duration::from_secs(3);

impl Master {
    /// When something is to be done about the link.
    pub fn link_deadline(&self) -> Option<Instant> {
        match &self.link.running {
            Some(running) => running.until,
            None => (!self.stopping && self.config.topics.backplane.is_some()).then_some(self.link.next),
        }
    }

    /// Forks it, if it is time; returns `Some` in the child.
    pub fn start_due_link(&mut self) -> Option<LinkSetup> {
        let now = Instant::now();
        if self.link.running.is_some() || self.link_deadline().is_none_or(|at| at > now) {
            return None;
        }
        let pipe = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).map_err(io::Error::from);
        let forked = pipe.and_then(|ends| Ok((ends, fork()?)));
        match forked {
            Ok(((leash, _), Forked::Child)) => {
                let config = Arc::clone(&self.config);
                Some(LinkSetup { config, bus: self.bus, board: self.board, leash })
            }
            Ok(((_, leash), Forked::Parent(pid))) => {
                self.link.running = Some(Running { pid, born: now, leash: Some(leash), until: None });
                None
            }
            Err(error) => {
                tracing::error!("the link to other hosts cannot be started: {error}");
                self.link.next = now + PAUSE_MAX;
                None
            }
        }
    }

    /// A child has ended; whether it was this one.
    pub fn link_ended(&mut self, pid: Pid, status: WaitStatus) -> bool {
        if self.link.running.as_ref().is_none_or(|running| running.pid != pid) {
            return false;
        }
        let Some(running) = self.link.running.take() else { return true };
        self.bus.leave(pid.as_raw_nonzero().get() as u32);
        self.board.link.connected.set(0);
        if self.stopping {
            return true;
        }
        if running.born.elapsed() >= HEALTHY_LIFE {
            self.link.failures = 0;
        }
        // The first death is answered at once.
        let pause = match self.link.failures {
            0 => Duration::ZERO,
            n => Duration::from_secs(1 << (n - 1).min(5)).min(PAUSE_MAX),
        };
        self.link.failures += 1;
        self.link.next = Instant::now() + pause;
        tracing::error!("the link to other hosts has died ({status:?}) and is started again");
        true
    }

    /// Lets it end; returns whether it has.
    pub fn end_link(&mut self) -> bool {
        let Some(running) = &mut self.link.running else { return true };
        if let Some(leash) = running.leash.take() {
            // That it is for good: other hosts are told.
            let _ = rustix::io::write(&leash, b".");
            running.until = Some(Instant::now() + LAST_WORDS);
        }
        false
    }

    /// Kills it if it does not end.
    pub fn kill_overdue_link(&mut self, now: Instant) {
        if let Some(running) = &mut self.link.running
            && running.until.is_some_and(|at| at <= now)
        {
            running.until = Some(now + LAST_WORDS);
            // It may have ended already; then its SIGCHLD is on the way.
            let _ = kill_process(running.pid, Signal::KILL);
        }
    }
}
