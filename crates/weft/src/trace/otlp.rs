//! Spans as a collector reads them: OTLP in JSON (opentelemetry-proto, `trace/v1/trace.proto`; "JSON Protobuf Encoding" of the
//! OTLP specification: ids in hexadecimal, 64-bit numbers as text).
//!
//! Must not know what a span stands for, nor how it is sent. Invariant: what a client sent stands in values only, never in a name.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};
use weft_rt::{Nanos, clock};

/// The side of a conversation that a span is (`Span.SpanKind`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Neither.
    Internal = 1,
    /// It answers.
    Server = 2,
    /// It asks.
    Client = 3,
}

/// What an attribute says.
#[derive(Debug, Clone)]
pub enum Value<'a> {
    /// In words.
    Text(&'a str),
    /// As a whole number.
    Number(i64),
    /// As a yes or a no.
    Flag(bool),
}

/// One span.
#[derive(Debug, Clone)]
pub struct Span<'a> {
    /// Its trace.
    pub trace: u128,
    /// Its own id.
    pub id: u64,
    /// The span in which it lies.
    pub parent: Option<u64>,
    /// What it is called; few names, and none that a client can choose.
    pub name: &'a str,
    /// Its side.
    pub kind: Kind,
    /// When it began, on the clock of [`weft_rt::clock`].
    pub began: Nanos,
    /// When it ended.
    pub ended: Nanos,
    /// What else there is to say.
    pub attributes: Vec<(&'static str, Value<'a>)>,
    /// Whether what it stands for has failed by the server's fault.
    pub failed: bool,
}

/// A span has failed (`Status.StatusCode`).
const FAILED: u8 = 2;

impl Span<'_> {
    /// Appends it to a list of spans.
    pub fn write(&self, list: &mut String) {
        if !list.is_empty() {
            list.push(',');
        }
        let since = since_1970();
        let mut span = json!({
            "traceId": format!("{:032x}", self.trace),
            "spanId": format!("{:016x}", self.id),
            "name": self.name,
            "kind": self.kind as u8,
            "startTimeUnixNano": since(self.began).to_string(),
            "endTimeUnixNano": since(self.ended.max(self.began)).to_string(),
            "attributes": attributes(&self.attributes),
        });
        if let Some(parent) = self.parent {
            span["parentSpanId"] = format!("{parent:016x}").into();
        }
        if self.failed {
            span["status"] = json!({ "code": FAILED });
        }
        list.push_str(&span.to_string());
    }
}

/// The nanoseconds since 1970 of a monotonic time.
fn since_1970() -> impl Fn(Nanos) -> u128 {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let now = clock::now();
    move |at| wall.saturating_sub(u128::from(now.saturating_sub(at)))
}

fn attributes(all: &[(&'static str, Value<'_>)]) -> Json {
    let value = |value: &Value<'_>| match value {
        Value::Text(text) => json!({ "stringValue": text }),
        Value::Number(number) => json!({ "intValue": number.to_string() }),
        Value::Flag(flag) => json!({ "boolValue": flag }),
    };
    all.iter().map(|(name, said)| json!({ "key": name, "value": value(said) })).collect()
}

/// What comes before and after a list of spans in a message, by what is said of their server.
pub fn envelope(of_server: &[(&'static str, Value<'_>)]) -> (String, &'static str) {
    let scope = json!({ "name": "weft", "version": env!("CARGO_PKG_VERSION") });
    let resource = json!({ "attributes": attributes(of_server) });
    (
        format!(r#"{{"resourceSpans":[{{"resource":{resource},"scopeSpans":[{{"scope":{scope},"spans":["#),
        "]}]}]}",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_json_as_the_specification_has_it() {
        let now = clock::now();
        let span = Span {
            trace: 0xabc,
            id: 0xde,
            parent: Some(0xf),
            name: "GET",
            kind: Kind::Server,
            began: now - 1_000,
            ended: now,
            attributes: vec![
                ("url.path", Value::Text("/a\"b\u{7}")),
                ("http.response.status_code", Value::Number(503)),
                ("weft.aborted", Value::Flag(true)),
            ],
            failed: true,
        };
        let mut list = String::new();
        span.write(&mut list);
        Span { parent: None, failed: false, ended: 0, ..span }.write(&mut list);
        let (before, after) = envelope(&[("service.name", Value::Text("shop"))]);
        let message: Json = serde_json::from_str(&format!("{before}{list}{after}")).unwrap();
        let of_server = &message["resourceSpans"][0];
        assert_eq!(of_server["resource"]["attributes"][0]["value"]["stringValue"], "shop");
        let spans = &of_server["scopeSpans"][0]["spans"];
        let first = &spans[0];
        assert_eq!(first["traceId"], "00000000000000000000000000000abc");
        assert_eq!(
            (&first["spanId"], &first["parentSpanId"]),
            (&"00000000000000de".into(), &"000000000000000f".into())
        );
        assert_eq!((first["kind"].as_u64(), first["status"]["code"].as_u64()), (Some(2), Some(2)));
        assert_eq!(first["attributes"][0]["value"]["stringValue"], "/a\"b\u{7}");
        assert_eq!(first["attributes"][1]["value"]["intValue"], "503");
        assert_eq!(first["attributes"][2]["value"]["boolValue"], true);
        let nanos = |span: &Json, name: &str| span[name].as_str().unwrap().parse::<u128>().unwrap();
        assert_eq!(nanos(first, "endTimeUnixNano") - nanos(first, "startTimeUnixNano"), 1_000);
        assert!(spans[1].get("parentSpanId").is_none() && spans[1].get("status").is_none());
        assert_eq!(spans[1]["endTimeUnixNano"], spans[1]["startTimeUnixNano"], "none ends before it begins");
    }
}
