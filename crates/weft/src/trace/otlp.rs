//! Spans as a collector reads them: OTLP in JSON (opentelemetry-proto, `trace/v1/trace.proto`; "JSON Protobuf Encoding" of the
//! OTLP specification: ids in hexadecimal, 64-bit numbers as text).
//!
//! Must not know what a span stands for, nor how it is sent. Invariant: what a client sent stands in values only, never in a name.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::json;
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
        // Nothing of it can fail: it has no maps whose keys are no texts.
        list.push_str(&serde_json::to_string(self).unwrap_or_default());
    }
}

/// Written as it goes, without a tree of values: a busy server writes tens of thousands a second.
impl Serialize for Span<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let since = since_1970();
        let mut span = serializer.serialize_map(None)?;
        span.serialize_entry("traceId", &Shown(format_args!("{:032x}", self.trace)))?;
        span.serialize_entry("spanId", &Shown(format_args!("{:016x}", self.id)))?;
        if let Some(parent) = self.parent {
            span.serialize_entry("parentSpanId", &Shown(format_args!("{parent:016x}")))?;
        }
        span.serialize_entry("name", self.name)?;
        span.serialize_entry("kind", &(self.kind as u8))?;
        let (began, ended) = (since(self.began), since(self.ended.max(self.began)));
        span.serialize_entry("startTimeUnixNano", &Shown(format_args!("{began}")))?;
        span.serialize_entry("endTimeUnixNano", &Shown(format_args!("{ended}")))?;
        span.serialize_entry("attributes", &Attributes(&self.attributes))?;
        if self.failed {
            span.serialize_entry("status", &One("code", FAILED))?;
        }
        span.end()
    }
}

/// As a text.
struct Shown<'a>(fmt::Arguments<'a>);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// An object with one member.
struct One<T>(&'static str, T);

impl<T: Serialize> Serialize for One<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(1))?;
        object.serialize_entry(self.0, &self.1)?;
        object.end()
    }
}

/// Attributes, in their order.
struct Attributes<'a>(&'a [(&'static str, Value<'a>)]);

impl Serialize for Attributes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(name, value)| Attribute(name, value)))
    }
}

/// One attribute (`KeyValue`).
struct Attribute<'a>(&'static str, &'a Value<'a>);

impl Serialize for Attribute<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut attribute = serializer.serialize_map(Some(2))?;
        attribute.serialize_entry("key", self.0)?;
        match self.1 {
            Value::Text(text) => attribute.serialize_entry("value", &One("stringValue", text))?,
            Value::Number(number) => {
                attribute.serialize_entry("value", &One("intValue", Shown(format_args!("{number}"))))?;
            }
            Value::Flag(flag) => attribute.serialize_entry("value", &One("boolValue", flag))?,
        }
        attribute.end()
    }
}

/// The nanoseconds since 1970 of a monotonic time.
fn since_1970() -> impl Fn(Nanos) -> u128 {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let now = clock::now();
    move |at| wall.saturating_sub(u128::from(now.saturating_sub(at)))
}

/// What comes before and after a list of spans in a message, by what is said of their server.
pub fn envelope(of_server: &[(&'static str, Value<'_>)]) -> (String, &'static str) {
    let scope = json!({ "name": "weft", "version": env!("CARGO_PKG_VERSION") });
    let resource = json!(One("attributes", Attributes(of_server)));
    (
        format!(r#"{{"resourceSpans":[{{"resource":{resource},"scopeSpans":[{{"scope":{scope},"spans":["#),
        "]}]}]}",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value as Json;

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
