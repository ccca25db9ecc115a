//! The answers to what PHP asks about topics: publishing on the bus, and which connections get what.
//!
//! Must not know a request. Invariants: what a connection that comes back has missed is sent to it before anything newer,
//! each message once; what is lent stays where it is until the next question.

use weft_proto::websocket::Kind;
use weft_serve::{Server, Subscribed, TunnelKey, is_topic, label};
use weft_zend::abi::{EventsBegun, TopicPublished, TopicSubscribed};
use weft_zend::{EventStream, Publish, RequestId, Slice, Subscribe, Topics};

use super::lent::Lent;
use crate::bus::{
    self, Limits, Member, NotAnswered, NotPublished, Post, Presence, Publication, Rows, Wanted, What,
    connection_of,
};
use crate::config::Config;

/// Topics in a worker.
pub struct WorkerTopics {
    pub(super) server: &'static Server,
    pub(super) member: &'static Member,
    pub(super) post: &'static Post,
    pub(super) presence: &'static Presence,
    pub(super) limits: Limits,
    lent: Lent,
}

impl WorkerTopics {
    pub fn new(server: &'static Server, presence: &'static Presence, config: &Config) -> WorkerTopics {
        let limits = Limits {
            messages_max: config.topics.history_max,
            bytes_max: config.limits.websocket_queue_bytes_max,
            age_max_ms: config.topics.history_ms,
        };
        WorkerTopics {
            server,
            member: presence.post.member,
            post: presence.post,
            presence,
            limits,
            lent: Lent::default(),
        }
    }

    /// A connection of this worker has ended.
    pub fn ended(&self, key: TunnelKey) {
        self.presence.go(key, None);
    }

    /// Whether a name is that of a connection of another worker.
    pub fn is_elsewhere(&self, connection: &[u8]) -> bool {
        connection_of(connection).is_some_and(|(worker, _)| worker != self.member.owner)
    }

    /// Asks the worker that has a connection. No row if there is no such connection, or it does not answer.
    pub fn ask_owner(&self, connection: &[u8], what: What, more: &[&[u8]]) -> Rows {
        self.ask_worker(connection, |number| bus::question(what, number, more))
    }

    /// The same with a question that is made of the connection's number there.
    fn ask_worker(&self, connection: &[u8], question: impl FnOnce(&[u8]) -> Vec<u8>) -> Rows {
        let Some((worker, number)) = connection_of(connection) else { return Rows::new() };
        let question = question(format!("{number:x}").as_bytes());
        self.post.ask(Some(worker), &question).unwrap_or_else(|failed| {
            self.report(&failed);
            Rows::new()
        })
    }

    /// The same where one row says whether it was done.
    pub fn is_done_elsewhere(&self, connection: &[u8], what: What, more: &[&[u8]]) -> bool {
        self.ask_owner(connection, what, more).first().is_some_and(|row| row == b"1")
    }

    fn report(&self, failed: &NotAnswered) {
        if let NotAnswered::Late(workers) = failed {
            let pids: Vec<String> = workers.iter().map(|worker| bus::pid_of(*worker).to_string()).collect();
            tracing::warn!("workers have not answered a question within 2 s: {}", pids.join(", "));
        }
    }

    fn own(&self, connection: &[u8]) -> Option<TunnelKey> {
        let (worker, number) = connection_of(connection)?;
        (worker == self.member.owner).then_some(TunnelKey(number))
    }

    /// Sends a connection what followed the message `after` and was delivered to others before it subscribed.
    fn send_missed(&self, key: TunnelKey, topic: &[u8], last: Result<u64, u64>, after: &[u8]) -> bool {
        let bytes_max = self.limits.bytes_max.min(self.server.tunnel_room(key));
        let limits = Limits { bytes_max, ..self.limits };
        let Some(missed) = bus::missed(self.member, topic, last, after, &limits) else { return false };
        for message in missed {
            let kind = if message.is_binary { Kind::Binary } else { Kind::Text };
            let labelled = label(&message.id, topic, &message.payload);
            self.server.tunnel_send(key, kind, &labelled, message.state);
        }
        true
    }

