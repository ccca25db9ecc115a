//! A message on the bus, as bytes.
//!
//! Must not know how it travels. Invariant: what was encoded is decoded as it was; other bytes are no message.

use std::time::{SystemTime, UNIX_EPOCH};

use super::hosts::SEEN_BYTES;

/// Bytes of one connection among those that do not get a message.
const CONNECTION_BYTES: usize = 16;
/// Connections that one message may leave out: their names fit into the head of a request that publishes.
pub const EXCLUDED_MAX: usize = 500;
/// Bytes before the topic.
const HEAD_BYTES: usize = 32;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// Bytes.
    Binary,
    /// The announcement, a text, that a connection has come to a topic.
    Joined,
    /// That it has gone.
    Left,
}

/// A message that was published to a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// When, in milliseconds since 1970.
    pub time_ms: u64,
    /// What it is.
    pub kind: Kind,
    /// The connection that has come or gone: its worker, and its number there; zeros for none.
    pub who: (u64, u64),
    /// The connections that do not get it: [`excluded_in`].
    pub except: &'a [u8],
    /// 1 to 255 bytes.
    pub topic: &'a [u8],
    /// What subscribers get.
    pub payload: &'a [u8],
    /// Which of the topic's states it tells: 255 bytes at most; empty for none.
    pub key: &'a [u8],
    /// The other host that has published it.
    pub origin: Option<Origin>,
    /// Whether it is there only for those who come back: it was published before anybody here could subscribe.
    pub is_past: bool,
    /// What was here before it, if other hosts are known: [`super::hosts::seen_in`]. The bus fills it in.
    pub seen: &'a [u8],
}

/// Where a message of another host comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// Of which start of its server.
    pub host: u32,
    /// Where it ends in the order of that host.
    pub end: u64,
}

impl<'a> Message<'a> {
    /// A message of this host.
    pub fn new(kind: Kind, who: (u64, u64), topic: &'a [u8], payload: &'a [u8]) -> Message<'a> {
        let (except, key, seen) = (&b""[..], &b""[..], &b""[..]);
        Message {
            time_ms: now_ms(),
            kind,
            who,
            except,
            topic,
            payload,
            key,
            origin: None,
            is_past: false,
            seen,
        }
    }

    /// The bytes that it takes.
    pub fn encode(&self) -> Vec<u8> {
        let lists = self.except.len() + self.seen.len() + self.key.len();
        let length = HEAD_BYTES + 11 + lists + self.topic.len() + self.payload.len();
        let mut bytes = Vec::with_capacity(length);
        for number in [self.time_ms, self.who.0, self.who.1] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let (has_except, has_key) = (!self.except.is_empty(), !self.key.is_empty());
        let flags = u8::from(self.is_past) | u8::from(has_except) << 1 | u8::from(has_key) << 2;
        bytes.extend_from_slice(&[
            self.kind as u8,
            self.topic.len() as u8,
            flags,
            (self.seen.len() / SEEN_BYTES) as u8,
        ]);
        bytes.extend_from_slice(&self.origin.map_or(0, |origin| origin.host).to_le_bytes());
        if let Some(origin) = self.origin {
            bytes.extend_from_slice(&origin.end.to_le_bytes());
        }
        if has_except {
            let count = self.except.len() / CONNECTION_BYTES;
            bytes.extend_from_slice(&(count as u16).to_le_bytes());
            bytes.extend_from_slice(self.except);
        }
        if has_key {
            bytes.push(self.key.len() as u8);
            bytes.extend_from_slice(self.key);
        }
        bytes.extend_from_slice(self.seen);
        bytes.extend_from_slice(self.topic);
        bytes.extend_from_slice(self.payload);
        bytes
    }

    /// The message in these bytes.
    pub fn decode(bytes: &'a [u8]) -> Option<Message<'a>> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let (numbers, flags) = head.as_chunks::<8>().0.split_at_checked(3)?;
        let [time_ms, owner, number] = [0, 1, 2].map(|at| u64::from_le_bytes(numbers[at]));
        let [kind, length, flags, seen, host @ ..] = *flags.first()?;
        let kind = *[Kind::Text, Kind::Binary, Kind::Joined, Kind::Left].get(usize::from(kind))?;
        let (origin, rest) = match u32::from_le_bytes(host) {
            0 => (None, rest),
            host => {
                let (end, rest) = rest.split_first_chunk::<8>()?;
                (Some(Origin { host, end: u64::from_le_bytes(*end) }), rest)
            }
        };
        let (except, rest) = match flags & 2 {
            0 => (&b""[..], rest),
            _ => {
                let (count, rest) = rest.split_first_chunk::<2>()?;
                rest.split_at_checked(usize::from(u16::from_le_bytes(*count)) * CONNECTION_BYTES)?
            }
        };
        let (key, rest) = match flags & 4 {
            0 => (&b""[..], rest),
            _ => {
                let (length, rest) = rest.split_first()?;
                rest.split_at_checked(usize::from(*length))?
            }
        };
        let (seen, rest) = rest.split_at_checked(usize::from(seen) * SEEN_BYTES)?;
        let (topic, payload) = rest.split_at_checked(usize::from(length))?;
        Some(Message {
            time_ms,
            who: (owner, number),
            except,
            kind,
            topic,
            payload,
            key,
            origin,
            is_past: flags & 1 != 0,
            seen,
        })
    }
}

