//! A sample as a page of text, and as an object for programs.
//!
//! Must not know where the figures come from. Invariant: a line has at most [`WIDTH`] characters, whatever names are in it, and
//! no byte of a name reaches the terminal that could move its cursor.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::sample::{Route, Sample, Times, Worker};
use super::verdict;

/// Characters of a line.
const WIDTH: usize = 110;
/// Routes and workers that are shown.
const ROWS_MAX: usize = 20;

/// What comes first among the routes.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Sort {
    /// The time that their requests took
    Time,
    /// The time that they had the processor
    Run,
    /// Their requests
    Requests,
    /// Their errors
    Errors,
}

/// The page.
pub fn text(sample: &Sample, sort: Sort) -> String {
    let mut page = String::with_capacity(4 << 10);
    head(sample, &mut page);
    workers(sample, &mut page);
    routes(sample, sort, &mut page);
    let plain = |character: char| if character.is_control() { '?' } else { character };
    let line =
        |line: &str| line.chars().map(plain).take(WIDTH).collect::<String>().trim_end().to_owned() + "\n";
    page.lines().map(line).collect()
}

/// A String takes everything.
fn put(page: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = writeln!(page, "{line}");
}

fn head(sample: &Sample, page: &mut String) {
    let per_s = |count: f64| count / sample.seconds.max(f64::MIN_POSITIVE);
    let ready = if sample.is_ready { "ready" } else { "not ready" };
    put(
        page,
        format_args!(
            "weft {}  {} mode  {ready}  up {}  {} of {} workers",
            sample.version,
            sample.mode,
            span(sample.uptime_s),
            sample.workers.len(),
            sample.wanted
        ),
    );
    let answers = sample.answers.iter().filter(|(_, count)| *count > 0.0);
    let answers: Vec<String> =
        answers.map(|(class, count)| format!("{class} {:.1}/s", per_s(*count))).collect();
    put(
        page,
        format_args!(
            "requests {:.1}/s  {}  p50 {}  p99 {}",
            per_s(sample.requests),
            answers.join("  "),
            bound(&sample.times, 0.5),
            bound(&sample.times, 0.99)
        ),
    );
    put(
        page,
        format_args!(
            "in flight {} of {}  queued {}  turned away {:.1}/s  connections {}  websockets {}",
            sample.in_flight,
            sample.room,
            sample.queued,
            per_s(sample.turned_away),
            sample.connections,
            sample.websockets
        ),
    );
    let waits: Vec<String> = sample
        .waits
        .iter()
        .take(6)
        .map(|waits| match waits.ended {
            0.0 => format!("{} {}", waits.kind, waits.lasting),
            ended => format!(
                "{} {} ({:.1}/s of {:.1} ms)",
                waits.kind,
                waits.lasting,
                per_s(ended),
                waits.ms / ended
            ),
        })
        .collect();
    put(
        page,
        format_args!("waiting {}", if waits.is_empty() { "none".to_owned() } else { waits.join("  ") }),
    );
    let (run, cpu) = (sample.total(|w| w.run_ms) / 1e3, sample.total(Worker::cpu_s));
    put(
        page,
        format_args!(
            "cpu {:.0} % of a core, of which {} in the application",
            per_s(cpu) * 100.0,
            part(run, cpu)
        ),
    );
    put(page, format_args!("held back by: {}", verdict::of(sample)));
}

