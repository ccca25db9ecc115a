//! A path that the master opens, makes or removes as root although its workers' user may be able to write on the way there:
//! logs, the pid file, unix sockets.
//!
//! Must not know: what a file is for. Invariant: from the first directory on in which that user could put something else, no
//! symbolic link is followed, nothing is opened but an ordinary file with one name, and a new file is really new. What nobody
//! but the operator can change is used as it is, links included: `access.log` may well be a link to `/dev/stdout`.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, fstatfs, open, openat, unlinkat};
use rustix::io::Errno;

/// As many links as the kernel follows on one way (path_resolution(7)).
const LINKS_MAX: usize = 40;
/// How often somebody may put a file there and take it away while it is opened.
const ATTEMPTS_MAX: usize = 8;
/// What `/proc` is; a link in it is the kernel's, and is not the text it shows (proc(5)).
const PROC_MAGIC: u64 = 0x9fa0;

/// The user whose directories are not trusted; 0 when there is none.
static SUSPECT: AtomicU32 = AtomicU32::new(0);

/// Names the workers' user, once it is known. Only for somebody with root's rights is there anything to lose.
pub fn distrust(uid: u32) {
    SUSPECT.store(uid, Ordering::Relaxed);
}

/// The user named last, 0 for none; a reload hands it on, because its new configuration need not name it.
pub fn distrusted() -> u32 {
    SUSPECT.load(Ordering::Relaxed)
}

/// Where a file is, or will be.
#[derive(Debug)]
pub struct GuardedPath {
    /// The directory, where others can write on the way; the way to it must not be walked again.
    exposed: Option<OwnedFd>,
    /// The file's name in that directory, else its whole path.
    name: PathBuf,
}

impl GuardedPath {
    /// Finds where a path leads.
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

    /// Opens the file, or makes it; says whether it is new.
    ///
    /// # Errors
    /// The file system's; something else than an ordinary file where others can write.
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
            // What is no ordinary file must not keep us waiting, nor become our terminal.
            let careful = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            match openat(directory, &self.name, careful, Mode::empty()) {
                Err(Errno::NOENT) => {}
                Err(Errno::LOOP) => return Err(refusal("it is a symbolic link")),
                Err(Errno::NXIO) => return Err(refusal("it is not a regular file")),
                Err(errno) => return Err(errno.into()),
                Ok(file) => match fstat(&file)? {
                    // Removed at this moment.
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

    /// Makes the file, which must not be there.
    ///
    /// # Errors
    /// The file system's.
    pub fn make(&self, access: OFlags, mode: u32) -> rustix::io::Result<OwnedFd> {
        let new = access | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(self.directory(), &self.name, new, Mode::from_raw_mode(mode))
    }

    /// The file under this name now, as a handle that allows no more than asking about it. A link is not followed.
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

    /// Gives the file the name `other` has, whose file is replaced. Both are in one directory.
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

    /// A neighbour: the same directory with something added to its name.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn beside(&self, extension: &str) -> io::Result<GuardedPath> {
        let exposed = self.exposed.as_ref().map(OwnedFd::try_clone).transpose()?;
        Ok(GuardedPath { exposed, name: self.name.with_added_extension(extension) })
    }

    /// A path for calls that take nothing else; it leads here as long as this value lives.
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

/// Whether this user could change what an existing file says: by its own bits, or by putting another in its place.
pub fn may_change(uid: u32, file: &Path) -> bool {
    let own = rustix::fs::stat(file).is_ok_and(|status| status.st_uid == uid || status.st_mode & 0o022 != 0);
    let exposed = || std::path::absolute(file).and_then(|path| walk(&path, uid));
    own || !matches!(exposed(), Ok(None))
}

/// The path by which an open descriptor's file can be named, whatever has become of its name (proc(5)).
pub fn handle_path(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

fn refusal(what: &str) -> io::Error {
    io::Error::other(format!(
        "{what}, and the workers' user may have put it there; fix it, or use a directory that only root can write to"
    ))
}

/// Goes to the directory of `path` by itself, link by link. `None`: nothing on the way, the last link included, is in anybody's
/// hands but the operator's, and the kernel may walk it.
fn walk(path: &Path, suspect: u32) -> io::Result<Option<(OwnedFd, OsString)>> {
    let root = || open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let (mut at, mut is_exposed, mut links) = (root()?, false, 0);
    // What is still to be walked, the next part last.
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

/// A path's parts, the last first.
fn parts(path: &Path) -> Vec<OsString> {
    let named = |part: Component<'_>| match part {
        Component::Normal(_) | Component::ParentDir => Some(part.as_os_str().to_owned()),
        _ => None,
    };
    path.components().rev().filter_map(named).collect()
}

/// Whether `suspect` could have put this entry into this directory, or could take it away. Whose group may write there is not
/// asked: access control lists (acl(5)) show in these bits as well.
fn is_open_to(suspect: u32, directory: &Stat, entry: Option<&Stat>) -> bool {
    const STICKY: u32 = 0o1000;
    if directory.st_uid == suspect {
        return true;
    }
    if directory.st_mode & 0o022 == 0 {
        return false;
    }
    // As in /tmp: only its owner moves it. It is a directory, which has no second name.
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

    /// A directory that everybody may write to; its owner is who runs the test.
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
        // The operator's own link leads there as well, and is followed so far.
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
