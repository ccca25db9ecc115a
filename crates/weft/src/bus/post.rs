//! What a worker asks the others, and the answers that come.
//!
//! Must not know what is asked. Invariants: a question ends when all who were there have answered or have ended, or at its
//! deadline; what waits to be sent has a bound.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};

use weft_rt::{MILLISECOND, Nanos, Readiness, Runtime, SECOND, Wait, Wake, clock};

use super::letter::{Kind, Letter, answer, rows_of};
use super::member::Member;
use super::places::pid_of;
use super::questions::Rows;
use super::shared::{MAIL, Refused};

/// How long others have to answer.
const DEADLINE: Nanos = 2 * SECOND;
/// How often an asker looks who has ended.
const LOOK_EVERY: Nanos = 50 * MILLISECOND;
/// How often is tried to send what does not fit.
const TRY_EVERY: Nanos = 2 * MILLISECOND;
/// How long a reader of letters is waited for.
const PATIENCE: Nanos = SECOND;
/// Letters of answers that wait to be sent; with more, questions are not answered.
const UNSENT_MAX: usize = 1024;
/// Bytes of an answer.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAnswered {
    /// These workers have not answered in time.
    Late(Vec<u64>),
    /// The asker cannot wait where it is, or was cancelled.
    CannotWait,
}

/// A question that waits for answers.
#[derive(Default)]
struct Open {
    wait: Option<Wait>,
    waiting_for: Vec<u64>,
    /// Of one that nobody waits for.
    deadline: Nanos,
    rows: Vec<Vec<u8>>,
    bytes: usize,
}

/// A worker's questions and answers.
pub struct Post {
    /// Its part in the bus.
    pub member: &'static Member,
    last: Cell<u64>,
    open: RefCell<HashMap<u64, Open>>,
    unsent: RefCell<VecDeque<Vec<u8>>>,
    /// Since when nothing could be sent; 0 if something can.
    full_since: Cell<Nanos>,
    /// Whether there may be something to read, or to send.
    is_due: Cell<bool>,
}

impl Post {
    /// That of a worker.
    pub fn new(member: &'static Member) -> Post {
        Post {
            member,
            last: Cell::default(),
            open: RefCell::default(),
            unsent: RefCell::default(),
            full_since: Cell::default(),
            is_due: Cell::new(true),
        }
    }

    /// Asks one worker, or all others, and returns the rows of their answers. One that has ended answers nothing.
    ///
    /// # Errors
    /// See [`NotAnswered`].
    pub fn ask(&self, to: Option<u64>, rows: &[u8]) -> Result<Vec<Vec<u8>>, NotAnswered> {
        let (bus, own) = (self.member.bus, self.member.owner);
        let is_asked = |worker: &u64| *worker != own && to.is_none_or(|to| to == *worker);
        let waiting_for: Vec<u64> = bus.readers().filter(is_asked).collect();
        if waiting_for.is_empty() {
            return Ok(Vec::new());
        }
        let runtime = Runtime::get().filter(|runtime| runtime.can_park() && self.member.reads());
        let runtime = runtime.ok_or(NotAnswered::CannotWait)?;
        let number = self.last.get() + 1;
        self.last.set(number);
        let deadline = clock::now() + DEADLINE;
        self.open.borrow_mut().insert(number, Open { waiting_for, ..Open::default() });
        let letter = Letter { kind: Kind::Question, to: to.unwrap_or(0), from: own, number, rows };
        let answered =
            self.send_question(runtime, &letter).and_then(|()| self.wait(runtime, number, deadline));
        let open = self.open.borrow_mut().remove(&number).unwrap_or_default();
        answered.map(|()| open.rows)
    }

    /// Asks all others without waiting; returns a number for [`Post::answer_to`]. `None` if there is no room for the
    /// question.
    pub fn ask_at_once(&self, rows: &[u8], now: Nanos) -> Option<u64> {
        let (bus, own) = (self.member.bus, self.member.owner);
        let number = self.last.get() + 1;
        self.last.set(number);
        let waiting_for: Vec<u64> = bus.readers().filter(|worker| *worker != own).collect();
        let letter = Letter { kind: Kind::Question, to: 0, from: own, number, rows };
        let is_sent = waiting_for.is_empty() || bus.mail(&letter.encode(), 0).is_ok();
        let deadline = now + DEADLINE;
        is_sent.then(|| {
            self.open.borrow_mut().insert(number, Open { waiting_for, deadline, ..Open::default() })
        });
        is_sent.then_some(number)
    }

    /// The answers to such a question, once all are there; `Err` if they are not in time. Both end it.
    pub fn answer_to(&self, number: u64, now: Nanos) -> Option<Result<Rows, NotAnswered>> {
        Some(
            self.answers_to(number, now)?.and_then(|(rows, late)| {
                if late.is_empty() { Ok(rows) } else { Err(NotAnswered::Late(late)) }
            }),
        )
    }

    /// The same, and at the deadline the answers that are there, with the workers that have given none.
    pub fn answers_to(&self, number: u64, now: Nanos) -> Option<Result<(Rows, Vec<u64>), NotAnswered>> {
        let mut all = self.open.borrow_mut();
        let Some(open) = all.get_mut(&number) else { return Some(Err(NotAnswered::CannotWait)) };
        if !open.waiting_for.is_empty() && now < open.deadline {
            let there: Vec<u64> = self.member.bus.readers().collect();
            open.waiting_for.retain(|worker| there.contains(worker));
            if !open.waiting_for.is_empty() {
                return None;
            }
        }
        let open = all.remove(&number)?;
        Some(Ok((open.rows, open.waiting_for)))
    }

