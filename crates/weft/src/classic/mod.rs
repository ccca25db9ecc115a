//! Classic and resident mode: a document root. Each request leads to a file that is sent, or to a script that runs with
//! PHP to itself.
//!
//! This code decides which, in the loop; it must not know how either is done. Invariant: whatever a client writes, the
//! result is always a regular file below the document root, never one whose name begins with a dot, and never the
//! source of a script.

mod denied;
mod docroot;
mod explain;
mod htaccess;
mod names;
mod passage;
mod password;
mod path;
mod route;
mod rules;
mod sendfile;
mod sites;

pub use self::docroot::Docroot;
pub use self::path::Wanted;
pub use self::route::{Route, Script};
pub use self::sites::{Served, Sites};
