//! Whether one of the files that TLS was configured from has changed since.
//!
//! Must not know what is in them. Invariant: a change is reported once, when two looks in a row have seen the same.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::certificate::ocsp_path;
use crate::acme;
use crate::config::Config;

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// What changes when a file is replaced or written.
type Stamp = Option<(u64, u64, i64, i64, u64)>;

/// The files, as they were.
#[derive(Debug)]
pub struct Stamps {
    files: Vec<PathBuf>,
    known: Vec<Stamp>,
    seen: Vec<Stamp>,
    next: Instant,
}

impl Stamps {
    /// Remembers the files as they are now.
    pub fn of(config: &Config) -> Stamps {
        let pairs = config.certificates();
        let files = pairs.flat_map(|(chain, key)| [chain.clone(), key.clone(), ocsp_path(chain)]);
        let files: Vec<PathBuf> =
            files.chain(config.tls.client_ca.clone()).chain(acme_files(config)).collect();
        let known: Vec<Stamp> = files.iter().map(stamp).collect();
        Stamps { seen: known.clone(), known, files, next: Instant::now() + LOOK_EVERY }
    }

    /// When to look again.
    pub fn deadline(&self) -> Instant {
        self.next
    }

    /// The first file that has changed and is no longer being written.
    pub fn changed(&mut self, now: Instant) -> Option<PathBuf> {
        if now < self.next {
            return None;
        }
        self.next = now + LOOK_EVERY;
        let seen: Vec<Stamp> = self.files.iter().map(stamp).collect();
        let is_calm = seen == self.seen;
        self.seen = seen;
        let at = (0..self.files.len()).find(|at| is_calm && self.seen[*at] != self.known[*at])?;
        self.known.clone_from(&self.seen);
        Some(self.files[at].clone())
    }
}

/// What another host that shares the storage may change.
fn acme_files(config: &Config) -> impl Iterator<Item = PathBuf> {
    config.acme_names().into_iter().map(|name| acme::file_of(config, name, false))
}

fn stamp(path: &PathBuf) -> Stamp {
    let data = std::fs::metadata(path).ok()?;
    Some((data.dev(), data.ino(), data.mtime(), data.mtime_nsec(), data.len()))
}
