//! A log's file or stream.
//!
//! Must not know lines or threads. Invariant: writes go straight to the kernel (rustix), never through libc, whose
//! `write` is hooked. A file is opened for appending, so that two processes never overwrite each other. The descriptor
//! keeps its number as long as the output exists, whatever file it refers to.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::{DupFlags, Errno, dup3};

use crate::config::LogTarget;
use crate::guarded_path::GuardedPath;

/// How long a single-threaded process may wait for its log.
const SOON: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// A destination for log lines.
#[derive(Debug)]
pub struct Output {
    path: Option<PathBuf>,
    fd: OwnedFd,
    is_new: bool,
    takes_streams: bool,
}

impl Output {
    /// Opens `target`; a stream is the process's stderr. With `takes_streams` the process's own stdout and stderr are
    /// redirected there as well, which a daemon needs.
    ///
    /// # Errors
    /// One line with the path.
    pub fn open(target: &LogTarget, takes_streams: bool) -> Result<Self, String> {
        let LogTarget::File(path) = target else {
            return Self::copy_of(rustix::stdio::stderr());
        };
        let path = std::path::absolute(path).map_err(|e| format!("log {}: {e}", path.display()))?;
        let (fd, is_new) = open_file(&path).map_err(|e| explain(&path, &e))?;
        let output = Output { path: Some(path), fd, is_new, takes_streams };
        output.lead_streams();
        Ok(output)
    }

    /// Opens `target`; a stream is the process's stdout.
    ///
    /// # Errors
    /// One line with the path.
    pub fn open_access(target: &LogTarget) -> Result<Self, String> {
        match target {
            LogTarget::File(_) => Self::open(target, false),
            _ => Self::copy_of(rustix::stdio::stdout()),
        }
    }

    fn copy_of(stream: rustix::fd::BorrowedFd<'_>) -> Result<Self, String> {
        let fd = stream.try_clone_to_owned().map_err(|e| format!("no file descriptor for a log: {e}"))?;
        Ok(Output { path: None, fd, is_new: false, takes_streams: false })
    }

    /// The open descriptor, if its file was newly created.
    pub fn new_file(&self) -> Option<&OwnedFd> {
        self.is_new.then_some(&self.fd)
    }

    /// Reopens the file; if that fails, keeps the old one and reports it there.
    pub fn reopen(&mut self) {
        let Some(path) = &self.path else { return };
        match open_file(path) {
            Ok((fd, is_new)) => {
                // This fails only for numbers that are not open, and both are.
                let _ = dup3(&fd, &mut self.fd, DupFlags::CLOEXEC);
                self.is_new = is_new;
                self.lead_streams();
            }
            Err(e) => {
                self.is_new = false;
                let line = format!("weft: {}; continuing with the old file\n", explain(path, &e));
                // The old file was writable a moment ago; if it no longer is, the error cannot be reported.
                let _ = self.target().write(line.as_bytes());
            }
        }
    }

    /// The target for code that keeps only the descriptor's number.
    ///
    /// # Safety
    /// The output MUST live as long as the process.
    pub unsafe fn forever(&self) -> Target<'static> {
        // SAFETY: the descriptor is open for as long as the output lives, which is forever by contract.
        Target(unsafe { BorrowedFd::borrow_raw(self.fd.as_raw_fd()) })
    }

    /// The target of lines.
    pub fn target(&self) -> Target<'_> {
        Target(self.fd.as_fd())
    }

    fn lead_streams(&self) {
        if self.takes_streams {
            // Both numbers are open: they exist from the start of the process.
            let _ = rustix::stdio::dup2_stdout(&self.fd);
            let _ = rustix::stdio::dup2_stderr(&self.fd);
        }
    }
}

/// An open log.
#[derive(Clone, Copy, Debug)]
pub struct Target<'fd>(BorrowedFd<'fd>);

impl Target<'_> {
    /// Writes everything.
    ///
    /// # Errors
    /// The file system's, such as a full disk.
    pub fn write(self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match rustix::io::write(self.0, bytes) {
                Ok(length) => bytes = &bytes[length..],
                Err(Errno::INTR) => {}
                // A terminal or pipe that another process made non-blocking.
                Err(Errno::AGAIN) => {
                    poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], None)?;
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Writes if that takes hardly any waiting: a pipe whose reader is stuck must not stop the caller.
    ///
    /// # Errors
    /// `WouldBlock` if the target accepts nothing, and the file system's errors.
    pub fn write_soon(self, bytes: &[u8]) -> io::Result<()> {
        // A pipe that poll reports as writable accepts PIPE_BUF = 4096 bytes at once (pipe(7)).
        for piece in bytes.chunks(4096) {
            let mut fds = [PollFd::new(&self.0, PollFlags::OUT)];
            if poll(&mut fds, Some(&SOON))? == 0 {
                return Err(Errno::AGAIN.into());
            }
            self.write(piece)?;
        }
        Ok(())
    }
}

/// The file, and whether it is new.
fn open_file(path: &Path) -> io::Result<(OwnedFd, bool)> {
    GuardedPath::find(path)?.open(OFlags::WRONLY | OFlags::APPEND, 0o640)
}

fn explain(path: &Path, error: &io::Error) -> String {
    let todo = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; the user that the workers run as must be allowed to write to it"
        }
        _ => "",
    };
    format!("cannot write the log {}: {error}{todo}", path.display())
}
