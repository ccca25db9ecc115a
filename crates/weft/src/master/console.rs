//! The operator's screen during start: stderr, or its replacement for a daemon.
//!
//! Must not know the messages. Invariant: `--daemon`'s parent returns only after the daemon was ready or gone, and its
//! exit code says which.

use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use rustix::fs::{Mode, OFlags};
use rustix::pipe::{PipeFlags, pipe_with};

use super::fork::{Forked, fork};

/// The destination of start-up text.
#[derive(Debug)]
pub enum Console {
    /// The process's own stderr.
    Stderr,
    /// The pipe to the waiting parent of a daemon; closed once ready.
    Parent(Option<OwnedFd>),
}

/// Ends the daemon's start-up text on success.
const READY: u8 = 0;

impl Console {
    /// Prints text as it is.
    pub fn say(&self, text: &str) {
        let written = match self {
            Console::Stderr => io::stderr().write_all(text.as_bytes()),
            Console::Parent(Some(pipe)) => {
                rustix::io::write(pipe, text.as_bytes()).map(|_| ()).map_err(Into::into)
            }
            Console::Parent(None) => Ok(()),
        };
        // An operator who has closed the terminal does not want to read it.
        drop(written);
    }

    /// Start-up is complete; a daemon's parent returns now.
    pub fn ready(&mut self) {
        if let Console::Parent(pipe) = self
            && let Some(pipe) = pipe.take()
        {
            // The parent may have been killed; the daemon is ready anyway.
            let _ = rustix::io::write(&pipe, &[READY]);
        }
    }

    /// Whether colours would be visible.
    pub fn has_colours(&self) -> bool {
        matches!(self, Console::Stderr)
            && io::stderr().is_terminal()
            && std::env::var_os("NO_COLOR").is_none()
    }
}

/// Which side of `--daemon` this is.
pub enum Daemon {
    /// The daemon itself: continue.
    Inside(Console),
    /// The parent: the daemon is up or gone, exit with this code.
    Outside(ExitCode),
}

/// Goes into the background: two forks, a new session, no terminal. The output and error streams lead nowhere until
/// the log takes them.
///
/// # Errors
/// The kernel's error, if a process or descriptor is not available.
pub fn daemonize() -> io::Result<Daemon> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    if let Forked::Parent(_) = fork()? {
        drop(writer);
        return Ok(Daemon::Outside(wait_until_ready(reader)?));
    }
    drop(reader);
    rustix::process::setsid()?;
    // The session's leader could acquire a terminal by opening one; its child cannot (daemon(7)).
    if let Forked::Parent(_) = fork()? {
        std::process::exit(0);
    }
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(Daemon::Inside(Console::Parent(Some(writer))))
}

/// Copies the daemon's start-up text to stderr until it ends.
fn wait_until_ready(reader: OwnedFd) -> io::Result<ExitCode> {
    let mut reader = std::fs::File::from(reader);
    let mut buffer = [0; 4096];
    loop {
        let length = reader.read(&mut buffer)?;
        let text = &buffer[..length];
        if let Some(end) = text.iter().position(|byte| *byte == READY) {
            io::stderr().write_all(&text[..end])?;
            return Ok(ExitCode::SUCCESS);
        }
        if length == 0 {
            return Ok(ExitCode::FAILURE);
        }
        io::stderr().write_all(text)?;
    }
}
