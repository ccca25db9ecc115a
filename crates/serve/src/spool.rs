//! Temporary files for bytes that exceed memory: arriving bodies, and responses that wait for their peers.
//!
//! Must not know what is in them. Invariants: a file has no name, so nothing of it remains, whatever happens. All files
//! of a worker together have at most `spool_bytes_max` bytes, and those of responses half of that, so that peers that
//! do not read cannot keep bodies out.
//!
//! Writing is a copy into the page cache, in pieces that do not block the loop for long, as in other servers of this
//! kind.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fmt;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{CWD, Mode, OFlags, openat, unlinkat};
use rustix::io::{Errno, pwrite};
use weft_rt::{Nanos, SECOND, clock};

use crate::ServerLimits;
use crate::descriptor::out_of_selects_way;
use crate::keys::RequestKey;

/// The share of all bytes that one response may use: an eighth.
const ONE_RESPONSE: u64 = 8;
/// The share of all bytes that responses may use together: half.
const RESPONSES: u64 = 2;
/// How long no response tries again after a failed write.
const RETRY: Nanos = SECOND;
/// Time between two warnings.
const WARN_AGAIN: Nanos = 60 * SECOND;

/// The purpose of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    Body,
    Response,
}

/// Why bytes were not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trouble {
    /// The limit is reached.
    Full,
    Errno(Errno),
}

#[derive(Default)]
struct Account {
    all: Cell<u64>,
    responses: Cell<u64>,
    /// Whether a file has been freed since the last check.
    freed: Cell<bool>,
}

impl Account {
    fn add(&self, purpose: Use, bytes: u64) {
        self.all.set(self.all.get() + bytes);
        if purpose == Use::Response {
            self.responses.set(self.responses.get() + bytes);
        }
    }

    fn give_back(&self, purpose: Use, bytes: u64) {
        self.all.set(self.all.get() - bytes);
        if purpose == Use::Response {
            self.responses.set(self.responses.get() - bytes);
        }
        self.freed.set(true);
    }
}

/// The state that the temporary files of a worker share.
pub(crate) struct Spool {
    directory: PathBuf,
    bytes_max: u64,
    account: Rc<Account>,
    /// Pieces of responses written so far.
    pub spills: Cell<u64>,
    /// Requests whose response waits for room.
    pub waiters: RefCell<HashSet<RequestKey>>,
    retry_at: Cell<Nanos>,
    trouble: Cell<Option<Trouble>>,
    warned: Cell<Option<(Trouble, Nanos)>>,
}

impl Spool {
    pub(crate) fn new(limits: &ServerLimits) -> Spool {
        Spool {
            directory: limits.spool_directory.clone(),
            bytes_max: limits.spool_bytes_max,
            account: Rc::default(),
            spills: Cell::new(0),
            waiters: RefCell::default(),
            retry_at: Cell::new(0),
            trouble: Cell::new(None),
            warned: Cell::new(None),
        }
    }

    /// Bytes in all files.
    pub(crate) fn used(&self) -> u64 {
        self.account.all.get()
    }

    /// Creates a file.
    pub(crate) fn create(&self, purpose: Use) -> Result<TemporaryFile, Trouble> {
        if self.bytes_max == 0 {
            return Err(Trouble::Full);
        }
        let made = temporary_file(&self.directory).map_err(|errno| self.note(Trouble::Errno(errno)))?;
        let account = Rc::clone(&self.account);
        Ok(TemporaryFile { file: out_of_selects_way(made), length: 0, purpose, account })
    }

    /// Whether a response with a file of `length` bytes may try to append `more`.
    pub(crate) fn takes(&self, length: u64, more: usize) -> bool {
        self.fits(Use::Response, length, more as u64) && self.retry_at.get() <= clock::now()
    }

    fn fits(&self, purpose: Use, length: u64, more: u64) -> bool {
        let all = self.account.all.get() + more <= self.bytes_max;
        all && (purpose == Use::Body
            || self.account.responses.get() + more <= self.bytes_max / RESPONSES
                && length + more <= self.bytes_max / ONE_RESPONSE)
    }

    fn note(&self, trouble: Trouble) -> Trouble {
        if trouble != Trouble::Full {
            self.retry_at.set(clock::now() + RETRY);
        }
        self.trouble.set(Some(trouble));
        trouble
    }

    /// Whether there is room again of which the waiting responses do not know.
    pub(crate) fn room_again(&self) -> bool {
        self.account.freed.take() && !self.waiters.borrow().is_empty()
    }

    /// A warning for the operator, at most once in a while.
    pub(crate) fn warning(&self, now: Nanos) -> Option<String> {
        let trouble = self.trouble.take()?;
        let known = self.warned.get().is_some_and(|(last, at)| last == trouble && now < at + WARN_AGAIN);
        if known {
            return None;
        }
        self.warned.set(Some((trouble, now)));
        Some(Warning { trouble, spool: self }.to_string())
    }
}

struct Warning<'s> {
    trouble: Trouble,
    spool: &'s Spool,
}

impl fmt::Display for Warning<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const FOLLOWS: &str = "meanwhile large bodies get 507, and who answers a slow client waits for it";
        match self.trouble {
            Trouble::Full => write!(
                f,
                "temporary files have reached spool_bytes_max ({} bytes, half of it for responses); {FOLLOWS}: raise it, or look for clients that do not read",
                self.spool.bytes_max
            ),
            Trouble::Errno(errno) => write!(
                f,
                "a temporary file in {} cannot be written: {errno}; {FOLLOWS}: make room there, or name another directory in TMPDIR",
                self.spool.directory.display()
            ),
        }
    }
}

/// A file without a name, and its share of the limit.
pub(crate) struct TemporaryFile {
    file: OwnedFd,
    length: u64,
    purpose: Use,
    account: Rc<Account>,
}

impl TemporaryFile {
    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.file
    }

    /// Bytes in it.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Appends all of `data`, or nothing.
    pub(crate) fn append(&mut self, spool: &Spool, data: &[u8]) -> Result<(), Trouble> {
        if !spool.fits(self.purpose, self.length, data.len() as u64) {
            // A response's own limit is not a failure: the response continues at its peer's pace.
            let alone = self.purpose == Use::Response && spool.fits(self.purpose, 0, data.len() as u64);
            return Err(if alone { Trouble::Full } else { spool.note(Trouble::Full) });
        }
        let mut done = 0;
        while done < data.len() {
            match pwrite(&self.file, &data[done..], self.length + done as u64) {
                Ok(0) => return Err(spool.note(Trouble::Errno(Errno::NOSPC))),
                Ok(count) => done += count,
                Err(Errno::INTR) => (),
                Err(errno) => return Err(spool.note(Trouble::Errno(errno))),
            }
        }
        self.length += data.len() as u64;
        self.account.add(self.purpose, data.len() as u64);
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        self.account.give_back(self.purpose, self.length);
    }
}

fn temporary_file(directory: &Path) -> rustix::io::Result<OwnedFd> {
    let (flags, mode) = (OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
    match openat(CWD, directory, flags | OFlags::TMPFILE, mode) {
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => (),
        other => return other,
    }
    // For file systems without O_TMPFILE (open(2)): a name of our own for a moment.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = directory.join(format!(".weft-spool-{}-{number}", std::process::id()));
        match openat(CWD, &name, flags | OFlags::CREATE | OFlags::EXCL, mode) {
            Err(Errno::EXIST) => (),
            Err(error) => return Err(error),
            Ok(file) => {
                unlinkat(CWD, &name, rustix::fs::AtFlags::empty())?;
                return Ok(file);
            }
        }
    }
}
