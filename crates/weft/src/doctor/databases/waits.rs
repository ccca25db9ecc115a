//! What all clients of a Redis wait for: the way to it, and its one thread, while that executes a slow command, forks, or does
//! something else.
//!
//! Must not know how the server was asked. Invariants: of a slow command only the name is told, since its arguments are the
//! application's data; what a server was not told to watch is no finding.

use super::answer::Values;
use super::redis::set;
use super::target::Target;
use crate::doctor::checks::{Advice, Severity, Tree};

/// A way there and back that is felt in a request of many commands.
const TRIP_US: u64 = 1_000;
/// A fork for which a request of some milliseconds is late.
const FORK_US: u64 = 20_000;
/// Milliseconds of an event that Redis was told to watch, after which it counts as one (redis.conf, "latency-monitor-threshold").
const EVENT_MS: u64 = 10;

pub fn examine(target: &Target, values: &Values, tree: &Tree) -> Vec<Advice> {
    let parts =
        [trip(target, values), commands(target, values), fork(target, values, tree), watched(target, values)];
    parts.into_iter().flatten().collect()
}

/// Microseconds as milliseconds.
fn ms(us: u64) -> String {
    format!("{:.1} ms", us as f64 / 1e3)
}

/// The best of some PINGs: what is left is the way, not the load.
fn trip(target: &Target, values: &Values) -> Option<Advice> {
    let us = values.number("ping_us").filter(|us| *us >= TRIP_US)?;
    let found = format!("{target} answers PING after {} at best", ms(us));
    let why = format!(
        "a request waits that long for each command: one with ten of them takes {} more",
        ms(10 * us)
    );
    Some(
        Advice::note("latency", Severity::Note, found)
            .because(why)
            .fix("MGET, HMGET and pipeline() for commands that do not need each other's answers, or a Redis that is nearer"),
    )
}

/// Redis lists commands that took 10 ms, unless it was told another bound (redis.conf, "slowlog-log-slower-than"). Time in which a
/// command waits for its client or blocks is not counted.
fn commands(target: &Target, values: &Values) -> Option<Advice> {
    let (count, us) = (values.number("slow_count")?, values.number("slow_us")?);
    let found = format!(
        "{target} lists {count} commands of 10 ms and more from the last day; the slowest, {}, took {}",
        values.text("slow_command")?,
        ms(us)
    );
    let why = "it executes one command at a time: meanwhile those of all workers wait";
    Some(
        Advice::note("slowlog", Severity::Warning, found)
            .because(why)
            .fix("redis-cli SLOWLOG GET lists them: SCAN for KEYS, UNLINK for DEL of large keys, ranges instead of whole lists and sets, shorter scripts"),
    )
}

/// It forks to write a snapshot, or its log anew, and copies the tables of its pages meanwhile (INFO, `latest_fork_usec`).
fn fork(target: &Target, values: &Values, tree: &Tree) -> Option<Advice> {
    let us = values.number("latest_fork_usec").filter(|us| *us >= FORK_US)?;
    let found = format!("the last fork of {target} took {}", ms(us));
    let why = "it answers nobody meanwhile, each time that it writes a snapshot or its log anew";
    // Documentation/admin-guide/mm/transhuge.rst: the choice is in brackets.
    let pages = "/sys/kernel/mm/transparent_hugepage/enabled";
    let is_huge = target.is_local() && tree.text(pages).is_some_and(|choice| choice.contains("[always]"));
    let advice = Advice::note("latest_fork_usec", Severity::Note, found).because(why);
    if is_huge {
        // After the fork each write copies a huge page, which the latency guide of Redis warns of, too.
        let keep = "transparent_hugepage=madvise on the kernel's command line".to_owned();
        return Some(Advice { keep, ..advice.fix(format!("echo madvise > {pages}, and restart Redis")) });
    }
    let (never, keep) = set("save", "''");
    let fix = format!(
        "{never} for a Redis that is only a cache; otherwise snapshots of a replica instead, or several smaller servers"
    );
    Some(Advice { keep, ..advice.fix(fix) })
}

/// LATENCY LATEST, where `latency-monitor-threshold` is not 0: `command`, `fork`, `aof-fsync-always`, `expire-cycle` and others.
fn watched(target: &Target, values: &Values) -> Option<Advice> {
    let ms = values.number("event_ms").filter(|ms| *ms >= EVENT_MS)?;
    let found = format!("{target} has stood still for up to {ms} ms, by {}", values.text("event")?);
    Some(
        Advice::note("latency", Severity::Note, found)
            .because("all workers have waited meanwhile: Redis was told to watch such events, and this was the longest of a kind that happened today")
            .fix("redis-cli LATENCY DOCTOR says what to do about each kind; redis-cli LATENCY RESET begins anew"),
    )
}