/// Connections by their names, which have a space in between, as a message has them; `None` for more than
/// [`EXCLUDED_MAX`]. What is no name is left out.
pub fn excluded_of(names: &[u8]) -> Option<Vec<u8>> {
    let known: Vec<(u64, u64)> = names.split(|byte| *byte == b' ').filter_map(connection_of).collect();
    let bytes = |(worker, number): &(u64, u64)| [worker.to_le_bytes(), number.to_le_bytes()].concat();
    (known.len() <= EXCLUDED_MAX).then(|| known.iter().flat_map(bytes).collect())
}

/// The connections of a worker in such a list, by their numbers.
pub fn excluded_in(except: &[u8], worker: u64) -> impl Iterator<Item = u64> {
    let numbers = except.as_chunks::<8>().0.as_chunks::<2>().0.iter();
    let numbers = numbers.map(|[owner, key]| (u64::from_le_bytes(*owner), u64::from_le_bytes(*key)));
    numbers.filter(move |(owner, _)| *owner == worker).map(|(_, key)| key)
}

/// A connection's worker and number, by its name.
pub fn connection_of(name: &[u8]) -> Option<(u64, u64)> {
    let (worker, number) = std::str::from_utf8(name).ok()?.split_once("-w")?;
    Some((u64::from_str_radix(worker, 16).ok()?, u64::from_str_radix(number, 16).ok()?))
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_encoded_is_decoded() {
        let long = [b't'; 255];
        for (topic, payload) in [(&b"t"[..], &b""[..]), (&long, b"payload"), (b"a b", &[0, 255])] {
            let seen = [7; 2 * SEEN_BYTES];
            let own = Message::new(Kind::Left, (1, u64::MAX), topic, payload);
            assert_eq!(Message::decode(&own.encode()), Some(own));
            let origin = Some(Origin { host: 1, end: u64::MAX });
            let except = excluded_of(b"5f-w1 nonsense 5f-w2 60-w3").expect("three");
            assert_eq!(excluded_in(&except, 0x5F).collect::<Vec<_>>(), [1, 2]);
            let message =
                Message { origin, is_past: true, seen: &seen, except: &except, key: b"state", ..own };
            let bytes = message.encode();
            assert_eq!(Message::decode(&bytes), Some(message));
            assert_eq!(Message::decode(&bytes[..bytes.len() - payload.len() - 1]), None);
        }
        assert_eq!(Message::decode(&[255; 40]), None);
    }
}
