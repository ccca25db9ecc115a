//! The process of `weft check` that a reload begins with: what is heard of it, and until when.
//!
//! Must not know: what follows from its end. Invariant: it never waits for the master to read, and what is kept of its
//! words is bounded.

use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{ChildStderr, ChildStdout};
use std::time::Instant;

use rustix::process::Pid;

/// How much of the check's output is kept for the log.
const CHECK_OUTPUT_BYTES_MAX: usize = 16 << 10;
/// How often a pipe is read before others get their turn: the application may print forever.
const READS_MAX: usize = 64;

/// The check that runs.
#[derive(Debug)]
pub struct Check {
    /// Its process.
    pub pid: Pid,
    /// Its stdout: its answer.
    pub answer: Words<ChildStdout>,
    /// Its stderr: its errors.
    pub words: Words<ChildStderr>,
    /// Identifies the program that it ran ([`super::launch::Launch::file`]).
    pub file: Option<(u64, u64, u64, i64, i64)>,
    /// When it has taken too long.
    pub until: Instant,
}

/// The output on a pipe, of which the beginning is kept.
#[derive(Debug)]
pub struct Words<Pipe> {
    /// `None` when it has ended.
    pub pipe: Option<Pipe>,
    /// What was read so far.
    pub heard: Vec<u8>,
}

impl<Pipe: Read + AsFd> Words<Pipe> {
    /// Reads it without waiting from now on.
    ///
    /// # Errors
    /// The kernel's.
    pub fn of(pipe: Option<Pipe>) -> std::io::Result<Self> {
        if let Some(pipe) = &pipe {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        Ok(Words { pipe, heard: Vec::new() })
    }

    /// Reads what has arrived, so that the writer never waits for us.
    pub fn read(&mut self) {
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

impl Check {
    /// Its pipes, while it may say something.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let answer = self.answer.pipe.as_ref().map(AsFd::as_fd);
        let words = self.words.pipe.as_ref().map(AsFd::as_fd);
        answer.into_iter().chain(words)
    }
}
