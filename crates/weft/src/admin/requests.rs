//! `GET /requests`: the requests in flight of all workers, the oldest first, and where each stands.
//!
//! Must not know who may ask: the caller has checked that. Invariants: nothing here waits; an answer is given when all other
//! workers have answered, or at the deadline of a question, and then names those that have not.

use serde_json::{Value, json};
use weft_rt::Nanos;
use weft_serve::{RequestKey, Server};

use super::answer::Answer;
use super::asking::{Asking, Told, nobody_to_ask};
use crate::bus::{Post, Rows, What, pid_of};
use crate::in_flight;

/// Requests in flight that are listed.
const LISTED_MAX: usize = 200;

/// Those who ask.
pub struct Requests(Asking<Rows>);

impl Requests {
    pub fn new(post: &'static Post) -> Requests {
        Requests(Asking::anywhere(post, answer))
    }

    /// Asks the other workers.
    pub fn take(&self, server: &Server, key: RequestKey) {
        if self.0.ask(server, key, (What::InFlight, b""), in_flight::rows()).is_err() {
            nobody_to_ask().send(server, key);
        }
    }

    /// Answers those for whom all workers have answered, or have had their time. Returns whether others wait.
    pub fn turn(&self, server: &Server, now: Nanos) -> bool {
        self.0.turn(server, now)
    }
}

fn answer(own: Rows, told: Told) -> Answer {
    let (others, late) = told.unwrap_or_default();
    let silent: Vec<u64> = late.into_iter().map(|worker| u64::from(pid_of(worker))).collect();
    Answer::new(200, "application/json", render(own.into_iter().chain(others), &silent))
}

/// One object, and a line end.
fn render(rows: impl Iterator<Item = Vec<u8>>, silent: &[u64]) -> String {
    let mut count = 0;
    let mut requests = Vec::new();
    for row in rows.filter_map(|row| serde_json::from_slice::<Value>(&row).ok()) {
        match row["count"].as_u64() {
            Some(of_worker) => count += of_worker,
            None => requests.push(row),
        }
    }
    let age = |request: &Value| request["age_ms"].as_f64().unwrap_or(0.0);
    requests.sort_by(|a, b| age(b).total_cmp(&age(a)));
    requests.truncate(LISTED_MAX);
    format!("{}\n", json!({ "count": count, "silent": silent, "requests": requests }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_all_workers_are_listed_and_all_are_counted() {
        let worker = |pid: u64| {
            let one =
                move |age: u64| json!({ "pid": pid, "age_ms": age * 10 + pid }).to_string().into_bytes();
            let count = json!({ "count": 1000 }).to_string().into_bytes();
            std::iter::once(count).chain((0..150).map(one))
        };
        let seen: Value = serde_json::from_str(&render(worker(1).chain(worker(2)), &[3])).unwrap();
        assert_eq!((&seen["count"], &seen["silent"]), (&json!(2000), &json!([3])));
        let ages: Vec<_> = seen["requests"].as_array().unwrap().iter().map(|r| r["age_ms"].clone()).collect();
        assert_eq!((ages.len(), &ages[..3]), (LISTED_MAX, &[json!(1492), json!(1491), json!(1482)][..]));
    }
}
