//! A rule for paths of a document root: a `[[rule]]` of `weft.toml`.
//!
//! Must not know requests, how a rule is written, or how it is applied. Invariant: a rule has one condition and one action.

use std::path::PathBuf;
use std::sync::Arc;

use super::pattern::{Condition, Template};
use super::users::Users;

/// A rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Its file and line.
    pub place: String,
    /// Which paths it is for.
    pub condition: Condition,
    /// Whether it is only for those that name no file and no directory.
    pub missing: bool,
    /// What becomes of them.
    pub action: Action,
}

/// What becomes of a path.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// It is refused with this status.
    Deny(u16),
    /// No later rule refuses it or asks for a password.
    Allow,
    /// The client is sent elsewhere, with this status.
    Redirect(Template, u16),
    /// Another path is served in its place.
    Rewrite(Template),
    /// Its files lie below this directory.
    Alias(PathBuf),
    /// These fields are added to responses.
    Header(Vec<(String, String)>),
    /// Only these users get it.
    Auth {
        /// What a browser shows.
        realm: String,
        /// Who.
        users: Arc<Users>,
        /// The file that names them.
        file: PathBuf,
    },
    /// Its requests' bodies may have this many bytes.
    BodyBytesMax(u64),
}
