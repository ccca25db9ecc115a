//! The fields of php-fpm's status page, in its formats, so that monitors of php-fpm go on working.
//!
//! Names and order are those of `fpm_status_handle_request` (sapi/fpm/fpm/fpm_status.c). Must not know where the numbers
//! come from. Invariant: a field that weft has no number for is 0, as php-fpm's own is where the kernel tells nothing.

use serde_json::{Map, Value, json};

use super::snapshot::{Snapshot, Worker};

/// What the query asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    kind: Kind,
    is_full: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Json,
    Xml,
}

impl Format {
    /// By the words of the query; php-fpm prefers JSON to XML.
    pub fn of(query: &[u8]) -> Format {
        let asks = |word: &[u8]| query.split(|byte| *byte == b'&').any(|part| part == word);
        let kind = match () {
            () if asks(b"json") => Kind::Json,
            () if asks(b"xml") => Kind::Xml,
            () => Kind::Text,
        };
        Format { kind, is_full: asks(b"full") }
    }

    /// Its media type.
    pub fn media_type(self) -> &'static str {
        match self.kind {
            Kind::Text => "text/plain",
            Kind::Json => "application/json",
            Kind::Xml => "text/xml",
        }
    }
}

type Fields = Vec<(&'static str, Value)>;

/// The page.
pub fn render(seen: &Snapshot, format: Format) -> String {
    let pool = pool(seen);
    let workers =
        if format.is_full { seen.workers.iter().map(|w| process(seen, w)).collect() } else { Vec::new() };
    match format.kind {
        Kind::Text => text(&pool, &workers),
        Kind::Json => json(pool, workers, format.is_full),
        Kind::Xml => xml(&pool, &workers, format.is_full),
    }
}

/// A process of php-fpm serves one request at a time; so does a place for a request here.
fn pool(seen: &Snapshot) -> Fields {
    let (total, active) = (seen.total(|w| w.room), seen.total(|w| w.in_flight));
    let mut fields = vec![
        ("pool", json!("weft")),
        ("process manager", json!("dynamic")),
        ("start time", json!(seen.since)),
        ("start since", json!(seen.now.saturating_sub(seen.since))),
        ("accepted conn", json!(seen.sums.requests)),
        ("listen queue", json!(seen.total(|w| w.queued))),
        ("max listen queue", json!(0)),
        ("listen queue len", json!(seen.queue_max)),
        ("idle processes", json!(total.saturating_sub(active))),
        ("active processes", json!(active)),
        ("total processes", json!(total)),
        ("max active processes", json!(0)),
        ("max children reached", json!(seen.sums.turned_away)),
        ("slow requests", json!(0)),
    ];
    if weft_zend::loaded::php().series() >= "8.4" {
        let peak = seen.workers.iter().map(|worker| worker.process.memory_peak_bytes).max();
        fields.push(("memory peak", json!(peak.unwrap_or(0))));
    }
    fields
}

fn process(seen: &Snapshot, worker: &Worker) -> Fields {
    let age = seen.now.saturating_sub(worker.since);
    let used = worker.process.user_s + worker.process.system_s;
    vec![
        ("pid", json!(worker.pid)),
        ("state", json!(if worker.in_flight > 0 { "Running" } else { "Idle" })),
        ("start time", json!(worker.since)),
        ("start since", json!(age)),
        ("requests", json!(worker.requests)),
        ("request duration", json!(0)),
        ("request method", json!("-")),
        ("request uri", json!("-")),
        ("content length", json!(0)),
        ("user", json!("-")),
        ("script", json!("-")),
        ("last request cpu", json!(if age == 0 { 0.0 } else { used * 100.0 / age as f64 })),
        ("last request memory", json!(worker.process.memory_bytes)),
    ]
}

/// What `fpm_get_status()` returns, as JSON: names and order are those of `fpm_status_export_to_zval` in the same file.
pub fn for_php(seen: &Snapshot) -> String {
    let object = |fields: Fields, more: &str| {
        let named = |(name, value): (&str, Value)| match name {
            "request uri" => format!("\"request-uri\":{value},\"query-string\":\"\""),
            "content length" => format!("\"request-length\":{value}"),
            _ => format!("\"{}\":{value}", name.replace(' ', "-")),
        };
        let fields: Vec<_> = fields.into_iter().map(named).collect();
        format!("{{{}{more}}}", fields.join(","))
    };
    let processes: Vec<_> = seen.workers.iter().map(|worker| object(process(seen, worker), "")).collect();
    object(pool(seen), &format!(",\"procs\":[{}]", processes.join(",")))
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn text(pool: &Fields, workers: &[Fields]) -> String {
    let lines = |fields: &Fields, width: usize| -> String {
        fields
            .iter()
            .map(|(name, value)| format!("{:<width$}{}\n", format!("{name}:"), shown(value)))
            .collect()
    };
    let each = workers.iter().map(|fields| format!("\n************************\n{}", lines(fields, 22)));
    std::iter::once(lines(pool, 22)).chain(each).collect()
}

fn json(pool: Fields, workers: Vec<Fields>, is_full: bool) -> String {
    let object = |fields: Fields| -> Map<String, Value> {
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    };
    let mut all = object(pool);
    if is_full {
        all.insert("processes".into(), workers.into_iter().map(object).collect());
    }
    Value::Object(all).to_string()
}

fn xml(pool: &Fields, workers: &[Fields], is_full: bool) -> String {
    let elements = |fields: &Fields| -> String {
        fields
            .iter()
            .map(|(name, value)| format!("<{0}>{1}</{0}>\n", name.replace(' ', "-"), shown(value)))
            .collect()
    };
    let each: String =
        workers.iter().map(|fields| format!("<process>\n{}</process>\n", elements(fields))).collect();
    let full = if is_full { format!("<processes>\n{each}</processes>\n") } else { String::new() };
    format!("<?xml version=\"1.0\" ?>\n<status>\n{}{full}</status>\n", elements(pool))
}
