//! Traces: each request as a span, with its waits as spans within it, for a collector of OpenTelemetry.
//!
//! Must not know PHP. Invariants: what is not recorded costs a look at one field; nothing waits for the collector, and what it
//! does not take in time is dropped and counted.
//!
//! # Layout, in reading order
//! - `spans`: the place of a request in a trace; `otlp`: spans as the collector reads them; `collector`: what it is told and answers;
//!   `exporter`: the thread that sends them; `exemplars`: traces to which histograms lead.

mod collector;
mod exemplars;
mod exporter;
mod otlp;
mod spans;

pub use exemplars::{Exemplar, Exemplars};
pub use exporter::{Counts, Exporter};
pub use otlp::{Kind, Span, Value};
pub use spans::{Place, Spans};
