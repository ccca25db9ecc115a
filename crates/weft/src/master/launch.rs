//! How this process was started, so that it can be started again in its place.
//!
//! Must not know what a reload means. Invariant: the program's path and the directory are the names that the operator
//! used, not what they pointed to at that time: so a replaced binary and a switched `current` symlink are found.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::fork::exec;
use super::handover::QUESTION;
use crate::config::HANDOVER;

/// Program, arguments and directory.
#[derive(Debug, Clone)]
pub struct Launch {
    program: PathBuf,
    arguments: Vec<OsString>,
    directory: PathBuf,
}

impl Launch {
    /// Remembers how this process was started; call it before anything changes the directory.
    ///
    /// # Errors
    /// The program's path or the directory cannot be determined.
    pub fn of_this_process() -> io::Result<Self> {
        let mut program = std::env::current_exe()?.into_os_string().into_vec();
        // The suffix in /proc for a binary that was replaced before this check (proc(5)).
        if program.ends_with(b" (deleted)") {
            program.truncate(program.len() - b" (deleted)".len());
        }
        let program = OsString::from_vec(program).into();
        Ok(Launch { program, arguments: std::env::args_os().collect(), directory: directory()? })
    }

    /// Starts `weft check` with the arguments of `weft serve`, and asks whether it can take over; its output goes to
    /// pipes.
    ///
    /// # Errors
    /// The program cannot be run.
    pub fn check(&self) -> io::Result<Child> {
        let mut command = self.command("check");
        command.env(HANDOVER, QUESTION).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    }

    /// Starts `weft renew` with the same arguments; its notices go to a pipe.
    ///
    /// # Errors
    /// The program cannot be run.
    pub fn renew(&self) -> io::Result<Child> {
        self.command("renew").env_remove(HANDOVER).stdout(Stdio::piped()).spawn()
    }

    /// Another command of weft with the arguments of `weft serve`.
    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.program);
        let own = self.arguments.iter().skip(1).skip_while(|a| *a != "serve").skip(1);
        command.arg(verb).args(own).current_dir(&self.directory);
        command.env_remove("NOTIFY_SOCKET").stdin(Stdio::null());
        command
    }

    /// Executes the program again, with `handover` in its environment. Returns only if that failed.
    pub fn again(&self, handover: &str) -> io::Error {
        if let Err(e) = std::env::set_current_dir(&self.directory) {
            return e;
        }
        let text = |bytes: &OsStr| CString::new(bytes.as_bytes()).map_err(io::Error::other);
        let prepared = || -> io::Result<(CString, Vec<CString>, Vec<CString>)> {
            let arguments = self.arguments.iter().map(|a| text(a)).collect::<Result<_, _>>()?;
            let mut variables = Vec::new();
            for (name, value) in std::env::vars_os().filter(|(name, _)| name != HANDOVER) {
                variables.push(CString::new([name.as_bytes(), b"=", value.as_bytes()].concat())?);
            }
            variables.push(CString::new(format!("{HANDOVER}={handover}"))?);
            Ok((text(self.program.as_os_str())?, arguments, variables))
        };
        match prepared() {
            Ok((program, arguments, variables)) => exec(&program, &arguments, &variables),
            Err(e) => e,
        }
    }

    /// Identifies the file that now has the program's name: a check says nothing about a different file.
    pub fn file(&self) -> Option<(u64, u64, u64, i64, i64)> {
        let found = std::fs::metadata(&self.program).ok()?;
        Some((found.dev(), found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
    }

    /// The program's path.
    pub fn program(&self) -> &Path {
        &self.program
    }
}

/// The current directory by the name under which it was entered, if the shell or the service manager set that.
fn directory() -> io::Result<PathBuf> {
    let real = std::env::current_dir()?;
    let named = std::env::var_os("PWD").map(PathBuf::from).filter(|path| path.is_absolute());
    let same = |path: &PathBuf| match (std::fs::metadata(path), std::fs::metadata(&real)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    };
    Ok(named.filter(same).unwrap_or(real))
}
