//! The last messages of topics, for those who know none yet: what a first-time visitor is shown.
//!
//! Must not know how a message is sent. Invariants: a subscriber gets here what this worker has delivered already, and
//! nothing else, so that with what is delivered from then on each message comes once; nothing is left out between two
//! messages that are given. What is still to come by itself is one of the last messages, too.

use weft_proto::websocket::Kind;
use weft_serve::{Server, Subscribed, TunnelKey, is_topic, label};

use super::letter::rows_of;
use super::member::Member;
use super::message::{Message, excluded_in, now_ms};
use super::missed::{Limits, Missed};
use super::name::{end_of, id};
use super::questions::{Rows, What, question};
use super::shared::{Back, NEWS};

/// Messages that are looked at, beside those that are given: others of topics with the same number, or not for this one.
const STEPS_MAX: usize = 10_000;
/// Of the bytes that a connection's queue can still take, the part that is for what follows.
const LEFT_FREE: usize = 2;

/// For whom the messages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// A connection of this worker, or several: what has still to be delivered here is none of theirs.
    Subscriber(Option<TunnelKey>),
    /// Somebody who asks.
    Asker,
}

/// The last messages of a topic, in their order. `last` is where its last message is: of [`super::shared::Bus::lasts`].
pub fn recent(
    member: &Member,
    topic: &[u8],
    last: Result<u64, u64>,
    reader: Reader,
    limits: &Limits,
) -> Vec<Missed> {
    let (mut at, own) = (last.unwrap_or_default(), member.bus.epoch);
    let oldest_ms = now_ms().saturating_sub(limits.age_max_ms);
    let (mut recent, mut coming, mut bytes, mut record) = (Vec::new(), 0, 0, Vec::new());
    for _ in 0..STEPS_MAX + limits.messages_max {
        if at == 0 || recent.len() + coming >= limits.messages_max {
            break;
        }
        record.clear();
        let previous = match member.bus.step_back(topic, at, &mut record) {
            Back::Gone => break,
            Back::Other(previous) => {
                at = previous;
                continue;
            }
            Back::Message(previous) => previous,
        };
        let Some(message) = Message::decode(&record) else { break };
        // What is not delivered yet is on its way; of the past nothing ever is.
        let is_coming = reader != Reader::Asker && at >= member.position(NEWS) && !message.is_past;
        if is_coming {
            coming += 1;
        } else if !is_left_out(member, &message, reader) {
            let id = id(own, end_of(at, &record), &message);
            bytes += Missed::bytes_of(&id, &message);
            if bytes > limits.bytes_max || message.time_ms < oldest_ms {
                break;
            }
            recent.push(Missed::of(at, id, &message));
        }
        at = previous;
    }
    recent.reverse();
    recent
}

/// Whether the message is not for this connection.
fn is_left_out(member: &Member, message: &Message<'_>, reader: Reader) -> bool {
    let Reader::Subscriber(Some(key)) = reader else { return false };
    excluded_in(message.except, member.owner).any(|excluded| excluded == key.0)
}

/// What a connection subscribes to.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The topic.
    pub topic: &'a [u8],
    /// Whether messages have labels.
    pub is_labelled: bool,
    /// How many messages it gets first.
    pub recent: usize,
}

impl Wanted<'_> {
    /// The question to the worker that has the connection with this number.
    pub fn question(&self, number: &[u8], limits: &Limits) -> Vec<u8> {
        let text = |number: u64| number.to_string().into_bytes();
        let recent = self.recent.min(limits.messages_max) as u64;
        let (flag, recent, age) = (text(u64::from(self.is_labelled)), text(recent), text(limits.age_max_ms));
        question(What::SubscribeRecent, number, &[self.topic, &flag, &recent, &age])
    }
}

