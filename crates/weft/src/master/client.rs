//! `weft reload` and `weft stop`: find the running master, signal it, wait for the outcome.
//!
//! Must not know how the master does it. Invariant: success is reported only after it was observed; a signal goes to
//! the process that was found, never to another that got its pid (pidfd).

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::pidfile::{State, find};
use crate::config::Config;
use crate::flags::Settings;

/// How often the state file is checked.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// The extra time to wait on top of the master's own deadlines.
const GRACE: Duration = Duration::from_secs(10);

/// Runs `weft reload`.
pub fn reload(settings: Settings) -> ExitCode {
    report(try_reload(settings))
}

/// Runs `weft stop`.
pub fn stop(settings: Settings) -> ExitCode {
    report(try_stop(settings))
}

fn report(outcome: Result<String, String>) -> ExitCode {
    match outcome {
        Ok(text) => {
            crate::print::print(&format!("weft: {text}\n"));
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("weft: {why}");
            ExitCode::FAILURE
        }
    }
}

/// A running master.
struct Running {
    pid: i32,
    pid_file: PathBuf,
    process: OwnedFd,
}

fn try_reload(settings: Settings) -> Result<String, String> {
    let config = load(settings)?;
    let running = Running::find(&config)?;
    // A reload in progress began before our code existed: the next one is ours.
    let before = State::read(&running.pid_file).map_or(0, |state| state.begun);
    running.signal(Signal::HUP)?;
    // Another reload may have to end first; each is a check and a boot.
    let patience = Duration::from_millis(config.server.boot_timeout_ms * 4) + GRACE;
    let deadline = Instant::now() + patience;
    loop {
        if running.ended(LOOK_EVERY)? {
            return Err(format!(
                "the master (pid {}) ended during the reload; see its error log",
                running.pid
            ));
        }
        match State::read(&running.pid_file) {
            Ok(State { done, generation, ready, failure: None, .. }) if done > before => {
                return Ok(format!("reloaded: generation {generation}, {ready} workers ready"));
            }
            Ok(State { done, failure: Some(why), .. }) if done > before => {
                return Err(format!("reload failed, the running code goes on: {why}"));
            }
            _ if Instant::now() > deadline => {
                return Err(format!(
                    "the reload has not ended after {} s; see the error log of pid {}",
                    patience.as_secs(),
                    running.pid
                ));
            }
            _ => {}
        }
    }
}

fn try_stop(settings: Settings) -> Result<String, String> {
    let config = load(settings)?;
    let running = Running::find(&config)?;
    running.signal(Signal::TERM)?;
    let patience = Duration::from_millis(config.server.drain_timeout_ms) + GRACE;
    let timeout = Timespec::try_from(patience).map_err(|_| "drain_timeout_ms is too long to wait for")?;
    if running.ended(timeout)? {
        return Ok(format!("stopped (pid {})", running.pid));
    }
    Err(format!(
        "pid {} has not stopped after {} s; kill it, or keep waiting",
        running.pid,
        patience.as_secs()
    ))
}

fn load(settings: Settings) -> Result<Config, String> {
    settings.load().map_err(|mistakes| mistakes.join("\nweft: "))
}

impl Running {
    fn find(config: &Config) -> Result<Self, String> {
        let Some(path) = config.server.pid_file.clone() else {
            return Err(
                "no pid file: give the --pid-file the server was started with (or pid_file in weft.toml); \
                        without one, signal the pid it printed: kill -HUP reloads, kill stops"
                    .into(),
            );
        };
        let shown = path.display();
        let pid = find(&path).map_err(|e| format!("pid file {shown}: {e}"))?;
        let pid = pid.ok_or_else(|| format!("weft is not running: no process holds the pid file {shown}"))?;
        let process =
            pidfd_open(pid, PidfdFlags::empty()).map_err(|e| format!("pid {pid} of {shown}: {e}"))?;
        Ok(Running { pid: pid.as_raw_pid(), pid_file: path, process })
    }

    fn signal(&self, signal: Signal) -> Result<(), String> {
        pidfd_send_signal(&self.process, signal)
            .map_err(|e| format!("cannot signal pid {}: {e}; are you its user?", self.pid))
    }

    /// Whether the process ended within `timeout`.
    fn ended(&self, timeout: Timespec) -> Result<bool, String> {
        let mut fds = [PollFd::new(&self.process, PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(count) => Ok(count > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(e) => Err(format!("cannot wait for pid {}: {e}", self.pid)),
        }
    }
}
