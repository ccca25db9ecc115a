//! What a picture shows: some lines about the whole server, and tables of its workers, routes, waits and requests.
//!
//! Must not know where the lines go. Invariant: each figure is of the time between two looks, or of the moment of the second.

use super::looks::Picture;
use super::requests::Requests;
use super::sample::{Route, Sample, Times, Waits, Worker};
use super::table::{Cell, Column, Mark, Order, Row, Table};
use super::verdict;

/// The highest bounds of the times of requests, and of loop lag.
const ABOVE: &str = ">30s";
const LAG_ABOVE: &str = ">10s";

const WORKERS: &[Column] = &[
    Column::number("WORKER", 6),
    Column::number("PID", 8),
    Column::text("STAGE", 8),
    Column::number("REQ/S", 9),
    Column::number("FLIGHT", 6),
    Column::number("QUEUED", 6),
    Column::number("CONNS", 6),
    Column::number("CPU%", 5),
    Column::number("SYS%", 5),
    Column::number("APP%", 5),
    Column::number("STOLEN%", 7),
    Column::number("LAG P99", 7),
    Column::number("MEMORY", 8),
    Column::text("WAITING", 10),
];
const ROUTES: &[Column] = &[
    Column::text("ROUTE", 32),
    Column::number("REQ/S", 9),
    Column::number("5XX/S", 7),
    Column::number("P50", 8),
    Column::number("P99", 8),
    Column::number("CPU%", 5),
    Column::number("RUN ms", 8),
    Column::number("WAIT ms", 8),
    Column::number("LOAD", 7),
    Column::text("WAITS FOR", 10),
];
const WAITS: &[Column] = &[
    Column::text("WAIT FOR", 20),
    Column::number("NOW", 7),
    Column::number("ENDED/S", 9),
    Column::number("MEAN ms", 9),
    Column::number("LOAD", 7),
];
const REQUESTS: &[Column] = &[
    Column::number("AGE", 9),
    Column::number("PID", 8),
    Column::text("STATE", 9),
    Column::text("WAITS FOR", 22),
    Column::text("REQUEST", 36),
    Column::text("PLACE", 16),
];

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

impl Sort {
    /// The same for the table of routes.
    pub fn order(self) -> Order {
        let name = match self {
            Sort::Time => "LOAD",
            Sort::Run => "CPU%",
            Sort::Requests => "REQ/S",
            Sort::Errors => "5XX/S",
        };
        let column = ROUTES.iter().position(|column| column.name == name).unwrap_or(0);
        Order { column, is_reversed: false }
    }
}

/// The lines about the whole server; the last says what holds it back.
pub fn head(sample: &Sample) -> Vec<String> {
    let per_s = |count: f64| count / span_of(sample);
    let ready = if sample.is_ready { "ready" } else { "not ready" };
    let answers = sample.answers.iter().filter(|(_, count)| *count > 0.0);
    let answers: Vec<String> =
        answers.map(|(class, count)| format!("{class} {:.1}/s", per_s(*count))).collect();
    let waits: Vec<String> =
        sample.waits.iter().take(6).map(|waits| wait(waits, per_s(waits.ended))).collect();
    let (run, cpu) = (sample.total(|w| w.run_ms) / 1e3, sample.total(Worker::cpu_s));
    vec![
        format!(
            "weft {}  {} mode  {ready}  up {}  {} of {} workers",
            sample.version,
            sample.mode,
            span(sample.uptime_s),
            sample.workers.len(),
            sample.wanted
        ),
        format!(
            "requests {:.1}/s  {}  p50 {}  p99 {}",
            per_s(sample.requests),
            answers.join("  "),
            bound(&sample.times, 0.5, ABOVE),
            bound(&sample.times, 0.99, ABOVE)
        ),
        format!(
            "in flight {} of {}  queued {}  turned away {:.1}/s  websockets {}",
            sample.in_flight,
            sample.room,
            sample.queued,
            per_s(sample.turned_away),
            sample.websockets
        ),
        connections(sample),
        places(sample),
        format!("waiting {}", if waits.is_empty() { "none".to_owned() } else { waits.join("  ") }),
        format!(
            "cpu {:.0} % of a core, of which {} in the application",
            per_s(cpu) * 100.0,
            part(run, cpu).map_or("-".to_owned(), |part| format!("{part:.0} %"))
        ),
        format!("held back by: {}", verdict::of(sample)),
    ]
}

/// How many connections there are, and what they do.
fn connections(sample: &Sample) -> String {
    let named = |(state, count): &(String, f64)| format!("{} {count}", state.replace('_', " "));
    let all = |counts: &[(String, f64)]| counts.iter().map(named).collect::<Vec<_>>().join("  ");
    let mut said = format!("connections {}", sample.connections);
    if !sample.states.is_empty() {
        said += &format!(": {}", all(&sample.states));
    }
    if !sample.streams.is_empty() {
        said += &format!("; streams: {}", all(&sample.streams));
    }
    said
}

