//! Presence: who is at a topic, in all workers, and that others are told who comes and who goes.
//!
//! Each worker keeps the whole roster: all read who comes and goes in one order. Must not know how a message travels.
//! Invariants: who has gone is announced once to each subscriber, also when a whole worker has gone with them; a worker that
//! starts learns from the others who is there.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use weft_rt::{Nanos, clock};
use weft_serve::{Server, TunnelKey};

use super::letter::rows_of;
use super::member::Member;
use super::message::{Kind, Message};
use super::post::Post;
use super::questions::{Rows, What, name_of, question};
use super::shared::Bus;

/// Before the name of a topic, that of the topic which gets the announcements.
pub const PREFIX: &[u8] = b"presence:";
/// In a question for the roster: not only the own part.
const WHOLE: &[u8] = b"whole";
/// Announcements that one look makes; the others follow at the next, a second later.
const PER_LOOK: usize = 1024;
/// Looks after which a worker announces who has gone with another one, although that is the task of a third, which does not
/// do it.
const LOOKS_MAX: u32 = 5;

/// A connection: its worker, and its number there.
pub type Who = (u64, u64);
/// Who is at a topic.
type Present = BTreeMap<Who, There>;

/// One of them.
struct There {
    /// The name.
    name: Box<[u8]>,
    /// The other host whose connection it is; 0 for none.
    host: u32,
}

/// One of them as a whole: topic, connection, name, host.
pub type Attendee = (Vec<u8>, Who, Vec<u8>, u32);

/// A topic, and a name there.
type Place = (Box<[u8]>, Box<[u8]>);

/// Who is where.
pub struct Presence {
    /// The way to the other workers.
    pub post: &'static Post,
    topics: RefCell<HashMap<Box<[u8]>, Present>>,
    /// Where the connections of this worker are, and under which names.
    own: RefCell<HashMap<u64, Vec<Place>>>,
    /// Whether others have still to say who is there.
    is_unsure: Cell<bool>,
    /// The question to them, if there was room for it.
    asked: Cell<Option<u64>>,
    /// Who has gone since it was asked.
    gone: RefCell<HashSet<(Who, Box<[u8]>)>>,
    /// Looks at which there was somebody whose worker has gone.
    orphaned: Cell<u32>,
}

impl Presence {
    /// That of a worker that starts, and becomes a member of the bus.
    pub fn join(bus: &'static Bus) -> Presence {
        Presence::of(Member::join(bus))
    }

    /// That of the link to other hosts, which reads what was published from a position on.
    pub fn join_as_link(bus: &'static Bus, from: u64) -> Presence {
        Presence::of(Member::join_as_link(bus, from))
    }

    fn of(member: Member) -> Presence {
        let post: &'static Post = Box::leak(Box::new(Post::new(Box::leak(Box::new(member)))));
        let asked = Presence::ask(post, clock::now());
        Presence {
            post,
            topics: RefCell::default(),
            own: RefCell::default(),
            is_unsure: Cell::new(true),
            asked: Cell::new(asked),
            gone: RefCell::default(),
            orphaned: Cell::default(),
        }
    }

    /// Asks others for the roster: each worker has its own part, the link has that of other hosts. The link itself is told
    /// all that each knows.
    fn ask(post: &Post, now: Nanos) -> Option<u64> {
        let whole: &[u8] = if post.member.is_link() { WHOLE } else { b"" };
        post.ask_at_once(&question(What::Roster, whole, &[]), now)
    }

    fn own(&self) -> u64 {
        self.post.member.owner
    }

    /// Announces that a connection of this worker has come to a topic; returns whether it could be announced.
    pub fn come(&self, key: TunnelKey, topic: &[u8], name: &[u8]) -> bool {
        let is_announced = self.announce(Kind::Joined, (self.own(), key.0), topic, name);
        if is_announced {
            let mut own = self.own.borrow_mut();
            let places = own.entry(key.0).or_default();
            places.retain(|(of, _)| **of != *topic);
            places.push((topic.into(), name.into()));
        }
        is_announced
    }

