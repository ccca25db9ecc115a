//! What workers ask each other: about topics, and about connections by their names.
//!
//! Must not know how a question travels. Invariants: a worker asks itself in the same words as the others; what a question
//! does is done once, by the worker that has the connection.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use weft_proto::websocket::{CloseCode, Kind};
use weft_serve::{Sent, Server, StateKey, Subscribed, TunnelKey, is_topic};

use super::letter::{encode_rows, rows_of};
use crate::in_flight;
use crate::profile::{self, Wanted};

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum What {
    /// How many have subscribed to a topic: a number.
    Count,
    /// Who has: names of connections.
    Connections,
    /// Who has, and what is remembered of them: of each its name, how many attributes it has, and these.
    Attributes,
    /// Which topics begin with a text, and how many have subscribed to each: names and numbers.
    Topics,
    /// All leave a topic: how many have.
    Dissolve,
    /// A text for a connection, and the key of the state that it tells, if it tells one. Here and below: "1" if that was done, "0" if not, nothing if there is no such connection.
    Text,
    /// Bytes for one.
    Binary,
    /// It is closed: the code, and the reason.
    Close,
    /// How many bytes wait for it.
    Waiting,
    /// An attribute of it: its value, or nothing.
    Get,
    /// All of them: names and values.
    GetAll,
    /// One is set: its name, and its value if it is not removed.
    Set,
    /// It subscribes to a topic.
    Subscribe,
    /// The same, with labels.
    SubscribeLabelled,
    /// It unsubscribes from one.
    Unsubscribe,
    /// Its topics.
    List,
    /// Who is where: five rows for each, the worker and the number of the connection, the topic, the name, and the host.
    Roster,
    /// Who is at a topic: names of connections, each followed by the name under which it is there.
    Present,
    /// A profile begins: its number, for how long, how often.
    Profile,
    /// What was seen for the profile of a number: a stack and its count in each row.
    Profiled,
    /// The last messages of a topic: [`super::recent::rows`].
    Recent,
    /// A connection subscribes to a topic and gets its last messages: [`super::recent::answer`].
    SubscribeRecent,
    /// Which requests are in flight, and where each stands.
    InFlight,
    /// A part of a file is sent: its path, where the part begins, and its length, or nothing for the rest.
    File,
}

impl What {
    /// What has this number.
    pub fn of_number(number: u32) -> Option<What> {
        ALL.get(number as usize).copied()
    }
}

const ALL: [What; 24] = [
    What::Count,
    What::Connections,
    What::Attributes,
    What::Topics,
    What::Dissolve,
    What::Text,
    What::Binary,
    What::Close,
    What::Waiting,
    What::Get,
    What::GetAll,
    What::Set,
    What::Subscribe,
    What::SubscribeLabelled,
    What::Unsubscribe,
    What::List,
    What::Roster,
    What::Present,
    What::Profile,
    What::Profiled,
    What::Recent,
    What::SubscribeRecent,
    What::InFlight,
    What::File,
];

/// The topic of the states that are told to one connection.
pub const NO_TOPIC: &[u8] = b"";

/// Rows of an answer.
pub type Rows = Vec<Vec<u8>>;

/// A question about a topic, or about a connection by its number at its worker.
pub fn question(what: What, subject: &[u8], more: &[&[u8]]) -> Vec<u8> {
    encode_rows(&[&[&[what as u8][..], subject], more].concat())
}

