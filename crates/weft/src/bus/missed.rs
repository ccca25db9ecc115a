//! What a client that comes back has missed: a walk back through its topic's messages.
//!
//! Must not know how it gets them. Invariant: all messages that followed the one it knows, or none: what may have been
//! forgotten is never taken for nothing.

use weft_serve::StateKey;

use super::hosts::{Host, seen_in};
use super::member::Member;
use super::message::{Kind, Message, now_ms};
use super::name::{Known, end_of, id};
use super::shared::{Back, Bus, NEWS};

/// How much may be missed.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Messages.
    pub messages_max: usize,
    /// Their bytes ([`Missed::bytes`]): they are to fit into the connection's queue.
    pub bytes_max: usize,
    /// Their age, in milliseconds.
    pub age_max_ms: u64,
}

/// A message of the past.
#[derive(Debug)]
pub struct Missed {
    /// Whether it is bytes.
    pub is_binary: bool,
    /// Where it is on this bus: what orders it among those of other topics.
    pub at: u64,
    /// When it was published, in milliseconds since 1970.
    pub time_ms: u64,
    /// Its id.
    pub id: Vec<u8>,
    /// What subscribers get.
    pub payload: Vec<u8>,
    /// Which of its topic's states it tells, if it tells one.
    pub state: Option<StateKey>,
}

/// Bytes of a frame before a message, at most.
const FRAME_BYTES: usize = 10;

impl Missed {
    /// One that begins at a position.
    pub(super) fn of(at: u64, id: Vec<u8>, message: &Message<'_>) -> Missed {
        let (is_binary, payload) = (message.kind == Kind::Binary, message.payload.to_vec());
        let state = StateKey::of(message.topic, message.key);
        Missed { is_binary, at, time_ms: message.time_ms, id, payload, state }
    }

    /// What one with this id takes of a connection's queue, with its label.
    pub(super) fn bytes_of(id: &[u8], message: &Message<'_>) -> usize {
        FRAME_BYTES + id.len() + message.topic.len() + 2 + message.payload.len()
    }

    /// What it takes of a connection's queue, with the label that names its topic.
    pub fn bytes(&self, topic: &[u8]) -> usize {
        FRAME_BYTES + self.id.len() + topic.len() + 2 + self.payload.len()
    }
}

/// The messages of a topic that followed the one with this id, in their order, up to those that this worker has still to
/// deliver; `None` if it is too late. `last` is where the topic's last message is: of `catch_up`, and nothing was delivered since.
pub fn missed(
    member: &Member,
    topic: &[u8],
    last: Result<u64, u64>,
    after: &[u8],
    limits: &Limits,
) -> Option<Vec<Missed>> {
    let (bus, known) = (member.bus, Known::of(after)?);
    let (issuer, end) = known.issuer;
    if issuer != bus.epoch {
        all_is_known_after(bus, &known).then_some(())?;
    } else if end > bus.head(NEWS) {
        return None;
    }
    let mut at = match last {
        Ok(last) => last,
        Err(forgotten) => return is_before(bus, forgotten, &known).then(Vec::new),
    };
    let mut walk = Walk { member, limits, known: &known, missed: Vec::new(), bytes: 0 };
    let (mut record, mut steps) = (Vec::new(), 0);
    while at > 0 && !(issuer == bus.epoch && at < end) {
        record.clear();
        steps += 1;
        at = match bus.step_back(topic, at, &mut record) {
            Back::Gone => return None,
            Back::Other(previous) => previous,
            Back::Message(previous) => match walk.take(at, &record)? {
                // Where many are there that the client has got, at another host, it would be long in coming.
                Step::On if steps > STEPS_MAX + 2 * limits.messages_max => return None,
                Step::On => previous,
                Step::Enough => 0,
            },
        };
    }
    walk.missed.reverse();
    Some(walk.missed)
}

/// Messages that are looked at, beside those that may be missed.
const STEPS_MAX: usize = 10_000;

/// What the walk does next.
enum Step {
    On,
    Enough,
}

/// The walk back.
struct Walk<'a> {
    member: &'a Member,
    limits: &'a Limits,
    known: &'a Known,
    missed: Vec<Missed>,
    bytes: usize,
}

impl Walk<'_> {
    /// Takes a message that begins at `at`; `None` if it is too late.
    fn take(&mut self, at: u64, record: &[u8]) -> Option<Step> {
        let own = self.member.bus.epoch;
        let (message, end) = (Message::decode(record)?, end_of(at, record));
        let (host, there) = message.origin.map_or((own, end), |origin| (origin.host, origin.end));
        // What is not delivered yet is on its way; of the past nothing ever is.
        let is_coming = at >= self.member.position(NEWS) && !message.is_past;
        let is_missed =
            if self.known.issuer.0 == own { !message.is_past } else { there > self.known.to(host) };
        if is_missed && !is_coming {
            let id = id(own, end, &message);
            self.bytes += Missed::bytes_of(&id, &message);
            let is_much = self.missed.len() >= self.limits.messages_max || self.bytes > self.limits.bytes_max;
            let oldest_ms = now_ms().saturating_sub(self.limits.age_max_ms);
            if is_much || message.time_ms < oldest_ms {
                return None;
            }
            self.missed.push(Missed::of(at, id, &message));
        }
        let mut seen = seen_in(message.seen).peekable();
        let is_old = match seen.peek() {
            _ if self.known.issuer.0 == own => false,
            None => self.known.to(own) >= at,
            Some(_) => seen.all(|(host, to)| self.known.to(host) >= to),
        };
        Some(if is_old { Step::Enough } else { Step::On })
    }
}

/// Whether all that this bus knows of other hosts goes on without a gap where the client has stopped, at another host.
fn all_is_known_after(bus: &Bus, known: &Known) -> bool {
    let here: Vec<Host> = bus.hosts.all().collect();
    let is_known = |host: u32| host == bus.epoch || here.iter().any(|one| one.host == host);
    known.hosts.iter().all(|(host, _)| is_known(*host))
        // Of a host that was unknown there, everything was missed: it has to be here from its beginning.
        && here.iter().all(|one| known.to(one.host).max(bus.start()) >= one.since)
        && known.to(bus.epoch) <= bus.head(NEWS)
}

/// Whether what was forgotten, up to a position, was there before the client has stopped.
fn is_before(bus: &Bus, forgotten: u64, known: &Known) -> bool {
    if known.issuer.0 == bus.epoch { known.issuer.1 > forgotten || forgotten == 0 } else { forgotten == 0 }
}
