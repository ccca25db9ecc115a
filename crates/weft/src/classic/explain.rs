//! What a URL would do: the answer to `weft check --url`.
//!
//! Must not know connections. Invariant: the answer is found as for a request, with the same rules; only passwords count as
//! right.

use std::os::unix::ffi::OsStrExt;

use weft_serve::Fields;

use super::docroot::Docroot;
use super::path::Wanted;
use super::route::Route;
use super::rules::{Asked, Credentials};

impl Docroot {
    /// Rows of names and values that say what a GET request for `target`, a path with or without a query, would do.
    pub fn explain(&self, target: &str) -> Vec<(&'static str, String)> {
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query.as_bytes())),
            None => (target, None),
        };
        let wanted = match Wanted::read(path.as_bytes()) {
            Ok(wanted) => wanted,
            Err(status) => return vec![("answer", format!("{status}: the path climbs or is malformed"))],
        };
        let asked = Asked { method: b"GET", query, credentials: Credentials::Assumed };
        let (route, why, fields) = match self.rules() {
            Some(rules) => {
                let (answer, why) = self.ruled_and_why(rules, wanted, &asked);
                (answer.route, why, answer.fields)
            }
            _ => (self.unless_denied(self.resolve(&wanted, b"GET")), Vec::new(), None),
        };
        self.all_rows(why, Some(route), fields, query)
    }

    /// The same for a path beside an application; nothing if that answers it.
    pub fn explain_beside(&self, target: &str) -> (bool, Vec<(&'static str, String)>) {
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query.as_bytes())),
            None => (target, None),
        };
        let asked = Asked { method: b"GET", query, credentials: Credentials::Assumed };
        let (route, fields, why) = match (Wanted::read(path.as_bytes()), self.rules()) {
            (Ok(wanted), Some(rules)) => self.ruled_beside(rules, wanted, &asked),
            (Ok(wanted), None) => (self.file_at(&wanted, b"GET"), None, Vec::new()),
            (Err(status), Some(_)) => (Some(Route::Refused(status)), None, Vec::new()),
            (Err(_), None) => (None, None, Vec::new()),
        };
        let is_answered = route.is_some();
        (is_answered, self.all_rows(why, route, fields, query))
    }

    fn all_rows(
        &self,
        why: Vec<String>,
        route: Option<Route>,
        fields: Option<Fields>,
        query: Option<&[u8]>,
    ) -> Vec<(&'static str, String)> {
        let mut rows: Vec<_> = why.into_iter().map(|line| ("rule", line)).collect();
        rows.extend(route.into_iter().flat_map(|route| self.rows(route, query)));
        for (name, value) in fields.iter().flat_map(|fields| fields.iter()) {
            rows.push(("adds", format!("{}: {}", text(name), text(value))));
        }
        rows
    }

    fn rows(&self, route: Route, query: Option<&[u8]>) -> Vec<(&'static str, String)> {
        match route {
            Route::File { tree, name } => {
                vec![("file", self.root_of(tree).below(&name).display().to_string())]
            }
            Route::Script(script) => vec![
                ("script", text(script.file.as_os_str().as_bytes())),
                ("SCRIPT_NAME", text(&script.name)),
                ("PATH_INFO", text(&script.path_info)),
                ("QUERY_STRING", text(script.query.as_deref().or(query).unwrap_or_default())),
            ],
            Route::Redirect(path) => vec![("answer", format!("301 to {path}: it is a directory"))],
            Route::Moved(status, location) => vec![("answer", format!("{status} to {}", text(&location)))],
            Route::Challenge(realm) => vec![("answer", format!("401: a password for \"{realm}\""))],
            Route::Server => vec![("answer", "204".into())],
            Route::Refused(status) => vec![("answer", status.to_string())],
        }
    }
}

/// Text for a terminal: control characters are escaped.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}
