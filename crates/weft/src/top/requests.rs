//! The requests in flight, as the server's `/requests` lists them.
//!
//! Must not know how they are shown. Invariant: whatever is missing counts as nothing.

use serde_json::{Value, json};

/// The oldest requests.
#[derive(Default)]
pub struct Requests {
    /// All that there are.
    pub count: u64,
    /// The processes of the workers that did not answer.
    pub silent: Vec<u64>,
    /// The oldest first.
    pub oldest: Vec<Request>,
}

/// One of them, or a task.
pub struct Request {
    pub pid: u64,
    pub what: String,
    pub age_ms: f64,
    /// Whether it computes, could run, or waits.
    pub state: String,
    /// For what it waits: the kind, and servers' addresses.
    pub waits_for: String,
    /// Where its code stands.
    pub place: String,
}

impl Requests {
    /// What an answer of the server says.
    pub fn of(answer: &Value) -> Requests {
        let list = |key: &str| answer[key].as_array().map_or(&[][..], Vec::as_slice);
        Requests {
            count: answer["count"].as_u64().unwrap_or(0),
            silent: list("silent").iter().filter_map(Value::as_u64).collect(),
            oldest: list("requests").iter().map(Request::of).collect(),
        }
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        let one = |request: &Request| {
            json!({ "pid": request.pid, "what": request.what, "age_ms": request.age_ms, "state": request.state,
                "waits_for": request.waits_for, "place": request.place })
        };
        json!({ "count": self.count, "silent": self.silent, "oldest": self.oldest.iter().map(one).collect::<Vec<_>>() })
    }
}

impl Request {
    fn of(row: &Value) -> Request {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let peers = row["peers"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let waits_for = row["kind"].as_str().into_iter().chain(peers).collect::<Vec<_>>().join(" ");
        Request {
            pid: row["pid"].as_u64().unwrap_or(0),
            what: text("what"),
            age_ms: row["age_ms"].as_f64().unwrap_or(0.0),
            state: text("state"),
            waits_for,
            place: text("place"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_lists_requests_and_workers_that_are_silent() {
        let answer = json!({ "count": 3, "silent": [9], "requests": [
            { "pid": 7, "what": "GET /a", "age_ms": 12.5, "state": "waits", "kind": "mysql", "peers": ["127.0.0.1:3306"], "place": "a.php:3" },
            { "pid": 8, "kind": null }] });
        let requests = Requests::of(&answer);
        assert_eq!((requests.count, &requests.silent[..], requests.oldest.len()), (3, &[9][..], 2));
        assert_eq!(requests.oldest[0].waits_for, "mysql 127.0.0.1:3306");
        assert_eq!((requests.oldest[1].waits_for.as_str(), requests.oldest[1].age_ms), ("", 0.0));
        assert_eq!(requests.json()["oldest"][0]["place"], "a.php:3");
    }
}
