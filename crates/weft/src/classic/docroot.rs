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
use super::rules::Rules;
use super::sendfile::Sendfile;
use crate::config::{Action, Condition, Config, Mode, RunAs, Symlinks};

/// A directory and the paths that lead into it.
#[derive(Debug)]
pub struct Tree {
    /// Its place among the directories.
    pub(super) number: usize,
    /// `/phpmyadmin`; empty for the document root itself.
    pub(super) prefix: Vec<u8>,
    pub(super) root: Root,
    /// What `.htaccess` files deny, if they count.
    pub(super) denied: Option<Denied>,
}

/// A document root and the rules for it.
#[derive(Debug)]
pub struct Docroot {
    /// The document root, then the directories of aliases.
    pub(super) trees: Vec<Tree>,
    /// The rules of `try`.
    pub(super) tries: Vec<String>,
    /// Those of `[[rule]]`, if there are any.
    pub(super) rules: Option<Rules>,
    sendfile: Sendfile,
    accel_redirect: bool,
    body_bytes_max: u64,
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
        let script = |path: &Path| path.canonicalize().map_err(|error| no_script(path, &error));
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
        let tree = |number, prefix: &[u8], path| Tree {
            number,
            prefix: prefix.to_owned(),
            root: Root::new(path, classic.symlinks == Symlinks::Inside, names::is_unsent),
            denied: classic.htaccess.then(Denied::default),
        };
        let mut trees = vec![tree(0, b"", root)];
        for rule in &config.rules {
            let (Action::Alias(path), Condition::Path { paths, .. }) = (&rule.action, &rule.condition) else {
                continue;
            };
            let failed = |why: String| format!("{}: alias: {}: {why}", rule.place, path.display());
            let real = path.canonicalize().map_err(|error| failed(error.to_string()))?;
            if !real.is_dir() {
                return Err(failed("is not a directory".into()));
            }
            for prefix in paths {
                trees.push(tree(trees.len(), prefix, real.clone()));
            }
        }
        Ok(Docroot {
            trees,
            tries: classic.rules.clone(),
            rules: (!config.rules.is_empty()).then(|| Rules::new(config)),
            sendfile,
            accel_redirect: classic.accel_redirect,
            body_bytes_max: config.limits.body_bytes_max,
            resident,
            script_alone,
        })
    }

    /// The directory of files beside an application that is a script.
    ///
    /// # Errors
    /// As [`Docroot::open`].
    pub fn of_files(directory: &Path, config: &Config) -> Result<Docroot, String> {
        let mut beside = config.clone();
        beside.server.run_as = RunAs::Classic;
        beside.resident.script = None;
        beside.classic.rules = vec!["$path".into()];
        Docroot::open(directory, &beside).map_err(|why| format!("files: {why}"))
    }

    /// What an operator should know of the files in it, one line each.
    pub fn warnings(&self) -> Vec<String> {
        if self.script_alone {
            return Vec::new();
        }
        let mut lines = Vec::new();
        for tree in &self.trees {
            // The path of something in the directory that a line is about.
            let denies = |directory: &Path| {
                let name = directory.strip_prefix(tree.root.path()).unwrap_or(directory);
                let path = [&tree.prefix, &b"/"[..], name.as_os_str().as_bytes(), b"/x"].concat();
                self.rules.as_ref().is_some_and(|rules| rules.denies(&path))
            };
            lines.extend(denied::warnings(tree.root.path(), tree.denied.is_some(), denies));
        }
        lines
    }

    /// Whether a worker script answers.
    pub fn is_resident(&self) -> bool {
        self.resident.is_some()
    }

    /// The directory.
    pub fn root(&self) -> &Root {
        &self.trees[0].root
    }

    /// The directory in which a route found its file.
    pub fn root_of(&self, tree: usize) -> &Root {
        self.trees.get(tree).map_or(self.root(), |tree| &tree.root)
    }

    /// The rules of `[[rule]]`, if there are any.
    pub fn rules(&self) -> Option<&Rules> {
        self.rules.as_ref()
    }

    /// How many bytes the body of a request may have. `path` is as it was sent.
    pub fn body_bytes_max(&self, path: &[u8]) -> u64 {
        self.rules.as_ref().map_or(self.body_bytes_max, |rules| rules.body_bytes_max(path))
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
        self.sendfile.file(&self.root().path().join(path))
    }

    /// Whether a script may answer with another URL.
    pub fn accel_redirect(&self) -> bool {
        self.accel_redirect
    }

    /// If only files below the document root may be opened: opens a script, or a directory's settings, and returns the
    /// file and its real path. `None` if links may lead anywhere, or the path is not in the document root.
    pub fn source(&self, path: &[u8]) -> Option<Result<(OwnedFd, PathBuf), Error>> {
        self.trees.iter().find_map(|tree| {
            let root = tree.root.path().as_os_str().as_bytes();
            let name = path.strip_prefix(root.strip_suffix(b"/").unwrap_or(root))?;
            let below = tree.root.is_confined() && matches!(name.first(), None | Some(b'/'));
            below.then(|| tree.root.source(name))
        })
    }
}

/// A worker script is not there. Who gives a number has probably mixed up two flags.
fn no_script(path: &Path, error: &std::io::Error) -> String {
    let is_number = path.to_str().is_some_and(|name| name.parse::<u32>().is_ok());
    let hint =
        if is_number { "; --workers sets the number of processes, --worker names a script" } else { "" };
    format!("the worker script {}: {error}{hint}", path.display())
}
