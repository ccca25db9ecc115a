//! New code in the same process: check, become the new image, start new workers, drain the old ones.
//!
//! Must not know how a worker loads code. Invariant: until every new worker is ready the old ones serve, and any
//! failure on the way leaves them serving; the sockets are open all the time, so no connection is refused.
//!
//! ```text
//! idle --SIGHUP--> checking --ok, exec--> booting --all ready--> retiring --none accepts--> idle   (old workers drain)
//!                     └------failed, or a new worker died---------------------------------> idle   (old workers stay)
//! ```

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitStatus, kill_process};

use super::Master;
use super::check_process::{Check, Words};
use super::handover::{Writer, can_take_over};
use super::listen::Listener;
use super::pidfile::State;
use super::reload_state::{Phase, Reload};
use super::worker_process::{Stage, Worker, WorkerSlot};

/// How long old workers may take to hear that they are to accept nothing more. One that computes hears it later; nearly
/// all of its connections are accepted by the new workers, which share its sockets.
const RETIRING_MAX: Duration = Duration::from_secs(1);

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
        if let Some(tls) = &self.tls {
            tls.tickets.keep(&tls.kept);
            writer.tickets(tls.kept.as_fd());
        }
        writer.bus(self.bus.descriptors());
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
        // Those that an earlier reload has left with their connections drain now: two generations are in memory, and not more.
        let (timeout_ms, keep_ms) = (self.config.server.drain_timeout_ms, self.config.server.reload_keep_ms);
        let old = |worker: &&mut Worker| worker.generation < generation && worker.stage != Stage::Killed;
        self.workers.iter_mut().filter(old).for_each(|worker| worker.retire(timeout_ms, keep_ms));
        self.listeners.iter_mut().for_each(Listener::settle);
        self.reload.phase = Phase::Retiring { until: Instant::now() + RETIRING_MAX };
    }

    /// Reports the reload as done once a new connection meets the new code for certain.
    pub fn end_retiring(&mut self, now: Instant) {
        let Phase::Retiring { until } = self.reload.phase else { return };
        if self.stopping {
            self.reload.phase = Phase::Idle;
            return;
        }
        let generation = self.generation;
        if now < until && self.workers.iter().any(|worker| worker.generation < generation && worker.accepts) {
            return;
        }
        self.reload.end(None);
        tracing::info!("reload: generation {generation} is ready, {} workers", self.slots.len());
        self.notify.ready(&self.status_text());
        self.publish();
    }

    /// Leaves the old workers in charge and reports why.
    pub fn fail_reload(&mut self, why: &str) {
        tracing::error!("reload failed, the running code goes on: {why}");
        self.board.master.failed_reloads.add(1);
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
        let ready = self.workers.iter().filter(|w| w.stage == Stage::Ready && !self.is_extra(w)).count();
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
