//! A document root and its rules, as they are from one reload to the next.
//!
//! Must not know requests. Invariant: only files below the document root are opened here, or below a directory that the
//! operator has named.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use weft_serve::{Error, Opened, Root};

use super::denied::{self, Denied};
use super::names;
use super::sendfile::Sendfile;
use crate::config::{Config, Mode, Symlinks};

/// A document root and the rules for it.
#[derive(Debug)]
pub struct Docroot {
    pub(super) root: Root,
    pub(super) rules: Vec<String>,
    /// What `.htaccess` files deny, if they count.
    pub(super) denied: Option<Denied>,
    sendfile: Sendfile,
    accel_redirect: bool,
    /// The worker script, which answers in place of all other scripts, and whatever no file answers.
    pub(super) resident: Option<PathBuf>,
    /// Whether there is only a worker script: it answers everything.
    pub(super) script_alone: bool,
}

impl Docroot {
    /// The document root at `application`, with symbolic links in its own path resolved, so that it stays the same
    /// directory until the next reload.
    ///
    /// # Errors
    /// Those of realpath(3); not a directory.
    pub fn open(application: &Path, config: &Config) -> Result<Docroot, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", application.display());
        let script =
            |path: &Path| path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
        let resident = Mode::of(config).resident_script(config).map(script).transpose()?;
        let classic = &config.classic;
        let mut root = application.canonicalize().map_err(failed)?;
        let script_alone = resident.as_ref() == Some(&root);
        if script_alone {
            root.pop();
        }
        if !root.is_dir() {
            return Err(format!("{}: classic mode serves a directory", application.display()));
        }
        let sendfile = Sendfile::open(&classic.sendfile, &root)?;
        let root = Root::new(root, classic.symlinks == Symlinks::Inside, names::is_unsent);
        Ok(Docroot {
            root,
            rules: classic.rules.clone(),
            denied: classic.htaccess.then(Denied::default),
            sendfile,
            accel_redirect: classic.accel_redirect,
            resident,
            script_alone,
        })
    }

    /// What an operator should know of the files in it, one line each.
    pub fn warnings(&self) -> Vec<String> {
        if self.script_alone { Vec::new() } else { denied::warnings(self.root.path(), self.denied.is_some()) }
    }

    /// Whether a worker script answers.
    pub fn is_resident(&self) -> bool {
        self.resident.is_some()
    }

    /// The directory.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Whether a script may send files of some directories.
    pub fn has_sendfile(&self) -> bool {
        self.sendfile.is_on()
    }

    /// Opens a file that a script wants to send; a relative path starts at the document root.
    ///
    /// # Errors
    /// As [`Sendfile::file`].
    pub fn sendfile(&self, path: &Path) -> Result<Opened, Error> {
        self.sendfile.file(&self.root.path().join(path))
    }

    /// Whether a script may answer with another URL.
    pub fn accel_redirect(&self) -> bool {
        self.accel_redirect
    }

    /// If only files below the document root may be opened: opens a script, or a directory's settings, and returns the
    /// file and its real path. `None` if links may lead anywhere, or the path is not in the document root.
    pub fn source(&self, path: &[u8]) -> Option<Result<(OwnedFd, PathBuf), Error>> {
        let root = self.root.path().as_os_str().as_bytes();
        let name = path.strip_prefix(root.strip_suffix(b"/").unwrap_or(root))?;
        let below = self.root.is_confined() && matches!(name.first(), None | Some(b'/'));
        below.then(|| self.root.source(name))
    }
}
