//! What a configuration wants of its machine.
//!
//! Must not know the machine, beyond where the application lies. Invariant: every number is for one worker, unless its name says otherwise.

use std::path::{Path, PathBuf};

use crate::bus::Bells;
use crate::config::{Config, ListenAddress, LogTarget, Mode};

/// Descriptors that a worker needs besides its connections and the bells of the bus: PHP's files and database connections, logs,
/// epoll.
const DESCRIPTORS_BESIDE: u64 = 256;

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Worker processes in all.
    pub workers: u64,
    pub connections: u64,
    /// Requests that run or wait at once, each with a stack: coroutines, or PHP instances.
    pub running: u64,
    /// Tasks beside them.
    pub tasks: u64,
    pub backlog: u64,
    /// Whether requests share one PHP, so that what a process has is everybody's.
    pub shares_php: bool,
    /// Whether scripts stay loaded in a worker, so that opcache never finds it idle.
    pub stays_loaded: bool,
    /// Whether connections are encrypted.
    pub is_tls: bool,
    /// Milliseconds after which an idle connection is closed; 0: never.
    pub idle_timeout_ms: u64,
    /// Bytes of temporary files.
    pub spool_bytes: u64,
    /// Ports of the application.
    pub ports: Vec<u16>,
    /// Files that logs are written to.
    pub logs: Vec<String>,
    /// Whether changed files are loaded without a reload.
    pub is_development: bool,
    /// Directories with the code of the applications.
    pub code: Vec<PathBuf>,
}

impl Plan {
    pub fn of(config: &Config) -> Plan {
        let mode = Mode::of(config);
        let limits = &config.limits;
        let shares_php = mode == Mode::Coroutine;
        let running =
            if shares_php { limits.coroutines_max as u64 } else { u64::from(mode.instances(config)) };
        let logs = [&config.log.error_log, &config.log.access_log];
        let file = |target: &LogTarget| match target {
            LogTarget::File(path) => Some(path.display().to_string()),
            _ => None,
        };
        Plan {
            workers: mode.workers(config) as u64,
            connections: limits.connections_max as u64,
            running,
            stays_loaded: mode != Mode::Classic || config.has_site_applications(),
            tasks: limits.tasks_max as u64,
            backlog: u64::from(config.server.backlog),
            shares_php,
            is_tls: config.wants_tls(),
            idle_timeout_ms: limits.idle_timeout_ms,
            spool_bytes: limits.spool_bytes_max,
            ports: config.server.listen.iter().filter_map(ListenAddress::port).collect(),
            logs: logs.into_iter().filter_map(file).collect(),
            is_development: config.dev.mode == crate::config::Environment::Development,
            code: code(config),
        }
    }

    /// Descriptors of a worker.
    pub fn descriptors(&self) -> u64 {
        self.connections + self.descriptors_beside()
    }

    /// Those that are no connections.
    pub fn descriptors_beside(&self) -> u64 {
        let bells = Bells::count(usize::try_from(self.workers).unwrap_or(usize::MAX));
        DESCRIPTORS_BESIDE + bells as u64
    }
}

/// Where the code of each application lies: a public directory is only the door to what is beside it, as composer lays it out.
fn code(config: &Config) -> Vec<PathBuf> {
    let of_site = |config: &Config| [config.server.application.clone(), config.resident.script.clone()];
    let all = [config].into_iter().chain(config.sites.iter().map(|site| &site.config));
    let mut found: Vec<PathBuf> = all
        .flat_map(of_site)
        .flatten()
        .filter_map(|path| path.canonicalize().ok())
        .filter_map(|path| if path.is_dir() { Some(path) } else { path.parent().map(Path::to_owned) })
        .map(|path| match path.parent() {
            Some(above) if above.join("vendor").is_dir() => above.to_owned(),
            _ => path,
        })
        .collect();
    found.sort();
    // What lies below another one is counted there.
    found.dedup_by(|later, earlier| later.starts_with(earlier));
    found
}
