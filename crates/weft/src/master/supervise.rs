//! The workers' lives: start, ready, recycle, drain, death, replacement.
//!
//! Must not know how code changes (reload does). Invariant: every slot either has a worker that serves or will have one
//! at a known time; a worker is drained only when another one is ready in its slot, or the server stops.

use std::time::{Duration, Instant};

use rustix::process::{Signal, WaitOptions, WaitStatus, wait};

use super::control::{ToMaster, pair};
use super::fork::{Forked, fork};
use super::listen::Listener;
use super::silence::Silence;
use super::worker_process::{Stage, Worker, WorkerSlot};
use super::{Master, WorkerSetup, show};

/// The death of a worker that lived longer does not count as a repeated failure.
const HEALTHY_LIFE: Duration = Duration::from_secs(10);
const BACKOFF_MIN: Duration = Duration::from_secs(1);
const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// Messages of one worker that are handled before others get their turn.
const MESSAGES_PER_TURN: usize = 64;
/// How long no worker is started while a reload is meant to bring new shared memory.
const RENEWAL_MAX: Duration = Duration::from_secs(5);
/// So many short lives in a slot, the last ended by a fault, are taken for the work of something that all its workers
/// share.
const CRASHES_IN_A_ROW: u32 = 3;
/// How long an image that came by a reload keeps its shared memory at least, whatever its workers crash of.
const RENEWAL_PAUSE: Duration = Duration::from_secs(300);

impl Master {
    /// When a slot's planned worker may start. Replacements of workers that still serve start one at a time:
    /// recycling must not double the memory of the whole server.
    pub fn start_time(&self, slot: &WorkerSlot) -> Option<Instant> {
        let index = self.slots.iter().position(|s| std::ptr::eq(s, slot))?;
        let serving = self.workers.iter().any(|w| w.slot == index && w.is_staying());
        let other_boots = self.workers.iter().any(|w| matches!(w.stage, Stage::Booting { .. }));
        let must_wait = serving && other_boots && !self.reload.is_booting();
        slot.wanted.filter(|_| self.engine.is_some() && !self.stopping && !must_wait)
    }

    /// Forks the workers that are due; returns `Some` in the child.
    pub fn start_due_workers(&mut self) -> Option<WorkerSetup> {
        let now = Instant::now();
        while let Some(slot) = self.slots.iter().position(|s| self.start_time(s).is_some_and(|at| at <= now))
        {
            self.slots[slot].wanted = None;
            match self.start_worker(slot) {
                Ok(None) => {}
                Ok(Some(setup)) => return Some(setup),
                Err(e) => {
                    tracing::error!("cannot start worker {slot}: {e}");
                    self.want_later(slot);
                }
            }
        }
        self.start_wanted_extra()
    }

    /// Forks a worker; returns `Some` in the child.
    ///
    /// # Errors
    /// The kernel's, for descriptors or processes.
    pub fn start_worker(&mut self, slot: usize) -> std::io::Result<Option<WorkerSetup>> {
        let count = self.slots.len();
        let mut listeners = Vec::new();
        for listener in &self.listeners {
            listeners.extend(listener.for_slot(slot, count)?);
        }
        let relay = self.relay.try_clone()?;
        let (master_end, worker_end) = pair()?;
        let page = self.board.free();
        match fork()? {
            Forked::Parent(pid) => {
                let until = Instant::now() + Duration::from_millis(self.config.server.boot_timeout_ms);
                let mut worker =
                    Worker::new(pid, slot, self.generation, Stage::Booting { until }, master_end);
                worker.page = page.inspect(|page| show::assign(page, pid));
                tracing::debug!("{} started", worker.name());
                self.workers.push(worker);
                Ok(None)
            }
            Forked::Child => {
                let (config, tls) = (self.config.clone(), self.tls.as_ref().map(|tls| tls.ready.clone()));
                let (board, bus) = (self.board, self.bus);
                let https_port = self.listeners.iter().find_map(Listener::https_port);
                Ok(Some(WorkerSetup {
                    slot,
                    listeners,
                    https_port,
                    control: worker_end,
                    relay,
                    bus,
                    board,
                    page,
                    config,
                    tls,
                }))
            }
        }
    }

