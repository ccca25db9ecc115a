//! What the collector is told, and what its answer means (OTLP specification, "OTLP/HTTP Response").
//!
//! Must not know how spans are kept until then. Invariant: a request has a deadline, and its answer a limit.

use std::time::Duration;

use serde_json::Value as Json;
use ureq::Agent;

use super::otlp::{Value, envelope};
use crate::authorities;
use crate::config::Trace;

/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// No answer that says something is longer.
const ANSWER_BYTES_MAX: u64 = 64 << 10;
/// The statuses after which a client may try again.
const PASSING: [u16; 4] = [429, 502, 503, 504];

/// How it went.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// The collector has them, except for this number, for this reason.
    Taken(u64, String),
    /// It may take them later; why not now.
    Later(String),
    /// It will never take them; why.
    Refused(String),
}

/// The collector.
pub struct Collector {
    agent: Agent,
    trace: Trace,
    url: String,
    before: String,
    after: &'static str,
}

impl Collector {
    /// That of the settings, for the worker in this slot; `None` if there is none.
    ///
    /// # Errors
    /// One line: no authority is trusted.
    pub fn new(trace: &Trace, slot: usize) -> Result<Option<Collector>, String> {
        let Some(url) = trace.url.as_ref().map(|url| url.0.clone()) else { return Ok(None) };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(TIMEOUT))
            .user_agent(concat!("weft/", env!("CARGO_PKG_VERSION")));
        let secure = url.starts_with("https://");
        let config = if secure { config.tls_config(authorities::believed(None, None)?) } else { config };
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let (before, after) = envelope(&[
            ("service.name", Value::Text(&trace.service)),
            ("service.instance.id", Value::Text(&format!("{host}-{slot}"))),
            ("host.name", Value::Text(&host)),
            ("process.pid", Value::Number(i64::from(std::process::id()))),
        ]);
        Ok(Some(Collector { agent: config.build().new_agent(), trace: trace.clone(), url, before, after }))
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Tells it a list of spans.
    pub fn tell(&self, spans: &str) -> Answer {
        let message = format!("{}{spans}{}", self.before, self.after);
        let request = self.agent.post(&self.url).header("content-type", "application/json");
        let request = self
            .trace
            .headers
            .iter()
            .fold(request, |request, header| request.header(header.name.clone(), header.value.clone()));
        match request.send(message.as_bytes()) {
            Ok(answer) => {
                let status = answer.status().as_u16();
                let body = answer.into_body().into_with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
                meaning(status, &body.unwrap_or_default())
            }
            Err(error) => Answer::Later(error.to_string()),
        }
    }
}

fn meaning(status: u16, body: &[u8]) -> Answer {
    let said: Json = serde_json::from_slice(body).unwrap_or_default();
    match status {
        200..=299 => {
            let partial = &said["partialSuccess"];
            // A 64-bit number, which is text in this encoding; some write it as a number.
            let rejected = &partial["rejectedSpans"];
            let rejected = rejected.as_u64().or_else(|| rejected.as_str()?.parse().ok()).unwrap_or(0);
            Answer::Taken(rejected, partial["errorMessage"].as_str().unwrap_or_default().to_owned())
        }
        status if PASSING.contains(&status) => Answer::Later(format!("it answers {status}")),
        status => {
            let why = said["message"].as_str().map(|why| format!(": {why}")).unwrap_or_default();
            Answer::Refused(format!("it answers {status}{why}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_means_what_the_specification_says() {
        let taken = |spans, why: &str| Answer::Taken(spans, why.to_owned());
        assert_eq!(meaning(200, b""), taken(0, ""));
        assert_eq!(meaning(200, br#"{"partialSuccess":{}}"#), taken(0, ""));
        let partial = br#"{"partialSuccess":{"rejectedSpans":"7","errorMessage":"too old"}}"#;
        assert_eq!(meaning(202, partial), taken(7, "too old"));
        assert_eq!(meaning(200, br#"{"partialSuccess":{"rejectedSpans":3}}"#), taken(3, ""));
        assert_eq!(meaning(503, b"<html>"), Answer::Later("it answers 503".into()));
        assert_eq!(meaning(429, b""), Answer::Later("it answers 429".into()));
        let refused = Answer::Refused("it answers 400: no such field".into());
        assert_eq!(meaning(400, br#"{"code":3,"message":"no such field"}"#), refused);
        assert_eq!(meaning(404, b""), Answer::Refused("it answers 404".into()));
    }
}
