//! What is particular to Redis: its accept queue, and one thread that waits for the disk; `waits` has what else that thread does.
//!
//! Must not know how the server was asked. Invariant: names are those of redis.conf; a server that does not tell its settings is judged
//! by its counters.

use super::answer::Values;
use super::room::{Room, encrypted, idle, refused, room};
use super::target::Target;
use crate::doctor::checks::{Advice, Plan, Severity, Tree};

pub fn examine(target: &Target, values: &Values, plan: &Plan, tree: &Tree) -> Vec<Advice> {
    let parts = [
        clients(target, values, plan),
        backlog(target, values, plan, tree),
        flushes(target, values),
        ended(target, values, plan),
        encrypted(target, target.is_tls, "redis:// on its port without TLS, or its unix socket"),
    ];
    parts.into_iter().flatten().collect()
}

/// A setting, for now and for the next start.
pub(super) fn set(name: &str, value: impl std::fmt::Display) -> (String, String) {
    (format!("redis-cli CONFIG SET {name} {value}"), "redis-cli CONFIG REWRITE".to_owned())
}

fn clients(target: &Target, values: &Values, plan: &Plan) -> Option<Advice> {
    let bound = Room {
        subject: "maxclients",
        max: values.number("maxclients")?,
        used: values.number("connected_clients")?.saturating_sub(1),
        refused: refused(values.number("rejected_connections")),
    };
    Some(room(target, &bound, plan, |value| set("maxclients", value)))
}

/// listen(2): the kernel cuts it to net.core.somaxconn, silently. That of another machine is unknown.
fn backlog(target: &Target, values: &Values, plan: &Plan, tree: &Tree) -> Option<Advice> {
    let backlog = values.number("tcp-backlog")?;
    let kernel = tree.sysctl("net.core.somaxconn").filter(|_| target.is_local());
    let places = kernel.unwrap_or(u64::MAX).min(backlog);
    let burst = target.pool.connections(plan);
    let is_cut = places < backlog;
    if !is_cut && places >= burst {
        return None;
    }
    let found = match kernel {
        Some(kernel) if is_cut => {
            format!("tcp-backlog of {target} is {backlog}, of which the kernel leaves {kernel}")
        }
        _ => format!("tcp-backlog of {target} is {backlog}"),
    };
    let why = format!(
        "{burst} connections may be opened at once, while Redis executes a slow command: those beyond {places} try again after a second"
    );
    let wanted = burst.max(backlog);
    let advice = Advice::note("tcp-backlog", Severity::Note, found).because(why);
    let mut advice = if is_cut { advice.sysctl("net.core.somaxconn", wanted) } else { advice };
    if backlog < burst {
        let and = if advice.fix.is_empty() { "" } else { "; " };
        advice.fix.push_str(&format!("{and}tcp-backlog {wanted} in redis.conf, which is read at its start"));
    } else {
        advice.fix.push_str(" and restart Redis");
    }
    Some(advice)
}

/// With `always` each turn of the loop ends with an fsync, before anybody is answered (redis.conf, "appendfsync").
fn flushes(target: &Target, values: &Values) -> Option<Advice> {
    let is_slow = values.text("appendonly") == Some("yes") && values.text("appendfsync") == Some("always");
    is_slow.then(|| {
        let found = format!("{target} has appendfsync always");
        let (fix, keep) = set("appendfsync", "everysec");
        let fix = format!("{fix}, unless it is a queue whose records have to survive a power cut");
        let why = "it answers nobody while it waits for the disk, so that even reads of all workers take as long as an fsync";
        Advice { keep, ..Advice::note("appendfsync", Severity::Note, found).because(why).fix(fix) }
    })
}

fn ended(target: &Target, values: &Values, plan: &Plan) -> Option<Advice> {
    let (fix, keep) = set("timeout", 0);
    idle(target, "timeout", values.number("timeout"), plan, (&fix, &keep))
}
