//! How an application runs: the mode that the settings amount to, and the numbers that follow from it.
//!
//! Must not know how a mode is carried out. Invariant: the same settings and the same file give the same mode, in the
//! master, its workers and `weft check`.

use std::io::Read;
use std::path::Path;

use rustix::fs::OFlags;

use super::{Config, ExtraWorkers, RunAs, Workers};
use crate::machine;

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
            RunAs::Auto if !config.sites.is_empty() => Mode::Classic,
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
        if config.has_site_applications() {
            config.instances_of_sites()
        } else {
            self.instances_of_one(config)
        }
    }

    /// Those of one application, or of all document roots.
    pub fn instances_of_one(self, config: &Config) -> u32 {
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

    /// The number of workers that the master may add while all are held.
    ///
    /// A script that stays loaded, with one worker by choice, may keep in its variables what all requests share: then
    /// it stays one.
    pub fn extra_workers(self, config: &Config) -> usize {
        // Each is a process that shares what the boot image has, so the bound is for memory. While all are held, small
        // requests wait for the end of a computation.
        const PER_CORE: usize = 32;
        match (config.server.extra_workers_max, config.server.workers) {
            (ExtraWorkers::AtMost(count), _) => count,
            (ExtraWorkers::Auto, Workers::Exactly(1))
                if self != Mode::Classic || config.has_site_applications() =>
            {
                0
            }
            (ExtraWorkers::Auto, _) => machine::roomy(machine::cores() * PER_CORE),
        }
    }

    /// Whether each request has PHP to itself while it runs.
    pub fn is_one_at_a_time(self) -> bool {
        self != Mode::Coroutine
    }

    /// After how many milliseconds code of several coroutines of one PHP is asked to let others run; 0: never.
    pub fn preempt_ms(self, config: &Config) -> u64 {
        if self == Mode::Coroutine { config.dev.preempt_ms } else { 0 }
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
