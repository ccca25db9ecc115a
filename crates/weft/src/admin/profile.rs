//! `POST /profile?seconds=10&rate=99` begins a profile in all workers, and `GET /profile?number=N` is what they have seen.
//!
//! Must not know who may ask: the caller has checked that. Invariant: nothing here waits; an answer is given when all other
//! workers have answered, or at the deadline of a question.

use weft_rt::{Nanos, clock};
use weft_serve::{RequestKey, Server};

use super::answer::{Answer, TEXT};
use super::asking::{Asking, Told, nobody_to_ask};
use crate::bus::{Post, What, pid_of};
use crate::profile::{self, Folded, Wanted};

/// Those who ask for profiles.
pub struct Profiles(Asking<Asked>);

/// What is asked for.
enum Asked {
    /// The profile of this number has begun here.
    Begun(u64),
    /// A profile is gathered; this is what this worker has seen.
    Seen(Folded),
}

impl Profiles {
    pub fn new(post: &'static Post) -> Profiles {
        Profiles(Asking::new(post, answer))
    }

    /// Begins a profile, or gathers one.
    pub fn take(&self, server: &Server, key: RequestKey) {
        let asked = server.with_request(key, |request| {
            let query = String::from_utf8_lossy(request.query().unwrap_or_default()).into_owned();
            (request.method() == b"POST", query)
        });
        let Some((begins, query)) = asked else { return };
        let done = if begins { begin(&query) } else { gather(&query) };
        let done = done.and_then(|(what, subject, asked)| {
            let question = (what, subject.as_bytes());
            self.0.ask(server, key, question, asked).map_err(|_| nobody_to_ask())
        });
        if let Err(answer) = done {
            answer.send(server, key);
        }
    }

    /// Answers those for whom all workers have answered. Returns whether others wait.
    pub fn turn(&self, server: &Server, now: Nanos) -> bool {
        self.0.turn(server, now)
    }
}

/// What the other workers are asked, and what this one has done.
type Question = (What, String, Asked);

fn begin(query: &str) -> Result<Question, Answer> {
    let line = format!(
        "{} {} {}",
        clock::now(),
        field(query, "seconds").unwrap_or("10"),
        field(query, "rate").unwrap_or("99")
    );
    let wanted = Wanted::parse(&line).ok_or_else(|| {
        let bounds = "400 Bad Request: seconds is from 0.05 to 300, rate from 1 to 1000 samples a second\n";
        Answer::new(400, TEXT, bounds)
    })?;
    profile::begin(&wanted).map_err(|why| Answer::new(409, TEXT, format!("409 Conflict: {why}\n")))?;
    Ok((What::Profile, wanted.line(), Asked::Begun(wanted.number)))
}

fn gather(query: &str) -> Result<Question, Answer> {
    let number = field(query, "number").and_then(|number| number.parse::<u64>().ok()).ok_or_else(|| {
        Answer::new(400, TEXT, "400 Bad Request: POST /profile begins a profile and tells its number\n")
    })?;
    let mut own = Folded::default();
    // This worker may have come later than the profile.
    for (stack, count) in profile::taken(number).unwrap_or_default() {
        own.add(&stack, count);
    }
    Ok((What::Profiled, number.to_string(), Asked::Seen(own)))
}

fn answer(asked: Asked, told: Told) -> Answer {
    match (asked, told) {
        // A worker that is late begins when it can.
        (Asked::Begun(number), _) => Answer::new(202, TEXT, format!("{number}\n")),
        (Asked::Seen(mut own), Ok((rows, late))) if late.is_empty() => {
            rows.iter().for_each(|row| own.add_lines(&String::from_utf8_lossy(row)));
            Answer::new(200, TEXT, own.lines())
        }
        (Asked::Seen(_), Ok((_, late))) => {
            let pids: Vec<_> = late.iter().map(|worker| pid_of(*worker).to_string()).collect();
            let held = format!(
                "503 Service Unavailable: worker {} has not answered, because a computation holds its loop\n",
                pids.join(", ")
            );
            Answer::new(503, TEXT, held)
        }
        (Asked::Seen(_), Err(_)) => nobody_to_ask(),
    }
}

fn field<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
}
