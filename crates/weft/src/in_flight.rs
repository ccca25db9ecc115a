//! The requests that a worker has at this moment, and where each stands.
//!
//! Must not know who asks, nor how a request is described. Invariants: the loop asks, so nothing changes meanwhile; nothing is
//! kept, and an answer has a bound: the oldest are listed, and all are counted.

use std::cell::Cell;

use serde_json::json;
use weft_rt::{CoroutineId, Job, MILLISECOND, Nanos, Runtime, clock};
use weft_zend::JobKind;

use crate::wait_names::name_of;

/// Requests of a worker that are listed.
pub const LISTED_MAX: usize = 100;
/// Characters of a request's path, and of the place where its code stands.
const TEXT_MAX: usize = 300;

/// How a job is described.
type Describe = fn(Job) -> String;

thread_local! {
    static OWN: Cell<Option<(&'static Runtime, Describe)>> = const { Cell::new(None) };
}

/// From here on this worker can be asked.
pub fn open(runtime: &'static Runtime, describe: Describe) {
    OWN.set(Some((runtime, describe)));
}

/// How many there are, and an object for each of the oldest; nothing in a process that serves nobody.
pub fn rows() -> Vec<Vec<u8>> {
    let Some((runtime, describe)) = OWN.get() else { return Vec::new() };
    let now = clock::now();
    let mut live = runtime.live();
    let count = json!({ "count": live.len() });
    live.sort_unstable_by_key(|(_, _, since)| *since);
    live.truncate(LISTED_MAX);
    let rows =
        live.into_iter().map(|(id, job, since)| row(runtime, id, (job, describe(job)), now - since.min(now)));
    std::iter::once(count.to_string().into_bytes()).chain(rows).collect()
}

fn row(runtime: &Runtime, id: CoroutineId, (job, what): (Job, String), age: Nanos) -> Vec<u8> {
    let is_task = JobKind::Task.is_of(job);
    // A query may hold what only its client should know.
    let what = if is_task { &what } else { what.split('?').next().unwrap_or_default() };
    let standing = runtime.standing(id);
    let state = match &standing {
        None => "computes",
        Some(standing) if standing.could_run => "could run",
        Some(_) => "waits",
    };
    let waits = standing.as_ref().filter(|standing| !standing.could_run);
    let row = json!({
        "pid": std::process::id(),
        "what": cut(what),
        "task": is_task,
        "age_ms": age as f64 / MILLISECOND as f64,
        "state": state,
        "kind": waits.map(|standing| name_of(standing.kind)),
        "peers": waits.map_or(&[][..], |standing| &standing.waits_for),
        "place": standing.as_ref().map_or("", |standing| cut(&standing.place)),
    });
    row.to_string().into_bytes()
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(TEXT_MAX).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("/short"), "/short");
        assert_eq!(cut(&"é".repeat(TEXT_MAX + 1)), "é".repeat(TEXT_MAX));
    }

    #[test]
    fn a_process_that_serves_nobody_has_none() {
        assert!(rows().is_empty());
    }
}
