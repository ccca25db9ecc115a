//! A picture as a page of text, and as an object for programs.
//!
//! Must not know where the figures come from. Invariant: a line has at most [`WIDTH`] characters, and no byte of a name reaches the
//! terminal that could move its cursor.

use serde_json::{Map, Value, json};

use super::looks::Picture;
use super::sample::{Route, Times, Waits, Worker};
use super::table::{Order, Table};
use super::{tables, verdict};

/// Characters of a line.
const WIDTH: usize = 120;
/// Rows of a table that are shown.
const ROWS_MAX: usize = 20;

/// The page; the routes in this order.
pub fn text(picture: &Picture, order: Order) -> String {
    let mut lines: Vec<String> = tables::head(&picture.sample);
    let mut add = |table: Table| {
        lines.push(String::new());
        lines.push(table.head(WIDTH));
        lines.extend(table.lines(WIDTH).take(ROWS_MAX).map(|(line, _)| line));
        if let Some(rest @ 1..) = table.rows.len().checked_sub(ROWS_MAX) {
            lines.push(format!("and {rest} more"));
        }
    };
    add(tables::workers(&picture.sample));
    let mut routes = tables::routes(&picture.sample);
    routes.sort(order);
    add(routes);
    if let Some(requests) = picture.requests.as_ref().filter(|requests| !requests.oldest.is_empty()) {
        add(tables::requests(requests));
        lines.push(tables::about_requests(picture));
    }
    let plain = |line: &String| {
        let plain = line.chars().map(|one| if one.is_control() { '?' } else { one });
        plain.take(WIDTH).collect::<String>() + "\n"
    };
    lines.iter().map(plain).collect()
}

/// The object, and a line end: rates are by second.
pub fn json(picture: &Picture) -> String {
    let sample = &picture.sample;
    let seconds = sample.seconds.max(f64::MIN_POSITIVE);
    let per_s = |count: f64| count / seconds;
    let rates = |all: &[(String, f64)]| -> Map<String, Value> {
        all.iter().map(|(name, count)| (name.clone(), json!(per_s(*count)))).collect()
    };
    let wholes = |all: &[(String, f64)]| -> Map<String, Value> {
        all.iter().map(|(name, count)| (name.clone(), whole(*count))).collect()
    };
    let of_times = |times: &Times| json!({ "p50_ms": times.below(0.5), "p99_ms": times.below(0.99) });
    let worker = |worker: &Worker| {
        json!({
            "worker": whole(worker.slot), "pid": whole(worker.pid), "stage": worker.stage, "held": worker.is_held,
            "requests": per_s(worker.requests), "in_flight": whole(worker.in_flight), "queued": whole(worker.queued),
            "connections": whole(worker.connections), "cpu": per_s(worker.cpu_s()), "cpu_system": per_s(worker.system_s),
            "run": per_s(worker.run_ms / 1e3), "run_queue": per_s(worker.run_queue_s),
            "memory_bytes": whole(worker.memory_bytes), "lag_p99_ms": worker.lag.below(0.99),
            "waiting": wholes(&worker.waiting),
        })
    };
    let route = |route: &Route| {
        json!({
            "route": route.name, "requests": per_s(route.requests), "errors": per_s(route.errors),
            "times": of_times(&route.times), "run": per_s(route.run_ms / 1e3), "wait": per_s(route.wait_ms() / 1e3),
            "waits": route.waits.iter().map(|(kind, ms)| (kind.clone(), json!(per_s(ms / 1e3)))).collect::<Map<_, _>>(),
        })
    };
    let waits = |waits: &Waits| {
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
        "blocking_calls_at": rates(&sample.blocking_at),
        "connections": whole(sample.connections),
        "connections_by_state": wholes(&sample.states),
        "http2_streams_by_state": wholes(&sample.streams),
        "coroutines": {
            "live": whole(sample.coroutines.live), "parked": whole(sample.coroutines.parked),
            "idle": whole(sample.coroutines.idle), "stack_bytes": whole(sample.coroutines.stack_bytes),
        },
        "instances": sample.instances.as_ref().map(|own| {
            json!({ "busy": whole(own.busy), "idle": whole(own.idle), "bytes": whole(own.bytes) })
        }),
        "waits": sample.waits.iter().map(waits).collect::<Map<_, _>>(),
        "workers": sample.workers.iter().map(worker).collect::<Vec<_>>(),
        "routes": sample.routes.iter().map(route).collect::<Vec<_>>(),
        "requests_in_flight": picture.requests.as_ref().map(|requests| requests.json()),
    });
    format!("{all}\n")
}

/// A number that has no fraction, as programs expect it.
fn whole(count: f64) -> Value {
    json!(count as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::requests::Requests;
    use crate::top::sample::Sample;

    fn picture(now: &Value, requests: Option<&Value>) -> Picture {
        Picture { sample: Sample::between(&json!({}), now, 2.0), requests: requests.map(Requests::of) }
    }

    #[test]
    fn a_name_cannot_leave_its_line() {
        let name = format!("/\x1b[2J{}", "x".repeat(200));
        let now = json!({ "version": name, "routes": [{ "route": name, "requests": 3 }] });
        let page = text(
            &picture(&now, Some(&json!({ "requests": [{ "what": name, "place": name }] }))),
            Order::default(),
        );
        assert!(!page.contains('\x1b') && page.lines().all(|line| line.chars().count() <= WIDTH), "{page}");
        assert_eq!(page.matches("?[2Jxxx").count(), 4, "{page}");
    }

    #[test]
    fn rows_that_are_not_shown_are_counted() {
        let workers: Vec<Value> = (0..ROWS_MAX + 3).map(|slot| json!({ "worker": slot })).collect();
        let page = text(&picture(&json!({ "workers": workers }), None), Order::default());
        assert!(page.contains("\nand 3 more\n") && !page.contains("REQUEST "), "{page}");
    }

    #[test]
    fn programs_get_whole_numbers_where_there_are_no_fractions() {
        let now = json!({ "workers": [{ "pid": 7, "requests": 3 }], "requests": { "in_flight": 2 } });
        let seen: Value = serde_json::from_str(&json(&picture(&now, None))).unwrap();
        assert_eq!((&seen["workers"][0]["pid"], &seen["in_flight"]), (&json!(7), &json!(2)));
        assert_eq!(
            (&seen["workers"][0]["requests"], &seen["requests_in_flight"]),
            (&json!(1.5), &Value::Null)
        );
    }
}
