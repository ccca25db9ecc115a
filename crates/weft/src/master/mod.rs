//! The master: owns the listeners, starts PHP once, forks workers, replaces, reloads and drains them.
//!
//! Must not know requests, coroutines or user code. Invariant: it has one thread and one loop over poll(2), in which
//! every wait has a deadline. A queued connection is never lost while the master lives, because it keeps every
//! listening socket.
//!
//! Reading order: `start` (from configuration to the first fork), this loop, `supervise` (what happens to workers),
//! `reload` (new code in the same process), `client` (`weft reload`, `weft stop`).

pub mod banner;
pub mod client;
mod console;
pub mod control;
mod fork;
mod handover;
pub mod identity;
mod launch;
pub mod listen;
mod notify;
mod orphans;
mod pidfile;
mod reload;
mod signal;
mod silence;
mod stand_in;
mod start;
mod steer;
mod supervise;
#[cfg(test)]
pub mod testing;
mod unix;

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use self::console::Console;
use self::control::ControlEnd;
use self::identity::Identity;
use self::launch::Launch;
use self::listen::{BoundListener, Listener};
use self::notify::Notify;
use self::pidfile::PidFile;
use self::reload::Reload;
use self::signal::Signals;
use self::supervise::{Worker, WorkerSlot};
use crate::config::{Config, RunAs, Workers};
use crate::machine;
use crate::php::EngineInfo;
use crate::watch::Watch;

pub use self::handover::answer;
pub use self::start::serve;

/// The mode in which an application runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A document root: each request has PHP to itself.
    Classic,
    /// A script that stays loaded and handles one request after another, alone or beside a document root.
    Resident,
    /// A script that returns a handler: many concurrent requests share one PHP.
    Coroutine,
}

impl Mode {
    /// The mode in which the configured application runs.
    pub fn of(config: &Config) -> Self {
        match config.server.run_as {
            RunAs::Auto if config.resident.script.is_some() => Mode::Resident,
            RunAs::Classic => Mode::Classic,
            RunAs::Resident => Mode::Resident,
            RunAs::Coroutine => Mode::Coroutine,
            RunAs::Auto => match &config.server.application {
                Some(application) if application.is_dir() => Mode::Classic,
                // Instances of one PHP with many coroutines would make no sense.
                Some(script) if config.classic.instances_max > 1 || is_worker_script(script) => {
                    Mode::Resident
                }
                _ => Mode::Coroutine,
            },
        }
    }

    /// The script that stays loaded in resident mode.
    pub fn resident_script(self, config: &Config) -> Option<&Path> {
        let alone = config.server.application.as_deref();
        (self == Mode::Resident).then(|| config.resident.script.as_deref().or(alone)).flatten()
    }

    /// PHP instances in each worker: how many requests can be in PHP at once.
    pub fn instances(self, config: &Config) -> u32 {
        const OF_DOCROOT: u32 = 50;
        match (self, config.classic.instances_max) {
            (Mode::Coroutine, _) | (Mode::Resident, 0) => 1,
            (Mode::Classic, 0) => OF_DOCROOT,
            (_, wanted) => wanted,
        }
    }

    /// The number of worker processes.
    ///
    /// With one instance a worker has one request in PHP at a time, even while that request waits: so there are
    /// several per core.
    pub fn workers(self, config: &Config) -> usize {
        const PER_CORE: usize = 4;
        const MIN: usize = 8;
        match (self, config.server.workers) {
            (Mode::Classic | Mode::Resident, Workers::Auto) if self.instances(config) == 1 => {
                machine::fitting((machine::cores() * PER_CORE).max(MIN))
            }
            (_, workers) => workers.count(),
        }
    }

    /// Whether each request has PHP to itself while it runs.
    pub fn is_one_at_a_time(self) -> bool {
        self != Mode::Coroutine
    }

    /// The mode's name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Classic => "classic",
            Mode::Resident => "resident",
            Mode::Coroutine => "coroutine",
        }
    }
}

/// Whether a script gets its requests from FrankenPHP's function.
fn is_worker_script(script: &Path) -> bool {
    const LOOKED_AT_BYTES: u64 = 256 << 10;
    const NAME: &[u8] = b"frankenphp_handle_request";
    // It may have been replaced by anything since the last reload, and the master must not wait for a pipe or read an
    // endless device.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(script, flags, rustix::fs::Mode::empty()).map(std::fs::File::from) else {
        return false;
    };
    let mut text = Vec::new();
    let is_read = file.metadata().is_ok_and(|found| found.is_file())
        && file.take(LOOKED_AT_BYTES).read_to_end(&mut text).is_ok();
    is_read && text.windows(NAME.len()).any(|part| part == NAME)
}

/// Everything that a new worker needs.
#[derive(Debug)]
pub struct WorkerSetup {
    /// Its slot, 0 to workers - 1; a replacement gets the same.
    pub slot: usize,
    /// The sockets to accept from; no other worker of the generation has these TCP sockets.
    pub listeners: Vec<BoundListener>,
    /// Its connection to the master.
    pub control: ControlEnd,
    /// All settings.
    pub config: Arc<Config>,
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
    slots: Vec<WorkerSlot>,
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

/// Why the loop ended.
enum Outcome {
    /// The master is done.
    Exit(ExitCode),
    /// This is a forked child now.
    Worker(WorkerSetup),
}

impl Master {
    /// The loop.
    fn run(&mut self) -> Outcome {
        loop {
            if let Some(setup) = self.start_due_workers() {
                return Outcome::Worker(setup);
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
            self.take_changes();
            self.run_deadlines(Instant::now());
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
            self.silence_deadline(),
        ];
        let far = Instant::now() + Duration::from_secs(60);
        slots.chain(workers).chain(others.into_iter().flatten()).min().unwrap_or(far).min(far)
    }

    fn run_deadlines(&mut self, now: Instant) {
        self.kill_overdue(now);
        self.kill_overdue_check(now);
        self.end_silent_workers(now);
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
