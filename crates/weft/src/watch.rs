//! `--watch`: which file changed, according to inotify(7).
//!
//! Must not know what a change leads to. Invariant: a change is reported once things are quiet, so saving ten files is
//! one reload; files that tools and frameworks write by themselves do not count.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;

/// A change is reported after this long without another.
const QUIET: Duration = Duration::from_millis(100);
/// ... but not later than this after the first.
const PATIENCE: Duration = Duration::from_secs(1);
/// An application's source has fewer directories than this.
const DIRECTORIES_MAX: usize = 20_000;

/// Directories that are written without a change of code.
const IGNORED_DIRECTORIES: [&str; 8] =
    [".git", ".hg", ".svn", ".idea", ".vscode", "node_modules", ".phpunit.cache", "__pycache__"];
/// The same, by their last two names: caches and logs of frameworks.
const IGNORED_PATHS: [&str; 7] = [
    "var/cache",
    "var/log",
    "var/sessions",
    "storage/framework",
    "storage/logs",
    "bootstrap/cache",
    "runtime/container",
];
/// Endings of editors' and tools' own files.
const IGNORED_ENDINGS: [&str; 8] = ["~", ".swp", ".swx", ".tmp", ".log", ".pid", ".state", ".new"];

/// A watched set of directory trees.
#[derive(Debug)]
pub struct Watch {
    inotify: OwnedFd,
    directories: HashMap<i32, PathBuf>,
    first: Option<(PathBuf, Instant)>,
    latest: Instant,
    count: usize,
}

impl Watch {
    /// Watches `paths` and everything below; the empty path stands for the directories of the applications.
    ///
    /// # Errors
    /// One line: which path, what to do.
    pub fn start<'a>(
        paths: &[PathBuf],
        applications: impl Iterator<Item = &'a PathBuf> + Clone,
    ) -> Result<Self, String> {
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
            .map_err(|e| format!("--watch: {e}; sysctl fs.inotify.max_user_instances may be too low"))?;
        let mut watch =
            Watch { inotify, directories: HashMap::new(), first: None, latest: Instant::now(), count: 0 };
        for path in paths {
            if path.as_os_str().is_empty() {
                applications
                    .clone()
                    .try_for_each(|application| watch.add_tree(&directory_of(application)))?;
            } else {
                watch.add_tree(path)?;
            }
        }
        Ok(watch)
    }

    /// The descriptor to watch for readability.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    /// When a change will be reported, if there was one.
    pub fn deadline(&self) -> Option<Instant> {
        self.first.as_ref().map(|(_, since)| (self.latest + QUIET).min(*since + PATIENCE))
    }

    /// What changed, in words, once it is quiet.
    pub fn changed(&mut self, now: Instant) -> Option<String> {
        self.read_events(now);
        if self.deadline()? > now {
            return None;
        }
        let (path, _) = self.first.take()?;
        let more = std::mem::take(&mut self.count) - 1;
        let others = if more > 0 { format!(" and {more} more") } else { String::new() };
        let path = path.strip_prefix(".").unwrap_or(&path);
        Some(format!("{}{others} changed", path.display()))
    }

    fn read_events(&mut self, now: Instant) {
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let Ok(inotify) = self.inotify.try_clone() else { return };
        let mut reader = Reader::new(&inotify, &mut buffer);
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            let flags = event.events();
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                self.note(PathBuf::from("more files than the kernel lists"), now);
                continue;
            }
            if flags.contains(ReadFlags::IGNORED) {
                self.directories.remove(&event.wd());
                continue;
            }
            let (Some(directory), Some(name)) = (self.directories.get(&event.wd()), name) else { continue };
            let path = directory.join(name);
            if is_ignored(&path) {
                continue;
            }
            let is_directory = flags.contains(ReadFlags::ISDIR);
            if is_directory && flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
                // The limit was reported at start; a tree that grew beyond it is watched in part.
                let _ = self.add_tree(&path).map_err(|why| tracing::warn!("{why}"));
            }
            // A new file is reported when it is closed; a new directory may already contain files.
            if is_directory || !flags.contains(ReadFlags::CREATE) {
                self.note(path, now);
            }
        }
    }

    fn note(&mut self, path: PathBuf, now: Instant) {
        self.first.get_or_insert((path, now));
        self.latest = now;
        self.count += 1;
    }

    fn add_tree(&mut self, root: &Path) -> Result<(), String> {
        let mut waiting = vec![root.to_path_buf()];
        while let Some(path) = waiting.pop() {
            if self.directories.len() >= DIRECTORIES_MAX {
                return Err(format!(
                    "--watch: more than {DIRECTORIES_MAX} directories below {}",
                    root.display()
                ));
            }
            self.add(&path)?;
            // A directory that has vanished meanwhile needs no watch.
            let Ok(entries) = std::fs::read_dir(&path) else { continue };
            let directories =
                entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            waiting.extend(directories.map(|entry| entry.path()).filter(|path| !is_ignored(path)));
        }
        Ok(())
    }

    fn add(&mut self, path: &Path) -> Result<(), String> {
        let what = WatchFlags::CLOSE_WRITE
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ONLYDIR;
        match add_watch(&self.inotify, path, what) {
            Ok(id) => {
                self.directories.insert(id, path.to_path_buf());
                Ok(())
            }
            Err(Errno::NOSPC) => {
                Err("--watch: too many directories for fs.inotify.max_user_watches; raise it with sysctl"
                    .into())
            }
            Err(e) => Err(format!("--watch: {}: {e}; name an existing directory", path.display())),
        }
    }
}