    /// Handles the workers' messages.
    pub fn take_messages(&mut self) {
        for index in 0..self.workers.len() {
            // A worker that sends without end must not keep the master from the others.
            for _ in 0..MESSAGES_PER_TURN {
                let Some(message) = self.workers[index].hear() else { break };
                self.act_on(index, message);
            }
        }
    }

    fn act_on(&mut self, index: usize, message: ToMaster) {
        match message {
            ToMaster::Ready => self.became_ready(index),
            ToMaster::Recycle { reason } => self.recycle(index, &reason),
            ToMaster::Status(status) => {
                self.workers[index].status = status;
                self.heard(index);
            }
            ToMaster::Held => self.became_held(index),
            ToMaster::Free => self.workers[index].is_held = false,
            ToMaster::AcceptsNoMore => self.workers[index].accepts = false,
            ToMaster::Crashed { text } => tracing::error!("{} {text}", self.workers[index].name()),
            ToMaster::Stood { text } => self.workers[index].silence.note(text),
            ToMaster::Fatal { message } => self.workers[index].fatal = Some(message),
        }
    }

    fn became_ready(&mut self, index: usize) {
        let worker = &mut self.workers[index];
        match worker.stage {
            Stage::Booting { .. } => {}
            // It became ready while `Drain` was on its way, and may have accepted a connection.
            Stage::Draining { .. } => {
                worker.stage = Worker::drained_by(self.config.server.drain_timeout_ms);
                return;
            }
            Stage::Ready | Stage::Killed => return,
        }
        worker.stage = Stage::Ready;
        worker.silence = Silence::new();
        tracing::debug!("{} is ready", worker.name());
        let (slot, generation) = (worker.slot, worker.generation);
        if self.reload.is_booting() {
            if generation == self.generation {
                self.complete_reload_if_ready();
            }
        } else {
            let timeout_ms = self.config.server.drain_timeout_ms;
            for (other, worker) in self.workers.iter_mut().enumerate() {
                if worker.slot != slot || other == index || !worker.is_staying() {
                    continue;
                }
                // Workers of one image share the way from one to another.
                if worker.generation == generation {
                    worker.leave(timeout_ms)
                } else {
                    worker.drain(timeout_ms)
                }
            }
        }
        self.share_sockets();
        self.announce_if_ready();
        self.publish();
    }

    /// Sends `Drain` to every worker that `which` selects.
    pub fn drain_where(&mut self, which: impl Fn(&Worker, usize) -> bool) {
        let timeout_ms = self.config.server.drain_timeout_ms;
        for (index, worker) in self.workers.iter_mut().enumerate() {
            if which(worker, index) {
                worker.drain(timeout_ms);
            }
        }
    }

    fn recycle(&mut self, index: usize, reason: &str) {
        let worker = &self.workers[index];
        let (slot, booting) = (worker.slot, self.reload.is_booting());
        if worker.stage != Stage::Ready || self.stopping || (booting && worker.generation < self.generation) {
            return;
        }
        let coming = self.workers.iter().any(|w| w.slot == slot && matches!(w.stage, Stage::Booting { .. }));
        let Some(place) = self.slots.get_mut(slot).filter(|place| !coming && place.wanted.is_none()) else {
            return;
        };
        tracing::info!("{} asks to be replaced: {reason}", worker.name());
        place.wanted = Some(Instant::now());
    }

