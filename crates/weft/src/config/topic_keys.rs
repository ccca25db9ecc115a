//! The rows of `[topics]` in the table of every setting: see [`super::keys`].
//!
//! Must not know: where a value came from. Invariant: this section has no row elsewhere.

use super::Config;
use super::key::{Arity, DAY_MS, GIB, KIB, Key, key, number};
use super::value::Unit;

/// The rows of `[topics]`.
pub const TOPICS: &[Key] = &[
    number!(
        topics.bytes,
        "topics-bytes",
        Bytes,
        64 * KIB..=GIB,
        "Memory of all workers together for published messages, which stay there until newer ones need the room; made a power of two; a message has at most an eighth of it; a reload keeps its size"
    ),
    number!(
        topics.history_max,
        "topics-history-max",
        Count,
        0..=1_000_000,
        "Messages of one topic that a client which comes back may have missed; beyond it it is too late to send them"
    ),
    number!(
        topics.history_ms,
        "topics-history-ms",
        Milliseconds,
        0..=DAY_MS,
        "How old messages may be that a client which comes back is sent; beyond it it is too late"
    ),
    key!(
        topics.publish_to,
        "topics-publish-to",
        One,
        "ADDRESS",
        "admin+unix:/path, admin://HOST:PORT",
        "none",
        |v| Some(v.operators()?),
        "The server to which weft publish, and PHP code of this server, publish: an admin address at which it listens; without it code publishes to its own server"
    ),
    key!(
        topics.publish_token,
        "topics-publish-token",
        One,
        "TOKEN",
        "16 to 256 printable ASCII characters",
        "none",
        |v| Some(v.token()?),
        "The admin.token of that server, if it has one"
    ),
    key!(
        topics.backplane,
        "topics-backplane",
        One,
        "URL",
        "redis://, rediss://, nats://, tls://",
        "none",
        |v| Some(v.backplane()?),
        "What joins the topics of several hosts, as redis://user:password@HOST:PORT or nats://HOST:PORT"
    ),
    key!(
        topics.backplane_name,
        "topics-backplane-name",
        One,
        "NAME",
        "up to 32 letters, digits and dashes",
        "weft",
        |v| v.name()?,
        "Hosts with the same name at one backplane share their topics"
    ),
    key!(
        topics.backplane_history,
        "topics-backplane-history",
        One,
        "",
        "true, false",
        "true",
        |v| v.boolean()?,
        "Keep messages at the backplane for hosts that were cut off from it: a stream of Redis, or one of NATS, which needs JetStream"
    ),
];
