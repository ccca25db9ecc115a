//! From a path to its answer: applies the `try` rules, in their order, to the file system.
//!
//! Must not know connections. Invariants: a file that holds PHP is run or refused, never sent. A path costs one file
//! system lookup per rule, and one for each directory on the way that is named like a script, but no more for being
//! long.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use weft_proto::TargetForm;
use weft_serve::{Look, RequestView};

use super::denied::Denied;
use super::docroot::Docroot;
use super::names::{is_script, is_source};
use super::path::Wanted;

/// What answers a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Route {
    /// The file of this name below the document root is sent.
    File(Vec<u8>),
    /// A script runs.
    Script(Script),
    /// It is a directory, and was not asked for as one: the client is sent to this path.
    Redirect(String),
    /// `OPTIONS *`: it concerns the server, not anything in the document root.
    Server,
    /// The request is refused with this status: 400, 403, 404, 405, 503.
    Refused(u16),
}

/// A script, and the values in `$_SERVER` that describe the way to it.
#[derive(Debug, PartialEq, Eq)]
pub struct Script {
    /// SCRIPT_FILENAME.
    pub file: PathBuf,
    /// SCRIPT_NAME: its path below the document root.
    pub name: Vec<u8>,
    /// PATH_INFO: the part of the URL after its name.
    pub path_info: Vec<u8>,
}

/// A rule is the path of the request, a file in the directory that the path names, or one fixed file.
const PATH: &str = "$path";

impl Docroot {
    /// What answers a request.
    pub fn route(&self, request: &RequestView<'_>) -> Route {
        match Wanted::read(request.path()) {
            _ if self.script_alone => self.to_resident(),
            _ if request.head().form() == TargetForm::Asterisk => Route::Server,
            // It would return to a script what others have set, such as cookies (RFC 9110 section 9.3.8); nginx refuses it.
            _ if request.method() == b"TRACE" => Route::Refused(405),
            Ok(wanted) => self.unless_denied(self.resolve(&wanted, request.method())),
            Err(status) => Route::Refused(status),
        }
    }

    /// A description of what would be served, for people.
    pub fn describe(&self) -> String {
        if let Some(script) = &self.resident {
            let what = if self.script_alone {
                "every request"
            } else {
                "the requests that no file of the document root answers"
            };
            return format!("{} stays loaded and answers {what}", script.display());
        }
        let first = self.resolve(&Wanted::root(), b"GET");
        let page = match first {
            Route::Script(script) => format!("/ is {}", script.file.display()),
            Route::File(name) => format!("/ is {}", self.root.below(&name).display()),
            _ => "there is nothing at / yet".to_owned(),
        };
        format!("a document root; {page}")
    }

    /// The answer to `wanted`.
    pub fn resolve(&self, wanted: &Wanted, method: &[u8]) -> Route {
        if wanted.is_hidden() {
            return Route::Refused(404);
        }
        // The first rule that needs it looks it up; the result serves all rules.
        let mut found = None;
        let mut look = || *found.get_or_insert_with(|| self.root.look(&wanted.path));
        let route = self.rules.iter().find_map(|rule| self.apply(rule, wanted, &mut look));
        match route {
            Some(Route::File(_)) if !matches!(method, b"GET" | b"HEAD") => Route::Refused(405),
            Some(Route::Script(_)) | None if self.resident.is_some() => self.to_resident(),
            Some(route) => route,
            None if look() == Look::Directory => Route::Refused(403),
            None => Route::Refused(404),
        }
    }

    /// Refuses what an `.htaccess` file denies. Scripts themselves may send it, or delegate to it.
    fn unless_denied(&self, route: Route) -> Route {
        let name = match &route {
            Route::File(name) => name,
            Route::Script(script) if self.resident.is_none() => &script.name,
            _ => return route,
        };
        let denies = |denied: &Denied| denied.denies(&self.root, name);
        if self.denied.as_ref().is_some_and(denies) { Route::Refused(403) } else { route }
    }

    /// The worker script, as if it lay in the document root.
    fn to_resident(&self) -> Route {
        let file = self.resident.clone().unwrap_or_default();
        let name = file.file_name().map(|name| [b"/", name.as_bytes()].concat()).unwrap_or_default();
        Route::Script(Script { file, name, path_info: Vec::new() })
    }

