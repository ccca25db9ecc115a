//! From a path to its answer: applies the `try` rules, in their order, to the file system.
//!
//! Must not know connections. Invariants: a file that holds PHP is run or refused, never sent. A path costs one file
//! system lookup per rule, and one for each directory on the way that is named like a script, but no more for being
//! long.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use weft_proto::TargetForm;
use weft_serve::{Fields, Look, RequestView};

use super::denied::Denied;
use super::docroot::{Docroot, Tree};
use super::names::{is_script, is_source};
use super::path::Wanted;
use super::rules::{Asked, Credentials};

/// What answers a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Route {
    /// The file of this name is sent.
    File {
        /// Below which of the directories it lies: see [`Docroot::root_of`].
        tree: usize,
        /// Its name there.
        name: Vec<u8>,
    },
    /// A script runs.
    Script(Script),
    /// It is a directory, and was not asked for as one: the client is sent to this path.
    Redirect(String),
    /// A rule sends the client elsewhere, with this status.
    Moved(u16, Vec<u8>),
    /// A rule asks for a password, for this realm.
    Challenge(String),
    /// `OPTIONS *`: it concerns the server, not anything in the document root.
    Server,
    /// The request is refused with this status: 400, 403, 404, 405, 503.
    Refused(u16),
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// What answers it.
    pub route: Route,
    /// What rules add to the response.
    pub fields: Option<Fields>,
}

/// A script, and the values in `$_SERVER` that describe the way to it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The number of its site.
    pub site: usize,
    /// Below which of the directories it lies.
    pub tree: usize,
    /// SCRIPT_FILENAME.
    pub file: PathBuf,
    /// SCRIPT_NAME: its path below the document root.
    pub name: Vec<u8>,
    /// PATH_INFO: the part of the URL after its name.
    pub path_info: Vec<u8>,
    /// QUERY_STRING, if a rule has rewritten it.
    pub query: Option<Vec<u8>>,
    /// REMOTE_USER, if a rule has asked for a password.
    pub user: Option<Vec<u8>>,
}

/// A rule is the path of the request, a file in the directory that the path names, or one fixed file.
const PATH: &str = "$path";

impl Docroot {
    /// What answers a request.
    pub fn route(&self, request: &RequestView<'_>) -> Answer {
        let route = match Wanted::read(request.path()) {
            _ if self.script_alone && self.rules.is_none() => self.to_resident(),
            _ if request.head().form() == TargetForm::Asterisk => Route::Server,
            // It would return to a script what others have set, such as cookies (RFC 9110 section 9.3.8); nginx refuses it.
            _ if request.method() == b"TRACE" => Route::Refused(405),
            Err(status) => Route::Refused(status),
            Ok(wanted) => match &self.rules {
                None => self.unless_denied(self.resolve(&wanted, request.method())),
                Some(rules) => {
                    let asked = Asked {
                        method: request.method(),
                        query: request.query(),
                        credentials: Credentials::Sent(request.header("authorization")),
                    };
                    return self.ruled(rules, wanted, &asked);
                }
            },
        };
        Answer { route, fields: None }
    }

    /// What rules and files say about a request beside an application, which gets those without an answer; and the fields
    /// that rules add to whatever answers.
    pub fn beside(&self, request: &RequestView<'_>) -> (Option<Route>, Option<Fields>) {
        if request.head().form() == TargetForm::Asterisk {
            return (None, None);
        }
        let asked = Asked {
            method: request.method(),
            query: request.query(),
            credentials: Credentials::Sent(request.header("authorization")),
        };
        match (Wanted::read(request.path()), &self.rules) {
            (Ok(wanted), Some(rules)) => {
                let (route, fields, _) = self.ruled_beside(rules, wanted, &asked);
                (route, fields)
            }
            (Ok(wanted), None) => (self.file_at(&wanted, asked.method), None),
            // No rule can be asked about it.
            (Err(status), Some(_)) => (Some(Route::Refused(status)), None),
            (Err(_), None) => (None, None),
        }
    }

