//! The directory with keys and certificates: what lies where, and how it is changed.
//!
//! Several hosts may share it. Must not know what is in its files. Invariants: a file is whole, because it gets its name
//! when it is; who works on a name holds its lock, which ends with the process; only the owner reads keys.
//!
//! ```text
//! STORAGE/acme-v02.api.letsencrypt.org-directory/    one directory for each authority
//!     account.json                                   the account there, with its key
//!     a.example.pem                                  a key, its certificate and the chain
//!     a.example.json                                 how far it is: failures, when to renew
//!     a.example.lock                                 held while a process works on it
//!     challenges/                                    answers that workers may read
//! STORAGE/local/                                     weft's own authority, for localhost
//! ```

use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{
    AtFlags, CWD, FlockOperation, Mode, OFlags, fchmod, flock, fstat, fsync, mkdirat, openat, renameat,
    statat, unlinkat,
};
use rustix::io::Errno;

use crate::config::Config;

/// No file here is larger.
const FILE_BYTES_MAX: usize = 256 << 10;
/// The directory with answers to challenges.
const CHALLENGES: &str = "challenges";

/// A directory of the storage.
#[derive(Debug)]
pub struct Storage {
    path: PathBuf,
    directory: OwnedFd,
}

/// Held while a process works on a name.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "the lock lasts as long as the descriptor (flock(2))")] OwnedFd);

/// The directory for the authority of `[acme]`, or for weft's own.
pub fn directory_of(config: &Config, is_local: bool) -> PathBuf {
    let authority = config.acme.directory.trim_start_matches("https://");
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let authority = if is_local { "local".to_owned() } else { authority.chars().map(plain).collect() };
    root(config).join(authority)
}

/// The file with a name's key, certificate and chain.
pub fn file_of(config: &Config, name: &str, is_local: bool) -> PathBuf {
    directory_of(config, is_local).join(format!("{name}.pem"))
}

/// As configured, or where the service manager, the system or the user's other programs keep such data.
fn root(config: &Config) -> PathBuf {
    if let Some(storage) = &config.acme.storage {
        return storage.clone();
    }
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = |directory: PathBuf| directory.join("certificates");
    // systemd.exec(5): directories are separated by colons.
    let first = |paths: PathBuf| std::env::split_paths(&paths).next();
    if let Some(state) = variable("STATE_DIRECTORY").and_then(first) {
        return own(state);
    }
    if rustix::process::geteuid().is_root() {
        return own("/var/lib/weft".into());
    }
    let data = variable("XDG_DATA_HOME").or_else(|| Some(variable("HOME")?.join(".local/share")));
    own(data.unwrap_or_else(|| "/var/lib".into()).join("weft"))
}

impl Storage {
    /// Opens a directory, and makes it if it is missing.
    ///
    /// # Errors
    /// One line: it cannot be made or read, or others than its owner may change it.
    pub fn open(path: &Path) -> Result<Storage, String> {
        let failed = |error: io::Error| {
            format!(
                "{}: certificates cannot be kept there: {error}; name another directory in acme.storage",
                path.display()
            )
        };
        let above = path.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
        std::fs::create_dir_all(above).map_err(failed)?;
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        // A link may lead to a directory of somebody else.
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = openat(CWD, path, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        let found = fstat(&directory).map_err(|errno| failed(errno.into()))?;
        if found.st_uid != rustix::process::geteuid().as_raw() || found.st_mode & 0o022 != 0 {
            return Err(format!(
                "{}: other users may change the certificates there: chown it to the user that starts weft, chmod 700",
                path.display()
            ));
        }
        Ok(Storage { path: path.into(), directory })
    }

    /// Its directory with answers to challenges, which everybody may read who was given it.
    ///
    /// # Errors
    /// As for [`Storage::open`].
    pub fn challenges(&self) -> Result<Storage, String> {
        let path = self.path.join(CHALLENGES);
        let failed = |errno: Errno| format!("{}: {}", path.display(), io::Error::from(errno));
        match mkdirat(&self.directory, CHALLENGES, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => (),
            Err(errno) => return Err(failed(errno)),
        }
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = openat(&self.directory, CHALLENGES, flags, Mode::empty()).map_err(failed)?;
        // Whatever the umask.
        fchmod(&directory, Mode::from_raw_mode(0o755)).map_err(failed)?;
        Ok(Storage { path, directory })
    }

    /// The directory itself.
    pub fn into_directory(self) -> OwnedFd {
        self.directory
    }

    /// Where a file is.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A file's content; `None` if there is none.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        read_in(&self.directory, name, FILE_BYTES_MAX)
    }

