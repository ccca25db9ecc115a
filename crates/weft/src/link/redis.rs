//! Redis as the backplane: what happens is published to a channel, and messages are added to a stream, in one transaction.
//!
//! Must not know what packets say. Invariant: a message that was published is in the stream, too, in the same order.

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use redis::aio::{MultiplexedConnection, PubSubStream};
use redis::{AsyncConnectionConfig, Client, RedisError, Value, cmd, pipe};

use super::measures::{KEPT_MAX, KEPT_MS_MIN, Mark, PAGE, PATIENCE};
use super::outbox::Item;
use crate::config::{Backplane, Topics};

/// The field of an entry that has the packet.
const FIELD: &str = "d";

/// Publishes.
#[derive(Clone)]
pub struct Sender {
    connection: MultiplexedConnection,
    channel: String,
    /// The stream, and how long it lives without a message.
    stream: Option<(String, u64)>,
}

/// What was published.
pub struct Receiver(PubSubStream);

/// Reads the stream.
pub struct Keeper {
    connection: MultiplexedConnection,
    stream: String,
}

/// Connects; the stream is read only if it is written.
pub async fn connect(
    backplane: &Backplane,
    topics: &Topics,
) -> Result<(Sender, Receiver, Option<Keeper>), String> {
    let client = Client::open(backplane.url.as_str()).map_err(explain)?;
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(PATIENCE))
        .set_response_timeout(Some(PATIENCE));
    let connection = client.get_multiplexed_async_connection_with_config(&config).await.map_err(explain)?;
    let channel = format!("weft:{}", topics.backplane_name);
    let stream = format!("{channel}:history");
    let mut heard = client.get_async_pubsub().await.map_err(explain)?;
    heard.subscribe(&channel).await.map_err(explain)?;
    let keeps = topics.backplane_history;
    let kept_ms = topics.history_ms.saturating_mul(2).max(KEPT_MS_MIN);
    let sender =
        Sender { connection: connection.clone(), channel, stream: keeps.then(|| (stream.clone(), kept_ms)) };
    Ok((sender, Receiver(heard.into_on_message()), keeps.then_some(Keeper { connection, stream })))
}

impl Sender {
    /// Publishes packets, and keeps the messages among them.
    pub async fn send(&mut self, items: &[Item]) -> Result<(), String> {
        let mut all = pipe();
        all.atomic();
        for item in items {
            let payload = &item.payload[..];
            if let Some((stream, _)) = self.stream.as_ref().filter(|_| item.is_message) {
                let add = all.cmd("XADD").arg(stream).arg("MAXLEN").arg("~").arg(KEPT_MAX);
                add.arg("*").arg(FIELD).arg(payload).ignore();
            }
            all.cmd("PUBLISH").arg(&self.channel).arg(payload).ignore();
        }
        if let Some((stream, kept_ms)) = &self.stream {
            all.cmd("PEXPIRE").arg(stream).arg(*kept_ms).ignore();
        }
        all.query_async::<()>(&mut self.connection).await.map_err(explain)
    }
}

impl Receiver {
    /// The next packet.
    pub async fn next(&mut self) -> Option<Bytes> {
        let message = next_of(&mut self.0).await?;
        Some(message.get_payload_bytes().to_vec().into())
    }
}

async fn next_of<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    stream.next().await
}

impl Keeper {
    /// The position of the last message.
    pub async fn mark(&mut self) -> Result<Mark, String> {
        let mut last = cmd("XREVRANGE");
        last.arg(&self.stream).arg("+").arg("-").arg("COUNT").arg(1);
        let found: Value = last.query_async(&mut self.connection).await.map_err(explain)?;
        Ok(entries(found).pop().map_or("0-0".into(), |(mark, _)| mark))
    }

    /// The messages behind a position.
    pub async fn page(&mut self, after: Option<&Mark>) -> Result<(Vec<Bytes>, Option<Mark>), String> {
        let from = after.map_or("-".to_owned(), |mark| format!("({mark}"));
        let mut range = cmd("XRANGE");
        range.arg(&self.stream).arg(from).arg("+").arg("COUNT").arg(PAGE);
        let found: Value = range.query_async(&mut self.connection).await.map_err(explain)?;
        let found = entries(found);
        let last = found.last().map(|(mark, _)| mark.clone());
        Ok((found.into_iter().map(|(_, payload)| payload).collect(), last))
    }
}

/// The entries in an answer to XRANGE: their ids and packets.
fn entries(answer: Value) -> Vec<(Mark, Bytes)> {
    let Value::Array(all) = answer else { return Vec::new() };
    let entry = |one: Value| {
        let (mark, fields): (String, Vec<Vec<u8>>) = redis::from_redis_value(one).ok()?;
        let payload = fields.into_iter().nth(1)?;
        Some((mark, payload.into()))
    };
    all.into_iter().filter_map(entry).collect()
}

fn explain(error: RedisError) -> String {
    error.to_string()
}
