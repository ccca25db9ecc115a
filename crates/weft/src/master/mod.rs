//! The master: owns the listeners, starts PHP once, forks workers, replaces, reloads and drains them.
//!
//! Must not know requests, coroutines or user code. Invariant: it has one thread and one loop over poll(2), in which
//! every wait has a deadline. A queued connection is never lost while the master lives, because it keeps every
//! listening socket.
//!
//! Reading order: `start` (from configuration to the first fork), this loop, `supervise` (what happens to workers),
//! `reload` (new code in the same process), `client` (`weft reload`, `weft stop`).

pub mod banner;
mod bound_address;
mod check_process;
pub mod client;
mod console;
pub mod control;
mod extras;
mod extras_state;
mod fork;
mod handover;
pub mod identity;
mod launch;
mod link;
mod link_state;
pub mod listen;
mod notify;
mod orphans;
mod pidfile;
mod reload;
mod reload_state;
mod renewal;
mod renewal_state;
mod show;
mod signal;
mod silence;
mod silent_workers;
mod stand_in;
mod start;
mod steer;
mod supervise;
#[cfg(test)]
pub mod testing;
mod unix;
mod worker_process;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use weft_serve::Relay;

use self::console::Console;
use self::control::ControlEnd;
use self::extras_state::Extras;
use self::identity::Identity;
use self::launch::Launch;
use self::link_state::Link;
use self::listen::{BoundListener, Listener};
use self::notify::Notify;
use self::pidfile::PidFile;
use self::reload_state::Reload;
use self::renewal_state::Renewal;
use self::signal::Signals;
use self::worker_process::{Worker, WorkerSlot};
use crate::board::{Board, Page};
use crate::bus::Bus;
use crate::config::{Config, Mode};
use crate::link::LinkSetup;
use crate::php::EngineInfo;
use crate::tls::{Kept, Ready, Stamps, Tickets};
use crate::watch::Watch;

pub use self::handover::answer;
pub use self::start::serve;

/// Everything that a new worker needs.
#[derive(Debug)]
pub struct WorkerSetup {
    /// Its slot, 0 to workers - 1; a replacement gets the same.
    pub slot: usize,
    /// The sockets to accept from; no other worker of the generation has these TCP sockets, and a further worker has none.
    pub listeners: Vec<BoundListener>,
    /// The port at which the server speaks HTTPS, if it does.
    pub https_port: Option<u16>,
    /// Its connection to the master.
    pub control: ControlEnd,
    /// Where workers pass connections on to each other.
    pub relay: Relay,
    /// What workers publish to topics.
    pub bus: &'static Bus,
    /// What all processes of the server say of themselves, and this one's page.
    pub board: &'static Board,
    /// Its page; `None` if there is none left.
    pub page: Option<&'static Page>,
    /// All settings.
    pub config: Arc<Config>,
    /// What TLS connections share, if an address wants TLS.
    pub tls: Option<Ready>,
}

/// The running master.
struct Master {
    config: Arc<Config>,
    mode: Mode,
    launch: Launch,
    /// `None` after a reload whose engine did not start: old workers continue, new ones cannot be forked.
    engine: Option<EngineInfo>,
    identity: Option<Identity>,
    signals: Signals,
    listeners: Vec<Listener>,
    /// Listeners that are no longer configured; closed when the last worker that accepts from them is gone.
    retired: Vec<Listener>,
    pid_file: Option<PidFile>,
    /// If an address wants TLS.
    tls: Option<MasterTls>,
    renewal: Renewal,
    link: Link,
    slots: Vec<WorkerSlot>,
    extras: Extras,
    relay: Relay,
    board: &'static Board,
    bus: &'static Bus,
    workers: Vec<Worker>,
    generation: u32,
    reload: Reload,
    stopping: bool,
    /// Whether the first workers were ready and the operator was told.
    announced: bool,
    /// Why the master must give up.
    failure: Option<String>,
    notify: Notify,
    next_alive: Option<Instant>,
    watch: Option<Watch>,
    console: Console,
}

/// What the master has of TLS.
struct MasterTls {
    ready: Ready,
    tickets: Tickets,
    kept: Kept,
    stamps: Stamps,
}

/// Why the loop ended.
enum Outcome {
    /// The master is done.
    Exit(ExitCode),
    /// This is a forked child now.
    Worker(WorkerSetup),
    /// This is a forked child now, the link to other hosts.
    Link(LinkSetup),
}

impl Master {
    /// The loop.
    fn run(&mut self) -> Outcome {
        loop {
            if let Some(setup) = self.start_due_workers() {
                return Outcome::Worker(setup);
            }
            if let Some(setup) = self.start_due_link() {
                return Outcome::Link(setup);
            }
            if let Some(code) = self.finished() {
                return Outcome::Exit(code);
            }
            let planned = self.next_deadline();
            self.wait(planned);
            self.take_signals();
            self.take_messages();
            self.forgive_silence(planned);
            self.take_check_output();
            self.take_notices();
            self.take_changes();
            self.run_deadlines(Instant::now());
            self.show();
        }
    }