    /// Announces that a connection of this worker has left a topic, if it was there, or, without a topic, all of its. What
    /// cannot be announced now is by [`Presence::look`].
    pub fn go(&self, key: TunnelKey, topic: Option<&[u8]>) {
        let is_left = |of: &[u8]| topic.is_none_or(|topic| topic == of);
        let left: Vec<Place> = {
            let mut own = self.own.borrow_mut();
            let Some(places) = own.get_mut(&key.0) else { return };
            let left = places.extract_if(.., |(of, _)| is_left(of)).collect();
            if places.is_empty() {
                own.remove(&key.0);
            }
            left
        };
        for (topic, name) in left {
            self.announce(Kind::Left, (self.own(), key.0), &topic, &name);
        }
    }

    /// Announcements were missed: what is known of other workers is asked for anew.
    pub fn begin_anew(&self) {
        let own = self.own();
        self.topics
            .borrow_mut()
            .values_mut()
            .for_each(|present| present.retain(|(owner, _), _| *owner == own));
        self.asked.set(Presence::ask(self.post, clock::now()));
        self.is_unsure.set(true);
    }

    /// Who is at a topic: names of connections, each followed by the name under which it is there.
    pub fn present(&self, topic: &[u8]) -> Rows {
        let topics = self.topics.borrow();
        let name = |(owner, key): Who| name_of(&format!("{owner:x}"), TunnelKey(key)).into_bytes();
        let present = topics.get(topic).into_iter().flatten();
        present.flat_map(|(who, there)| [name(*who), there.name.to_vec()]).collect()
    }

    /// What this process answers to a question for its part of the roster.
    pub fn answer(&self, question: &[u8]) -> Option<Rows> {
        let mut rows = rows_of(question);
        (rows.next()? == [What::Roster as u8]).then_some(())?;
        let (is_whole, is_link) = (rows.next() == Some(WHOLE), self.post.member.is_link());
        let part = self.found(usize::MAX, |_, (owner, _), host| {
            is_whole || if is_link { host != 0 } else { owner == self.own() }
        });
        Some(part.iter().flat_map(rows_of_attendee).collect())
    }

    /// Whether others have still to say who is there.
    pub fn is_unsure(&self) -> bool {
        self.is_unsure.get()
    }

    /// The connections of another host, or, with 0, of this one.
    pub fn of_host(&self, host: u32) -> Vec<Attendee> {
        self.found(usize::MAX, |_, _, of| of == host)
    }

    /// The hosts that have connections in the roster; 0 is this one.
    pub fn hosts(&self) -> BTreeSet<u32> {
        let topics = self.topics.borrow();
        topics.values().flat_map(|present| present.values().map(|there| there.host)).collect()
    }

    /// Somebody has come or gone; returns whether subscribers are to be told.
    pub fn take(&self, message: &Message<'_>) -> bool {
        let Some(topic) = message.topic.strip_prefix(PREFIX) else { return true };
        let mut topics = self.topics.borrow_mut();
        match message.kind {
            Kind::Joined => {
                let name = name_in(message.payload).unwrap_or_default();
                let host = message.origin.map_or(0, |origin| origin.host);
                let there = There { name: name.into(), host };
                topics.entry(topic.into()).or_default().insert(message.who, there).is_none()
            }
            Kind::Left => {
                let was_there =
                    topics.get_mut(topic).is_some_and(|present| present.remove(&message.who).is_some());
                topics.retain(|_, present| !present.is_empty());
                if self.is_unsure.get() {
                    self.gone.borrow_mut().insert((message.who, topic.into()));
                }
                was_there
            }
            Kind::Text | Kind::Binary => true,
        }
    }

    /// Looks for those who have gone without a word. To be called once a second.
    pub fn look(&self, server: &Server, now: Nanos) {
        self.learn(now);
        let own = self.own();
        let is_gone = |topic: &[u8], (owner, key): Who, _| {
            owner == own && !server.has_subscribed(TunnelKey(key), topic)
        };
        for (topic, who, name, _) in self.found(PER_LOOK, is_gone) {
            self.announce(Kind::Left, who, &topic, &name);
        }
        let there: HashSet<u64> = self.post.member.bus.readers().collect();
        // Of other hosts the link knows which are there.
        let orphans = self.found(PER_LOOK, |_, (owner, _), host| host == 0 && !there.contains(&owner));
        self.orphaned.set(if orphans.is_empty() { 0 } else { self.orphaned.get() + 1 });
        if there.iter().min() == Some(&own) || self.orphaned.get() > LOOKS_MAX {
            for (topic, who, name, _) in orphans {
                self.announce(Kind::Left, who, &topic, &name);
            }
        }
    }

