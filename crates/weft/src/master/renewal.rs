//! The process that sees to certificates ([`crate::acme`]): when it is started, and what its notices lead to.
//!
//! Must not know ACME. Invariants: there is one at a time; it runs only while workers serve, because they answer the
//! authority; what it gets reaches workers by a reload, as any changed certificate does. A reload leaves it alone: it ends
//! by itself when nobody hears it, and the next one waits for what it is at.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitStatus, kill_process};

use super::Master;
use super::renewal_state::Running;
use crate::acme::Notice;

/// How long to wait after a process that ended without saying when to look again.
const PAUSE_MIN: Duration = Duration::from_secs(60);
const PAUSE_MAX: Duration = Duration::from_secs(3600);

impl Master {
    /// Whether there are names to see to.
    fn sees_to_certificates(&self) -> bool {
        self.announced && !self.stopping && self.tls.is_some() && !self.config.acme_names().is_empty()
    }

    /// When the process is to be started.
    pub fn renewal_deadline(&self) -> Option<Instant> {
        (self.sees_to_certificates() && self.renewal.running.is_none()).then_some(self.renewal.next)
    }

    /// Starts it, if it is time.
    pub fn begin_renewal(&mut self, now: Instant) {
        if self.renewal_deadline().is_none_or(|at| at > now) {
            return;
        }
        let started = self.launch.renew().and_then(|mut child| {
            let words = child.stdout.take();
            if let Some(words) = &words {
                rustix::io::ioctl_fionbio(words, true)?;
            }
            let pid = Pid::from_raw(child.id() as i32).expect("a child has a positive pid");
            Ok(Running::new(pid, now, words))
        });
        match started {
            Ok(running) => self.renewal.running = Some(running),
            Err(error) => {
                tracing::error!("certificates: cannot run {}: {error}", self.launch.program().display());
                self.renewal.next = now + PAUSE_MAX;
            }
        }
    }

    /// Acts on what it has said.
    pub fn take_notices(&mut self) {
        while let Some(running) = &mut self.renewal.running
            && let Some(line) = running.line()
        {
            match line.parse() {
                Ok(Notice::Info(text)) => tracing::info!("{text}"),
                Ok(Notice::Warn(text)) => tracing::warn!("{text}"),
                Ok(Notice::Certified(name)) => {
                    running.certified += 1;
                    tracing::info!("{name} has a new certificate");
                }
                Ok(Notice::Next(pause)) => running.pause = Some(pause),
                Err(()) => tracing::debug!("certificates: {line}"),
            }
        }
    }

    /// A child has ended; whether it was this one.
    pub fn renewal_ended(&mut self, pid: Pid, status: WaitStatus) -> bool {
        if self.renewal.running.as_ref().is_none_or(|running| running.pid != pid) {
            return false;
        }
        self.take_notices();
        let Some(running) = self.renewal.running.take() else { return true };
        let pause = running.pause.filter(|_| status.exit_status() == Some(0));
        self.renewal.failures = if pause.is_some() { 0 } else { self.renewal.failures.saturating_add(1) };
        let grown = PAUSE_MIN.saturating_mul(1 << self.renewal.failures.saturating_sub(1).min(6));
        self.renewal.next = Instant::now() + pause.unwrap_or(grown.min(PAUSE_MAX));
        if pause.is_none() && !self.stopping {
            tracing::warn!(
                "the process that sees to certificates has failed ({status:?}) and is started again later"
            );
        }
        if running.certified > 0 && !self.stopping {
            self.reload.request();
        }
        true
    }

    /// The server stops: what it is at can wait for the next start.
    pub fn abandon_renewal(&self) {
        if let Some(running) = &self.renewal.running {
            // It may have ended already; then its SIGCHLD is on the way.
            let _ = kill_process(running.pid, Signal::TERM);
        }
    }
}