    fn apply(&self, rule: &str, wanted: &Wanted, look: &mut impl FnMut() -> Look) -> Option<Route> {
        match rule.strip_prefix(PATH) {
            Some("") => self.path_itself(wanted, look()),
            Some(index) if look() == Look::Directory => {
                let route = self.file([&wanted.path, index.as_bytes()].concat())?;
                Some(if wanted.directory { route } else { Route::Redirect(wanted.as_directory_uri()) })
            }
            Some(_) => None,
            // As with nginx, where a location of its own has all scripts: one that is missing is 404, not the front
            // controller's.
            None if self.resident.is_none() && wanted.names().any(is_script) => None,
            None => self.file(format!("/{}", rule.trim_start_matches('/')).into_bytes()),
        }
    }

    /// The path names a file, or a script followed by more.
    fn path_itself(&self, wanted: &Wanted, found: Look) -> Option<Route> {
        let script = match found {
            Look::File if !wanted.directory => return Some(self.as_what_it_is(wanted.path.clone())),
            Look::File => is_script(&wanted.path).then_some(&wanted.path[..]),
            Look::Beyond => match script_on_the_way(wanted, |name| self.root.look(name)) {
                Ok(name) => Some(name),
                Err(other) => return refused(other).map(Route::Refused),
            },
            other => return refused(other).map(Route::Refused),
        };
        script.map(|name| self.script(name.to_vec(), wanted.behind(name)))
    }

    /// The answer for the regular file of this name.
    fn file(&self, name: Vec<u8>) -> Option<Route> {
        match self.root.look(&name) {
            Look::File => Some(self.as_what_it_is(name)),
            other => refused(other).map(Route::Refused),
        }
    }

    /// The name of a symbolic link decides what it is, but a link cannot reveal the source of its target: see
    /// [`Docroot::open`].
    fn as_what_it_is(&self, name: Vec<u8>) -> Route {
        if is_script(&name) {
            self.script(name, Vec::new())
        } else if is_source(&name) {
            Route::Refused(404)
        } else {
            Route::File(name)
        }
    }

    fn script(&self, name: Vec<u8>, path_info: Vec<u8>) -> Route {
        Route::Script(Script { file: self.root.below(&name), name, path_info })
    }
}

/// The status if no other rule finds an answer.
fn refused(found: Look) -> Option<u16> {
    match found {
        Look::Outside => Some(403),
        Look::Failed => Some(503),
        _ => None,
    }
}

/// The script on the way to a path of which a component is not a directory. The search ends at the first name that is
/// not a directory, because nothing can lie behind it. `Err`: what that name is instead.
fn script_on_the_way(wanted: &Wanted, look: impl Fn(&[u8]) -> Look) -> Result<&[u8], Look> {
    for name in wanted.names().filter(|name| is_script(name)) {
        match look(name) {
            Look::File => return Ok(name),
            Look::Directory => (),
            other => return Err(other),
        }
    }
    Err(Look::Missing)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use weft_serve::Look;

    use super::{Wanted, script_on_the_way};

    /// The script that was found, and the number of lookups.
    fn search<'a>(wanted: &'a Wanted, directories: &str, file: &str) -> (Option<&'a [u8]>, usize) {
        let looks = Cell::new(0);
        let look = |name: &[u8]| {
            looks.set(looks.get() + 1);
            match name {
                name if name == file.as_bytes() => Look::File,
                name if directories.as_bytes().starts_with(name) => Look::Directory,
                name if name.starts_with(format!("{file}/").as_bytes()) => Look::Beyond,
                _ => Look::Missing,
            }
        };
        (script_on_the_way(wanted, look).ok(), looks.get())
    }

    #[test]
    fn a_long_path_costs_no_more_looks_than_a_short_one() {
        let wanted = |path: &str| Wanted::read(path.as_bytes()).expect("well-formed");
        let many = wanted(&"/a.php".repeat(1300));
        assert_eq!(search(&many, "", "/none"), (None, 1), "nothing is there");
        assert_eq!(search(&many, "", "/a.php"), (Some(&b"/a.php"[..]), 1));
        let behind = wanted(&["/text.txt", &"/a.php".repeat(1300)].concat());
        assert_eq!(search(&behind, "", "/text.txt"), (None, 1), "a file has nothing behind it");
        let deep = wanted("/d.php/d.php/x/a.php/more/b.php");
        assert_eq!(search(&deep, "/d.php/d.php/x", "/d.php/d.php/x/a.php").1, 3);
        assert_eq!(search(&deep, "/d.php", "/none"), (None, 2));
    }
}
