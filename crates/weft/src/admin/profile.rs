//! `POST /profile?seconds=10&rate=99` begins a profile in all workers, and `GET /profile?number=N` is what they have seen.
//!
//! Must not know who may ask: the caller has checked that. Invariant: nothing here waits; an answer is given when all other
//! workers have answered, or at the deadline of a question.

use std::cell::{Cell, RefCell};

use weft_rt::{Nanos, clock};
use weft_serve::{RequestKey, Server};

use super::answer::{Answer, TEXT};
use crate::bus::{self, NotAnswered, Post, What, pid_of};
use crate::profile::{self, Folded, Wanted};

/// Requests that may wait for other workers.
const WAITING_MAX: usize = 64;

/// Those who ask for profiles.
pub struct Profiles {
    post: &'static Post,
    waiting: RefCell<Vec<Waiting>>,
    is_any: Cell<bool>,
}

/// One who waits for the other workers' answers.
struct Waiting {
    key: RequestKey,
    /// The question.
    question: u64,
    /// The profile that has begun; `None`: it is to be gathered.
    begun: Option<u64>,
    /// What this worker has seen.
    own: Folded,
}

impl Profiles {
    pub fn new(post: &'static Post) -> Profiles {
        Profiles { post, waiting: RefCell::default(), is_any: Cell::default() }
    }

    /// Begins a profile, or gathers one.
    pub fn take(&self, server: &Server, key: RequestKey) {
        let asked = server.with_request(key, |request| {
            let query = String::from_utf8_lossy(request.query().unwrap_or_default()).into_owned();
            (request.method() == b"POST", query)
        });
        let Some((begins, query)) = asked else { return };
        let done = if begins { self.begin(&query, key) } else { self.gather(&query, key) };
        match done {
            Ok(()) => self.go_on(server, clock::now()), // there may be no other worker
            Err(answer) => answer.send(server, key),
        }
    }

    fn begin(&self, query: &str, key: RequestKey) -> Result<(), Answer> {
        let now = clock::now();
        let line = format!(
            "{now} {} {}",
            field(query, "seconds").unwrap_or("10"),
            field(query, "rate").unwrap_or("99")
        );
        let wanted = Wanted::parse(&line).ok_or_else(|| {
            let bounds =
                "400 Bad Request: seconds is from 0.05 to 300, rate from 1 to 1000 samples a second\n";
            Answer::new(400, TEXT, bounds)
        })?;
        profile::begin(&wanted).map_err(|why| Answer::new(409, TEXT, format!("409 Conflict: {why}\n")))?;
        self.ask((What::Profile, &wanted.line()), Some(wanted.number), Folded::default(), key)
    }

    fn gather(&self, query: &str, key: RequestKey) -> Result<(), Answer> {
        let number =
            field(query, "number").and_then(|number| number.parse::<u64>().ok()).ok_or_else(|| {
                Answer::new(
                    400,
                    TEXT,
                    "400 Bad Request: POST /profile begins a profile and tells its number\n",
                )
            })?;
        let mut own = Folded::default();
        // This worker may have come later than the profile.
        for (stack, count) in profile::taken(number).unwrap_or_default() {
            own.add(&stack, count);
        }
        self.ask((What::Profiled, &number.to_string()), None, own, key)
    }

    fn ask(
        &self,
        (what, subject): (What, &str),
        begun: Option<u64>,
        own: Folded,
        key: RequestKey,
    ) -> Result<(), Answer> {
        let mut waiting = self.waiting.borrow_mut();
        let is_room = waiting.len() < WAITING_MAX;
        let question = bus::question(what, subject.as_bytes(), &[]);
        let question = is_room.then(|| self.post.ask_at_once(&question, clock::now())).flatten();
        let question = question.ok_or_else(|| {
            Answer::new(503, TEXT, "503 Service Unavailable: the other workers cannot be asked now\n")
        })?;
        waiting.push(Waiting { key, question, begun, own });
        self.is_any.set(true);
        Ok(())
    }

    /// Answers those for whom all workers have answered.
    #[inline]
    pub fn turn(&self, server: &Server, now: Nanos) {
        if self.is_any.get() {
            self.go_on(server, now);
        }
    }

    fn go_on(&self, server: &Server, now: Nanos) {
        let mut waiting = self.waiting.borrow_mut();
        waiting.retain_mut(|one| match self.post.answer_to(one.question, now) {
            None => true,
            Some(rows) => {
                answer(one, rows).send(server, one.key);
                false
            }
        });
        self.is_any.set(!waiting.is_empty());
    }
}

fn answer(one: &mut Waiting, rows: Result<Vec<Vec<u8>>, NotAnswered>) -> Answer {
    match (rows, one.begun) {
        // A worker that is late begins when it can.
        (_, Some(number)) => Answer::new(202, TEXT, format!("{number}\n")),
        (Ok(rows), None) => {
            rows.iter().for_each(|row| one.own.add_lines(&String::from_utf8_lossy(row)));
            Answer::new(200, TEXT, one.own.lines())
        }
        (Err(NotAnswered::Late(workers)), None) => {
            let pids: Vec<_> = workers.iter().map(|worker| pid_of(*worker).to_string()).collect();
            let held = format!(
                "503 Service Unavailable: worker {} has not answered, because a computation holds its loop\n",
                pids.join(", ")
            );
            Answer::new(503, TEXT, held)
        }
        (Err(_), None) => Answer::new(503, TEXT, "503 Service Unavailable: the workers cannot be asked\n"),
    }
}

fn field<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
}
