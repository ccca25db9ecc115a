//! What workers are like inside, as samples for Prometheus.
//!
//! Must not know how it is gathered. Invariant: the name of a file, which an application chooses, cannot leave its label.

use std::fmt::Write;

use weft_rt::lag::Lag;

use super::insides::{Blocked, Insides};
use super::insides_totals as totals;
use super::routes::Family;
use super::snapshot::{Snapshot, Worker};

/// Every family, each followed by its samples; `begin` writes what precedes those.
pub fn samples(seen: &Snapshot, text: &mut String, mut begin: impl FnMut(&mut String, Family)) {
    const LAG: &str =
        "For how long a worker's loop was busy before it looked again at what had become ready.";
    begin(text, ("weft_worker_loop_lag_seconds", "histogram", LAG));
    seen.workers.iter().for_each(|worker| lag(worker, text));
    for ((name, help), samples) in by_state(seen) {
        begin(text, (name, "gauge", help));
        for (state, count) in samples {
            // A String takes everything.
            let _ = writeln!(text, "{name}{{state=\"{state}\"}} {count}");
        }
    }
    const BLOCKED: &str = "Calls that blocked a whole worker, by the function of the C library, and the file and line of PHP code.";
    begin(text, ("weft_blocking_function_calls", "counter", BLOCKED));
    for Blocked { function, file, line, count } in &seen.blocked {
        let file = escaped(file);
        let _ = writeln!(
            text,
            "weft_blocking_function_calls_total{{function=\"{function}\",file=\"{file}\",line=\"{line}\"}} {count}"
        );
    }
}

/// A family whose samples differ by their state: its name, its line of help, and what there is in each state.
type ByState = ((&'static str, &'static str), Vec<(&'static str, usize)>);

fn by_state(seen: &Snapshot) -> [ByState; 6] {
    let total = |of: fn(&Insides) -> usize| seen.total(|worker| of(&worker.insides));
    let parked = total(|own| own.parked);
    let runnable = seen.total(|worker| worker.coroutines).saturating_sub(parked);
    let [busy, idle] = totals::instances(seen);
    [
        (
            ("weft_connections_by_state", "Connections by what they do, up to a second ago."),
            totals::connections(seen).to_vec(),
        ),
        (
            (
                "weft_http2_streams_by_state",
                "Streams of HTTP/2 connections by what they do, up to a second ago.",
            ),
            totals::streams(seen).to_vec(),
        ),
        (
            (
                "weft_coroutines_by_state",
                "Coroutines that wait, that run or could, and that are kept without a job.",
            ),
            vec![("parked", parked), ("runnable", runnable), ("idle", total(|own| own.idle))],
        ),
        (
            (
                "weft_coroutine_stack_bytes",
                "Resident memory of the stacks of coroutines that have a job, and that are kept.",
            ),
            vec![("live", total(|own| own.live_stacks)), ("idle", total(|own| own.idle_stacks))],
        ),
        (
            ("weft_instances", "PHP instances that have a request, and that have none."),
            vec![("busy", busy), ("idle", idle)],
        ),
        (
            ("weft_instance_memory_bytes", "Resident memory of the heaps of PHP instances."),
            vec![("busy", total(|own| own.live_heaps)), ("idle", total(|own| own.idle_heaps))],
        ),
    ]
}

fn lag(worker: &Worker, text: &mut String) {
    const FAMILY: &str = "weft_worker_loop_lag_seconds";
    let (slot, pid, mut below) = (worker.slot, worker.pid, 0);
    let bounds = Lag::BOUNDS.iter().map(|bound| (*bound as f64 / 1e9).to_string());
    for (bound, count) in bounds.chain(["+Inf".into()]).zip(worker.insides.lag) {
        below += count;
        let _ = writeln!(text, "{FAMILY}_bucket{{worker=\"{slot}\",pid=\"{pid}\",le=\"{bound}\"}} {below}");
    }
    let sum = worker.insides.lag_sum as f64 / 1e9;
    let _ = writeln!(text, "{FAMILY}_sum{{worker=\"{slot}\",pid=\"{pid}\"}} {sum}");
    let _ = writeln!(text, "{FAMILY}_count{{worker=\"{slot}\",pid=\"{pid}\"}} {below}");
}

/// As the value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_cannot_leave_its_label() {
        assert_eq!(escaped("/a\"} 1\n\\.php"), "/a\\\"} 1\\n\\\\.php");
    }
}