/// What requests run on, and how much memory that has.
fn places(sample: &Sample) -> String {
    let own = &sample.coroutines;
    let running = (own.live - own.parked).max(0.0);
    let coroutines = format!(
        "coroutines {} parked  {running} runnable  {} idle  stacks {}",
        own.parked,
        own.idle,
        mebibytes(own.stack_bytes)
    );
    match &sample.instances {
        Some(own) => format!(
            "instances {} busy  {} idle  heaps {}  {coroutines}",
            own.busy,
            own.idle,
            mebibytes(own.bytes)
        ),
        None => coroutines,
    }
}

fn mebibytes(bytes: f64) -> String {
    format!("{:.1}M", bytes / f64::from(1 << 20))
}

fn wait(waits: &Waits, ended_per_s: f64) -> String {
    match waits.ended {
        0.0 => format!("{} {}", waits.kind, waits.lasting),
        ended => {
            format!("{} {} ({ended_per_s:.1}/s of {:.1} ms)", waits.kind, waits.lasting, waits.ms / ended)
        }
    }
}

/// The workers, by their numbers.
pub fn workers(sample: &Sample) -> Table {
    let seconds = span_of(sample);
    let row = |worker: &Worker| {
        let waiting: Vec<String> =
            worker.waiting.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        let stage = if worker.is_held { "held" } else { &worker.stage };
        Row {
            cells: vec![
                // Small numbers come first, as one reads them.
                Cell::Number(-worker.slot, worker.slot.to_string()),
                Cell::number(worker.pid, 0),
                Cell::Text(stage.to_owned()),
                Cell::number(worker.requests / seconds, 1),
                Cell::number(worker.in_flight, 0),
                Cell::number(worker.queued, 0),
                Cell::number(worker.connections, 0),
                Cell::number(worker.cpu_s() / seconds * 100.0, 0),
                Cell::number(worker.system_s / seconds * 100.0, 0),
                or_none(part(worker.run_ms / 1e3, worker.cpu_s()), 0),
                Cell::number(worker.run_queue_s / seconds * 100.0, 0),
                time(&worker.lag, 0.99, LAG_ABOVE),
                Cell::Number(worker.memory_bytes, mebibytes(worker.memory_bytes)),
                Cell::Text(waiting.join(", ")),
            ],
            mark: if worker.is_held { Mark::Bad } else { Mark::Usual },
        }
    };
    Table { columns: WORKERS, rows: sample.workers.iter().map(row).collect() }
}

/// The routes.
pub fn routes(sample: &Sample) -> Table {
    let seconds = span_of(sample);
    let row = |route: &Route| {
        let each = |sum: f64| or_none((route.requests > 0.0).then(|| sum / route.requests), 2);
        let waits: Vec<&str> = route.waits.iter().take(3).map(|(kind, _)| kind.as_str()).collect();
        Row {
            cells: vec![
                Cell::Text(route.name.clone()),
                Cell::number(route.requests / seconds, 1),
                Cell::number(route.errors / seconds, 1),
                time(&route.times, 0.5, ABOVE),
                time(&route.times, 0.99, ABOVE),
                Cell::number(route.run_ms / seconds / 10.0, 0),
                each(route.run_ms),
                each(route.wait_ms()),
                Cell::number((route.run_ms + route.wait_ms()) / seconds / 1e3, 2),
                Cell::Text(waits.join(", ")),
            ],
            mark: if route.errors > 0.0 { Mark::Bad } else { Mark::Usual },
        }
    };
    Table { columns: ROUTES, rows: sample.routes.iter().map(row).collect() }
}

/// What coroutines wait for, and have waited for.
pub fn waits(sample: &Sample) -> Table {
    let seconds = span_of(sample);
    let row = |waits: &Waits| Row {
        cells: vec![
            Cell::Text(waits.kind.clone()),
            Cell::number(waits.lasting, 0),
            Cell::number(waits.ended / seconds, 1),
            or_none((waits.ended > 0.0).then(|| waits.ms / waits.ended), 2),
            Cell::number(waits.ms / seconds / 1e3, 2),
        ],
        mark: Mark::Usual,
    };
    Table { columns: WAITS, rows: sample.waits.iter().map(row).collect() }
}

/// The oldest requests in flight.
pub fn requests(requests: &Requests) -> Table {
    let rows = requests.oldest.iter().map(|request| Row {
        cells: vec![
            Cell::Number(request.age_ms, age(request.age_ms)),
            Cell::number(request.pid as f64, 0),
            Cell::Text(request.state.clone()),
            Cell::Text(request.waits_for.clone()),
            Cell::Text(request.what.clone()),
            Cell::Text(request.place.clone()),
        ],
        mark: Mark::Usual,
    });
    Table { columns: REQUESTS, rows: rows.collect() }
}

