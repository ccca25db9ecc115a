//! What is particular to PostgreSQL: places that are reserved, and settings that need a restart.
//!
//! Must not know how the server was asked. Invariant: names are those of `pg_settings` (PostgreSQL 20.3 and 20.11); one that a version
//! does not have is no finding.

use super::answer::Values;
use super::room::{Room, encrypted, idle, room};
use super::target::Target;
use crate::doctor::checks::{Advice, Plan, Severity};

pub fn examine(target: &Target, values: &Values, plan: &Plan) -> Vec<Advice> {
    let parts = [
        connections(target, values, plan),
        limit(target, values.number("user_limit"), plan, "role"),
        limit(target, values.number("database_limit"), plan, "database"),
        idle_sessions(target, values, plan),
        encrypted(
            target,
            values.text("ssl").is_some(),
            "sslmode=disable in the DSN, or the unix socket (host=/var/run/postgresql)",
        ),
    ];
    parts.into_iter().flatten().collect()
}

/// What ALTER SYSTEM sets stays: it writes postgresql.auto.conf.
fn raise(value: u64) -> (String, String) {
    let fix = format!("ALTER SYSTEM SET max_connections = {value}, then systemctl restart postgresql");
    (fix + "; or PgBouncer in between, where a process for each connection is too much", String::new())
}

fn connections(target: &Target, values: &Values, plan: &Plan) -> Option<Advice> {
    let reserved = values.number("superuser_reserved_connections").unwrap_or(0)
        + values.number("reserved_connections").unwrap_or(0);
    let bound = Room {
        subject: "max_connections",
        max: values.number("max_connections")?.saturating_sub(reserved),
        used: values.number("used")?.saturating_sub(1),
        refused: String::new(),
    };
    Some(room(target, &bound, plan, |value| raise(value + reserved)))
}

/// A bound for the role that asked, or for the database; -1 is none. It is kept in the server's catalogue.
fn limit(target: &Target, max: Option<u64>, plan: &Plan, whose: &str) -> Option<Advice> {
    let max = max?;
    let bound = Room { subject: "CONNECTION LIMIT", max, used: 0, refused: String::new() };
    let advice = room(target, &bound, plan, |value| {
        let fix = format!("ALTER {} … CONNECTION LIMIT {value}, as a superuser", whose.to_uppercase());
        (fix, String::new())
    });
    (advice.severity > Severity::Fine)
        .then(|| Advice { found: format!("{target} takes {max} connections of this {whose}"), ..advice })
}

/// In milliseconds; since PostgreSQL 14.
fn idle_sessions(target: &Target, values: &Values, plan: &Plan) -> Option<Advice> {
    let seconds = values.number("idle_session_timeout").map(|milliseconds| milliseconds.div_ceil(1_000));
    let fix = "ALTER SYSTEM SET idle_session_timeout = '10min', then SELECT pg_reload_conf()";
    idle(target, "idle_session_timeout", seconds, plan, (fix, ""))
}
