//! The rows of `[acme]` in the table of every setting: see [`super::keys`].
//!
//! Must not know: where a value came from. Invariant: this section has no row elsewhere.

use super::Value;
use super::key::{Arity, Key, key};

/// The rows of `[acme]`.
pub const ACME: &[Key] = &[
    key!(
        acme.directory,
        "acme-directory",
        One,
        "URL",
        "an https:// URL, staging",
        "https://acme-v02.api.letsencrypt.org/directory",
        |v| v.acme_directory()?,
        "The authority that certifies host names without certificate files, by its ACME directory; staging is Let's Encrypt's for trials, which browsers do not know"
    ),
    key!(
        acme.contact,
        "acme-contact",
        Many,
        "EMAIL",
        "e-mail addresses",
        "none",
        |v| v.each(Value::email)?,
        "Whom the authority writes to if there is a problem with the certificates; may be repeated"
    ),
    key!(
        acme.terms_agreed,
        "acme-terms-agreed",
        One,
        "",
        "true, false",
        "true",
        |v| v.boolean()?,
        "Whether you agree to the authority's terms of service; without that it certifies nothing"
    ),
    key!(
        acme.storage,
        "acme-storage",
        One,
        "DIRECTORY",
        "a directory",
        "none",
        |v| Some(v.path()?),
        "Where keys and certificates are kept, which several hosts may share; else certificates/ in $STATE_DIRECTORY, for root in /var/lib/weft, for others in ~/.local/share/weft"
    ),
    key!(
        acme.ca,
        "acme-ca",
        One,
        "PATH",
        "a PEM file",
        "none",
        |v| Some(v.path()?),
        "The authorities that certify the directory's own server, in place of those that the system trusts"
    ),
];