fn workers(sample: &Sample, page: &mut String) {
    put(
        page,
        format_args!(
            "\n{:>6} {:>8} {:<8} {:>9} {:>6} {:>6} {:>6} {:>5} {:>5} {:>6} {:>7} {:>8}  WAITING",
            "WORKER",
            "PID",
            "STAGE",
            "REQ/S",
            "FLIGHT",
            "QUEUED",
            "CONNS",
            "CPU%",
            "SYS%",
            "APP%",
            "STOLEN%",
            "MEMORY"
        ),
    );
    let seconds = sample.seconds.max(f64::MIN_POSITIVE);
    for worker in sample.workers.iter().take(ROWS_MAX) {
        let mut waiting = worker.waiting.clone();
        waiting.sort_by(|a, b| b.1.total_cmp(&a.1));
        let waiting: Vec<String> = waiting.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        let stage = if worker.is_held { "held" } else { &worker.stage };
        put(
            page,
            format_args!(
                "{:>6} {:>8} {stage:<8} {:>9.1} {:>6} {:>6} {:>6} {:>5.0} {:>5.0} {:>6} {:>7.0} {:>8}  {}",
                worker.slot,
                worker.pid,
                worker.requests / seconds,
                worker.in_flight,
                worker.queued,
                worker.connections,
                worker.cpu_s() / seconds * 100.0,
                worker.system_s / seconds * 100.0,
                part(worker.run_ms / 1e3, worker.cpu_s()).trim_end_matches(" %"),
                worker.run_queue_s / seconds * 100.0,
                bytes(worker.memory_bytes),
                waiting.join(", ")
            ),
        );
    }
    let rest = sample.workers.len().saturating_sub(ROWS_MAX);
    if rest > 0 {
        put(page, format_args!("and {rest} more"));
    }
}

fn routes(sample: &Sample, sort: Sort, page: &mut String) {
    put(
        page,
        format_args!(
            "\n{:<34} {:>9} {:>7} {:>9} {:>9} {:>9} {:>9}  WAITS FOR",
            "ROUTE", "REQ/S", "5XX/S", "P50", "P99", "RUN ms", "WAIT ms"
        ),
    );
    let key = |route: &Route| match sort {
        Sort::Time => route.run_ms + route.wait_ms(),
        Sort::Run => route.run_ms,
        Sort::Requests => route.requests,
        Sort::Errors => route.errors,
    };
    let mut routes: Vec<&Route> = sample.routes.iter().collect();
    routes.sort_by(|a, b| key(b).total_cmp(&key(a)));
    let seconds = sample.seconds.max(f64::MIN_POSITIVE);
    for route in routes.into_iter().take(ROWS_MAX) {
        let each =
            |sum: f64| if route.requests > 0.0 { format!("{:.2}", sum / route.requests) } else { "-".into() };
        let waits: Vec<&str> = route.waits.iter().take(3).map(|(kind, _)| kind.as_str()).collect();
        put(
            page,
            format_args!(
                "{:<34} {:>9.1} {:>7.1} {:>9} {:>9} {:>9} {:>9}  {}",
                route.name.chars().take(34).collect::<String>(),
                route.requests / seconds,
                route.errors / seconds,
                bound(&route.times, 0.5),
                bound(&route.times, 0.99),
                each(route.run_ms),
                each(route.wait_ms()),
                waits.join(", ")
            ),
        );
    }
}

/// The object: rates are by second.
pub fn json(sample: &Sample) -> String {
    let seconds = sample.seconds.max(f64::MIN_POSITIVE);
    let per_s = |count: f64| count / seconds;
    let rates = |all: &[(String, f64)]| -> Map<String, Value> {
        all.iter().map(|(name, count)| (name.clone(), json!(per_s(*count)))).collect()
    };
    let of_times = |times: &Times| json!({ "p50_ms": times.below(0.5), "p99_ms": times.below(0.99) });
    let worker = |worker: &Worker| {
        json!({
            "worker": whole(worker.slot), "pid": whole(worker.pid), "stage": worker.stage, "held": worker.is_held,
            "requests": per_s(worker.requests), "in_flight": whole(worker.in_flight), "queued": whole(worker.queued),
            "connections": whole(worker.connections), "cpu": per_s(worker.cpu_s()), "cpu_system": per_s(worker.system_s),
            "run": per_s(worker.run_ms / 1e3), "run_queue": per_s(worker.run_queue_s),
            "memory_bytes": whole(worker.memory_bytes),
            "waiting": worker.waiting.iter().map(|(kind, count)| (kind.clone(), whole(*count))).collect::<Map<_, _>>(),
        })
    };
    let route = |route: &Route| {
        json!({
            "route": route.name, "requests": per_s(route.requests), "errors": per_s(route.errors),
            "times": of_times(&route.times), "run": per_s(route.run_ms / 1e3), "wait": per_s(route.wait_ms() / 1e3),
            "waits": route.waits.iter().map(|(kind, ms)| (kind.clone(), json!(per_s(ms / 1e3)))).collect::<Map<_, _>>(),
        })
    };
    let waits = |waits: &super::sample::Waits| {
        (
            waits.kind.clone(),
            json!({ "waiting": whole(waits.lasting), "ended": per_s(waits.ended), "wait": per_s(waits.ms / 1e3) }),
        )
    };
    let all = json!({
        "seconds": sample.seconds,
        "ready": sample.is_ready,
        "held_back_by": verdict::of(sample),
        "requests": per_s(sample.requests),
        "answers": rates(&sample.answers),
        "times": of_times(&sample.times),
        "in_flight": whole(sample.in_flight),
        "room": whole(sample.room),
        "queued": whole(sample.queued),
        "turned_away": per_s(sample.turned_away),
        "blocking_calls": per_s(sample.blocking_calls),
        "connections": whole(sample.connections),
        "waits": sample.waits.iter().map(waits).collect::<Map<_, _>>(),
        "workers": sample.workers.iter().map(worker).collect::<Vec<_>>(),
        "routes": sample.routes.iter().map(route).collect::<Vec<_>>(),
    });
    format!("{all}\n")
}

