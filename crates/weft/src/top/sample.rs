//! What two answers of `/status` say together: how much of everything there was between them.
//!
//! Must not know how it is shown. Invariant: whatever is missing or has fallen, because the server was reloaded between the
//! two, counts as nothing.

use serde_json::Value;

/// The figures of a while.
pub struct Sample {
    /// How long it was.
    pub seconds: f64,
    pub version: String,
    pub mode: String,
    pub is_ready: bool,
    pub uptime_s: f64,
    pub wanted: f64,
    pub requests: f64,
    pub answers: Vec<(String, f64)>,
    pub times: Times,
    pub in_flight: f64,
    pub queued: f64,
    pub room: f64,
    pub turned_away: f64,
    pub blocking_calls: f64,
    /// Where they were made: "usleep() at /srv/app.php:3", and how many; the most frequent first.
    pub blocking_at: Vec<(String, f64)>,
    pub connections: f64,
    /// How many connections, and streams of HTTP/2, do what.
    pub states: Vec<(String, f64)>,
    pub streams: Vec<(String, f64)>,
    pub coroutines: Coroutines,
    /// Nothing where requests share one PHP.
    pub instances: Option<Instances>,
    pub websockets: f64,
    /// What coroutines wait for: how many do so now, how many waits have ended, and how long those took.
    pub waits: Vec<Waits>,
    pub workers: Vec<Worker>,
    pub routes: Vec<Route>,
}

/// Coroutines at this moment.
pub struct Coroutines {
    pub live: f64,
    pub parked: f64,
    pub idle: f64,
    pub stack_bytes: f64,
}

/// PHP instances at this moment.
pub struct Instances {
    pub busy: f64,
    pub idle: f64,
    pub bytes: f64,
}

/// How long something took, requests for example: the upper bounds in milliseconds of classes, the last without one, and their counts.
#[derive(Default)]
pub struct Times(pub Vec<(Option<f64>, f64)>);

/// Waits of one kind.
pub struct Waits {
    pub kind: String,
    pub lasting: f64,
    pub ended: f64,
    pub ms: f64,
}

/// One worker.
pub struct Worker {
    pub slot: f64,
    pub pid: f64,
    pub stage: String,
    pub is_held: bool,
    pub requests: f64,
    pub in_flight: f64,
    pub queued: f64,
    pub connections: f64,
    pub user_s: f64,
    pub system_s: f64,
    pub run_ms: f64,
    pub run_queue_s: f64,
    /// For how long its loop was away from what had become ready.
    pub lag: Times,
    pub memory_bytes: f64,
    pub waiting: Vec<(String, f64)>,
}

/// One route.
pub struct Route {
    pub name: String,
    pub requests: f64,
    pub errors: f64,
    pub run_ms: f64,
    pub times: Times,
    pub waits: Vec<(String, f64)>,
}

/// A number of an answer.
fn number(of: &Value, pointer: &str) -> f64 {
    of.pointer(pointer).and_then(Value::as_f64).unwrap_or(0.0)
}

fn text(of: &Value, key: &str) -> String {
    of[key].as_str().unwrap_or_default().to_owned()
}

fn grown(before: &Value, now: &Value, pointer: &str) -> f64 {
    (number(now, pointer) - number(before, pointer)).max(0.0)
}

/// The numbers of an object, and how much they have grown.
fn grown_of(before: &Value, now: &Value) -> Vec<(String, f64)> {
    let all = now.as_object().into_iter().flatten();
    all.map(|(name, value)| {
        let was = before.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        (name.clone(), (value.as_f64().unwrap_or(0.0) - was).max(0.0))
    })
    .collect()
}

fn list<'v>(of: &'v Value, key: &str) -> &'v [Value] {
    of[key].as_array().map_or(&[], Vec::as_slice)
}

/// The entry of a list that has the same value under this key as `like`.
fn same<'v>(list: &'v [Value], key: &str, like: &Value) -> &'v Value {
    list.iter().find(|entry| entry[key] == like[key]).unwrap_or(&Value::Null)
}

impl Times {
    fn between(before: &Value, now: &Value) -> Times {
        let (before, now) = (list(before, "durations"), list(now, "durations"));
        let class =
            |class: &Value| (class["to_ms"].as_f64(), grown(same(before, "to_ms", class), class, "/count"));
        Times(now.iter().map(class).collect())
    }