    /// Takes in what the others have answered. To be called once a second.
    pub fn learn(&self, now: Nanos) {
        if !self.is_unsure.get() {
            return;
        }
        let answer = self.asked.get().map(|number| self.post.answer_to(number, now));
        let rows = match answer {
            Some(None) => return,
            Some(Some(Ok(rows))) => rows,
            // One that stands still answers another time.
            None | Some(Some(Err(_))) => {
                return self.asked.set(Presence::ask(self.post, now));
            }
        };
        self.is_unsure.set(false);
        self.asked.set(None);
        let gone = std::mem::take(&mut *self.gone.borrow_mut());
        let mut topics = self.topics.borrow_mut();
        for (topic, who, name, host) in attendees_of(rows.iter().map(Vec::as_slice)) {
            if !gone.contains(&(who, topic[..].into())) {
                let there = || There { name: name.into(), host };
                topics.entry(topic.into()).or_default().entry(who).or_insert_with(there);
            }
        }
    }

    /// Those of the roster that are meant.
    fn found(&self, max: usize, is_meant: impl Fn(&[u8], Who, u32) -> bool) -> Vec<Attendee> {
        let topics = self.topics.borrow();
        let all = topics
            .iter()
            .flat_map(|(topic, present)| present.iter().map(move |(who, there)| (topic, *who, there)));
        let meant = all.filter(|(topic, who, there)| is_meant(topic, *who, there.host));
        meant
            .map(|(topic, who, there)| (topic.to_vec(), who, there.name.to_vec(), there.host))
            .take(max)
            .collect()
    }

    fn announce(&self, kind: Kind, who: Who, topic: &[u8], name: &[u8]) -> bool {
        let (topic, payload) = announcement(kind, who, topic, name);
        self.post.member.bus.publish(&Message::new(kind, who, &topic, payload.as_bytes())).is_ok()
    }
}

/// The topic and the text by which others are told that somebody has come or gone.
pub fn announcement(kind: Kind, who: Who, topic: &[u8], name: &[u8]) -> (Vec<u8>, String) {
    let verb = if kind == Kind::Joined { "joined" } else { "left" };
    let text = |bytes: &[u8]| serde_json::Value::from(String::from_utf8_lossy(bytes).into_owned());
    let id = name_of(&format!("{:x}", who.0), TunnelKey(who.1));
    ([PREFIX, topic].concat(), serde_json::json!({ verb: text(name), "id": id }).to_string())
}

/// One of a roster as rows.
pub fn rows_of_attendee((topic, who, name, host): &Attendee) -> [Vec<u8>; 5] {
    [number(who.0), number(who.1), topic.clone(), name.clone(), number(u64::from(*host))]
}

/// Those in such rows.
pub fn attendees_of<'a>(mut rows: impl Iterator<Item = &'a [u8]>) -> Vec<Attendee> {
    let mut all = Vec::new();
    while let (Some(owner), Some(key), Some(topic), Some(name), Some(host)) =
        (rows.next(), rows.next(), rows.next(), rows.next(), rows.next())
    {
        let (who, host) = (number_of(owner).zip(number_of(key)), number_of(host));
        if let (Some(who), Some(host)) = (who, host) {
            all.push((topic.to_vec(), who, name.to_vec(), host as u32));
        }
    }
    all
}

/// The name of who has come.
fn name_in(payload: &[u8]) -> Option<Vec<u8>> {
    let said: serde_json::Value = serde_json::from_slice(payload).ok()?;
    Some(said.get("joined")?.as_str()?.as_bytes().to_vec())
}

fn number(number: u64) -> Vec<u8> {
    format!("{number:x}").into_bytes()
}

fn number_of(text: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok()
}