    /// Gives a file this content, in one step. Everybody may read it with `mode` 0644, only the owner with 0600.
    ///
    /// # Errors
    /// One line with the path.
    pub fn write(&self, name: &str, content: &[u8], mode: u32) -> Result<(), String> {
        let failed = |errno: Errno| format!("{}: {}", self.path_of(name).display(), io::Error::from(errno));
        // Hosts that share the directory may have the same process ids, but not the same host name.
        let host = rustix::system::uname().nodename().to_string_lossy().replace('/', "-");
        let aside = format!(".{name}.{host}.{}", std::process::id());
        let _ = unlinkat(&self.directory, &aside, AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let written = openat(&self.directory, &aside, flags, Mode::from_raw_mode(0o600)).and_then(|file| {
            fchmod(&file, Mode::from_raw_mode(mode))?;
            let mut rest = content;
            while !rest.is_empty() {
                rest = &rest[rustix::io::write(&file, rest)?..];
            }
            fsync(&file)?;
            renameat(&self.directory, &aside, &self.directory, name)?;
            fsync(&self.directory)
        });
        written.map_err(|errno| {
            let _ = unlinkat(&self.directory, &aside, AtFlags::empty());
            failed(errno)
        })
    }

    /// Removes a file, if it is there.
    pub fn remove(&self, name: &str) {
        // What is left there is removed with the old ones.
        let _ = unlinkat(&self.directory, name, AtFlags::empty());
    }

    /// Removes files that are older than this.
    pub fn remove_older(&self, age: Duration) {
        let Ok(entries) = std::fs::read_dir(&self.path) else { return };
        let limit = SystemTime::now().checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH);
        let limit = limit.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        for name in entries.flatten().map(|entry| entry.file_name()) {
            if self.written(&name).is_some_and(|at| at < limit) {
                let _ = unlinkat(&self.directory, &*name, AtFlags::empty());
            }
        }
    }

    fn written(&self, name: &OsStr) -> Option<u64> {
        let found = statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        u64::try_from(found.st_mtime).ok()
    }

    /// The right to work on something, for which there is a file; `None` while another process, of this host or another,
    /// has it.
    ///
    /// # Errors
    /// One line: the file system has no locks.
    pub fn lock(&self, name: &str) -> Result<Option<Lock>, String> {
        let path = format!("{name}.lock");
        let failed = |errno: Errno| {
            format!("{}: it cannot be locked: {}", self.path_of(&path).display(), io::Error::from(errno))
        };
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // It is never removed: two processes could hold locks of two files with this name.
        let file = openat(&self.directory, &path, flags, Mode::from_raw_mode(0o600)).map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(failed(errno)),
        }
    }
}

/// The content of a small file in a directory. A file that is longer than `most` bytes is none.
pub fn read_in(directory: &OwnedFd, name: &str, most: usize) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(directory, name, flags, Mode::empty()).ok()?;
    let mut content = vec![0; most + 1];
    let mut length = 0;
    loop {
        match rustix::io::read(&file, &mut content[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(Errno::INTR) => (),
            Err(_) => return None,
        }
        if length > most {
            return None;
        }
    }
    content.truncate(length);
    Some(content)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::master::testing::Directory;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_are_whole_and_only_what_is_public_can_be_read_by_others() {
        let directory = Directory::new();
        let storage = Storage::open(&directory.path().join("a/b")).unwrap();
        storage.write("key.pem", b"one", 0o600).unwrap();
        storage.write("key.pem", b"two", 0o600).unwrap();
        let challenges = storage.challenges().unwrap();
        challenges.write("token", b"answer", 0o644).unwrap();
        assert_eq!(storage.read("key.pem").as_deref(), Some(&b"two"[..]));
        assert_eq!(
            read_in(&storage.challenges().unwrap().into_directory(), "token", 6),
            Some(b"answer".to_vec())
        );
        assert_eq!(read_in(&storage.challenges().unwrap().into_directory(), "token", 5), None);
        assert_eq!(mode(&storage.path_of("key.pem")), 0o600);
        assert_eq!(mode(&challenges.path_of("token")), 0o644);
        assert_eq!(mode(&storage.path_of("")), 0o700);
        let left = std::fs::read_dir(storage.path_of("")).unwrap().count();
        assert_eq!(left, 2, "nothing is left aside");
    }

    #[test]
    fn a_lock_has_one_holder() {
        let directory = Directory::new();
        let (one, other) =
            (Storage::open(directory.path()).unwrap(), Storage::open(directory.path()).unwrap());
        let held = one.lock("a").unwrap();
        assert!(held.is_some() && other.lock("a").unwrap().is_none() && other.lock("b").unwrap().is_some());
        drop(held);
        assert!(other.lock("a").unwrap().is_some());
    }

    #[test]
    fn a_directory_that_others_may_change_is_refused() {
        let directory = Directory::new();
        let open = directory.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
        assert!(Storage::open(&open).unwrap_err().contains("other users"));
        std::os::unix::fs::symlink(directory.path(), directory.path().join("link")).unwrap();
        assert!(Storage::open(&directory.path().join("link")).is_err());
    }

    #[test]
    fn old_answers_are_removed() {
        let directory = Directory::new();
        let storage = Storage::open(directory.path()).unwrap();
        storage.write("new", b"", 0o644).unwrap();
        storage.write("old", b"", 0o644).unwrap();
        let hours = SystemTime::now() - Duration::from_secs(7200);
        std::fs::File::options()
            .write(true)
            .open(storage.path_of("old"))
            .unwrap()
            .set_modified(hours)
            .unwrap();
        storage.remove_older(Duration::from_secs(3600));
        assert!(storage.read("new").is_some() && storage.read("old").is_none());
    }
}
