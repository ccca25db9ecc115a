//! From a path to what answers it: `try` rules, in their order, against the file system.
//!
//! Must not know connections. Invariant: a file that holds PHP is run or refused, never sent.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use rustix::fs::{FileType, lstat, stat};

use super::{Docroot, Wanted};
use crate::config::Symlinks;

/// What answers a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Route {
    /// A file is sent.
    File(PathBuf),
    /// A script runs.
    Script(Script),
    /// It is a directory, and was not asked for as one: the client is sent to this path.
    Redirect(String),
    /// It is answered with this status: 400, 403, 404, 405.
    Refused(u16),
}

/// A script and what `$_SERVER` says of the way to it.
#[derive(Debug, PartialEq, Eq)]
pub struct Script {
    /// SCRIPT_FILENAME.
    pub file: PathBuf,
    /// SCRIPT_NAME: its path below the document root.
    pub name: Vec<u8>,
    /// PATH_INFO: what follows its name in the URL.
    pub path_info: Vec<u8>,
}

/// What a rule stands for: the path of the request, a file in the directory it names, or one file.
const PATH: &str = "$path";

impl Docroot {
    /// What answers `wanted`.
    pub fn resolve(&self, wanted: &Wanted, method: &[u8]) -> Route {
        if wanted.is_hidden() {
            return Route::Refused(404);
        }
        let found = self.rules.iter().find_map(|rule| self.apply(rule, wanted));
        match found {
            Some(Route::File(_)) if !matches!(method, b"GET" | b"HEAD") => Route::Refused(405),
            Some(Route::Script(_)) | None if self.resident.is_some() => self.to_resident(),
            Some(route) => route,
            None if self.kind(&wanted.head(wanted.segments.len())) == Some(FileType::Directory) => {
                Route::Refused(403)
            }
            None => Route::Refused(404),
        }
    }

    /// The worker script, as if it lay in the document root.
    pub(super) fn to_resident(&self) -> Route {
        let file = self.resident.clone().unwrap_or_default();
        let name = file.file_name().map(|name| [b"/", name.as_bytes()].concat()).unwrap_or_default();
        Route::Script(Script { file, name, path_info: Vec::new() })
    }

    fn apply(&self, rule: &str, wanted: &Wanted) -> Option<Route> {
        let all = wanted.segments.len();
        match rule.strip_prefix(PATH) {
            Some("") => self.path_itself(wanted),
            Some(index) => {
                let directory = wanted.head(all);
                let name = [directory.trim_ascii_end_slash(), index.as_bytes()].concat();
                let route = self.file(name, Vec::new())?;
                Some(if wanted.directory { route } else { Route::Redirect(wanted.as_directory_uri()) })
            }
            None => self.file(format!("/{}", rule.trim_start_matches('/')).into_bytes(), Vec::new()),
        }
    }

    /// The path names a file, or a script with something behind it.
    fn path_itself(&self, wanted: &Wanted) -> Option<Route> {
        let all = wanted.segments.len();
        if !wanted.directory
            && all > 0
            && let Some(route) = self.file(wanted.head(all), Vec::new())
        {
            return Some(route);
        }
        let scripts = (1..=all).filter(|count| is_script(&wanted.segments[count - 1]));
        scripts
            .filter_map(|count| self.file(wanted.head(count), wanted.tail(count)))
            .find(|route| matches!(route, Route::Script(_)))
    }

    /// The regular file of this name, as what it is. A symbolic link is what its own name says, but no way to see the source
    /// of what it leads to.
    fn file(&self, name: Vec<u8>, path_info: Vec<u8>) -> Option<Route> {
        let file = self.below(&name);
        let own = FileType::from_raw_mode(lstat(&file).ok()?.st_mode);
        let is_link = own == FileType::Symlink;
        if (if is_link { self.kind(&name)? } else { own }) != FileType::RegularFile {
            return None;
        }
        let real = || file.canonicalize().ok();
        if self.symlinks == Symlinks::Inside && !real().is_some_and(|real| real.starts_with(self.root())) {
            return Some(Route::Refused(403));
        }
        let last = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        if is_script(last) {
            return Some(Route::Script(Script { file, name, path_info }));
        }
        let leads_to_source =
            || real().is_none_or(|real| real.file_name().is_some_and(|name| is_source(name.as_bytes())));
        let hidden = is_source(last) || (is_link && leads_to_source());
        Some(if hidden { Route::Refused(404) } else { Route::File(file) })
    }

    fn kind(&self, name: &[u8]) -> Option<FileType> {
        let found = stat(self.below(name)).ok()?;
        Some(FileType::from_raw_mode(found.st_mode))
    }

    fn below(&self, name: &[u8]) -> PathBuf {
        let path = [self.root().as_os_str().as_bytes().trim_ascii_end_slash(), name].concat();
        PathBuf::from(std::ffi::OsString::from_vec(path))
    }
}

/// Paths are joined with exactly one slash.
trait TrimSlash {
    fn trim_ascii_end_slash(&self) -> &[u8];
}

impl TrimSlash for [u8] {
    fn trim_ascii_end_slash(&self) -> &[u8] {
        self.strip_suffix(b"/").unwrap_or(self)
    }
}

/// It runs: its name ends with `.php`, in small letters as the file system has it.
fn is_script(name: &[u8]) -> bool {
    name.len() > 4 && name.ends_with(b".php")
}

/// It would show PHP source: any of PHP's extensions, in any case, at the end of the name or before what editors, backups
/// and deployments append (`config.php~`, `index.php.bak`, `wp-config.php_old`).
fn is_source(name: &[u8]) -> bool {
    const EXTENSIONS: [&[u8]; 6] = [b".php", b".phtml", b".phar", b".phps", b".pht", b".inc"];
    let name = name.to_ascii_lowercase();
    EXTENSIONS.iter().any(|extension| {
        let mut places = name.windows(extension.len()).enumerate().filter(|(_, window)| window == extension);
        // Followed by a letter it is another word: "a.phpunit.xml", "a.income.csv".
        places.any(|(at, _)| !name.get(at + extension.len()).is_some_and(u8::is_ascii_alphabetic))
    })
}

#[cfg(test)]
mod tests {
    use super::{is_script, is_source};

    #[test]
    fn sources_are_known_by_their_names() {
        let sources = [
            "a.php",
            "A.PHP",
            "a.php~",
            "a.php.bak",
            "a.phtml",
            "a.phar",
            "a.phps",
            "a.php5",
            "a.php_old",
            "#a.php#",
            "a.php.orig",
            "a.inc",
            "a.pHp.txt",
        ];
        for name in sources {
            assert!(is_source(name.as_bytes()), "{name}");
        }
        for name in ["a.css", "php", "a.phpunit.xml", "phpinfo.html", "a.income.csv", "aphp", "elephant.png"]
        {
            assert!(!is_source(name.as_bytes()), "{name}");
        }
        assert!(is_script(b"a.php") && !is_script(b".php") && !is_script(b"a.PHP") && !is_script(b"a.php~"));
    }
}
