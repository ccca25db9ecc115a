//! The table of every setting: one row, one key.
//!
//! Must not know where a value came from. Invariant: flag, variable, file key, help and reference documentation of a
//! setting are all generated from its row, so they cannot disagree.

use super::acme_keys::ACME;
use super::admin_keys::ADMIN;
use super::classic_keys::CLASSIC;
pub use super::key::{Arity, Key};
use super::limit_keys::LIMITS;
use super::other_keys::OTHERS;
use super::server_keys::SERVER;
use super::tls_keys::TLS;
use super::topic_keys::TOPICS;
use super::trace_keys::TRACE;

/// Every setting, in the order of the documentation.
pub static KEYS: &[Key] = &joined();

/// The tables that make it up.
const TABLES: [&[Key]; 9] = [SERVER, TLS, ACME, ADMIN, TRACE, LIMITS, TOPICS, CLASSIC, OTHERS];
const COUNT: usize = SERVER.len()
    + TLS.len()
    + ACME.len()
    + ADMIN.len()
    + TRACE.len()
    + LIMITS.len()
    + TOPICS.len()
    + CLASSIC.len()
    + OTHERS.len();

const fn joined() -> [Key; COUNT] {
    let mut rows = [SERVER[0]; COUNT];
    let (mut table, mut at) = (0, 0);
    while table < TABLES.len() {
        let from = TABLES[table];
        let mut row = 0;
        while row < from.len() {
            rows[at] = from[row];
            (row, at) = (row + 1, at + 1);
        }
        table += 1;
    }
    rows
}

/// The key of a flag.
pub fn by_flag(flag: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.flag == flag)
}