    /// Sleeps until a descriptor is ready or the next deadline has passed. Which descriptor it was does not matter:
    /// each is then checked without waiting, and there are few.
    fn wait(&self, deadline: Instant) {
        let timeout = deadline.saturating_duration_since(Instant::now());
        // One nanosecond more, so that a deadline has passed when the wait ends.
        let timeout = Timespec::try_from(timeout + Duration::from_nanos(1)).ok();
        let mut fds = vec![PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN)];
        let controls = self.workers.iter().filter_map(Worker::control_fd);
        let others = self.watch.as_ref().map(Watch::fd).into_iter().chain(self.reload.check_fds());
        let others = others.chain(self.renewal.fd());
        fds.extend(controls.chain(others).map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        // After an interruption all of them are checked as well.
        let _ = poll(&mut fds, timeout.as_ref());
    }

    fn take_signals(&mut self) {
        while let Some(signal) = self.signals.next() {
            match signal {
                libc::SIGTERM | libc::SIGINT | libc::SIGQUIT if self.stopping => self.stop_at_once(),
                libc::SIGTERM | libc::SIGINT | libc::SIGQUIT => self.stop(),
                libc::SIGHUP => self.reload.request(),
                libc::SIGUSR1 => self.reopen_logs(),
                libc::SIGCHLD => self.reap(),
                _ => {}
            }
        }
    }

    fn take_changes(&mut self) {
        if let Some(changed) = self.watch.as_mut().and_then(|watch| watch.changed(Instant::now())) {
            tracing::info!("{changed}: reloading");
            self.reload.request();
        }
        if !self.looks_at_files() {
            return;
        }
        if let Some(file) = self.tls.as_mut().and_then(|tls| tls.stamps.changed(Instant::now())) {
            tracing::info!("{} has changed: reloading", file.display());
            self.reload.request();
        }
    }

    /// Whether files of certificates are looked at: not while they are about to be read anyway.
    fn looks_at_files(&self) -> bool {
        !self.renewal.gathers() && !self.reload.is_wanted()
    }

    /// The exit code, if the master has finished.
    fn finished(&mut self) -> Option<ExitCode> {
        if !self.workers.is_empty() {
            return None;
        }
        if let Some(failure) = self.failure.take() {
            self.console.say(&format!("weft: {failure}\n"));
            if matches!(self.config.log.error_log, crate::config::LogTarget::File(_)) {
                tracing::error!("stopped: {failure}");
            }
            return Some(ExitCode::FAILURE);
        }
        if self.stopping && !self.end_link() {
            return None;
        }
        if self.stopping {
            tracing::info!("stopped");
            return Some(ExitCode::SUCCESS);
        }
        if self.engine.is_none() {
            self.failure = Some("no worker is left and PHP did not start; see the error log".into());
            return self.finished();
        }
        None
    }

    fn next_deadline(&self) -> Instant {
        let slots = self.slots.iter().filter_map(|slot| self.start_time(slot));
        let workers = self.workers.iter().filter_map(Worker::deadline);
        let others = [
            self.next_alive,
            self.reload.deadline(),
            self.watch.as_ref().and_then(Watch::deadline),
            self.tls.as_ref().filter(|_| self.looks_at_files()).map(|tls| tls.stamps.deadline()),
            self.renewal_deadline(),
            self.link_deadline(),
            self.silence_deadline(),
            self.extras_deadline(),
        ];
        let far = Instant::now() + Duration::from_secs(60);
        slots.chain(workers).chain(others.into_iter().flatten()).min().unwrap_or(far).min(far)
    }

    fn run_deadlines(&mut self, now: Instant) {
        self.kill_overdue(now);
        self.kill_overdue_check(now);
        self.end_retiring(now);
        self.end_silent_workers(now);
        self.release_extras(now);
        self.begin_renewal(now);
        self.kill_overdue_link(now);
        if let (Some(at), Some(every)) = (self.next_alive, self.notify.watchdog)
            && at <= now
        {
            self.notify.alive();
            self.next_alive = Some(now + every);
        }
        if self.announced && !self.stopping {
            self.begin_requested_reload();
        }
    }

    fn reopen_logs(&mut self) {
        crate::log::reopen_master(&self.config, self.identity.as_ref());
        tracing::info!("log files reopened");
        for worker in &self.workers {
            worker.tell(&control::ToWorker::ReopenLogs);
        }
    }

    /// Removes the files that would outlive the master.
    fn clean_up(&mut self) {
        self.listeners.iter().chain(&self.retired).for_each(Listener::unlink);
        if let Some(pid_file) = self.pid_file.take() {
            pid_file.remove();
        }
    }
}
