//! A directory and the files below it. Only this file opens files whose names come from a client or from a script's
//! header.
//!
//! Must not know requests, URLs or PHP. Invariants: checks apply to the opened file, never to its name a second time.
//! Below a confined root no symbolic link leads out, even if another process changes the tree meanwhile.

use std::ffi::OsStr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, open, openat, openat2, readlink, stat};
use rustix::io::Errno;

use crate::opened::Opened;
use crate::stream::respond::Error;

/// Attempts at a path with `..` in a link while directories are being renamed (openat2(2) on EAGAIN).
const ATTEMPTS_MAX: u32 = 4;
const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const ENTERED: OFlags = PLACE.union(OFlags::DIRECTORY);
/// NONBLOCK, so that a FIFO or a device cannot hold the worker.
const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// A directory whose files may be sent.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    confined: bool,
    unsent: fn(&[u8]) -> bool,
}

/// The kind of file at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Anything else: a pipe, a socket, a device.
    Other,
    /// Nothing, or nothing that this process can see.
    Missing,
    /// A component of the path is not a directory, or the name is longer than any file's; a shorter name may be
    /// a file.
    Beyond,
    /// A link leads out of a confined root.
    Outside,
    /// The server cannot tell now: there are no descriptors or no memory left.
    Failed,
}

