//! New code in the same process: check, become the new image, start new workers, drain the old ones.
//!
//! Must not know how a worker loads code. Invariant: until every new worker is ready the old ones serve, and any
//! failure on the way leaves them serving; the sockets are open all the time, so no connection is refused.
//!
//! ```text
//! idle --SIGHUP--> checking --ok, exec--> booting --all ready--> idle   (old workers drain)
//!                     └------failed, or a new worker died---------> idle   (old workers stay)
//! ```

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{ChildStderr, ChildStdout};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitStatus, kill_process};

use super::handover::{Writer, can_take_over};
use super::listen::Listener;
use super::pidfile::State;
use super::supervise::{Stage, WorkerSlot};
use super::{Master, Worker};

/// How much of the check's output is kept for the log.
const CHECK_OUTPUT_BYTES_MAX: usize = 16 << 10;
/// How often a pipe is read before others get their turn: the application may print forever.
const READS_MAX: usize = 64;

/// The state of reloading.
#[derive(Debug, Default)]
pub struct Reload {
    /// Reloads begun so far.
    pub begun: u64,
    /// Reloads finished so far, successful or not.
    pub done: u64,
    /// Whether a reload is requested.
    pub pending: bool,
    /// Why the last one failed.
    pub failure: Option<String>,
    /// The number of worker slots before the current reload.
    slots_before: usize,
    phase: Phase,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Idle,
    /// `weft check` runs on the new code.
    Checking(Check),
    /// This is the new image; its first workers load the application.
    Booting,
}

#[derive(Debug)]
struct Check {
    pid: Pid,
    /// Its stdout: its answer.
    answer: Words<ChildStdout>,
    /// Its stderr: its errors.
    words: Words<ChildStderr>,
    /// Identifies the program that it ran ([`super::launch::Launch::file`]).
    file: Option<(u64, u64, u64, i64, i64)>,
    until: Instant,
}

/// The output on a pipe, of which the beginning is kept.
#[derive(Debug)]
struct Words<Pipe> {
    pipe: Option<Pipe>,
    heard: Vec<u8>,
}

impl<Pipe: Read + AsFd> Words<Pipe> {
    fn of(pipe: Option<Pipe>) -> std::io::Result<Self> {
        if let Some(pipe) = &pipe {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        Ok(Words { pipe, heard: Vec::new() })
    }

    /// Reads what has arrived, so that the writer never waits for us.
    fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut buffer = [0; 4096];
        for _ in 0..READS_MAX {
            match pipe.read(&mut buffer) {
                Ok(0) => return self.pipe = None,
                Ok(length) => {
                    let room = CHECK_OUTPUT_BYTES_MAX - self.heard.len();
                    self.heard.extend_from_slice(&buffer[..length.min(room)]);
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }
}

impl Reload {
    /// The state right after the new image took over.
    pub fn continued(begun: u64, pending: bool, slots_before: usize) -> Self {
        Reload { begun, done: begun - 1, pending, failure: None, slots_before, phase: Phase::Booting }
    }

    /// Requests a reload; if one is in progress, another follows.
    pub fn request(&mut self) {
        self.pending = true;
    }

    /// Whether one is requested or in progress.
    pub fn is_wanted(&self) -> bool {
        self.pending || !matches!(self.phase, Phase::Idle)
    }

    /// Whether new workers are starting beside the old ones.
    pub fn is_booting(&self) -> bool {
        matches!(self.phase, Phase::Booting)
    }

    /// The check's output, while it runs.
    pub fn check_fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let check = match &self.phase {
            Phase::Checking(check) => Some(check),
            _ => None,
        };
        let answer = check.and_then(|check| check.answer.pipe.as_ref().map(AsFd::as_fd));
        let words = check.and_then(|check| check.words.pipe.as_ref().map(AsFd::as_fd));
        answer.into_iter().chain(words)
    }

    /// The deadline of the check.
    pub fn deadline(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Checking(check) => Some(check.until),
            _ => None,
        }
    }

    fn end(&mut self, failure: Option<String>) {
        self.phase = Phase::Idle;
        self.done = self.begun;
        self.failure = failure;
    }
}

impl Master {
    /// Begins a requested reload, unless one is in progress.
    pub fn begin_requested_reload(&mut self) {
        if !self.reload.pending || !matches!(self.reload.phase, Phase::Idle) {
            return;
        }
        self.reload.pending = false;
        self.reload.begun += 1;
        self.notify.reloading();
        tracing::info!("reload: checking configuration and application");
        self.publish();
        let file = self.launch.file();
        let started = self.launch.check().and_then(|mut child| {
            let (answer, words) = (Words::of(child.stdout.take())?, Words::of(child.stderr.take())?);
            let pid = Pid::from_raw(child.id() as i32).expect("a child has a positive pid");
            let until = Instant::now() + Duration::from_millis(self.config.server.boot_timeout_ms);
            Ok(Check { pid, answer, words, file, until })
        });
        match started {
            Ok(check) => self.reload.phase = Phase::Checking(check),
            Err(e) => self.fail_reload(&format!("cannot run {}: {e}", self.launch.program().display())),
        }
    }

    /// Reads the check's output, so that it never waits for us.
    pub fn take_check_output(&mut self) {
        if let Phase::Checking(check) = &mut self.reload.phase {
            check.answer.read();
            check.words.read();
        }
    }