/// What this worker answers to such a question: "1" if that was done, "0" if the connection has too many topics, "late" if
/// it has subscribed and the past cannot be read, nothing if there is no such connection.
pub fn answer(server: &Server, member: &Member, asked: &[u8]) -> Option<Rows> {
    let rows: Vec<&[u8]> = rows_of(asked).collect();
    let [[what], number, topic, flag, recent, age] = rows[..] else { return None };
    (*what == What::SubscribeRecent as u8).then_some(())?;
    let text = |bytes| std::str::from_utf8(bytes).ok();
    let key = text(number).and_then(|number| u64::from_str_radix(number, 16).ok()).map(TunnelKey);
    let [messages_max, age] = [recent, age].map(|number| text(number).and_then(|number| number.parse().ok()));
    let (Some(key), Some(messages_max), Some(age_max_ms)) = (key, messages_max, age) else {
        return Some(Rows::new());
    };
    if !is_topic(topic) {
        return Some(Rows::new());
    }
    let limits = Limits { messages_max: messages_max as usize, bytes_max: usize::MAX, age_max_ms };
    let wanted = Wanted { topic, is_labelled: flag == b"1", recent: limits.messages_max };
    let last = member.bus.lasts(&[topic]).and_then(|mut lasts| lasts.pop());
    Some(match subscribe(server, member, key, &wanted, last, &limits) {
        (Subscribed::Gone, _) => Rows::new(),
        (Subscribed::TooMany, _) => vec![b"0".to_vec()],
        (Subscribed::Yes, true) => vec![b"1".to_vec()],
        (Subscribed::Yes, false) => vec![b"late".to_vec()],
    })
}

/// Subscribes a connection of this worker, and sends it the last messages if it had not subscribed. Returns whether it
/// could: `last` is `None` if the past cannot be read.
pub fn subscribe(
    server: &Server,
    member: &Member,
    key: TunnelKey,
    wanted: &Wanted<'_>,
    last: Option<Result<u64, u64>>,
    limits: &Limits,
) -> (Subscribed, bool) {
    let had = server.has_subscribed(key, wanted.topic);
    let subscribed = server.subscribe(key, wanted.topic, wanted.is_labelled);
    if had || subscribed != Subscribed::Yes {
        return (subscribed, true);
    }
    if let Some(last) = last {
        send(server, member, key, wanted, last, limits);
    }
    (subscribed, last.is_some())
}

/// Sends a connection of this worker the last messages of a topic.
pub fn send(
    server: &Server,
    member: &Member,
    key: TunnelKey,
    wanted: &Wanted<'_>,
    last: Result<u64, u64>,
    limits: &Limits,
) {
    let limits = Limits {
        messages_max: wanted.recent.min(limits.messages_max),
        bytes_max: limits.bytes_max.min(server.tunnel_room(key) / LEFT_FREE),
        ..*limits
    };
    for message in recent(member, wanted.topic, last, Reader::Subscriber(Some(key)), &limits) {
        let kind = if message.is_binary { Kind::Binary } else { Kind::Text };
        let text = wanted.is_labelled.then(|| label(&message.id, wanted.topic, &message.payload));
        server.tunnel_send(key, kind, text.as_deref().unwrap_or(&message.payload), message.state);
    }
}

/// The last messages of several topics, each with its topic, in the order in which they were published: as many of each, and
/// of all together the newest that fit into half a connection's queue.
pub fn recent_of_all<'t>(
    member: &Member,
    topics: &[&'t [u8]],
    lasts: &[Result<u64, u64>],
    count: usize,
    limits: &Limits,
) -> Vec<(&'t [u8], Missed)> {
    let bytes_max = limits.bytes_max / LEFT_FREE;
    let of_each = Limits { messages_max: count.min(limits.messages_max), bytes_max, ..*limits };
    let mut all = Vec::new();
    for (topic, last) in topics.iter().zip(lasts) {
        let recent = recent(member, topic, *last, Reader::Subscriber(None), &of_each);
        all.extend(recent.into_iter().map(|message| (*topic, message)));
    }
    all.sort_by_key(|(_, message)| message.at);
    let mut bytes = 0;
    let newest = all.iter().rev().take(limits.messages_max).take_while(|(topic, message)| {
        bytes += message.bytes(topic);
        bytes <= bytes_max
    });
    let kept = newest.count();
    all.split_off(all.len() - kept)
}

/// The last messages of a topic as rows for who asks: of each its id, "text" or "binary", when in milliseconds since 1970,
/// and what it says.
pub fn rows(member: &Member, topic: &[u8], last: Result<u64, u64>, limits: &Limits) -> Rows {
    let found = recent(member, topic, last, Reader::Asker, limits).into_iter();
    let kind = |is_binary| if is_binary { b"binary".to_vec() } else { b"text".to_vec() };
    let row = |one: Missed| [one.id, kind(one.is_binary), one.time_ms.to_string().into_bytes(), one.payload];
    found.flat_map(row).collect()
}