    /// A connection of this worker that has subscribed comes to a topic; returns whether that could be announced.
    pub(super) fn come(&self, key: TunnelKey, topic: &[u8], name: &[u8]) -> bool {
        self.server.note_end(key);
        self.presence.come(key, topic, name)
    }

    /// Subscribes a connection of this worker, and sends it the last messages.
    fn subscribe_new(&self, key: TunnelKey, wanted: &Wanted<'_>) -> TopicSubscribed {
        // May wait, so it comes before anything that must be of one moment.
        let last = match wanted.recent {
            0 => Some(Ok(0)),
            _ => bus::lasts(self.member, &[wanted.topic]).and_then(|mut lasts| lasts.pop()),
        };
        match bus::subscribe(self.server, self.member, key, wanted, last, &self.limits) {
            (Subscribed::Gone, _) => TopicSubscribed::Gone,
            (Subscribed::TooMany, _) => TopicSubscribed::TooMany,
            (Subscribed::Yes, true) => TopicSubscribed::Yes,
            (Subscribed::Yes, false) => TopicSubscribed::TooLate,
        }
    }

    /// Subscribes one whose client has had everything up to the message `after`, and sends it what followed; or the last
    /// messages, if it is too late for that.
    fn resume(&self, key: TunnelKey, wanted: &Wanted<'_>, after: &[u8]) -> TopicSubscribed {
        let last_of = |mut lasts: Vec<Result<u64, u64>>| lasts.pop();
        // May wait, so it comes before anything that must be of one moment.
        let last = bus::catch_up(self.post, after, &[wanted.topic]).and_then(last_of);
        let otherwise = match wanted.recent {
            0 => None,
            _ => last.or_else(|| bus::lasts(self.member, &[wanted.topic]).and_then(last_of)),
        };
        match self.server.subscribe(key, wanted.topic, wanted.is_labelled) {
            Subscribed::Gone => return TopicSubscribed::Gone,
            Subscribed::TooMany => return TopicSubscribed::TooMany,
            Subscribed::Yes => (),
        }
        if last.is_some_and(|last| self.send_missed(key, wanted.topic, last, after)) {
            return TopicSubscribed::Yes;
        }
        if let Some(last) = otherwise {
            bus::send_recent(self.server, self.member, key, wanted, last, &self.limits);
        }
        TopicSubscribed::TooLate
    }

    /// The last messages of a topic; the question is their number, a space, and the topic. `None` if they cannot be read now.
    fn recent(&self, question: &[u8]) -> Option<Slice> {
        let at = question.iter().position(|byte| *byte == b' ')?;
        let count: usize = std::str::from_utf8(&question[..at]).ok()?.parse().ok()?;
        let (topic, limits) = (&question[at + 1..], &self.limits);
        let messages_max = count.min(limits.messages_max);
        let limits = Limits { messages_max, bytes_max: usize::MAX, ..*limits };
        let last = bus::lasts(self.member, &[topic])?.pop()?;
        Some(self.lent.data(bus::encode_rows(&bus::recent_rows(self.member, topic, last, &limits))))
    }

    /// Has the worker subscribe a connection that has it.
    fn subscribe_elsewhere(&self, connection: &[u8], wanted: &Wanted<'_>) -> TopicSubscribed {
        let rows = if wanted.recent > 0 {
            self.ask_worker(connection, |number| wanted.question(number, &self.limits))
        } else {
            let what = if wanted.is_labelled { What::SubscribeLabelled } else { What::Subscribe };
            self.ask_owner(connection, what, &[wanted.topic])
        };
        match rows.first().map(Vec::as_slice) {
            Some(b"1") => TopicSubscribed::Yes,
            Some(b"late") => TopicSubscribed::TooLate,
            Some(_) => TopicSubscribed::TooMany,
            None => TopicSubscribed::Gone,
        }
    }
}

/// Whether somebody can be present at a topic under a name.
pub(super) fn may_be_there(topic: &[u8], name: &[u8]) -> bool {
    is_topic(topic) && is_topic(name) && is_topic(&[bus::PRESENCE, topic].concat())
}

