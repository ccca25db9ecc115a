//! What workers are like inside, as JSON.
//!
//! Must not know how it is gathered. Invariant: a state in which nothing is is left out.

use serde_json::{Map, Value, json};
use weft_rt::lag::Lag;
use weft_serve::ConnectionState;

use super::insides::{Blocked, Insides};
use super::insides_totals as totals;
use super::snapshot::{Snapshot, Worker};

/// How many are in each state.
pub fn states(states: &[(&str, usize)]) -> Value {
    let any = states.iter().filter(|(_, count)| *count > 0);
    any.map(|(name, count)| ((*name).into(), json!(count))).collect::<Map<_, _>>().into()
}

/// The coroutines of all workers.
pub fn coroutines(seen: &Snapshot) -> Value {
    let live = seen.total(|worker| worker.coroutines);
    let total = |of: fn(&Insides) -> usize| seen.total(|worker| of(&worker.insides));
    json!({
        "live": live,
        "parked": total(|one| one.parked),
        "idle": total(|one| one.idle),
        "live_stack_bytes": total(|one| one.live_stacks),
        "idle_stack_bytes": total(|one| one.idle_stacks),
    })
}

/// The instances of all workers; null where there are none.
pub fn instances(seen: &Snapshot) -> Value {
    let [busy, idle] = totals::instances(seen);
    let total = |of: fn(&Insides) -> usize| seen.total(|worker| of(&worker.insides));
    let all = json!({
        "busy": busy,
        "idle": idle,
        "busy_bytes": total(|one| one.live_heaps),
        "idle_bytes": total(|one| one.idle_heaps),
    });
    if seen.has_instances { all } else { Value::Null }
}

/// Where calls have blocked, the most frequent first.
pub fn blocked(seen: &Snapshot) -> Value {
    let mut all: Vec<&Blocked> = seen.blocked.iter().collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.count));
    let one = |one: &Blocked| json!({ "function": one.function, "file": one.file, "line": one.line, "count": one.count });
    all.into_iter().map(one).collect()
}

/// What one worker adds to its own object.
pub fn of_worker(worker: &Worker, has_instances: bool) -> Map<String, Value> {
    let own = &worker.insides;
    let bounds = Lag::BOUNDS.iter().map(|bound| json!(*bound as f64 / 1e6)).chain([Value::Null]);
    let durations: Vec<Value> =
        bounds.zip(own.lag).map(|(to, count)| json!({ "to_ms": to, "count": count })).collect();
    let named = |(state, name)| (name, own.connections[state as usize]);
    let said = [
        ("loop_lag", json!({ "sum_ms": own.lag_sum as f64 / 1e6, "durations": durations })),
        ("connections_by_state", states(&ConnectionState::ALL.map(named))),
        ("parked", json!(own.parked)),
        ("idle_coroutines", json!(own.idle)),
        ("stack_bytes", json!(own.live_stacks + own.idle_stacks)),
        ("instance_bytes", if has_instances { json!(own.live_heaps + own.idle_heaps) } else { Value::Null }),
    ];
    said.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
