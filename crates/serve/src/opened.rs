//! An opened file and the facts that a response to it states.
//!
//! Must not know where it was found. Invariant: it is a regular file.

use std::os::fd::OwnedFd;

use rustix::fs::{FileType, fstat};

use crate::stream::respond::Error;

/// An opened file and the facts that its response states.
#[derive(Debug)]
pub struct Opened {
    pub(crate) file: OwnedFd,
    pub(crate) length: u64,
    pub(crate) etag: String,
    pub(crate) modified: u64,
}

impl Opened {
    /// # Errors
    /// [`Error::NotFound`]: it is not a regular file.
    pub(crate) fn of(file: OwnedFd) -> Result<Opened, Error> {
        let stat = fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Error::NotFound);
        }
        let length = stat.st_size as u64;
        let modified = stat.st_mtime.max(0) as u64;
        let etag = format!("\"{length:x}-{:x}{:08x}\"", modified, stat.st_mtime_nsec);
        Ok(Opened { file, length, etag, modified })
    }
}