    /// The bound below which this part of the requests stayed; nothing if there were none, or it is above all bounds.
    pub fn below(&self, part: f64) -> Option<f64> {
        let all: f64 = self.0.iter().map(|(_, count)| count).sum();
        let mut sum = 0.0;
        let class = self.0.iter().find(|(_, count)| {
            sum += count;
            sum > 0.0 && sum >= all * part
        })?;
        class.0
    }
}

impl Sample {
    /// What happened between two answers, so many seconds apart.
    pub fn between(before: &Value, now: &Value, seconds: f64) -> Sample {
        let requests = &now["requests"];
        Sample {
            seconds,
            version: text(now, "version"),
            mode: text(now, "mode"),
            is_ready: now["ready"] == true,
            uptime_s: number(now, "/uptime_s"),
            wanted: number(now, "/workers_wanted"),
            requests: grown(before, now, "/requests/begun"),
            answers: grown_of(&before["requests"]["answers"], &requests["answers"]),
            times: Times::between(&before["requests"], requests),
            in_flight: number(requests, "/in_flight"),
            queued: number(requests, "/queued"),
            room: number(requests, "/max"),
            turned_away: grown(before, now, "/requests/turned_away"),
            blocking_calls: grown(before, now, "/blocking_calls"),
            blocking_at: blocking_at(list(before, "blocking_calls_at"), list(now, "blocking_calls_at")),
            connections: number(now, "/connections/open"),
            states: counts(&now["connections"]["by_state"]),
            streams: counts(&now["connections"]["http2_streams_by_state"]),
            coroutines: Coroutines {
                live: number(now, "/coroutines/live"),
                parked: number(now, "/coroutines/parked"),
                idle: number(now, "/coroutines/idle"),
                stack_bytes: number(now, "/coroutines/live_stack_bytes")
                    + number(now, "/coroutines/idle_stack_bytes"),
            },
            instances: now["instances"].is_object().then(|| Instances {
                busy: number(now, "/instances/busy"),
                idle: number(now, "/instances/idle"),
                bytes: number(now, "/instances/busy_bytes") + number(now, "/instances/idle_bytes"),
            }),
            websockets: number(now, "/connections/websockets"),
            waits: waits(&before["waits_by_kind"], &now["waits_by_kind"]),
            workers: list(now, "workers")
                .iter()
                .map(|worker| Worker::between(same(list(before, "workers"), "pid", worker), worker))
                .collect(),
            routes: list(now, "routes")
                .iter()
                .map(|route| Route::between(same(list(before, "routes"), "route", route), route))
                .collect(),
        }
    }

    /// A sum over the workers.
    pub fn total(&self, of: impl Fn(&Worker) -> f64) -> f64 {
        self.workers.iter().map(of).sum()
    }
}

/// The numbers of an object, the largest first.
fn counts(of: &Value) -> Vec<(String, f64)> {
    let mut counts = grown_of(&Value::Null, of);
    counts.sort_by(|a, b| b.1.total_cmp(&a.1));
    counts
}

/// The places at which calls have blocked meanwhile.
fn blocking_at(before: &[Value], now: &[Value]) -> Vec<(String, f64)> {
    let is_same = |a: &Value, b: &Value| ["function", "file", "line"].iter().all(|key| a[*key] == b[*key]);
    let one = |place: &Value| {
        let was = before.iter().find(|earlier| is_same(earlier, place)).unwrap_or(&Value::Null);
        let (function, file) = (text(place, "function"), text(place, "file"));
        let at =
            if file.is_empty() { String::new() } else { format!(" at {file}:{}", number(place, "/line")) };
        (format!("{function}(){at}"), grown(was, place, "/count"))
    };
    let mut places: Vec<_> = now.iter().map(one).filter(|(_, count)| *count > 0.0).collect();
    places.sort_by(|a, b| b.1.total_cmp(&a.1));
    places
}