    /// A child that is not a worker has ended: the check, or an orphan.
    pub fn check_ended(&mut self, pid: Pid, status: WaitStatus) {
        self.take_check_output();
        let Phase::Checking(check) = &self.reload.phase else { return };
        if check.pid != pid || self.stopping {
            return;
        }
        if status.exit_status() == Some(0) {
            return self.take_over_if_able();
        }
        let words = String::from_utf8_lossy(&check.words.heard).trim().to_string();
        self.fail_reload(if words.is_empty() { "weft check ended without a message" } else { &words });
    }

    /// After exec nothing is left that could report what is wrong with the new program, so it is asked before.
    fn take_over_if_able(&mut self) {
        let Phase::Checking(check) = &self.reload.phase else { return };
        let (able, same) = (can_take_over(&check.answer.heard), check.file == self.launch.file());
        let program = self.launch.program().display().to_string();
        if !able {
            self.fail_reload(&format!(
                "{program} is not a weft that can take over from this one: install another, or restart instead of reloading"
            ));
        } else if !same {
            self.fail_reload(&format!("{program} was replaced while it was checked: reload again"));
        } else {
            self.become_new_image();
        }
    }

    /// Kills a check that takes too long; its end fails the reload.
    pub fn kill_overdue_check(&mut self, now: Instant) {
        if let Phase::Checking(check) = &mut self.reload.phase
            && check.until <= now
        {
            let limit = self.config.server.boot_timeout_ms;
            check.words.heard = format!("weft check took longer than boot_timeout_ms = {limit}").into_bytes();
            check.until = now + Duration::from_secs(60);
            // It may have ended already; then its SIGCHLD is on the way.
            let _ = kill_process(check.pid, Signal::KILL);
        }
    }

    /// Abandons the check, because the server stops.
    pub fn abandon_check(&mut self) {
        if let Phase::Checking(check) = &self.reload.phase {
            let _ = kill_process(check.pid, Signal::KILL);
        }
    }

    fn become_new_image(&mut self) {
        let mut writer =
            Writer::new(self.generation, self.slots.len(), self.reload.begun, self.reload.pending);
        if let Some(pid_file) = &self.pid_file {
            writer.pid_file(pid_file.path(), pid_file.fd());
        }
        self.listeners.iter().chain(&self.retired).for_each(|listener| writer.listener(listener));
        let now = Instant::now();
        for worker in &self.workers {
            let left = match worker.stage {
                Stage::Draining { until } => Some(until.saturating_duration_since(now).as_millis() as u64),
                Stage::Killed => Some(0),
                Stage::Ready | Stage::Booting { .. } => None,
            };
            writer.worker(worker.pid, worker.slot, worker.generation, left, worker.control());
        }
        let error = match writer.keep_open(true) {
            Ok(text) => self.launch.again(text),
            Err(e) => e,
        };
        // The descriptors are open: closing them on exec again cannot fail if leaving them open did not.
        let _ = writer.keep_open(false);
        self.fail_reload(&format!("cannot run {}: {error}", self.launch.program().display()));
    }

    /// Drains the old workers if a new one is ready in every slot.
    pub fn complete_reload_if_ready(&mut self) {
        let generation = self.generation;
        let ready = |slot| {
            self.workers
                .iter()
                .any(|w: &Worker| (w.slot, w.generation, w.stage) == (slot, generation, Stage::Ready))
        };
        if !self.reload.is_booting() || !(0..self.slots.len()).all(ready) {
            return;
        }
        self.drain_where(|worker, _| worker.generation < generation && worker.is_staying());
        self.reload.end(None);
        self.listeners.iter_mut().for_each(Listener::settle);
        tracing::info!("reload: generation {generation} is ready, {} workers", self.slots.len());
        self.notify.ready(&self.status_text());
        self.publish();
    }

    /// Leaves the old workers in charge and reports why.
    pub fn fail_reload(&mut self, why: &str) {
        tracing::error!("reload failed, the running code goes on: {why}");
        if self.reload.is_booting() {
            let generation = self.generation;
            self.drain_where(|worker, _| worker.generation == generation && worker.is_staying());
            self.retreat();
            for slot in 0..self.slots.len() {
                let served = self.workers.iter().any(|w| w.slot == slot && w.is_staying());
                self.slots[slot].wanted =
                    if served { None } else { Some(Instant::now() + Duration::from_secs(1)) };
            }
        }
        self.reload.end(Some(why.to_string()));
        self.share_sockets_anew();
        self.notify.ready(&format!("{}; the last reload failed", self.status_text()));
        self.publish();
    }

    /// Restores the sockets and slots of the old workers.
    fn retreat(&mut self) {
        let (mut kept, new): (Vec<_>, Vec<_>) =
            self.listeners.drain(..).partition(|listener| listener.proven > 0);
        new.iter().for_each(Listener::unlink);
        kept.append(&mut self.retired);
        kept.iter_mut().for_each(Listener::retreat);
        self.listeners = kept;
        self.slots.resize_with(self.reload.slots_before, WorkerSlot::default);
    }

    /// Publishes the state for commands that wait at the pid file.
    pub fn publish(&mut self) {
        let Some(pid_file) = self.pid_file.as_ref().filter(|_| self.announced) else { return };
        let Reload { begun, done, failure, .. } = &self.reload;
        let ready = self.workers.iter().filter(|w| w.stage == Stage::Ready).count();
        let state = State {
            begun: *begun,
            done: *done,
            generation: self.generation,
            ready,
            failure: failure.clone(),
        };
        if let Err(e) = pid_file.publish(&state) {
            tracing::warn!("cannot write the state beside {}: {e}", pid_file.path().display());
        }
    }

    /// One line for the service manager.
    pub fn status_text(&self) -> String {
        format!("{} workers, generation {}", self.slots.len(), self.generation)
    }
}
