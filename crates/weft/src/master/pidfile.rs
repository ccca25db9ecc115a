//! The pid file, its lock, and the state file beside it.
//!
//! Must not know what the master does. Invariant: a running master holds an exclusive flock on its pid file, so "is it
//! running?" never depends on a pid that may belong to another process by now.

use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock, fstat};
use rustix::io::Errno;
use rustix::process::{Pid, getpid};

use crate::guarded_path::GuardedPath;

/// More than a state ever is: the reason of a failure has a maximum length (`reload`).
const STATE_BYTES_MAX: u64 = 64 << 10;

/// A pid file held by this master.
#[derive(Debug)]
pub struct PidFile {
    path: PathBuf,
    file: OwnedFd,
}

impl PidFile {
    /// Locks `path` and writes this process's pid. A file left by a dead master is taken over.
    ///
    /// # Errors
    /// One line: which process holds it, or why it cannot be written.
    pub fn acquire(path: &Path) -> Result<Self, String> {
        let path = std::path::absolute(path).map_err(|e| format!("pid file {}: {e}", path.display()))?;
        let fail = |e: io::Error| format!("cannot write the pid file {}: {e}", path.display());
        let opened = GuardedPath::find(&path).and_then(|guarded| guarded.open(OFlags::RDWR, 0o644));
        let (file, _) = opened.map_err(fail)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => {
                let owner =
                    find(&path).ok().flatten().map(|pid| format!(" as pid {pid}")).unwrap_or_default();
                return Err(format!(
                    "weft is already running{owner} with the pid file {}: use weft reload, or weft stop first",
                    path.display()
                ));
            }
            other => other.map_err(|e| fail(e.into()))?,
        }
        let pid_file = PidFile { path, file };
        pid_file.write_pid().map_err(fail_at(&pid_file.path))?;
        Ok(pid_file)
    }

    /// A pid file whose lock came through a reload; the pid is unchanged.
    pub fn adopt(path: PathBuf, file: OwnedFd) -> Self {
        PidFile { path, file }
    }

    /// The file's absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The locked descriptor, to be passed on.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Publishes `state` in one step: a reader sees the old or the new one.
    ///
    /// # Errors
    /// The file system's error.
    pub fn publish(&self, state: &State) -> io::Result<()> {
        let target = GuardedPath::find(&state_path(&self.path))?;
        let temporary = target.beside("new")?;
        // A file that a killed master left behind, or another user's link.
        match temporary.remove() {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
        let mut file = std::fs::File::from(temporary.make(OFlags::WRONLY, 0o644)?);
        file.write_all(state.to_text().as_bytes())?;
        Ok(temporary.rename(&target)?)
    }

    /// Removes both files; the master is done.
    pub fn remove(self) {
        for path in [state_path(&self.path), self.path] {
            // If it is already gone, nothing is left to do.
            let _ = GuardedPath::find(&path).map(|guarded| guarded.remove());
        }
    }

    fn write_pid(&self) -> io::Result<()> {
        let mut file = std::fs::File::from(self.file.try_clone()?);
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", getpid())
    }
}

fn fail_at(path: &Path) -> impl Fn(io::Error) -> String {
    move |e| format!("cannot write the pid file {}: {e}", path.display())
}

fn state_path(pid_file: &Path) -> PathBuf {
    pid_file.with_added_extension("state")
}

/// The pid of the master that holds the pid file; `None` if there is no file or no process holds it.
///
/// # Errors
/// The file cannot be read, or does not contain a pid.
pub fn find(path: &Path) -> io::Result<Option<Pid>> {
    let mut file = match open_to_read(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Err(Errno::WOULDBLOCK) => {}
        other => return other.map(|()| None).map_err(io::Error::from),
    }
    let mut text = String::new();
    Read::by_ref(&mut file).take(32).read_to_string(&mut text)?;
    let pid = text.trim().parse().ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it does not contain a pid"))?;
    if !has_open(pid, &file)? {
        let why = format!("it names pid {pid}, which does not hold it: another program has written to it");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(Some(pid))
}

/// Whether a process has the file open, as the master has its pid file: a file that others can write to may name any
/// process. A caller that may not check this may not send a signal either.
fn has_open(pid: Pid, file: &std::fs::File) -> io::Result<bool> {
    let own = fstat(file)?;
    let Ok(descriptors) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return Ok(true) };
    Ok(descriptors.flatten().any(|descriptor| {
        rustix::fs::stat(descriptor.path())
            .is_ok_and(|other| (other.st_dev, other.st_ino) == (own.st_dev, own.st_ino))
    }))
}