    /// Reaps dead processes. As pid 1 of a container this includes children that others left behind.
    pub fn reap(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if let Some(index) = self.workers.iter().position(|w| w.pid == pid) {
                // Everything it can have sent: its end is closed, and the kernel limits what waits there.
                while let Some(message) = self.workers[index].hear() {
                    self.act_on(index, message);
                }
                let worker = self.workers.remove(index);
                self.bus.leave(worker.pid.as_raw_nonzero().get() as u32);
                if let Some(page) = worker.page {
                    self.board.clear(page);
                }
                self.worker_died(worker, status);
            } else if !self.link_ended(pid, status) && !self.renewal_ended(pid, status) {
                self.check_ended(pid, status);
            }
        }
    }

    fn worker_died(&mut self, worker: Worker, status: WaitStatus) {
        let how = describe(status);
        let name = worker.name();
        // The messages of an abandoned image are not reported again.
        let broken = status.exit_status() != Some(0)
            && worker.generation == self.generation
            && !self.stopping
            && !self.reload.is_wanted()
            && crate::php::memory_is_broken(worker.pid.as_raw_nonzero().get() as u32);
        match worker.stage {
            _ if self.stopping => tracing::debug!("{name} {how}"),
            Stage::Draining { .. } if status.exit_status() == Some(0) => tracing::info!("{name} has drained"),
            // A new generation's other workers fail for the reason that was reported for the first.
            Stage::Draining { .. } if worker.fatal.is_some() => tracing::debug!("{name} {how}"),
            Stage::Draining { .. } => tracing::warn!("{name} {how} while it drained"),
            Stage::Booting { .. } => self.boot_failed(&worker, &how),
            Stage::Killed if worker.fatal.is_some() => self.boot_failed(&worker, &how),
            Stage::Ready | Stage::Killed => self.died_serving(&worker, status, &how),
        }
        if broken {
            self.renew_memory();
        }
        if self.workers.iter().all(|w| w.generation == self.generation) {
            self.retired.iter().for_each(Listener::unlink);
            self.retired.clear();
        }
        if self.reload.is_booting() {
            self.complete_reload_if_ready();
        }
        self.share_sockets();
        self.publish();
    }

    fn died_serving(&mut self, worker: &Worker, status: WaitStatus, how: &str) {
        let why = worker.fatal.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
        if status.exit_status() == Some(0) {
            // It was told to by a signal sent to it.
            tracing::info!("{} has ended by itself and is replaced", worker.name());
        } else {
            self.board.master.deaths.add(1);
            tracing::error!("{} {how}{why}; {}", worker.name(), worker.load());
        }
        if self.is_extra(worker) {
            return;
        }
        let replaced = self.workers.iter().any(|w| w.slot == worker.slot && w.is_staying());
        let Some(slot) = self.slots.get_mut(worker.slot).filter(|_| !replaced) else { return };
        if worker.born.elapsed() >= HEALTHY_LIFE {
            slot.failures = 0;
        }
        // The first death is answered at once, the second after a second.
        let delay = backoff(slot.failures);
        slot.failures += 1;
        slot.wanted = Some(Instant::now() + delay);
        let crashes = slot.failures;
        if !delay.is_zero() {
            tracing::warn!("worker {} is started again in {} s", worker.slot, delay.as_secs());
        }
        if is_fault(status) && crashes >= CRASHES_IN_A_ROW {
            self.renew_after_crashes(worker.slot);
        }
        if self.engine.is_none() {
            tracing::error!("it cannot be replaced: PHP did not start at the last reload; fix it and reload");
        }
    }

    /// Makes every worker leave opcache's shared memory, in which a worker died while it wrote: what it left there may
    /// crash others, or give wrong results. No worker uses it until a reload provides a new one; if that fails, the old
    /// one must do.
    fn renew_memory(&mut self) {
        tracing::error!(
            "a worker has died while it wrote to opcache's shared memory, which may be corrupt: all workers are replaced, with new memory"
        );
        let at_last = Instant::now() + RENEWAL_MAX;
        self.slots.iter_mut().for_each(|slot| slot.wanted = Some(at_last));
        self.drain_where(|worker, _| worker.is_staying());
        self.reload.request();
    }

    /// Reloads, because what crashes each worker of a slot soon after its start may be in the memory that they share: code
    /// that opcache's JIT compiled wrongly, for example, stays there until there is new memory. An application that crashes
    /// by itself goes on doing so; therefore at most once in [`RENEWAL_PAUSE`].
    fn renew_after_crashes(&mut self, slot: usize) {
        let is_recent = self.reload.continued_at.is_some_and(|at| at.elapsed() < RENEWAL_PAUSE);
        if is_recent || self.reload.is_wanted() || self.engine.is_none() {
            return;
        }
        tracing::error!(
            "worker {slot} has crashed {CRASHES_IN_A_ROW} times soon after its start: reloading, in case what opcache compiled into shared memory is the cause"
        );
        self.reload.request();
    }

    fn boot_failed(&mut self, worker: &Worker, how: &str) {
        let why =
            worker.fatal.clone().unwrap_or_else(|| format!("{} {how} before it was ready", worker.name()));
        if self.reload.is_booting() && worker.generation == self.generation {
            return self.fail_reload(&why);
        }
        let hope = self.announced || self.workers.iter().any(Worker::is_staying);
        if !hope {
            self.failure = Some(why);
            self.slots.iter_mut().for_each(|slot| slot.wanted = None);
            return;
        }
        tracing::error!("worker {} did not start: {why}", worker.slot);
        if self.is_extra(worker) {
            return self.extras.rest();
        }
        self.want_later(worker.slot);
        self.announce_if_ready();
    }

    fn want_later(&mut self, slot: usize) {
        let Some(slot) = self.slots.get_mut(slot) else { return };
        slot.failures += 1;
        slot.wanted = Some(Instant::now() + backoff(slot.failures));
    }

    /// SIGTERM: nothing new is accepted; running requests are finished.
    pub fn stop(&mut self) {
        self.stopping = true;
        tracing::info!("stopping: running requests have {} ms", self.config.server.drain_timeout_ms);
        self.notify.stopping();
        // No worker will accept again: new connections are refused at once. The workers accept the queued ones.
        for listener in self.listeners.drain(..).chain(self.retired.drain(..)) {
            listener.unlink();
        }
        self.abandon_check();
        self.abandon_renewal();
        self.drain_where(|worker, _| worker.stage != Stage::Killed);
    }

    /// The second SIGTERM ends the wait.
    pub fn stop_at_once(&mut self) {
        tracing::warn!("stopping at once: {} workers are not done", self.workers.len());
        self.workers.iter_mut().filter(|w| w.stage != Stage::Killed).for_each(Worker::stop);
    }

    /// Ends the workers whose time is up.
    pub fn kill_overdue(&mut self, now: Instant) {
        for worker in self.workers.iter_mut().filter(|w| w.deadline().is_some_and(|at| at <= now)) {
            let name = worker.name();
            if let Stage::Booting { .. } = worker.stage {
                let limit = self.config.server.boot_timeout_ms;
                worker
                    .fatal
                    .get_or_insert_with(|| format!("{name} was not ready within boot_timeout_ms = {limit}"));
            } else {
                tracing::warn!("{name} was not done within its deadline and is killed; {}", worker.load());
            }
            worker.kill();
        }
    }
}