    fn send_question(&self, runtime: &Runtime, letter: &Letter<'_>) -> Result<(), NotAnswered> {
        let (until, bytes) = (clock::now() + PATIENCE, letter.encode());
        loop {
            match self.member.bus.mail(&bytes, letter.to) {
                Ok(_) => return Ok(()),
                Err(Refused::TooLong(_)) => return Err(NotAnswered::CannotWait),
                Err(Refused::Full) if clock::now() >= until => {
                    self.member.bus.leave_behind(MAIL);
                }
                Err(Refused::Busy) if clock::now() >= until => return Err(NotAnswered::Late(Vec::new())),
                Err(Refused::Full | Refused::Busy) => (),
            }
            if runtime.sleep_until(clock::now() + TRY_EVERY) == Wake::Cancelled {
                return Err(NotAnswered::CannotWait);
            }
        }
    }

    /// Parks until all have answered.
    fn wait(&self, runtime: &Runtime, number: u64, deadline: Nanos) -> Result<(), NotAnswered> {
        loop {
            let there: Vec<u64> = self.member.bus.readers().collect();
            let wait = {
                let mut open = self.open.borrow_mut();
                let Some(open) = open.get_mut(&number) else { return Ok(()) };
                open.waiting_for.retain(|worker| there.contains(worker));
                if open.waiting_for.is_empty() {
                    return Ok(());
                }
                if clock::now() >= deadline {
                    return Err(NotAnswered::Late(std::mem::take(&mut open.waiting_for)));
                }
                *open.wait.insert(runtime.begin_wait())
            };
            if runtime.park(wait, Some(deadline.min(clock::now() + LOOK_EVERY))) == Wake::Cancelled {
                return Err(NotAnswered::CannotWait);
            }
        }
    }

    /// A letter has come; returns the rows of a question that this worker is to answer.
    pub fn take<'a>(&self, letter: &Letter<'a>) -> Option<&'a [u8]> {
        let own = self.member.owner;
        if letter.kind == Kind::Question {
            return (letter.from != own && (letter.to == 0 || letter.to == own)).then_some(letter.rows);
        }
        let mut open = self.open.borrow_mut();
        let open = open.get_mut(&letter.number).filter(|_| letter.to == own)?;
        open.bytes += letter.rows.len();
        if open.bytes <= ANSWER_BYTES_MAX {
            open.rows.extend(rows_of(letter.rows).map(<[u8]>::to_vec));
        }
        if letter.kind == Kind::Last {
            open.waiting_for.retain(|worker| *worker != letter.from);
            if let (true, Some(wait), Some(runtime)) =
                (open.waiting_for.is_empty(), open.wait, Runtime::get())
            {
                runtime.wake(wait, Readiness::default());
            }
        }
        None
    }

    /// Answers a question.
    pub fn reply(&self, question: &Letter<'_>, rows: &[Vec<u8>]) {
        let mut unsent = self.unsent.borrow_mut();
        let letters = answer(rows, question.from, self.member.owner, question.number);
        if unsent.len() + letters.len() > UNSENT_MAX {
            tracing::warn!("a question of worker {} is not answered: its bus is full", pid_of(question.from));
            return;
        }
        unsent.extend(letters);
    }

    /// Sends what waits; returns whether something is left, and should be tried again.
    fn send(&self, now: Nanos) -> bool {
        let mut unsent = self.unsent.borrow_mut();
        while let Some(letter) = unsent.front() {
            let to = Letter::decode(letter).map_or(0, |letter| letter.to);
            match self.member.bus.mail(letter, to) {
                Ok(_) | Err(Refused::TooLong(_)) => {
                    unsent.pop_front();
                    self.full_since.set(0);
                }
                Err(Refused::Full | Refused::Busy) => {
                    if self.full_since.get() == 0 {
                        self.full_since.set(now);
                    } else if now.saturating_sub(self.full_since.get()) > PATIENCE {
                        self.member.bus.leave_behind(MAIL);
                        self.full_since.set(now);
                    }
                    return true;
                }
            }
        }
        false
    }

    /// Somebody has written to the bus.
    pub fn hear_bell(&self) {
        self.is_due.set(true);
    }

    /// This worker has a first subscriber to a topic.
    pub fn begin_topic(&self, topic: &[u8]) {
        self.member.begin_topic(topic);
        // Whoever has published it meanwhile may not have known that.
        self.hear_what_is_there();
    }

    /// What was written without a bell for this worker is to be read, too.
    pub fn hear_what_is_there(&self) {
        if self.member.has_news() {
            self.hear_bell();
        }
    }

    /// Whether there may be something to read, or to send.
    pub fn is_due(&self) -> bool {
        self.is_due.get()
    }

    /// What there was has been read and sent, as far as a turn does that.
    pub fn note_turn(&self, now: Nanos) {
        self.is_due.set(self.send(now) || self.member.has_news());
    }

    /// When to look again, if something is left: at once, or when what waits may fit.
    pub fn deadline(&self, now: Nanos) -> Option<Nanos> {
        self.is_due().then(|| if self.member.has_news() { 0 } else { now + TRY_EVERY })
    }
}
