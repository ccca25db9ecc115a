//! A path that the master opens, creates or removes as root although its workers' user may be able to write to a
//! directory on the way: logs, the pid file, unix sockets.
//!
//! Must not know what a file is for. Invariant: from the first directory on in which that user could replace something,
//! no symbolic link is followed, only an ordinary file with one name is opened, and a new file is really new.
//! Everything that only the operator can change is used as it is, including links: `access.log` may well be a link to
//! `/dev/stdout`.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, fstatfs, open, openat, unlinkat};
use rustix::io::Errno;

/// As many links as the kernel follows in one path (path_resolution(7)).
const LINKS_MAX: usize = 40;
/// How often another process may create a file there and remove it while it is being opened.
const ATTEMPTS_MAX: usize = 8;
/// The file system type of `/proc`; the kernel resolves a link in it, which is not the text it shows (proc(5)).
const PROC_MAGIC: u64 = 0x9fa0;

/// The user whose directories are not trusted; 0 if there is none.
static SUSPECT: AtomicU32 = AtomicU32::new(0);

/// Sets the workers' user, once it is known. Only a process with root's privileges has anything to lose.
pub fn distrust(uid: u32) {
    SUSPECT.store(uid, Ordering::Relaxed);
}

/// The user set last, or 0; a reload passes it on, because its new configuration may not name it.
pub fn distrusted() -> u32 {
    SUSPECT.load(Ordering::Relaxed)
}

/// The place of an existing or future file.
#[derive(Debug)]
pub struct GuardedPath {
    /// The directory, if others can write on the way to it; that way must not be walked again.
    exposed: Option<OwnedFd>,
    /// The file's name in that directory, otherwise its whole path.
    name: PathBuf,
}

impl GuardedPath {
    /// Resolves a path.
    ///
    /// # Errors
    /// The file system's; a link on the way that the workers' user may have put there.
    pub fn find(path: &Path) -> io::Result<GuardedPath> {
        let suspect = distrusted();
        if suspect == 0 || !rustix::process::geteuid().is_root() {
            return Ok(GuardedPath { exposed: None, name: path.into() });
        }
        GuardedPath::find_despite(path, suspect)
    }

    fn find_despite(path: &Path, suspect: u32) -> io::Result<GuardedPath> {
        Ok(match walk(&std::path::absolute(path)?, suspect)? {
            Some((directory, name)) => GuardedPath { exposed: Some(directory), name: name.into() },
            None => GuardedPath { exposed: None, name: path.into() },
        })
    }

    /// Opens or creates the file; returns whether it is new.
    ///
    /// # Errors
    /// The file system's; anything but an ordinary file where others can write.
    pub fn open(&self, access: OFlags, mode: u32) -> io::Result<(OwnedFd, bool)> {
        let Some(directory) = &self.exposed else {
            let access = access | OFlags::CLOEXEC;
            return match open(&self.name, access, Mode::empty()) {
                Err(Errno::NOENT) => {
                    Ok((open(&self.name, access | OFlags::CREATE, Mode::from_raw_mode(mode))?, true))
                }
                opened => Ok((opened?, false)),
            };
        };
        for _ in 0..ATTEMPTS_MAX {
            // A file that is not ordinary must neither block us nor become our terminal.
            let careful = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            match openat(directory, &self.name, careful, Mode::empty()) {
                Err(Errno::NOENT) => {}
                Err(Errno::LOOP) => return Err(refusal("it is a symbolic link")),
                Err(Errno::NXIO) => return Err(refusal("it is not a regular file")),
                Err(errno) => return Err(errno.into()),
                Ok(file) => match fstat(&file)? {
                    // Another process is just removing it.
                    found if found.st_nlink == 0 => continue,
                    found if kind(&found) != FileType::RegularFile => {
                        return Err(refusal("it is not a regular file"));
                    }
                    found if found.st_nlink > 1 => return Err(refusal("it has a second name (a hard link)")),
                    _ => return Ok((file, false)),
                },
            }
            match self.make(access, mode) {
                Err(Errno::EXIST) => {}
                made => return Ok((made?, true)),
            }
        }
        Err(refusal("another process keeps changing it"))
    }

    /// Creates the file, which must not exist.
    ///
    /// # Errors
    /// The file system's.
    pub fn make(&self, access: OFlags, mode: u32) -> rustix::io::Result<OwnedFd> {
        let new = access | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(self.directory(), &self.name, new, Mode::from_raw_mode(mode))
    }

