//! Where the master is with the process that sees to certificates.
//!
//! Must not know what its notices lead to. Invariant: it never waits for that process, and keeps no more than a line of it.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ChildStdout;
use std::time::{Duration, Instant};

use rustix::process::Pid;

/// Changed files are not looked at while it may be changing more of them, for this long.
const GATHERING_MAX: Duration = Duration::from_secs(60);
/// A line is no longer.
const LINE_BYTES_MAX: usize = 4096;
/// How often its pipe is read before others get their turn.
const READS_MAX: usize = 64;

/// Where the master is with certificates.
#[derive(Debug)]
pub struct Renewal {
    /// The process, while it runs.
    pub running: Option<Running>,
    /// When to start it.
    pub next: Instant,
    /// How often it has failed in a row.
    pub failures: u32,
}

/// The process.
#[derive(Debug)]
pub struct Running {
    /// Its number.
    pub pid: Pid,
    since: Instant,
    /// `None` when it has said everything.
    words: Option<ChildStdout>,
    line: Vec<u8>,
    /// What it said about the next time.
    pub pause: Option<Duration>,
    /// Names that have new certificates.
    pub certified: usize,
}

impl Renewal {
    /// It is started as soon as there are workers.
    pub fn new() -> Renewal {
        Renewal { running: None, next: Instant::now(), failures: 0 }
    }

    /// Its pipe, while it may say something.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.running.as_ref()?.words.as_ref().map(AsFd::as_fd)
    }

    /// Whether it may just be changing files.
    pub fn gathers(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.since.elapsed() < GATHERING_MAX)
    }
}

impl Running {
    /// One that has just been started.
    pub fn new(pid: Pid, since: Instant, words: Option<ChildStdout>) -> Running {
        Running { pid, since, words, line: Vec::new(), pause: None, certified: 0 }
    }

    /// The next line that has arrived whole.
    pub fn line(&mut self) -> Option<String> {
        for _ in 0..READS_MAX {
            if let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.line.drain(..=end).collect();
                return Some(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            if self.line.len() > LINE_BYTES_MAX {
                self.line.clear();
            }
            let mut buffer = [0; 1024];
            match self.words.as_mut()?.read(&mut buffer) {
                Ok(0) => self.words = None,
                Ok(count) => self.line.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => (),
                Err(_) => return None,
            }
        }
        None
    }
}
