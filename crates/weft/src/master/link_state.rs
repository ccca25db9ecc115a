//! Where the master is with the link to other hosts.
//!
//! Must not know when it is started: that is `link.rs`. Invariant: while it runs, its leash is held, or it was told to end.

use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::process::Pid;

/// Where the master is with the link.
#[derive(Debug)]
pub struct Link {
    /// The process, while it runs.
    pub running: Option<Running>,
    /// When to start it.
    pub next: Instant,
    /// How often it has died in a row.
    pub failures: u32,
}

/// The process.
#[derive(Debug)]
pub struct Running {
    /// Its number.
    pub pid: Pid,
    /// Since when.
    pub born: Instant,
    /// The link ends when this is closed.
    pub leash: Option<OwnedFd>,
    /// When it is killed, if it is to end.
    pub until: Option<Instant>,
}

impl Link {
    /// It is started with the first worker.
    pub fn new() -> Link {
        Link { running: None, next: Instant::now(), failures: 0 }
    }
}