    /// The file of this path, if it may be sent; whatever else the path leads to counts as nothing.
    pub(super) fn file_at(&self, wanted: &Wanted, method: &[u8]) -> Option<Route> {
        let route = self.unless_denied(self.resolve(wanted, method));
        matches!(route, Route::File { .. }).then_some(route)
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
            Route::File { tree, name } => format!("/ is {}", self.root_of(tree).below(&name).display()),
            _ => "there is nothing at / yet".to_owned(),
        };
        format!("a document root; {page}")
    }

    /// The answer to `wanted`, whatever rules and `.htaccess` files say.
    pub fn resolve(&self, wanted: &Wanted, method: &[u8]) -> Route {
        let (tree, inner) = self.tree_of(wanted);
        if self.script_alone && tree.prefix.is_empty() {
            return self.to_resident();
        }
        if wanted.is_hidden() {
            return Route::Refused(404);
        }
        // The first rule that needs it looks it up; the result serves all rules.
        let mut found = None;
        let mut look = || *found.get_or_insert_with(|| tree.root.look(&inner.path));
        let route = self.tries.iter().find_map(|rule| self.apply(rule, tree, &inner, &mut look));
        match route {
            Some(Route::File { .. }) if !matches!(method, b"GET" | b"HEAD") => Route::Refused(405),
            Some(Route::Script(_)) | None if self.resident.is_some() => self.to_resident(),
            Some(route) => route,
            None if look() == Look::Directory => Route::Refused(403),
            None => Route::Refused(404),
        }
    }

    /// The directory to which a path leads, and the path in it.
    fn tree_of<'w>(&self, wanted: &'w Wanted) -> (&Tree, Cow<'w, Wanted>) {
        let aliased =
            self.trees[1..].iter().find_map(|tree| Some((tree, Cow::Owned(wanted.below(&tree.prefix)?))));
        aliased.unwrap_or((&self.trees[0], Cow::Borrowed(wanted)))
    }

    /// Whether a path leads to no file, no script and no directory.
    pub(super) fn is_missing(&self, wanted: &Wanted) -> bool {
        let (tree, inner) = self.tree_of(wanted);
        if self.script_alone && tree.prefix.is_empty() {
            return true;
        }
        match tree.root.look(&inner.path) {
            Look::Missing => true,
            Look::Beyond => script_on_the_way(&inner, |name| tree.root.look(name)) == Err(Look::Missing),
            _ => false,
        }
    }

    /// The path of what answers, if that is a file or a script of the document root.
    pub(super) fn public_name(&self, route: &Route) -> Option<Vec<u8>> {
        match route {
            Route::File { tree, name } => Some([&self.trees.get(*tree)?.prefix[..], name].concat()),
            Route::Script(script) if self.resident.is_none() => Some(script.name.clone()),
            _ => None,
        }
    }

    /// Refuses what an `.htaccess` file denies. Scripts themselves may send it, or delegate to it.
    pub(super) fn unless_denied(&self, route: Route) -> Route {
        let (tree, name) = match &route {
            Route::File { tree, name } => (*tree, &name[..]),
            Route::Script(script) if self.resident.is_none() => (script.tree, &script.name[..]),
            _ => return route,
        };
        let Some(tree) = self.trees.get(tree) else { return route };
        let name = if matches!(route, Route::Script(_)) { &name[tree.prefix.len()..] } else { name };
        let denies = |denied: &Denied| denied.denies(&tree.root, name);
        if tree.denied.as_ref().is_some_and(denies) { Route::Refused(403) } else { route }
    }

    /// The worker script, as if it lay in the document root.
    fn to_resident(&self) -> Route {
        let file = self.resident.clone().unwrap_or_default();
        let name = file.file_name().map(|name| [b"/", name.as_bytes()].concat()).unwrap_or_default();
        Route::Script(Script { file, name, ..Script::default() })
    }

    fn apply(
        &self,
        rule: &str,
        tree: &Tree,
        wanted: &Wanted,
        look: &mut impl FnMut() -> Look,
    ) -> Option<Route> {
        match rule.strip_prefix(PATH) {
            Some("") => self.path_itself(tree, wanted, look()),
            Some(index) if look() == Look::Directory => {
                let route = self.file(tree, [&wanted.path, index.as_bytes()].concat())?;
                Some(if wanted.directory {
                    route
                } else {
                    Route::Redirect(tree.public(wanted).as_directory_uri())
                })
            }
            Some(_) => None,
            // A fixed file is one of the document root, and an alias leads elsewhere.
            None if !tree.prefix.is_empty() => None,
            // As with nginx, where a location of its own has all scripts: one that is missing is 404, not the front
            // controller's.
            None if self.resident.is_none() && wanted.names().any(is_script) => None,
            None => self.file(tree, format!("/{}", rule.trim_start_matches('/')).into_bytes()),
        }
    }

    /// The path names a file, or a script followed by more.
    fn path_itself(&self, tree: &Tree, wanted: &Wanted, found: Look) -> Option<Route> {
        let script = match found {
            Look::File if !wanted.directory => return Some(self.as_what_it_is(tree, wanted.path.clone())),
            Look::File => is_script(&wanted.path).then_some(&wanted.path[..]),
            Look::Beyond => match script_on_the_way(wanted, |name| tree.root.look(name)) {
                Ok(name) => Some(name),
                Err(other) => return refused(other).map(Route::Refused),
            },
            other => return refused(other).map(Route::Refused),
        };
        script.map(|name| self.script(tree, name.to_vec(), wanted.behind(name)))
    }

    /// The answer for the regular file of this name.
    fn file(&self, tree: &Tree, name: Vec<u8>) -> Option<Route> {
        match tree.root.look(&name) {
            Look::File => Some(self.as_what_it_is(tree, name)),
            other => refused(other).map(Route::Refused),
        }
    }

    /// The name of a symbolic link decides what it is, but a link cannot reveal the source of its target: see
    /// [`Docroot::open`].
    fn as_what_it_is(&self, tree: &Tree, name: Vec<u8>) -> Route {
        if is_script(&name) {
            self.script(tree, name, Vec::new())
        } else if is_source(&name) {
            Route::Refused(404)
        } else {
            Route::File { tree: tree.number, name }
        }
    }

    fn script(&self, tree: &Tree, name: Vec<u8>, path_info: Vec<u8>) -> Route {
        let file = tree.root.below(&name);
        let name = if tree.prefix.is_empty() { name } else { [&tree.prefix[..], &name].concat() };
        Route::Script(Script { tree: tree.number, file, name, path_info, ..Script::default() })
    }
}

impl Tree {
    /// The path that leads to `inner`.
    fn public(&self, inner: &Wanted) -> Wanted {
        Wanted { path: [&self.prefix[..], &inner.path].concat(), directory: inner.directory }
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