fn waits(before: &Value, now: &Value) -> Vec<Waits> {
    let all = now.as_object().into_iter().flatten();
    let all = all.map(|(kind, value)| Waits {
        kind: kind.clone(),
        lasting: number(value, "/lasting"),
        ended: grown(&before[kind], value, "/ended"),
        ms: grown(&before[kind], value, "/sum_ms"),
    });
    let mut waits: Vec<Waits> = all.filter(|waits| waits.lasting > 0.0 || waits.ended > 0.0).collect();
    waits.sort_by(|a, b| {
        (b.lasting, b.ms).partial_cmp(&(a.lasting, a.ms)).unwrap_or(std::cmp::Ordering::Equal)
    });
    waits
}

impl Worker {
    fn between(before: &Value, now: &Value) -> Worker {
        Worker {
            slot: number(now, "/worker"),
            pid: number(now, "/pid"),
            stage: text(now, "stage"),
            is_held: now["held"] == true,
            requests: grown(before, now, "/requests"),
            in_flight: number(now, "/in_flight"),
            queued: number(now, "/queued"),
            connections: number(now, "/connections"),
            user_s: grown(before, now, "/cpu_user_s"),
            system_s: grown(before, now, "/cpu_system_s"),
            run_ms: grown(before, now, "/run_ms"),
            run_queue_s: grown(before, now, "/run_queue_s"),
            lag: Times::between(&before["loop_lag"], &now["loop_lag"]),
            memory_bytes: number(now, "/memory_bytes"),
            waiting: counts(&now["waiting"]),
        }
    }

    /// Its time on the processor.
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

impl Route {
    fn between(before: &Value, now: &Value) -> Route {
        let mut waits = grown_of(&before["wait_ms"], &now["wait_ms"]);
        waits.retain(|(_, ms)| *ms > 0.0);
        waits.sort_by(|a, b| b.1.total_cmp(&a.1));
        Route {
            name: text(now, "route"),
            requests: grown(before, now, "/requests"),
            errors: grown(before, now, "/answers/5xx"),
            run_ms: grown(before, now, "/run_ms"),
            times: Times::between(before, now),
            waits,
        }
    }

    /// How long its requests waited, in milliseconds.
    pub fn wait_ms(&self) -> f64 {
        self.waits.iter().map(|(_, ms)| ms).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_two_answers_say_is_their_difference() {
        let before = json!({ "requests": { "begun": 10, "durations": [{ "to_ms": 1.0, "count": 10 }] },
            "workers": [{ "pid": 7, "requests": 10, "cpu_user_s": 1.0 }],
            "routes": [{ "route": "/a", "requests": 10, "run_ms": 5.0, "wait_ms": { "dns": 3.0 } }] });
        let now = json!({ "requests": { "begun": 30, "in_flight": 4,
                "durations": [{ "to_ms": 1.0, "count": 20 }, { "to_ms": 5.0, "count": 9 }, { "to_ms": null, "count": 1 }] },
            "workers": [{ "pid": 7, "requests": 25, "cpu_user_s": 1.5 }, { "pid": 8, "requests": 5 }],
            "routes": [{ "route": "/a", "requests": 14, "run_ms": 9.0, "wait_ms": { "dns": 3.0, "sleep": 2.0 } }] });
        let sample = Sample::between(&before, &now, 2.0);
        assert_eq!((sample.requests, sample.in_flight, sample.workers.len()), (20.0, 4.0, 2));
        assert_eq!((sample.workers[0].requests, sample.workers[1].requests), (15.0, 5.0));
        assert_eq!(sample.workers[0].cpu_s(), 0.5);
        assert_eq!(sample.times.below(0.5), Some(1.0));
        assert_eq!(sample.times.below(0.9), Some(5.0));
        assert_eq!(sample.times.below(0.99), None, "above all bounds");
        let route = &sample.routes[0];
        assert_eq!((route.requests, route.run_ms, route.wait_ms()), (4.0, 4.0, 2.0));
        assert_eq!(route.waits, [("sleep".to_owned(), 2.0)]);
    }

    #[test]
    fn what_has_fallen_counts_as_nothing() {
        let (before, now) = (json!({ "requests": { "begun": 10 } }), json!({ "requests": { "begun": 3 } }));
        assert_eq!(Sample::between(&before, &now, 1.0).requests, 0.0);
        let nothing = Sample::between(&json!({}), &json!([1]), 1.0);
        assert_eq!((nothing.requests, nothing.times.below(0.5)), (0.0, None));
    }
}
