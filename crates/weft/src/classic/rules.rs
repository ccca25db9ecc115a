//! The rules of `[[rule]]`, and what they say about a path alone.
//!
//! Must not know how a path finds its file. Invariant: rules are asked in their order, and of each kind of action the first
//! that fits counts.

use weft_serve::Fields;

use super::password::Passwords;
use super::path::Wanted;
use crate::config::{Action, Config, Rule};

/// What of a request matters to rules.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Its method.
    pub method: &'a [u8],
    /// Its query.
    pub query: Option<&'a [u8]>,
    /// Its name and password.
    pub credentials: Credentials<'a>,
}

/// A name and a password.
#[derive(Debug, Clone, Copy)]
pub enum Credentials<'a> {
    /// The Authorization field as it was sent.
    Sent(Option<&'a [u8]>),
    /// Right for every rule: for a description.
    Assumed,
}

/// The rules of a document root.
#[derive(Debug)]
pub struct Rules {
    pub(super) list: Vec<Rule>,
    /// For each rule, the fields that it adds.
    pub(super) fields: Vec<Option<Fields>>,
    pub(super) passwords: Passwords,
    body_bytes_max: u64,
}

impl Rules {
    /// Those of the configuration.
    pub fn new(config: &Config) -> Rules {
        let fields = |rule: &Rule| {
            let Action::Header(fields) = &rule.action else { return None };
            let bytes =
                |(name, value): &(String, String)| (name.clone().into_bytes(), value.clone().into_bytes());
            Some(fields.iter().map(bytes).collect())
        };
        Rules {
            fields: config.rules.iter().map(fields).collect(),
            list: config.rules.clone(),
            passwords: Passwords::new(),
            body_bytes_max: config.limits.body_bytes_max,
        }
    }

    /// Whether a path is denied, whoever asks for it.
    pub fn denies(&self, path: &[u8]) -> bool {
        let mut fitting = self.list.iter().filter(|rule| rule.condition.fits(path));
        let first = fitting.find(|rule| matches!(rule.action, Action::Deny(_) | Action::Allow));
        first.is_some_and(|rule| matches!(rule.action, Action::Deny(_)) && !rule.missing)
    }

    /// How many bytes the body of a request may have. `path` is as it was sent.
    pub fn body_bytes_max(&self, path: &[u8]) -> u64 {
        let Ok(wanted) = Wanted::read(path) else { return self.body_bytes_max };
        let path = wanted.as_asked();
        let bytes = self.list.iter().find_map(|rule| match rule.action {
            Action::BodyBytesMax(bytes) if rule.condition.fits(&path) => Some(bytes),
            _ => None,
        });
        bytes.unwrap_or(self.body_bytes_max)
    }

    /// The places and actions of the rules with these numbers.
    pub(super) fn describe(&self, fitted: &[usize]) -> Vec<String> {
        let first = |(at, index): &(usize, &usize)| !fitted[..*at].contains(index);
        let rules = fitted.iter().enumerate().filter(first).filter_map(|(_, index)| self.list.get(*index));
        rules.map(|rule| format!("{}: {}", rule.place, rule.action.says())).collect()
    }
}
