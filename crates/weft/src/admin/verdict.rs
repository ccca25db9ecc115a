//! `POST /held-back-by`: what held the server back between two answers of `/status`, in one sentence, for the live page.
//!
//! Must not know how that is told: `weft top` does, and this is the same. Invariant: it is a function of what is posted.

use serde_json::{Value, json};
use weft_serve::{RequestKey, Server};

use super::answer::{Answer, TEXT};
use super::bodies::{Bodies, body_of};
use crate::top;

/// The questions.
#[derive(Default)]
pub struct Verdicts(Bodies);

impl Verdicts {
    /// Answers a request, now or when its body has arrived.
    pub fn take(&self, server: &Server, key: RequestKey) {
        if self.0.has(server, key) {
            give(server, key);
        }
    }

    /// Goes on with what has not been answered, and returns whether there is more.
    pub fn turn(&self, server: &Server) -> bool {
        self.0.turn(server, |key| give(server, key))
    }
}

fn give(server: &Server, key: RequestKey) {
    let posted = body_of(server, key).and_then(|body| serde_json::from_slice::<Value>(&body).ok());
    let answer = match posted.as_ref().and_then(of) {
        Some(said) => Answer::new(200, "application/json", format!("{}\n", json!({ "held_back_by": said }))),
        None => Answer::new(
            400,
            TEXT,
            "400 Bad Request: post {\"before\": …, \"now\": …, \"seconds\": …} with two answers of /status, and the time between\n",
        ),
    };
    answer.send(server, key);
}

fn of(posted: &Value) -> Option<String> {
    let seconds = posted["seconds"].as_f64().filter(|seconds| *seconds > 0.0)?;
    let (before, now) = (&posted["before"], &posted["now"]);
    (before.is_object() && now.is_object()).then(|| top::held_back_by(before, now, seconds))
}