impl Root {
    /// The directory at `path`, which contains no symbolic links. `confined`: links are followed only to files below
    /// it. A file is never sent if `unsent` rejects its own name or, if that is a link, the name of the link's target.
    pub fn new(path: PathBuf, confined: bool, unsent: fn(&[u8]) -> bool) -> Root {
        Root { path, confined, unsent }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether links are followed only to files below it.
    pub fn is_confined(&self) -> bool {
        self.confined
    }

    /// The path of a name below it: `/a/b`, or nothing for the directory itself.
    pub fn below(&self, name: &[u8]) -> PathBuf {
        let root = self.path.as_os_str().as_bytes();
        let root = root.strip_suffix(b"/").unwrap_or(root);
        let path = [if root.is_empty() && name.is_empty() { b"/" } else { root }, name].concat();
        PathBuf::from(std::ffi::OsString::from_vec(path))
    }

    /// The kind of file at a name. Costs one system call, and some more below a confined root.
    pub fn look(&self, name: &[u8]) -> Look {
        match if self.confined { self.look_beneath(name) } else { self.look_along(name) } {
            Ok(FileType::RegularFile) => Look::File,
            Ok(FileType::Directory) => Look::Directory,
            Ok(_) => Look::Other,
            Err(Errno::NOTDIR | Errno::NAMETOOLONG) => Look::Beyond,
            Err(Errno::XDEV) => Look::Outside,
            Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => Look::Failed,
            Err(_) => Look::Missing,
        }
    }

    fn look_along(&self, name: &[u8]) -> Result<FileType, Errno> {
        stat(self.below(name)).map(|found| FileType::from_raw_mode(found.st_mode))
    }

    fn look_beneath(&self, name: &[u8]) -> Result<FileType, Errno> {
        let place = self.enter(name, PLACE)?;
        Ok(FileType::from_raw_mode(fstat(&place)?.st_mode))
    }

    /// Opens the regular file of this name to send it. Call [`Root::look`] first: opening a device may have
    /// consequences.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for files that are never sent; [`Error::Forbidden`], also for files outside;
    /// [`Error::File`].
    pub fn file(&self, name: &[u8]) -> Result<Opened, Error> {
        let unsent = |path: &OsStr| {
            let last = path.as_bytes().rsplit(|byte| *byte == b'/').next();
            last.is_none_or(self.unsent)
        };
        if unsent(OsStr::from_bytes(name)) {
            return Err(Error::NotFound);
        }
        let file = match self.enter(name, READ | OFlags::NOFOLLOW) {
            Err(Errno::LOOP) => {
                let file = self.enter(name, READ)?;
                if unsent(real_path(&file)?.as_os_str()) {
                    return Err(Error::NotFound);
                }
                file
            }
            opened => opened?,
        };
        Opened::of(file)
    }

    /// Opens the file that lies beside this one and has an extension in addition, by the same rules: a link must not lead
    /// out of a confined root, nor to a file that is never sent.
    pub fn beside(&self, name: &[u8], extension: &str) -> Option<Opened> {
        let name = [name, b".", extension.as_bytes()].concat();
        (self.look(&name) == Look::File).then(|| self.file(&name).ok()).flatten()
    }

    /// Opens the regular file of this name to run it or to read settings from it, whatever its name. Also returns its
    /// real path.
    ///
    /// # Errors
    /// As [`Root::file`].
    pub fn source(&self, name: &[u8]) -> Result<(OwnedFd, PathBuf), Error> {
        if self.look(name) == Look::Other {
            return Err(Error::NotFound);
        }
        let opened = Opened::of(self.enter(name, READ)?)?;
        let path = real_path(&opened.file)?;
        Ok((opened.file, path))
    }

    /// Opens the file at a name; with NOFOLLOW, a link at the end is ELOOP.
    fn enter(&self, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        if !self.confined {
            return open(self.below(name), flags, Mode::empty());
        }
        let root = open(&self.path, ENTERED, Mode::empty())?;
        let relative = match name.strip_prefix(b"/").unwrap_or(name) {
            b"" => b".",
            relative => relative,
        };
        for _ in 0..ATTEMPTS_MAX {
            let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            match openat2(&root, relative, flags, Mode::empty(), beneath) {
                Err(Errno::AGAIN) => (),
                // An absolute link, which may still lead below the root; or a kernel before 5.6, or a sandbox without
                // the call.
                Err(Errno::XDEV | Errno::NOSYS | Errno::PERM) => break,
                entered => return entered,
            }
        }
        self.walk(&root, name, flags)
    }

    /// The same without openat2(2): asks for the real path of the name, then goes there step by step without following
    /// any link. If a link replaces a step meanwhile, the call fails.
    fn walk(&self, root: &OwnedFd, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let (path, errno) = (self.below(name), |error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
        let real = match (path.parent(), path.file_name()) {
            (Some(parent), Some(last)) if flags.contains(OFlags::NOFOLLOW) => {
                parent.canonicalize().map_err(errno)?.join(last)
            }
            _ => path.canonicalize().map_err(errno)?,
        };
        let steps = real.strip_prefix(&self.path).map_err(|_| Errno::XDEV)?;
        let mut steps = steps.iter().peekable();
        let mut at = openat(root, c".", if steps.peek().is_some() { ENTERED } else { flags }, Mode::empty())?;
        while let Some(step) = steps.next() {
            let flags = if steps.peek().is_some() { ENTERED } else { flags };
            at = openat(&at, step, flags | OFlags::NOFOLLOW, Mode::empty())?;
        }
        Ok(at)
    }
}

/// Opens the regular file at a path that the application has chosen.
pub(crate) fn open_path(path: &Path) -> Result<Opened, Error> {
    Opened::of(open(path, READ, Mode::empty())?)
}

/// The path of an opened file, with links resolved.
fn real_path(file: &OwnedFd) -> Result<PathBuf, Errno> {
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    let path = readlink(link, Vec::new())?;
    Ok(PathBuf::from(OsStr::from_bytes(path.to_bytes())))
}

impl From<Errno> for Error {
    fn from(errno: Errno) -> Error {
        match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::LOOP | Errno::INVAL | Errno::NXIO => {
                Error::NotFound
            }
            Errno::ACCESS | Errno::PERM | Errno::XDEV => Error::Forbidden,
            errno => Error::File(errno.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory `root` with files and links in it, beside a file `secret`.
    fn tree(name: &str) -> PathBuf {
        let top = std::env::temp_dir().join(format!("weft-root-{name}-{}", std::process::id()));
        let root = top.join("root");
        let _ = std::fs::remove_dir_all(&top);
        std::fs::create_dir_all(root.join("dir")).unwrap();
        for file in ["secret", "root/a", "root/dir/b", "root/never"] {
            std::fs::write(top.join(file), file).unwrap();
        }
        let root = root.canonicalize().unwrap();
        for (to, link) in [
            (root.join("a"), "absolute"),
            ("dir/b".into(), "relative"),
            ("../../root/a".into(), "dir/round"),
            ("../secret".into(), "out"),
            (root.join("../secret"), "far"),
            ("..".into(), "up"),
            ("dir".into(), "there"),
            ("never".into(), "alias"),
            ("gone".into(), "dangling"),
        ] {
            symlink(to, root.join(link)).unwrap();
        }
        root
    }

    fn confined(path: &Path) -> Root {
        Root::new(path.to_owned(), true, |name| name.ends_with(b"never"))
    }

    #[test]
    fn what_is_confined_is_the_same_with_openat2_and_without() {
        let path = tree("same");
        let root = confined(&path);
        let top = open(&path, ENTERED, Mode::empty()).unwrap();
        for (name, expected) in [
            ("/a", Ok("a")),
            ("/absolute", Ok("a")),
            ("/relative", Ok("b")),
            ("/dir/round", Ok("a")),
            ("/there/b", Ok("b")),
            ("/out", Err(Errno::XDEV)),
            ("/far", Err(Errno::XDEV)),
            ("/up/secret", Err(Errno::XDEV)),
            ("/up/root/a", Ok("a")),
            ("/dangling", Err(Errno::NOENT)),
            ("/none", Err(Errno::NOENT)),
            ("/a/b", Err(Errno::NOTDIR)),
        ] {
            let lies = |file: OwnedFd| real_path(&file).unwrap().file_name().unwrap().to_owned();
            let expected = expected.map(std::ffi::OsString::from);
            assert_eq!(root.enter(name.as_bytes(), READ).map(lies), expected, "{name}");
            assert_eq!(root.walk(&top, name.as_bytes(), READ).map(lies), expected, "{name} step by step");
        }
        for name in ["/absolute", "/relative", "/out"] {
            let flags = READ | OFlags::NOFOLLOW;
            assert_eq!(root.walk(&top, name.as_bytes(), flags).unwrap_err(), Errno::LOOP, "{name}");
        }
        assert!(root.walk(&top, b"", PLACE).is_ok());
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn what_is_never_sent_is_not_sent_by_another_name() {
        let path = tree("never");
        for root in [confined(&path), Root::new(path.clone(), false, |name| name.ends_with(b"never"))] {
            assert_eq!(root.look(b"/alias"), Look::File);
            assert!(matches!(root.file(b"/never"), Err(Error::NotFound)));
            assert!(matches!(root.file(b"/alias"), Err(Error::NotFound)));
            assert_eq!(root.source(b"/alias").unwrap().1, path.join("never"));
            assert!(root.file(b"/absolute").is_ok());
            assert_eq!((root.look(b""), root.look(b"/dir")), (Look::Directory, Look::Directory));
            assert_eq!(root.look(b"/a/x"), Look::Beyond);
            assert_eq!(root.look("/x".repeat(4000).as_bytes()), Look::Beyond);
            assert_eq!(root.look(b"/out"), if root.is_confined() { Look::Outside } else { Look::File });
        }
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }
}