impl Topics for WorkerTopics {
    fn publish(&self, publish: &Publish<'_>) -> (TopicPublished, Slice) {
        let publication = Publication {
            topic: publish.topic,
            payload: publish.message,
            is_binary: publish.is_binary,
            except: publish.except.unwrap_or_default(),
            key: publish.key,
        };
        let failed = match bus::publish(self.member.bus, &publication) {
            Ok(id) => return (TopicPublished::Yes, self.lent.name(id)),
            Err(failed) => failed,
        };
        let kind = match failed {
            NotPublished::Topic => TopicPublished::Name,
            NotPublished::NotText => TopicPublished::NoText,
            NotPublished::TooLong(_) | NotPublished::Excluded | NotPublished::Key => TopicPublished::TooLong,
            NotPublished::Full | NotPublished::Busy => TopicPublished::Busy,
            NotPublished::Cancelled => TopicPublished::Cancelled,
        };
        (kind, self.lent.name(failed.to_string()))
    }

    fn subscribe(&self, subscribe: &Subscribe<'_>) -> TopicSubscribed {
        let &Subscribe { connection, topic, is_labelled, after, recent } = subscribe;
        if !is_topic(topic) {
            return TopicSubscribed::Name;
        }
        let wanted = Wanted { topic, is_labelled, recent };
        bus::read_up(self.presence, self.server);
        match (self.own(connection), after) {
            (Some(key), Some(after)) => self.resume(key, &wanted, after),
            (Some(key), None) => self.subscribe_new(key, &wanted),
            // What it has missed is known only there, so it is not resumed from elsewhere.
            (None, Some(_)) => TopicSubscribed::Gone,
            (None, None) => self.subscribe_elsewhere(connection, &wanted),
        }
    }

    fn unsubscribe(&self, connection: &[u8], topic: &[u8]) -> bool {
        match self.own(connection) {
            Some(key) => {
                self.presence.go(key, Some(topic));
                self.server.unsubscribe(key, topic)
            }
            None => self.is_done_elsewhere(connection, What::Unsubscribe, &[topic]),
        }
    }

    fn attend(&self, connection: &[u8], topic: &[u8], name: &[u8]) -> TopicSubscribed {
        if !may_be_there(topic, name) {
            return TopicSubscribed::Name;
        }
        let here = self.own(connection).filter(|key| self.server.has_subscribed(*key, topic));
        match here.is_some_and(|key| self.come(key, topic, name)) {
            true => TopicSubscribed::Yes,
            false => TopicSubscribed::Gone,
        }
    }

    fn stream(&self, request: RequestId, stream: &EventStream<'_>) -> EventsBegun {
        self.begin_events(request, stream)
    }

    fn position(&self) -> Slice {
        bus::read_up(self.presence, self.server);
        self.lent.data(bus::position(self.member))
    }

    fn list(&self, connection: &[u8]) -> Slice {
        let topics = match self.own(connection) {
            Some(key) => self.server.topics_of(key).iter().map(|topic| topic.to_vec()).collect(),
            None => self.ask_owner(connection, What::List, &[]),
        };
        self.lent.data(topics.iter().flat_map(|topic| [&topic[..], b"\n"].concat()).collect())
    }

    fn ask(&self, what: u32, subject: &[u8]) -> Option<Slice> {
        let what = What::of_number(what)?;
        if what == What::Present {
            return Some(self.lent.data(bus::encode_rows(&self.presence.present(subject))));
        }
        if what == What::Recent {
            return self.recent(subject);
        }
        if what == What::GetAll && self.is_elsewhere(subject) {
            return Some(self.lent.data(bus::encode_rows(&self.ask_owner(subject, what, &[]))));
        }
        let prefix = format!("{:x}", self.member.owner);
        let number = connection_of(subject).map(|(_, number)| format!("{number:x}").into_bytes());
        let is_of_topic = what != What::GetAll;
        let question = bus::question(what, if is_of_topic { subject } else { number.as_deref()? }, &[]);
        let others = if is_of_topic { self.post.ask(None, &question) } else { Ok(Rows::new()) };
        match others {
            Ok(mut rows) => {
                rows.extend(bus::answer(self.server, &prefix, &question));
                Some(self.lent.data(bus::encode_rows(&rows)))
            }
            Err(failed) => {
                self.report(&failed);
                None
            }
        }
    }
}
