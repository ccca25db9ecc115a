//! The figures of routes: gathered, and as samples for Prometheus.
//!
//! Must not know how a request finds its route. Invariant: a route that has answered nothing, and a kind of wait that took no
//! time, is left out, so that what is reported is bounded by what happened.

use std::fmt::Write;

use serde_json::{Map, Value, json};
use weft_serve::{Durations, Tally};

use crate::board::{Board, Counted};
use crate::routes::ROUTES;
use crate::wait_names::NAMES;

/// One route, in all workers together.
pub struct Route {
    pub name: String,
    pub answers: [u64; 5],
    pub durations: [u64; Durations::BOUNDS.len() + 1],
    pub duration_sum: u64,
    pub ran: u64,
    pub waited: [u64; NAMES.len()],
}

impl Route {
    fn add(&mut self, counted: &Tally) {
        let add = |sums: &mut [u64], counters: &[weft_rt::counter::Counter]| {
            sums.iter_mut().zip(counters).for_each(|(sum, counter)| *sum += counter.get());
        };
        let durations = &counted.answers.durations;
        add(&mut self.answers, &counted.answers.by_class);
        add(&mut self.durations, &durations.counts);
        self.duration_sum += durations.sum.get();
        self.ran += counted.account.ran.get();
        for (sum, (kind, _)) in self.waited.iter_mut().zip(NAMES) {
            *sum += counted.account.waited[kind.place()].get();
        }
    }

    /// Requests that were answered.
    pub fn requests(&self) -> u64 {
        self.durations.iter().sum()
    }

    /// The kinds of waits that took time, and how much, in nanoseconds.
    pub fn waits(&self) -> impl Iterator<Item = (&'static str, u64)> {
        NAMES.iter().zip(self.waited).filter(|(_, nanos)| *nanos > 0).map(|((_, name), nanos)| (*name, nanos))
    }

    /// As an object.
    pub fn json(&self) -> Value {
        let classes = self.answers.iter().enumerate().filter(|(_, count)| **count > 0);
        let answers: Map<String, Value> =
            classes.map(|(class, count)| (format!("{}xx", class + 1), json!(count))).collect();
        let waits: Map<String, Value> =
            self.waits().map(|(name, nanos)| (name.into(), json!(nanos as f64 / 1e6))).collect();
        let bounds = Durations::BOUNDS.iter().map(|bound| json!(*bound as f64 / 1e6)).chain([Value::Null]);
        let durations: Vec<Value> = bounds
            .zip(self.durations)
            .filter(|(_, count)| *count > 0)
            .map(|(to, count)| json!({ "to_ms": to, "count": count }))
            .collect();
        json!({
            "route": self.name,
            "requests": self.requests(),
            "answers": answers,
            "duration_sum_ms": self.duration_sum as f64 / 1e6,
            "durations": durations,
            "run_ms": self.ran as f64 / 1e6,
            "wait_ms": waits,
        })
    }
}

/// Those that have answered something, the one without a name of its own first.
pub fn gather(board: &Board) -> Vec<Route> {
    let names = (0..ROUTES).filter_map(|number| Some((number, board.routes.get(number)?)));
    let named: Vec<(usize, String)> = names.collect();
    let mut routes = board.sum(|all| {
        let counted: Vec<&Counted> = all.collect();
        let sum = |(number, name): &(usize, String)| {
            let (answers, durations, waited) = Default::default();
            let mut route = Route { name: name.clone(), answers, durations, duration_sum: 0, ran: 0, waited };
            counted.iter().for_each(|counted| route.add(&counted.routes.0[*number]));
            route
        };
        named.iter().map(sum).collect::<Vec<_>>()
    });
    routes.retain(|route| route.requests() > 0);
    routes
}

/// A family of samples: its name, its type, its line of help.
pub type Family = (&'static str, &'static str, &'static str);

/// Every family, each followed by its samples; `begin` writes what precedes those.
pub fn samples(routes: &[Route], text: &mut String, mut begin: impl FnMut(&mut String, Family)) {
    // A String takes everything.
    begin(text, ("weft_route_answers", "counter", "Answers by route and class of status."));
    for route in routes {
        for (class, count) in route.answers.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (name, class) = (&route.name, class + 1);
            let _ =
                writeln!(text, "weft_route_answers_total{{route=\"{name}\",class=\"{class}xx\"}} {count}");
        }
    }
    begin(
        text,
        (
            "weft_route_request_duration_seconds",
            "histogram",
            "From the first byte of a request to the moment at which its answer is sent, by route.",
        ),
    );
    routes.iter().for_each(|route| histogram(route, text));
    begin(
        text,
        ("weft_route_run_seconds", "counter", "Time for which requests of a route had their worker's loop."),
    );
    for Route { name, ran, .. } in routes {
        let _ = writeln!(text, "weft_route_run_seconds_total{{route=\"{name}\"}} {}", *ran as f64 / 1e9);
    }
    begin(text, ("weft_route_wait_seconds", "counter", "Time for which they waited, by what for."));
    for route in routes {
        for (kind, nanos) in route.waits() {
            let (name, seconds) = (&route.name, nanos as f64 / 1e9);
            let _ =
                writeln!(text, "weft_route_wait_seconds_total{{route=\"{name}\",kind=\"{kind}\"}} {seconds}");
        }
    }
}

fn histogram(route: &Route, text: &mut String) {
    const FAMILY: &str = "weft_route_request_duration_seconds";
    let (name, mut below) = (&route.name, 0);
    let bounds = Durations::BOUNDS.iter().map(|bound| (*bound as f64 / 1e9).to_string());
    for (bound, count) in bounds.chain(["+Inf".into()]).zip(route.durations) {
        below += count;
        let _ = writeln!(text, "{FAMILY}_bucket{{route=\"{name}\",le=\"{bound}\"}} {below}");
    }
    let _ = writeln!(text, "{FAMILY}_sum{{route=\"{name}\"}} {}", route.duration_sum as f64 / 1e9);
    let _ = writeln!(text, "{FAMILY}_count{{route=\"{name}\"}} {below}");
}