/// The answer of this worker, whose connections' names begin with `prefix`.
pub fn answer(server: &Server, prefix: &str, question: &[u8]) -> Rows {
    let mut rows = rows_of(question);
    let what = rows.next().and_then(|what| ALL.get(usize::from(*what.first()?)));
    let (Some(what), Some(subject)) = (what, rows.next()) else { return Rows::new() };
    let more: Vec<&[u8]> = rows.collect();
    let name = |key: TunnelKey| name_of(prefix, key).into_bytes();
    match what {
        What::Count => vec![number(server.members(subject).len())],
        What::Connections => server.members(subject).into_iter().map(name).collect(),
        What::Attributes => {
            server.members(subject).into_iter().flat_map(|key| described(server, name(key), key)).collect()
        }
        What::Topics => {
            let counted = server.topics(subject).into_iter();
            counted.flat_map(|(name, count)| [name.to_vec(), number(count)]).collect()
        }
        What::Dissolve => {
            let left = server.members(subject).into_iter().filter(|key| server.unsubscribe(*key, subject));
            vec![number(left.count())]
        }
        // Presence answers that, or the history.
        What::Roster | What::Present | What::Recent | What::SubscribeRecent => Rows::new(),
        What::Profile => {
            if let Some(wanted) = std::str::from_utf8(subject).ok().and_then(Wanted::parse)
                && let Err(why) = profile::begin(&wanted)
            {
                tracing::warn!("this worker takes no part in a profile: {why}");
            }
            Rows::new()
        }
        What::Profiled => {
            let number = std::str::from_utf8(subject).ok().and_then(|number| number.parse().ok());
            let stacks = number.and_then(profile::taken).unwrap_or_default();
            stacks.into_iter().map(|(stack, count)| format!("{stack} {count}").into_bytes()).collect()
        }
        What::InFlight => in_flight::rows(),
        _ => about_one(server, *what, subject, &more),
    }
}

/// The name of a connection, which no other one of any worker has.
pub fn name_of(prefix: &str, key: TunnelKey) -> String {
    let mut name = String::new();
    write_name(prefix, key, &mut name);
    name
}

/// Appends it. Each event has one, and the standard library's formatting would cost more than the rest of what is lent with it.
pub fn write_name(prefix: &str, TunnelKey(key): TunnelKey, into: &mut String) {
    into.push_str(prefix);
    into.push_str("-w");
    let digits = (u64::BITS - key.leading_zeros()).div_ceil(4).max(1);
    let digit = |at: u32| char::from_digit((key >> (4 * at)) as u32 & 0xF, 16);
    into.extend((0..digits).rev().filter_map(digit));
}

fn number(count: usize) -> Vec<u8> {
    count.to_string().into_bytes()
}

fn described(server: &Server, name: Vec<u8>, key: TunnelKey) -> Rows {
    let attributes = server.tunnel_attributes(key);
    let mut rows = vec![name, number(attributes.len())];
    rows.extend(attributes.into_iter().flat_map(|(name, value)| [name, value]));
    rows
}

fn about_one(server: &Server, what: What, subject: &[u8], more: &[&[u8]]) -> Rows {
    let number_of = |text: &[u8]| u64::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok();
    let Some(key) = number_of(subject).map(TunnelKey) else { return Rows::new() };
    let first = more.first().copied().unwrap_or_default();
    match what {
        // They can be read as long as the service is told of the end.
        What::Get => return server.tunnel_attribute(key, first).into_iter().collect(),
        What::GetAll => {
            return server
                .tunnel_attributes(key)
                .into_iter()
                .flat_map(|(name, value)| [name, value])
                .collect();
        }
        _ if !server.tunnel_is_open(key) => return Rows::new(),
        _ => (),
    }
    let is_done = match what {
        What::Text | What::Binary => {
            let kind = if what == What::Text { Kind::Text } else { Kind::Binary };
            let state = more.get(1).and_then(|state| StateKey::of(NO_TOPIC, state));
            server.tunnel_send(key, kind, first, state) == Sent::Queued
        }
        What::File => {
            let number = |at: usize| std::str::from_utf8(more.get(at)?).ok()?.parse().ok();
            let path = Path::new(OsStr::from_bytes(first));
            server.tunnel_send_file(key, path, number(1).unwrap_or_default(), number(2)).is_ok()
        }
        What::Close => {
            let code = std::str::from_utf8(first).ok().and_then(|code| code.parse().ok());
            let reason = String::from_utf8_lossy(more.get(1).copied().unwrap_or_default());
            server.tunnel_close(key, CloseCode(code.unwrap_or(CloseCode::NORMAL.0)), &reason)
        }
        What::Waiting => return vec![number(server.tunnel_waiting(key))],
        What::Set => server.set_tunnel_attribute(key, first, more.get(1).copied()) == Some(true),
        What::Subscribe | What::SubscribeLabelled => {
            let is_labelled = what == What::SubscribeLabelled;
            is_topic(first) && server.subscribe(key, first, is_labelled) == Subscribed::Yes
        }
        What::Unsubscribe => server.unsubscribe(key, first),
        _ => return server.topics_of(key).iter().map(|topic| topic.to_vec()).collect(),
    };
    vec![if is_done { b"1".to_vec() } else { b"0".to_vec() }]
}
