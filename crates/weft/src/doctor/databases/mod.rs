//! `weft doctor --database`: whether a database has room for the pools of these settings, and lets their connections live.
//!
//! Must not know how a report looks, nor the files of a machine beyond what `checks` reads. Invariants: a server is only asked for its
//! settings and counters; a password is in no finding, in no message and in no argument of a process.
//!
//! # Layout, in reading order
//! - `target`: which server, from a URL. `pool`: the connections of the workers there. `ask`: PHP's own client asks it, as the
//!   application would. `answer`: what it said.
//! - `room`: connections to any server. `mysql`, `pgsql`, `redis`: what is particular to each. `waits`: what all clients of a Redis wait
//!   for.

mod answer;
mod ask;
mod mysql;
mod pgsql;
mod pool;
mod redis;
mod room;
mod target;
#[cfg(test)]
mod tests;
mod waits;

use answer::Answer;
use target::Kind;
pub use target::Target;

use super::checks::{Advice, Plan, Severity, Tree};

/// Asks the servers, one after another.
pub fn examine(targets: &[Target], ini: &[(String, String)], plan: &Plan, tree: &Tree) -> Vec<Advice> {
    targets.iter().flat_map(|target| judge(target, &ask::ask(target, ini), plan, tree)).collect()
}

/// What an answer means for this configuration.
fn judge(target: &Target, answer: &Answer, plan: &Plan, tree: &Tree) -> Vec<Advice> {
    let values = match answer {
        Answer::Values(values) => values,
        Answer::NoClient(extension) => return vec![without_client(target, extension)],
        Answer::Failed(why) => return vec![failed(target, why)],
    };
    match target.kind {
        Kind::Mysql => mysql::examine(target, values, plan),
        Kind::Pgsql => pgsql::examine(target, values, plan),
        Kind::Redis => {
            let mut all = redis::examine(target, values, plan, tree);
            all.extend(waits::examine(target, values, tree));
            all
        }
    }
}

fn without_client(target: &Target, extension: &str) -> Advice {
    Advice::note(
        "database",
        Severity::Warning,
        format!("{target} was not asked: PHP has not loaded {extension}"),
    )
    .because("an application that connects there needs the same extension, or a client of its own")
    .fix(format!("apt install {}, or extension={extension} in php.ini", target.kind.package()))
}

fn failed(target: &Target, why: &str) -> Advice {
    let variable = target.kind.password_variable();
    Advice::note("database", Severity::Serious, format!("{target} cannot be asked: {why}"))
        .because("requests that need it fail in the same way, from this machine and as this user")
        .fix(format!(
            "systemctl status {}, its bind address and the firewall; user and password as in the URL, or the password in {variable}",
            target.kind.service()
        ))
}
