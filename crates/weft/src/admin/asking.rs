//! Requests of the operator that are answered when the other workers have said what they know.
//!
//! Must not know what they are asked. Invariants: nothing here waits, and nobody waits longer than a question lasts; there is a
//! bound on how many do. A question that changes nothing may be asked again by another worker, if this one is held meanwhile:
//! its request is offered to the others while it waits.

use std::cell::RefCell;

use weft_rt::{Nanos, clock};
use weft_serve::{RequestKey, Server};

use super::answer::{Answer, TEXT};
use crate::bus::{self, NotAnswered, Post, Rows, What};

/// Requests that may wait for other workers, of each kind.
pub const WAITING_MAX: usize = 64;

/// What the others have said, and which workers have not; an error: they could not be waited for.
pub type Told = Result<(Rows, Vec<u64>), NotAnswered>;

/// Requests of one kind.
pub struct Asking<T> {
    post: &'static Post,
    /// Makes an answer of what this worker knows and the others have said.
    answer: fn(T, Told) -> Answer,
    /// Whether the request may begin again elsewhere.
    may_leave: bool,
    waiting: RefCell<Vec<Waiting<T>>>,
}

struct Waiting<T> {
    key: RequestKey,
    question: u64,
    /// What this worker knows.
    own: Option<T>,
}

impl<T> Asking<T> {
    pub fn new(post: &'static Post, answer: fn(T, Told) -> Answer) -> Asking<T> {
        Asking { post, answer, may_leave: false, waiting: RefCell::default() }
    }

    /// The same for questions that change nothing.
    pub fn anywhere(post: &'static Post, answer: fn(T, Told) -> Answer) -> Asking<T> {
        Asking { may_leave: true, ..Asking::new(post, answer) }
    }

    /// Asks the other workers on behalf of a request; gives back what this one knows if they cannot be asked.
    pub fn ask(
        &self,
        server: &Server,
        key: RequestKey,
        (what, subject): (What, &[u8]),
        own: T,
    ) -> Result<(), T> {
        let now = clock::now();
        let is_room = self.waiting.borrow().len() < WAITING_MAX;
        let question = bus::question(what, subject, &[]);
        let Some(question) = is_room.then(|| self.post.ask_at_once(&question, now)).flatten() else {
            return Err(own);
        };
        self.waiting.borrow_mut().push(Waiting { key, question, own: Some(own) });
        if self.may_leave {
            server.offer_waiting(key);
        }
        self.turn(server, now); // there may be no other worker
        Ok(())
    }

    /// Answers those for whom all workers have answered, or have had their time. Returns whether others wait.
    pub fn turn(&self, server: &Server, now: Nanos) -> bool {
        let mut waiting = self.waiting.borrow_mut();
        waiting.retain_mut(|one| {
            let told = self.post.answers_to(one.question, now);
            let Some((told, own)) = told.and_then(|told| Some((told, one.own.take()?))) else { return true };
            if !self.may_leave || server.reclaim(one.key) {
                (self.answer)(own, told).send(server, one.key);
            }
            false
        });
        !waiting.is_empty()
    }
}

/// What is said where the other workers cannot be asked.
pub fn nobody_to_ask() -> Answer {
    Answer::new(503, TEXT, "503 Service Unavailable: the other workers cannot be asked now\n")
}
