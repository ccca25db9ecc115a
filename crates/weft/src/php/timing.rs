//! The field `Server-Timing`: where the time of a request went until its answer.
//!
//! Must not know when it is sent. Invariant: it says nothing of a request that is not recorded.

use std::fmt::Write;
use std::time::Duration;

use weft_rt::{Nanos, Runtime, clock};

use crate::wait_names::NAMES;

/// The field `Server-Timing` (W3C Server Timing, section 2) of the request whose code runs, in milliseconds: all its time so far,
/// what of that was for code and its turns, and its waits by kind.
pub fn server_timing() -> Option<String> {
    let runtime = Runtime::get()?;
    let id = runtime.current()?;
    let (record, since) = (runtime.record(id)?, runtime.since(id)?);
    let span = |nanos: Nanos| Duration::from_nanos(nanos).as_secs_f64() * 1e3;
    let total = clock::now().saturating_sub(since);
    let php = total.saturating_sub(record.own.waited_in_all());
    let mut text = format!("total;dur={:.3}, php;dur={:.3}", span(total), span(php));
    for (kind, name) in NAMES {
        let waited = record.own.waited[kind.place()];
        if waited.times > 0 {
            let waits = if waited.times == 1 { "wait" } else { "waits" };
            // Writing to a String cannot fail.
            let _ = write!(text, ", {name};dur={:.3};desc=\"{} {waits}\"", span(waited.nanos), waited.times);
        }
    }
    Some(text)
}