/// An ordinary file, so that reading does not block.
fn open_to_read(path: &Path) -> io::Result<std::fs::File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = std::fs::File::from(rustix::fs::open(path, flags, rustix::fs::Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file"));
    }
    Ok(file)
}

/// What a master publishes for commands that wait for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// Reloads begun so far.
    pub begun: u64,
    /// Reloads finished so far, successful or not.
    pub done: u64,
    /// The workers' generation.
    pub generation: u32,
    /// Workers that are ready.
    pub ready: usize,
    /// Why the last reload failed, if it did.
    pub failure: Option<String>,
}

impl State {
    /// Reads the last state that the master of this pid file published.
    ///
    /// # Errors
    /// The file system's error; `InvalidData` for a file that is not a state.
    pub fn read(pid_file: &Path) -> io::Result<State> {
        let mut text = String::new();
        open_to_read(&state_path(pid_file))?.take(STATE_BYTES_MAX).read_to_string(&mut text)?;
        State::from_text(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it is not a state"))
    }

    fn to_text(&self) -> String {
        let State { begun, done, generation, ready, failure } = self;
        let failure = failure.as_deref().unwrap_or_default();
        format!("begun {begun}\ndone {done}\ngeneration {generation}\nready {ready}\nfailure {failure}")
    }

    fn from_text(text: &str) -> Option<State> {
        let mut parts = text.splitn(5, '\n');
        let mut field = |name: &str| parts.next()?.strip_prefix(name)?.strip_prefix(' ');
        Some(State {
            begun: field("begun")?.parse().ok()?,
            done: field("done")?.parse().ok()?,
            generation: field("generation")?.parse().ok()?,
            ready: field("ready")?.parse().ok()?,
            failure: Some(field("failure")?.to_string()).filter(|text| !text.is_empty()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::master::testing::Directory;

    #[test]
    fn a_second_master_is_refused_and_told_who_runs() {
        let directory = Directory::new();
        let path = directory.path().join("weft.pid");
        let held = PidFile::acquire(&path).unwrap();
        let refusal = PidFile::acquire(&path).unwrap_err();
        assert_eq!(
            refusal,
            format!(
                "weft is already running as pid {} with the pid file {}: use weft reload, or weft stop first",
                getpid(),
                path.display()
            )
        );
        assert_eq!(find(&path).unwrap(), Some(getpid()));
        held.remove();
        assert!(!path.exists());
    }

    #[test]
    fn a_stale_file_is_nobodys_and_is_taken_over() {
        let directory = Directory::new();
        let path = directory.path().join("weft.pid");
        // Pid 1 lives, but does not hold the lock.
        std::fs::write(&path, "1\nand rubbish that is longer than a pid").unwrap();
        assert_eq!(find(&path).unwrap(), None);
        // Nor does it if another process holds the lock.
        std::fs::write(&path, "1\n").unwrap();
        let holder = std::fs::File::open(&path).unwrap();
        flock(&holder, FlockOperation::LockExclusive).unwrap();
        let refusal = find(&path);
        if rustix::process::geteuid().is_root() {
            assert!(refusal.unwrap_err().to_string().contains("it names pid 1, which does not hold it"));
        }
        drop(holder);
        let _held = PidFile::acquire(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", getpid()));
    }

    #[test]
    fn a_missing_directory_is_named() {
        let directory = Directory::new();
        let path = directory.path().join("none/weft.pid");
        let refusal = PidFile::acquire(&path).unwrap_err();
        assert_eq!(
            refusal,
            format!("cannot write the pid file {}: No such file or directory (os error 2)", path.display())
        );
    }

    #[test]
    fn a_state_is_read_as_it_was_published() {
        let directory = Directory::new();
        let path = directory.path().join("weft.pid");
        let held = PidFile::acquire(&path).unwrap();
        let failure = Some("app.php: line 3\nsyntax error".to_string());
        for state in [
            State { begun: 2, done: 1, generation: 3, ready: 4, failure },
            State { begun: 9, ..State::default() },
        ] {
            held.publish(&state).unwrap();
            assert_eq!(State::read(&path).unwrap(), state);
        }
    }
}
