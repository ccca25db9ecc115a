//! `[trace]` as a type, with its defaults: where the spans of requests go, and of which requests.
//!
//! Must not know who sends them. Invariants: a default stands here only; what a header holds is not shown, because it may prove who
//! sends it.

use std::fmt;
use std::str::FromStr;

use http::{HeaderName, HeaderValue, Uri};

/// What is recorded of requests for a collector of traces.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Where spans go; `None`: nothing is recorded.
    pub url: Option<Collector>,
    /// Of the traces that begin here, those that are recorded: 0 is none, 1 is all.
    pub ratio: f64,
    /// What the server is called there.
    pub service: String,
    /// Further fields of what is sent.
    pub headers: Vec<Header>,
}

impl Default for Trace {
    fn default() -> Self {
        Trace { url: None, ratio: 1.0, service: "weft".into(), headers: Vec::new() }
    }
}

/// The URL of a collector that takes OTLP over HTTP.
#[derive(Debug, Clone, PartialEq)]
pub struct Collector(pub String);

/// Where a collector takes spans, unless its URL says otherwise (OTLP 1.9, "OTLP/HTTP Request").
const PATH: &str = "/v1/traces";

impl FromStr for Collector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("expected http://HOST:4318 or https://HOST{PATH}, got \"{text}\"");
        if text.split('/').nth(2).is_some_and(|authority| authority.contains('@')) {
            return Err("has a user: set trace.headers to what its Authorization should be".into());
        }
        let url: Uri = text.parse().map_err(|_| expected())?;
        let is_http = matches!(url.scheme_str(), Some("http" | "https"));
        if !is_http || url.host().is_none_or(str::is_empty) {
            return Err(expected());
        }
        let has_path = url.path() != "/" || url.query().is_some();
        Ok(Collector(if has_path {
            text.to_owned()
        } else {
            format!("{}{PATH}", text.trim_end_matches('/'))
        }))
    }
}

/// A field that each message to the collector has.
#[derive(Clone, PartialEq)]
pub struct Header {
    /// Its name.
    pub name: HeaderName,
    /// Its value.
    pub value: HeaderValue,
}

impl FromStr for Header {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected NAME: VALUE, as Authorization: Bearer abc".to_owned();
        let (name, value) = text.split_once(':').ok_or_else(expected)?;
        let (name, value) = (name.trim().parse(), value.trim().parse());
        Ok(Header { name: name.map_err(|_| expected())?, value: value.map_err(|_| expected())? })
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: …", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_without_a_path_gets_the_usual_one() {
        for (text, url) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://[::1]:4318/", "http://[::1]:4318/v1/traces"),
            ("https://otlp.example/api/traces", "https://otlp.example/api/traces"),
            ("https://otlp.example/?tenant=7", "https://otlp.example/?tenant=7"),
        ] {
            assert_eq!(text.parse(), Ok(Collector(url.to_owned())), "{text}");
        }
        for wrong in [
            "127.0.0.1:4318",
            "grpc://a:4317",
            "http://",
            "/v1/traces",
            "https://a b/",
            "http://me:secret@a/",
        ] {
            let why = wrong.parse::<Collector>().unwrap_err();
            assert!(!why.contains("secret"), "{why}");
        }
    }

    #[test]
    fn a_header_is_read_and_not_shown() {
        let header: Header = "authorization:  Bearer secret".parse().unwrap();
        assert_eq!((header.name.as_str(), header.value.as_bytes()), ("authorization", &b"Bearer secret"[..]));
        assert!(!format!("{header:?}").contains("secret"));
        for wrong in ["secret", "a b: c", ": c", "a: \u{7}"] {
            assert!(!wrong.parse::<Header>().unwrap_err().contains("secret"), "{wrong}");
        }
    }
}
