//! What PHP's client has found out of a server.
//!
//! Must not know what it means. Invariant: what a server does not say is `None`, and no finding.

use std::collections::HashMap;

use serde_json::Value;

/// The outcome of asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Settings and counters, by the server's names for them.
    Values(Values),
    /// PHP has no client for it: the name of the extension.
    NoClient(String),
    /// Why there is no answer.
    Failed(String),
}

impl Answer {
    /// From what the script has printed: an object with `values`, `extension` or `error`.
    pub fn parse(text: &str) -> Answer {
        // Whatever else PHP says comes before it.
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let Ok(Value::Object(answer)) = serde_json::from_str(last) else {
            return Answer::Failed("PHP ended without an answer".to_owned());
        };
        if let Some(extension) = answer.get("extension").and_then(Value::as_str) {
            return Answer::NoClient(extension.to_owned());
        }
        match answer.get("values") {
            Some(Value::Object(values)) => Answer::Values(Values(
                values.iter().map(|(name, value)| (name.clone(), text_of(value))).collect(),
            )),
            _ => {
                let error =
                    answer.get("error").and_then(Value::as_str).unwrap_or("the client gave no reason");
                // A line of a report.
                Answer::Failed(error.split_whitespace().collect::<Vec<_>>().join(" "))
            }
        }
    }

    /// The same without a word that nobody is to read.
    pub fn without(self, secret: &str) -> Answer {
        match self {
            Answer::Failed(why) if !secret.is_empty() => Answer::Failed(why.replace(secret, "…")),
            other => other,
        }
    }
}

/// A server's settings and counters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Values(HashMap<String, String>);

impl Values {
    #[cfg(test)]
    pub fn of(values: &[(&str, &str)]) -> Values {
        Values(values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    /// As text; `None` also for an empty one.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// As a number of zero or more; -1, which means none, is `None`.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "1".to_owned(),
        Value::Bool(false) | Value::Null => String::new(),
        other => other.to_string(),
    }
}
