//! The rows of `[admin]` in the table of every setting: see [`super::keys`].
//!
//! Must not know: where a value came from. Invariant: this section has no row elsewhere.

use super::key::{Arity, Key, key};

/// The rows of `[admin]`.
pub const ADMIN: &[Key] = &[
    key!(
        admin.token,
        "admin-token",
        One,
        "TOKEN",
        "16 to 256 printable ASCII characters",
        "none",
        |v| Some(v.token()?),
        "What clients of admin:// addresses have to send as Authorization: Bearer TOKEN, except for /healthz and /readyz; other users of the machine can see a flag, so better the file or the variable"
    ),
    key!(
        admin.routes,
        "admin-routes",
        Many,
        "PATTERN",
        "up to 100 paths; * is any segment, ** at the end whatever follows",
        "none",
        |v| v.routes()?,
        "Paths whose requests are counted together in /metrics and /status; others are by their script, or by the first segment of their path; may be repeated"
    ),
];