    /// The file that now has this name, as a handle that only allows queries. A link is not followed.
    ///
    /// # Errors
    /// The file system's.
    pub fn look(&self) -> rustix::io::Result<(OwnedFd, Stat)> {
        let handle = openat(
            self.directory(),
            &self.name,
            OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let status = fstat(&handle)?;
        Ok((handle, status))
    }

    /// Gives the file the name of `other`, whose file is replaced. Both are in one directory.
    ///
    /// # Errors
    /// The file system's.
    pub fn rename(&self, other: &GuardedPath) -> rustix::io::Result<()> {
        rustix::fs::renameat(self.directory(), &self.name, self.directory(), &other.name)
    }

    /// Removes the name.
    ///
    /// # Errors
    /// The file system's.
    pub fn remove(&self) -> rustix::io::Result<()> {
        unlinkat(self.directory(), &self.name, AtFlags::empty())
    }

    /// A neighbour: in the same directory, with `extension` appended to the name.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub fn beside(&self, extension: &str) -> io::Result<GuardedPath> {
        let exposed = self.exposed.as_ref().map(OwnedFd::try_clone).transpose()?;
        Ok(GuardedPath { exposed, name: self.name.with_added_extension(extension) })
    }

    /// A path for calls that accept nothing else; it is valid as long as this value lives.
    pub fn path(&self) -> PathBuf {
        match &self.exposed {
            Some(directory) => Path::new(&handle_path(directory.as_fd())).join(&self.name),
            None => self.name.clone(),
        }
    }

    fn directory(&self) -> BorrowedFd<'_> {
        self.exposed.as_ref().map_or(CWD, OwnedFd::as_fd)
    }
}

/// Whether this user could change an existing file's content: through its permissions, or by replacing it.
pub fn may_change(uid: u32, file: &Path) -> bool {
    let own = rustix::fs::stat(file).is_ok_and(|status| status.st_uid == uid || status.st_mode & 0o022 != 0);
    let exposed = || std::path::absolute(file).and_then(|path| walk(&path, uid));
    own || !matches!(exposed(), Ok(None))
}