/// A number that has no fraction, as programs expect it.
fn whole(count: f64) -> Value {
    json!(count as u64)
}

/// A bound in milliseconds, as "<5ms".
fn bound(times: &Times, of: f64) -> String {
    let any = times.0.iter().any(|(_, count)| *count > 0.0);
    match times.below(of) {
        Some(ms) => format!("<{ms}ms"),
        None if any => ">30s".to_owned(),
        None => "-".to_owned(),
    }
}

/// A part in percent; nothing of nothing is "-". The kernel counts time on the processor by its ticks.
fn part(of: f64, all: f64) -> String {
    if all > 0.0 { format!("{:.0} %", (of / all * 100.0).min(100.0)) } else { "-".to_owned() }
}

fn bytes(count: f64) -> String {
    format!("{:.1}M", count / f64::from(1 << 20))
}

fn span(seconds: f64) -> String {
    let seconds = seconds as u64;
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_line() {
        let now = json!({ "routes": [{ "route": format!("/\x1b[2J{}", "x".repeat(200)), "requests": 3 }] });
        let page = text(&Sample::between(&json!({}), &now, 1.0), Sort::Time);
        assert!(!page.contains('\x1b') && page.lines().all(|line| line.chars().count() <= WIDTH), "{page}");
        assert!(page.contains("/?[2Jxxx"), "{page}");
    }

    #[test]
    fn the_slowest_route_is_first() {
        let route = |name: &str, run: u32, requests: u32| json!({ "route": name, "requests": requests, "run_ms": run });
        let now = json!({ "routes": [route("/a", 1, 9), route("/b", 5, 1)] });
        let order = |sort| {
            let page = text(&Sample::between(&json!({}), &now, 1.0), sort);
            (page.find("/a"), page.find("/b"))
        };
        assert!(matches!(order(Sort::Time), (Some(a), Some(b)) if b < a));
        assert!(matches!(order(Sort::Requests), (Some(a), Some(b)) if a < b));
    }

    #[test]
    fn programs_get_whole_numbers_where_there_are_no_fractions() {
        let now = json!({ "workers": [{ "pid": 7, "requests": 3 }], "requests": { "in_flight": 2 } });
        let seen: Value = serde_json::from_str(&json(&Sample::between(&json!({}), &now, 2.0))).unwrap();
        assert_eq!((&seen["workers"][0]["pid"], &seen["in_flight"]), (&json!(7), &json!(2)));
        assert_eq!(seen["workers"][0]["requests"], 1.5);
    }

    #[test]
    fn times_and_parts_are_told_shortly() {
        assert_eq!([span(59.0), span(3_700.0), span(90_000.0)], ["59 s", "1 h 1 min", "1 d 1 h"]);
        assert_eq!([part(0.5, 1.0), part(3.0, 1.0), part(0.0, 0.0)], ["50 %", "100 %", "-"]);
        assert_eq!(bound(&Times(vec![(Some(0.25), 3.0), (None, 0.0)]), 0.99), "<0.25ms");
        assert_eq!(bound(&Times(vec![(Some(0.25), 0.0), (None, 2.0)]), 0.5), ">30s");
    }
}