/// Nothing after the first failure, then 1 s, 2 s, 4 s, up to 30 s.
fn backoff(failures: u32) -> Duration {
    match failures {
        0 => Duration::ZERO,
        n => BACKOFF_MIN.saturating_mul(1 << (n - 1).min(10)).min(BACKOFF_MAX),
    }
}

/// Whether the process ended by a fault of its own code, and not because somebody killed it.
fn is_fault(status: WaitStatus) -> bool {
    const FAULTS: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];
    status.terminating_signal().is_some_and(|signal| FAULTS.contains(&signal))
}

fn describe(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exited with status {code}"),
        (_, Some(signal)) => format!("was killed by signal {signal}{}", signal_name(signal)),
        _ => "ended".into(),
    }
}

/// ` (SIGSEGV)`, or nothing for a signal without a name.
fn signal_name(signal: i32) -> String {
    // The name is only available as "Signal::SEGV".
    let named = Signal::from_named_raw(signal).map(|named| format!("{named:?}"));
    let short = named.as_deref().and_then(|text| text.trim_matches('"').strip_prefix("Signal::"));
    short.map(|name| format!(" (SIG{})", name.to_ascii_uppercase())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_named() {
        assert_eq!(signal_name(libc::SIGSEGV), " (SIGSEGV)");
        assert_eq!(signal_name(libc::SIGKILL), " (SIGKILL)");
        assert_eq!(signal_name(0), "");
    }

    #[test]
    fn back_off_doubles_from_nothing_to_half_a_minute() {
        let seconds: Vec<u64> = (0..8).map(|n| backoff(n).as_secs()).collect();
        assert_eq!(seconds, [0, 1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(backoff(u32::MAX), BACKOFF_MAX);
    }
}