/// A path for the file of an open descriptor, whatever has happened to its name (proc(5)).
pub fn handle_path(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

fn refusal(what: &str) -> io::Error {
    io::Error::other(format!(
        "{what}, and the workers' user may have put it there; fix it, or use a directory that only root can write to"
    ))
}

/// Walks to the directory of `path` itself, link by link. `None` if only the operator controls everything on the way,
/// including the last link: then the kernel may walk it.
fn walk(path: &Path, suspect: u32) -> io::Result<Option<(OwnedFd, OsString)>> {
    let root = || open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let (mut at, mut is_exposed, mut links) = (root()?, false, 0);
    // The parts that are still to be walked, the next one last.
    let mut left = parts(path);
    while let Some(name) = left.pop() {
        let own = fstat(&at)?;
        if name == ".." && is_exposed {
            return Err(refusal("the path leads back (..) from a directory that not only root can write to"));
        }
        let found = match openat(&at, &name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
        {
            Err(Errno::NOENT) if left.is_empty() => None,
            found => Some(found?),
        };
        let status = found.as_ref().map(fstat).transpose()?;
        is_exposed |= is_open_to(suspect, &own, status.as_ref());
        match found.zip(status) {
            Some((link, status)) if kind(&status) == FileType::Symlink => {
                links += 1;
                if is_exposed {
                    return Err(refusal(&format!("{} is a symbolic link", Path::new(&name).display())));
                }
                if left.is_empty() && fstatfs(&link)?.f_type as u64 == PROC_MAGIC {
                    return Ok(None);
                }
                if links > LINKS_MAX {
                    return Err(Errno::LOOP.into());
                }
                let target = rustix::fs::readlinkat(&link, "", Vec::new())?.into_bytes();
                let target = PathBuf::from(OsString::from_vec(target));
                if target.is_absolute() {
                    at = root()?;
                }
                left.extend(parts(&target));
            }
            Some((directory, _)) if !left.is_empty() => at = directory,
            _ => return Ok(is_exposed.then_some((at, name))),
        }
    }
    Err(Errno::ISDIR.into())
}

/// A path's parts, in reverse order.
fn parts(path: &Path) -> Vec<OsString> {
    let named = |part: Component<'_>| match part {
        Component::Normal(_) | Component::ParentDir => Some(part.as_os_str().to_owned()),
        _ => None,
    };
    path.components().rev().filter_map(named).collect()
}

/// Whether `suspect` could have put this entry into this directory, or could remove it. The group of a writable
/// directory is not checked: access control lists (acl(5)) also show in these bits.
fn is_open_to(suspect: u32, directory: &Stat, entry: Option<&Stat>) -> bool {
    const STICKY: u32 = 0o1000;
    if directory.st_uid == suspect {
        return true;
    }
    if directory.st_mode & 0o022 == 0 {
        return false;
    }
    // As in /tmp: only its owner can move it. It is a directory, which cannot have a second name.
    let stays = |entry: &Stat| entry.st_uid != suspect && kind(entry) == FileType::Directory;
    !(directory.st_mode & STICKY != 0 && entry.is_some_and(stays))
}

fn kind(status: &Stat) -> FileType {
    FileType::from_raw_mode(status.st_mode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::master::testing::Directory;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    /// A directory that everybody may write to, owned by the user that runs the test.
    fn open_directory(directory: &Directory, name: &str) -> PathBuf {
        let path = directory.path().join(name);
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        path
    }

    /// A user that owns nothing here.
    const STRANGER: u32 = 54_321;

    fn find(path: &Path) -> io::Result<GuardedPath> {
        GuardedPath::find_despite(path, STRANGER)
    }

    fn append(path: &Path) -> io::Result<(OwnedFd, bool)> {
        find(path)?.open(OFlags::WRONLY | OFlags::APPEND, 0o640)
    }

    #[test]
    fn an_ordinary_file_is_made_once_and_opened_again() {
        let directory = Directory::new();
        for path in [directory.path().join("log"), open_directory(&directory, "open").join("log")] {
            assert!(append(&path).unwrap().1);
            assert!(!append(&path).unwrap().1);
            assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o640);
        }
    }

    #[test]
    fn nothing_but_an_ordinary_file_with_one_name_is_opened_where_others_write() {
        let directory = Directory::new();
        let (open, victim) = (open_directory(&directory, "open"), directory.path().join("victim"));
        std::fs::write(&victim, "").unwrap();
        symlink(&victim, open.join("link")).unwrap();
        symlink(directory.path().join("not there"), open.join("dangling")).unwrap();
        std::fs::hard_link(&victim, open.join("second")).unwrap();
        rustix::fs::mknodat(CWD, open.join("fifo"), FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
        for name in ["link", "dangling", "second", "fifo"] {
            let refused = append(&open.join(name)).unwrap_err().to_string();
            assert!(refused.contains("the workers' user may have put it there"), "{name}: {refused}");
        }
        assert!(!directory.path().join("not there").exists());
    }

    #[test]
    fn a_directory_on_the_way_that_others_can_exchange_must_be_one() {
        let directory = Directory::new();
        let (open, inner) = (open_directory(&directory, "open"), directory.path().join("inner"));
        std::fs::create_dir(&inner).unwrap();
        symlink(&inner, open.join("logs")).unwrap();
        assert!(append(&open.join("logs/log")).is_err());
        std::fs::create_dir(open.join("inner")).unwrap();
        assert!(append(&open.join("inner/../log")).is_err());
        // The operator's own link leads there as well, and is followed up to there.
        symlink(&open, directory.path().join("way")).unwrap();
        assert!(append(&directory.path().join("way/logs/log")).is_err());
        assert!(append(&directory.path().join("way/log")).unwrap().1);
        assert!(open.join("log").is_file());
    }

    #[test]
    fn the_operators_own_links_are_followed() {
        let directory = Directory::new();
        std::fs::create_dir(directory.path().join("real")).unwrap();
        symlink("real/../real/log", directory.path().join("log")).unwrap();
        assert!(append(&directory.path().join("log")).unwrap().1);
        assert!(directory.path().join("real/log").is_file());
        symlink("/dev/null", directory.path().join("null")).unwrap();
        assert!(!append(&directory.path().join("null")).unwrap().1);
        symlink("/proc/self/exe", directory.path().join("own")).unwrap();
        assert!(find(&directory.path().join("own")).unwrap().exposed.is_none());
        symlink("round", directory.path().join("round")).unwrap();
        assert!(append(&directory.path().join("round")).is_err());
    }

    #[test]
    fn a_neighbour_takes_the_place_in_one_step() {
        let directory = Directory::new();
        let path = open_directory(&directory, "open").join("state");
        let target = find(&path).unwrap();
        let new = target.beside("new").unwrap();
        symlink("elsewhere", new.path()).unwrap();
        assert_eq!(new.make(OFlags::WRONLY, 0o644).unwrap_err(), Errno::EXIST);
        new.remove().unwrap();
        new.make(OFlags::WRONLY, 0o644).unwrap();
        new.rename(&target).unwrap();
        assert!(path.is_file() && target.look().is_ok());
        assert_eq!(new.look().unwrap_err(), Errno::NOENT);
    }
}
