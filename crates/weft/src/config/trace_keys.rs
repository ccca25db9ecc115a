//! The rows of `[trace]` in the table of every setting: see [`super::keys`].
//!
//! Must not know: where a value came from. Invariant: this section has no row elsewhere.

use super::key::{Arity, Key, key};

/// The rows of `[trace]`.
pub const TRACE: &[Key] = &[
    key!(
        trace.url,
        "trace-url",
        One,
        "URL",
        "http://, https://",
        "none",
        |v| Some(v.text()?.parse()?),
        "The collector of OpenTelemetry to which spans of requests and of their waits go, by OTLP over HTTP in JSON, as http://127.0.0.1:4318; without a path it is /v1/traces"
    ),
    key!(
        trace.ratio,
        "trace-ratio",
        One,
        "RATIO",
        "0 to 1",
        "1",
        |v| v.ratio()?,
        "Of the traces that begin at this server, those that are recorded; of others, those of which their traceparent says so"
    ),
    key!(
        trace.service,
        "trace-service",
        One,
        "NAME",
        "text",
        "weft",
        |v| v.text()?,
        "What this server is called in traces: service.name"
    ),
    key!(
        trace.headers,
        "trace-headers",
        Many,
        "FIELD",
        "fields in the form NAME: VALUE",
        "none",
        |v| v.each(|field| field.text()?.parse())?,
        "Field of each message to the collector, as Authorization: Bearer TOKEN; may be repeated; other users of the machine can see a flag, so better the file"
    ),
];