/// The directory of an application: itself, or its script's.
fn directory_of(application: &Path) -> PathBuf {
    if application.is_dir() {
        return application.to_path_buf();
    }
    match application.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

fn is_ignored(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    IGNORED_DIRECTORIES.contains(&&*name)
        || IGNORED_PATHS.iter().any(|ignored| path.ends_with(ignored))
        || IGNORED_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || name.starts_with(".#")
        // A rotated log.
        || name.contains(".log.")
        // vim tests whether it may write here.
        || name == "4913"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::master::testing::Directory;
    use rustix::event::{PollFd, PollFlags, poll};

    /// Waits until the kernel has events, then checks from a quiet moment on.
    fn told(watch: &mut Watch) -> Option<String> {
        poll(&mut [PollFd::new(&watch.inotify, PollFlags::IN)], None).unwrap();
        let now = Instant::now();
        watch.changed(now).or_else(|| watch.changed(now + PATIENCE))
    }

    #[test]
    fn a_saved_file_is_told_with_its_path() {
        let directory = Directory::new();
        std::fs::create_dir_all(directory.path().join("src/deep")).unwrap();
        let application = directory.path().join("app.php");
        let mut watch = Watch::start(&[PathBuf::new()], [&application].into_iter()).unwrap();
        let file = directory.path().join("src/deep/a.php");
        std::fs::write(&file, "<?php").unwrap();
        assert_eq!(told(&mut watch), Some(format!("{} changed", file.display())));
        std::fs::create_dir(directory.path().join("new")).unwrap();
        assert_eq!(told(&mut watch), Some(format!("{} changed", directory.path().join("new").display())));
        let inside = directory.path().join("new/b.php");
        std::fs::write(&inside, "<?php").unwrap();
        assert_eq!(told(&mut watch), Some(format!("{} changed", inside.display())));
    }

    #[test]
    fn caches_and_editors_files_are_no_change() {
        let directory = Directory::new();
        std::fs::create_dir_all(directory.path().join("var/cache/dev")).unwrap();
        std::fs::create_dir_all(directory.path().join(".git/objects")).unwrap();
        let mut watch = Watch::start(&[directory.path().into()], std::iter::empty()).unwrap();
        for name in
            ["var/cache/dev/a.php", ".git/objects/x", "a.php~", ".a.php.swp", "dev.log", "dev.log.1", "4913"]
        {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        std::fs::write(directory.path().join("z.php"), "").unwrap();
        let expected = format!("{} changed", directory.path().join("z.php").display());
        assert_eq!(told(&mut watch), Some(expected));
    }

    #[test]
    fn several_changes_are_one() {
        let directory = Directory::new();
        let mut watch = Watch::start(&[directory.path().into()], std::iter::empty()).unwrap();
        for name in ["a.php", "b.php", "c.php"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let expected = format!("{} and 2 more changed", directory.path().join("a.php").display());
        assert_eq!(told(&mut watch), Some(expected));
        assert_eq!(watch.changed(Instant::now() + PATIENCE), None);
    }

    #[test]
    fn a_missing_path_is_named() {
        let refusal = Watch::start(&["/nonexistent".into()], std::iter::empty()).unwrap_err();
        assert_eq!(
            refusal,
            "--watch: /nonexistent: No such file or directory (os error 2); name an existing directory"
        );
    }
}
