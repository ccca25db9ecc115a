//! What is particular to MySQL and MariaDB: threads of connections.
//!
//! Must not know how the server was asked. Invariant: names of variables are those of both (MariaDB's "Server System Variables",
//! MySQL 8.0's 5.1.8); one that a server does not have is no finding.

use super::answer::Values;
use super::room::{Room, encrypted, idle, refused, room};
use super::target::Target;
use crate::doctor::checks::{Advice, Plan, Severity};

/// Where Debian's packages of both read further settings.
const FILE: &str = "/etc/mysql/conf.d/weft.cnf";
/// Threads that are worth keeping: MariaDB's own default.
const THREADS_MAX: u64 = 256;

pub fn examine(target: &Target, values: &Values, plan: &Plan) -> Vec<Advice> {
    let parts = [
        connections(target, values, plan),
        of_user(target, values, plan),
        waits(target, values, plan),
        threads(target, values, plan),
        encrypted(
            target,
            values.text("Ssl_cipher").is_some(),
            "leave the options MYSQL_ATTR_SSL_… away, or the unix socket (unix_socket=… in the DSN)",
        ),
    ];
    parts.into_iter().flatten().collect()
}

/// A global variable, for now and for the next start.
fn set(name: &str, value: u64) -> (String, String) {
    (format!("SET GLOBAL {name} = {value}"), format!("printf '[mysqld]\\n{name} = {value}\\n' >> {FILE}"))
}

fn connections(target: &Target, values: &Values, plan: &Plan) -> Option<Advice> {
    let bound = Room {
        subject: "max_connections",
        max: values.number("max_connections")?,
        used: values.number("Threads_connected")?.saturating_sub(1),
        refused: refused(values.number("Connection_errors_max_connections")),
    };
    Some(room(target, &bound, plan, |value| set("max_connections", value)))
}

/// A bound for each user; 0 is none.
fn of_user(target: &Target, values: &Values, plan: &Plan) -> Option<Advice> {
    let max = values.number("max_user_connections").filter(|max| *max > 0)?;
    let bound = Room { subject: "max_user_connections", max, used: 0, refused: " for each user".to_owned() };
    let advice = room(target, &bound, plan, |value| set("max_user_connections", value));
    (advice.severity > Severity::Fine)
        .then(|| Advice { found: format!("{target} takes {max} connections of one user"), ..advice })
}

fn waits(target: &Target, values: &Values, plan: &Plan) -> Option<Advice> {
    let (fix, keep) = set("wait_timeout", 600);
    idle(target, "wait_timeout", values.number("wait_timeout"), plan, (&fix, &keep))
}

/// A pool that shrinks and grows again gets its connections faster where the server has kept their threads.
fn threads(target: &Target, values: &Values, plan: &Plan) -> Option<Advice> {
    let kept = values.number("thread_cache_size")?;
    let wanted = target.pool.connections(plan).min(THREADS_MAX);
    if kept >= wanted || values.text("thread_handling").is_some_and(|how| how != "one-thread-per-connection")
    {
        return None;
    }
    let (created, all) = (values.number("Threads_created"), values.number("Connections"));
    let (created, all) = (created.unwrap_or(0), all.unwrap_or(0));
    let found = format!(
        "{target} keeps {kept} threads of ended connections; it has made {created} for {all} connections"
    );
    let why = format!(
        "{} connections may end and begin together, when pools or requests do: for each beyond the server makes a thread",
        target.pool.connections(plan)
    );
    let (fix, keep) = set("thread_cache_size", wanted);
    Some(Advice { fix, keep, ..Advice::note("thread_cache_size", Severity::Note, found).because(why) })
}
