//! What holds the server back, in one sentence.
//!
//! Must not know how it is shown. Invariant: a bound is named only with the figures that show it.

use super::sample::{Route, Sample, Worker};

/// Above this part of a core, a worker has no time left.
const BUSY: f64 = 0.9;
/// Above this part of the time, others use the machine's cores.
const CROWDED: f64 = 0.2;

/// The first bound that is met; the worst are first.
pub fn of(sample: &Sample) -> String {
    let seconds = sample.seconds.max(f64::MIN_POSITIVE);
    if let Some(worker) = sample.workers.iter().find(|worker| worker.is_held) {
        return format!(
            "worker {} is held by one computation or a call that blocks{}: see watchdog_ms in the log for where",
            worker.slot,
            most(sample, |route| route.run_ms).map_or(String::new(), |name| format!(", probably of {name}"))
        );
    }
    if sample.blocking_calls > 0.0 {
        let place = sample.blocking_at.first();
        return format!(
            "calls block whole workers, {:.1} a second{}: weft doctor --extensions and the log name them",
            sample.blocking_calls / seconds,
            place.map_or(String::new(), |(place, _)| format!(", most often {place}"))
        );
    }
    let part = |worker: &Worker| worker.cpu_s() / seconds;
    let serving = || sample.workers.iter().filter(|worker| worker.stage == "ready");
    if let Some(busiest) = serving().max_by(|a, b| part(a).total_cmp(&part(b))).filter(|w| part(w) >= BUSY) {
        return format!(
            "the processor: worker {} has used {:.0} % of a core, {:.0} % of that in the application{}",
            busiest.slot,
            part(busiest) * 100.0,
            (busiest.run_ms / 1e3 / busiest.cpu_s() * 100.0).min(100.0),
            most(sample, |route| route.run_ms).map_or(String::new(), |name| format!(", most for {name}"))
        );
    }
    let waits = sample.waits.iter().find(|waits| waits.lasting > 0.0);
    let for_what = waits.map_or(String::new(), |w| format!(", and {} wait for {}", w.lasting, w.kind));
    if sample.queued > 0.0 && sample.in_flight >= sample.room {
        return format!(
            "places: all {} are taken{for_what}; {} requests wait (coroutines_max, instances_max)",
            sample.room, sample.queued
        );
    }
    if sample.queued > 0.0 {
        return format!(
            "{} requests wait for a place, or for their share (limits.shares){for_what}",
            sample.queued
        );
    }
    let crowded = |worker: &&Worker| worker.run_queue_s / seconds >= CROWDED;
    if let Some(worker) = serving().find(crowded) {
        return format!(
            "other programs: worker {} could have run for {:.0} % of the time, and had no core",
            worker.slot,
            worker.run_queue_s / seconds * 100.0
        );
    }
    match waits {
        Some(waits) => {
            let route =
                most(sample, Route::wait_ms).map_or(String::new(), |name| format!(", most of {name}"));
            format!("nothing of weft's; {} wait for {}{route}", waits.lasting, waits.kind)
        }
        None => "nothing".to_owned(),
    }
}

/// The route with the most of something, if any has it.
fn most(sample: &Sample, of: impl Fn(&Route) -> f64) -> Option<&str> {
    let route = sample.routes.iter().max_by(|a, b| of(a).total_cmp(&of(b)))?;
    (of(route) > 0.0).then_some(route.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn verdict(now: &Value) -> String {
        of(&Sample::between(&json!({}), now, 1.0))
    }

    #[test]
    fn the_bound_that_is_met_is_named() {
        let routes = json!([{ "route": "/a", "run_ms": 3.0 }, { "route": "/b", "run_ms": 900.0 }]);
        let worker = |extra: Value| {
            let mut worker = json!({ "worker": 1, "stage": "ready" });
            worker.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            json!({ "workers": [worker], "routes": routes, "requests": { "max": 4 } })
        };
        assert_eq!(verdict(&worker(json!({}))), "nothing");
        assert_eq!(
            verdict(&worker(json!({ "cpu_user_s": 0.9, "cpu_system_s": 0.1, "run_ms": 900.0 }))),
            "the processor: worker 1 has used 100 % of a core, 90 % of that in the application, most for /b"
        );
        assert!(verdict(&worker(json!({ "held": true }))).starts_with("worker 1 is held"));
        assert!(verdict(&worker(json!({ "run_queue_s": 0.5 }))).starts_with("other programs: worker 1"));
        let waits = json!({ "coroutine": { "lasting": 4, "ended": 0 } });
        let full = json!({ "requests": { "max": 4, "in_flight": 6, "queued": 2 }, "waits_by_kind": waits });
        assert!(
            verdict(&full).starts_with("places: all 4 are taken, and 4 wait for coroutine; 2 requests wait")
        );
        let shares = json!({ "requests": { "max": 40, "in_flight": 6, "queued": 2 } });
        assert!(verdict(&shares).starts_with("2 requests wait for a place, or for their share"));
        let place = |line: u32, count: u32| json!({ "function": "usleep", "file": "/a.php", "line": line, "count": count });
        let blocks = json!({ "blocking_calls": 3, "blocking_calls_at": [place(7, 1), place(8, 2)] });
        assert!(verdict(&blocks).starts_with(
            "calls block whole workers, 3.0 a second, most often usleep() at /a.php:8: weft doctor"
        ));
        assert!(
            verdict(&json!({ "waits_by_kind": waits }))
                .starts_with("nothing of weft's; 4 wait for coroutine")
        );
    }
}
