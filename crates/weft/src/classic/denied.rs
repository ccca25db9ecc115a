//! Which files of a document root its `.htaccess` files deny, and which directories should be hidden but are not.
//!
//! It must not know what such a file may contain (`htaccess`). Invariants: a denial that is on the disk for [`AGE`] counts;
//! a request costs no system call for a directory that was looked at within that time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

use weft_serve::Root;

use super::htaccess::Htaccess;

/// After this time a directory is looked at again.
const AGE: Duration = Duration::from_secs(2);
/// Directories that are remembered; beyond it all are looked at again.
const DIRECTORIES_MAX: usize = 4096;
/// The part of an `.htaccess` file that is read; a longer one denies everything.
const BYTES_MAX: u64 = 1 << 20;
/// Directories that are searched for what should be hidden.
const SEARCHED_MAX: usize = 2_000;

#[derive(Clone)]
struct Known {
    looked: Instant,
    stamp: Option<(SystemTime, u64)>,
    rules: Option<Rc<Htaccess>>,
}

/// What is known of the directories.
#[derive(Default)]
pub struct Denied {
    directories: RefCell<HashMap<Vec<u8>, Known>>,
}

impl std::fmt::Debug for Denied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} directories", self.directories.borrow().len())
    }
}

/// What a directory's `.htaccess` says; `None` if it has none.
fn read(path: &Path, length: u64) -> Option<Htaccess> {
    let text = if length > BYTES_MAX {
        Err(std::io::Error::other("it is too long"))
    } else {
        std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let rules = match text {
        Ok(text) => Htaccess::read(&text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => {
            tracing::error!("{}: {error}; its directory is denied", path.display());
            Htaccess::read("Require all denied")
        }
    };
    for line in &rules.unread {
        tracing::warn!("{}, {line}", path.display());
    }
    Some(rules)
}

impl Denied {
    /// Whether the file of this name is denied.
    pub fn denies(&self, root: &Root, name: &[u8]) -> bool {
        let now = Instant::now();
        let slash = name.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        let file = String::from_utf8_lossy(&name[(slash + 1).min(name.len())..]);
        let ends = name.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        ends.fold(false, |denied, end| match self.rules(root, &name[..end], now) {
            Some(rules) => rules.denies(denied, &file),
            None => denied,
        })
    }

    fn rules(&self, root: &Root, directory: &[u8], now: Instant) -> Option<Rc<Htaccess>> {
        let known = self.directories.borrow().get(directory).cloned();
        if let Some(known) = known.as_ref().filter(|known| now - known.looked < AGE) {
            return known.rules.clone();
        }
        let path = root.below(&[directory, b"/.htaccess"].concat());
        let found = std::fs::metadata(&path).ok();
        let stamp = found.as_ref().and_then(|found| Some((found.modified().ok()?, found.len())));
        let rules = match known {
            Some(known) if known.stamp == stamp => known.rules,
            _ => found
                .and_then(|found| read(&path, found.len()))
                .filter(Htaccess::is_about_access)
                .map(Rc::new),
        };
        let mut directories = self.directories.borrow_mut();
        if directories.len() >= DIRECTORIES_MAX {
            directories.clear();
        }
        directories.insert(directory.to_owned(), Known { looked: now, stamp, rules: rules.clone() });
        rules
    }
}

/// Applications by a file that only they have, and their directories that are not for clients.
const APPLICATIONS: [(&str, &str, &[&str]); 8] = [
    ("doku.php", "DokuWiki", &["bin", "conf", "data", "inc", "vendor"]),
    ("program/include/rcmail.php", "Roundcube", &["SQL", "bin", "config", "logs", "temp", "vendor"]),
    ("poller.php", "Cacti", &["cli", "log", "rra", "scripts"]),
    ("occ", "Nextcloud", &["3rdparty", "config", "data", "lib"]),
    ("load.php", "MediaWiki", &["cache", "includes", "languages", "maintenance", "vendor"]),
    ("shaarli_version.php", "Shaarli", &["application", "cache", "data", "pagecache", "tmp", "vendor"]),
    ("artisan", "Laravel", &["app", "bootstrap", "config", "database", "storage", "vendor"]),
    ("bin/console", "Symfony", &["bin", "config", "src", "var", "vendor"]),
];
/// Names that hardly any application means to be public.
const PRIVATE: [&str; 10] =
    ["backup", "backups", "config", "log", "logs", "node_modules", "private", "sql", "tmp", "vendor"];

/// What an operator should know of a document root: one line each. `denies` tells whether the configuration denies a
/// directory.
pub fn warnings(root: &Path, honoured: bool, denies: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut hidden = Vec::new();
    search(root, honoured, &mut lines, &mut hidden);
    let known = APPLICATIONS.iter().find(|(mark, _, _)| root.join(mark).is_file());
    let (whose, names): (String, &[&str]) = match known {
        Some((_, application, names)) => (format!("{application} does not mean it to be public"), names),
        None => ("its name says that it may not be public".to_owned(), &PRIVATE),
    };
    for name in names {
        let path = root.join(name);
        if path.is_dir() && !(honoured && hidden.contains(&path)) && !denies(&path) {
            lines.push(format!(
                "{} is served: {whose}; deny it by a [[rule]], or move it out of the document root",
                path.display()
            ));
        }
    }
    lines
}

/// Collects what the files of a document root say, and the directories that they deny.
fn search(root: &Path, honoured: bool, lines: &mut Vec<String>, hidden: &mut Vec<PathBuf>) {
    let mut ahead = vec![root.to_path_buf()];
    let mut searched = 0;
    while let Some(directory) = ahead.pop() {
        searched += 1;
        if searched > SEARCHED_MAX {
            lines.push(format!(
                "{}: only {SEARCHED_MAX} directories were searched for .htaccess and web.config",
                root.display()
            ));
            return;
        }
        let (rules, config) = (directory.join(".htaccess"), directory.join("web.config"));
        if let Ok(text) = std::fs::read(&rules) {
            let read = Htaccess::read(&String::from_utf8_lossy(&text));
            lines.extend(read.unread.iter().map(|line| format!("{}, {line}", rules.display())));
            if read.is_about_access() && !honoured {
                lines.push(format!("{} denies access, but classic.htaccess is off", rules.display()));
            }
            if read.denies_all() {
                hidden.push(directory);
                continue;
            }
        }
        let says = |text: &str| {
            ["hiddenSegments", "<deny ", "denyUrlSequences", "\"Deny\""]
                .iter()
                .any(|word| text.contains(word))
        };
        if std::fs::read_to_string(&config).is_ok_and(|text| says(&text)) {
            lines.push(format!(
                "{} hides paths: weft does not read it; move them out of the document root",
                config.display()
            ));
        }
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        ahead.extend(
            entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
    }
}
