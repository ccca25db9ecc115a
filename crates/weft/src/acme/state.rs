//! What is remembered of a name beside its certificate, for the next process that looks: on this host or another.
//!
//! Must not know when something is due. Invariant: what cannot be read counts as nothing, and costs an authority one question.

use serde_json::{Value, json};

use super::storage::Storage;

/// How far a name is. Times are seconds since 1970.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// Failures since the last success.
    pub failures: u32,
    /// When to try again after them.
    pub not_before: u64,
    /// Why it failed the last time.
    pub why: String,
    /// When the authority wants the certificate renewed, if it says so.
    pub wish: Option<Wish>,
}

/// What an authority says about the renewal of a certificate (RFC 9773 section 4.2), and what follows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// Which certificate it is about.
    pub certificate: String,
    /// The window.
    pub start: u64,
    /// Its end.
    pub end: u64,
    /// The time in the window that was drawn.
    pub at: u64,
    /// When to ask again.
    pub ask_again: u64,
}

fn file(name: &str) -> String {
    format!("{name}.json")
}

impl State {
    /// What is remembered of a name.
    pub fn read(storage: &Storage, name: &str) -> State {
        let value = storage.read(&file(name)).and_then(|bytes| serde_json::from_slice(&bytes).ok());
        value.map(|value: Value| State::of(&value)).unwrap_or_default()
    }

    /// Remembers it.
    ///
    /// # Errors
    /// One line with the path.
    pub fn write(&self, storage: &Storage, name: &str) -> Result<(), String> {
        storage.write(&file(name), format!("{:#}\n", self.value()).as_bytes(), 0o600)
    }

    fn of(value: &Value) -> State {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let time = |value: &Value| value.as_u64().unwrap_or_default();
        let wish = &value["wish"];
        State {
            failures: u32::try_from(time(&value["failures"])).unwrap_or(u32::MAX),
            not_before: time(&value["not_before"]),
            why: text(&value["why"]),
            wish: wish.is_object().then(|| Wish {
                certificate: text(&wish["certificate"]),
                start: time(&wish["start"]),
                end: time(&wish["end"]),
                at: time(&wish["at"]),
                ask_again: time(&wish["ask_again"]),
            }),
        }
    }

    fn value(&self) -> Value {
        let wish = self.wish.as_ref().map(|wish| {
            json!({
                "certificate": wish.certificate,
                "start": wish.start,
                "end": wish.end,
                "at": wish.at,
                "ask_again": wish.ask_again,
            })
        });
        json!({ "failures": self.failures, "not_before": self.not_before, "why": self.why, "wish": wish })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::master::testing::Directory;

    #[test]
    fn what_is_remembered_is_read_again_and_rubbish_is_nothing() {
        let directory = Directory::new();
        let storage = Storage::open(&directory.path().join("storage")).unwrap();
        let wish = Wish { certificate: "a.b".into(), start: 1, end: 9, at: 5, ask_again: 3 };
        for state in [
            State::default(),
            State { failures: 2, not_before: 7, why: "\"quoted\"".into(), wish: Some(wish) },
        ] {
            state.write(&storage, "a.example").unwrap();
            assert_eq!(State::read(&storage, "a.example"), state);
        }
        storage.write("a.example.json", b"{ not json", 0o600).unwrap();
        assert_eq!(State::read(&storage, "a.example"), State::default());
        assert_eq!(State::read(&storage, "b.example"), State::default());
    }
}