/// What a list of requests leaves out, in one line.
pub fn about_requests(picture: &Picture) -> String {
    let Some(requests) = &picture.requests else {
        return "the server cannot list its requests now".to_owned();
    };
    let listed = match requests.oldest.len() as u64 {
        listed if listed < requests.count => {
            format!("in flight: {}, of which the oldest {listed}", requests.count)
        }
        listed => format!("in flight: {listed}"),
    };
    let silent: Vec<String> = requests.silent.iter().map(u64::to_string).collect();
    match silent.is_empty() {
        true => listed,
        false => format!("{listed}; no answer from {}", silent.join(", ")),
    }
}

fn span_of(sample: &Sample) -> f64 {
    sample.seconds.max(f64::MIN_POSITIVE)
}

/// What is unknown comes last.
fn or_none(figure: Option<f64>, digits: usize) -> Cell {
    figure.map_or(Cell::Number(-1.0, "-".to_owned()), |figure| Cell::number(figure, digits))
}

fn time(times: &Times, of: f64, above: &str) -> Cell {
    let any = times.0.iter().any(|(_, count)| *count > 0.0);
    let key = times.below(of).unwrap_or(if any { f64::INFINITY } else { -1.0 });
    Cell::Number(key, bound(times, of, above))
}

/// A bound in milliseconds, as "<5ms"; `above` if it is higher than all that are known.
fn bound(times: &Times, of: f64, above: &str) -> String {
    let any = times.0.iter().any(|(_, count)| *count > 0.0);
    match times.below(of) {
        Some(ms) => format!("<{ms}ms"),
        None if any => above.to_owned(),
        None => "-".to_owned(),
    }
}

/// A part in percent; nothing of nothing is unknown. The kernel counts time on the processor by its ticks.
fn part(of: f64, all: f64) -> Option<f64> {
    (all > 0.0).then(|| (of / all * 100.0).min(100.0))
}

fn age(ms: f64) -> String {
    match ms {
        ..10_000.0 => format!("{ms:.0} ms"),
        _ => span(ms / 1e3),
    }
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
    use serde_json::json;

    #[test]
    fn the_slowest_route_is_first() {
        let route = |name: &str, run: u32, requests: u32| json!({ "route": name, "requests": requests, "run_ms": run });
        let now = json!({ "routes": [route("/a", 1, 9), route("/b", 5, 1)] });
        let first = |sort: Sort| {
            let mut table = routes(&Sample::between(&json!({}), &now, 1.0));
            table.sort(sort.order());
            table.lines(120).next().unwrap().0[..2].to_owned()
        };
        assert_eq!([first(Sort::Time), first(Sort::Run), first(Sort::Requests)], ["/b", "/b", "/a"]);
    }

    #[test]
    fn each_row_has_a_cell_for_each_column() {
        let now = json!({ "routes": [{ "route": "/a" }], "workers": [{ "worker": 1, "held": true }],
            "waits_by_kind": { "dns": { "lasting": 1, "ended": 2, "sum_ms": 3.0 } } });
        let sample = Sample::between(&json!({}), &now, 1.0);
        let in_flight = Requests::of(&json!({ "count": 1, "requests": [{ "age_ms": 1.0 }] }));
        let all = [workers(&sample), routes(&sample), waits(&sample), requests(&in_flight)];
        for table in &all {
            assert_eq!((table.rows.len(), table.rows[0].cells.len()), (1, table.columns.len()));
        }
        assert_eq!(all[0].rows[0].mark, Mark::Bad, "it is held");
    }

    #[test]
    fn requests_that_are_not_listed_are_counted() {
        let picture = |answer: serde_json::Value| Picture {
            sample: Sample::between(&json!({}), &json!({}), 1.0),
            requests: Some(Requests::of(&answer)),
        };
        let said = about_requests(&picture(json!({ "count": 3, "silent": [7, 9], "requests": [{}] })));
        assert_eq!(said, "in flight: 3, of which the oldest 1; no answer from 7, 9");
        assert_eq!(about_requests(&picture(json!({}))), "in flight: 0");
    }

    #[test]
    fn times_and_parts_are_told_shortly() {
        assert_eq!([span(59.0), span(3_700.0), span(90_000.0)], ["59 s", "1 h 1 min", "1 d 1 h"]);
        assert_eq!([age(12.3), age(61_000.0)], ["12 ms", "1 min"]);
        assert_eq!([part(0.5, 1.0), part(3.0, 1.0), part(0.0, 0.0)], [Some(50.0), Some(100.0), None]);
        assert_eq!(bound(&Times(vec![(Some(0.25), 3.0), (None, 0.0)]), 0.99, ABOVE), "<0.25ms");
        assert_eq!(bound(&Times(vec![(Some(0.25), 0.0), (None, 2.0)]), 0.5, ABOVE), ">30s");
    }
}
