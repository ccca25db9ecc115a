//! The directories whose files a script may send: X-Sendfile.
//!
//! Must not know requests. Invariants: an opened file lies below one of the directories, whatever the path says and
//! whoever changes links meanwhile; none of them contains the document root, because it would reveal its scripts.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use weft_serve::{Error, Look, Opened, Root};

use super::names::is_unsent;

/// The directories of `[classic] sendfile`.
#[derive(Debug, Default)]
pub struct Sendfile {
    directories: Vec<Directory>,
}

#[derive(Debug)]
struct Directory {
    /// The path as the operator, and so perhaps a script, writes it.
    given: PathBuf,
    root: Root,
}

impl Sendfile {
    /// # Errors
    /// What is wrong with a directory, for the operator.
    pub fn open(directories: &[PathBuf], docroot: &Path) -> Result<Sendfile, String> {
        let open = |path: &PathBuf| {
            let failed = |error: std::io::Error| format!("sendfile: {}: {error}", path.display());
            let real = path.canonicalize().map_err(failed)?;
            let given = std::path::absolute(path).map_err(failed)?;
            if !real.is_dir() {
                return Err(format!(
                    "sendfile: {} is not a directory: name the directory of the files",
                    path.display()
                ));
            }
            if docroot.starts_with(&real) {
                return Err(format!(
                    "sendfile: {} contains the document root, whose scripts it would expose: name a directory of files to send",
                    path.display()
                ));
            }
            // A file of the document root that must not be sent must not be sent this way either.
            let unsent: fn(&[u8]) -> bool = if real.starts_with(docroot) { is_unsent } else { |_| false };
            Ok(Directory { given, root: Root::new(real, true, unsent) })
        };
        Ok(Sendfile { directories: directories.iter().map(open).collect::<Result<_, _>>()? })
    }

    /// Whether there is any.
    pub fn is_on(&self) -> bool {
        !self.directories.is_empty()
    }

    /// Opens the file at an absolute path.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for files in none of the directories; [`Error::Forbidden`]; [`Error::File`].
    pub fn file(&self, path: &Path) -> Result<Opened, Error> {
        let named = |directory: &&Directory| {
            [&*directory.given, directory.root.path()].into_iter().any(|d| path.starts_with(d))
        };
        let Some(directory) = self.directories.iter().find(named) else { return Err(Error::NotFound) };
        let beyond =
            path.strip_prefix(&directory.given).or_else(|_| path.strip_prefix(directory.root.path()));
        let name = [b"/", beyond.map_err(|_| Error::NotFound)?.as_os_str().as_bytes()].concat();
        match directory.root.look(&name) {
            Look::File => directory.root.file(&name),
            Look::Failed => Err(Error::File(std::io::Error::other("no descriptor is left"))),
            _ => Err(Error::NotFound),
        }
    }
}
