//! The numbers as JSON, for scripts.
//!
//! Must not know where they come from. Invariant: keys are only ever added.

use serde_json::{Map, Value, json};
use weft_serve::Durations;

use super::routes::Route;
use super::snapshot::{Snapshot, Worker};
use super::{insides_json, insides_totals};
use crate::wait_names::NAMES;

/// One object, and a line end.
pub fn render(seen: &Snapshot) -> String {
    let sums = &seen.sums;
    let answers: Map<String, Value> =
        sums.answers.iter().enumerate().map(|(i, count)| (format!("{}xx", i + 1), (*count).into())).collect();
    let bounds = Durations::BOUNDS.iter().map(|bound| json!(*bound as f64 / 1e6)).chain([Value::Null]);
    let durations: Vec<Value> =
        bounds.zip(sums.durations).map(|(to, count)| json!({ "to_ms": to, "count": count })).collect();
    let waits: Map<String, Value> = NAMES
        .iter()
        .zip(&sums.waits_of)
        .map(|((_, name), waits)| {
            let all =
                json!({ "ended": waits.ended, "sum_ms": waits.nanos as f64 / 1e6, "lasting": waits.lasting });
            ((*name).into(), all)
        })
        .collect();
    let status = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "mode": seen.mode,
        "master": seen.master,
        "ready": seen.is_ready,
        "since": seen.since,
        "uptime_s": seen.now.saturating_sub(seen.since),
        "generation": seen.generation,
        "failed_reloads": seen.failed_reloads,
        "worker_deaths": seen.deaths,
        "workers_wanted": seen.wanted,
        "connections": {
            "open": seen.total(|worker| worker.connections),
            "busy": seen.total(|worker| worker.busy_connections),
            "accepted": sums.accepted,
            "evicted": sums.evicted,
            "timed_out": sums.timed_out,
            "http2_floods": sums.http2_floods,
            "websockets": seen.total(|worker| worker.websockets),
            "by_state": insides_json::states(&insides_totals::connections(seen)),
            "http2_streams_by_state": insides_json::states(&insides_totals::streams(seen)),
        },
        "websocket_messages": {
            "received": sums.messages_received,
            "dropped": sums.messages_dropped,
        },
        "topic_messages": { "delivered": sums.messages_delivered },
        "datagrams": {
            "received": sums.datagrams_received,
            "sent": sums.datagrams_sent,
            "dropped": sums.datagrams_dropped,
            "overflowed": sums.datagrams_overflowed,
        },
        "trace_spans": { "sent": sums.spans_sent, "dropped": sums.spans_dropped },
        "requests": {
            "begun": sums.requests,
            "in_flight": seen.total(|worker| worker.in_flight),
            "queued": seen.total(|worker| worker.queued),
            "max": seen.total(|worker| worker.room),
            "refused": sums.refused,
            "turned_away": sums.turned_away,
            "answers": answers,
            "duration_sum_ms": sums.duration_sum as f64 / 1e6,
            "durations": durations,
        },
        "waits": sums.waits,
        "waits_by_kind": waits,
        "blocking_calls": sums.blocked,
        "blocking_calls_at": insides_json::blocked(seen),
        "coroutines": insides_json::coroutines(seen),
        "instances": insides_json::instances(seen),
        "loop_turns": sums.turns,
        "run_ms": sums.ran as f64 / 1e6,
        "routes": seen.routes.iter().map(Route::json).collect::<Vec<_>>(),
        "workers": seen.workers.iter().map(|one| worker(one, seen.has_instances)).collect::<Vec<_>>(),
    });
    format!("{status:#}\n")
}

fn worker(worker: &Worker, has_instances: bool) -> Value {
    let waiting = NAMES.iter().zip(worker.waiting).filter(|(_, count)| *count > 0);
    let waiting: Map<String, Value> =
        waiting.map(|((_, name), count)| ((*name).into(), json!(count))).collect();
    let mut said = json!({
        "worker": worker.slot,
        "pid": worker.pid,
        "generation": worker.generation,
        "stage": worker.stage,
        "held": worker.is_held,
        "since": worker.since,
        "requests": worker.requests,
        "in_flight": worker.in_flight,
        "queued": worker.queued,
        "connections": worker.connections,
        "coroutines": worker.coroutines,
        "tasks": worker.tasks,
        "turned_away": worker.turned_away,
        "waiting": waiting,
        "run_ms": worker.ran as f64 / 1e6,
        "cpu_user_s": worker.process.user_s,
        "cpu_system_s": worker.process.system_s,
        "run_queue_s": worker.process.run_queue_s,
        "switches": worker.process.switches,
        "preemptions": worker.process.preemptions,
        "memory_bytes": worker.process.memory_bytes,
    });
    if let Value::Object(said) = &mut said {
        said.extend(insides_json::of_worker(worker, has_instances));
    }
    said
}
