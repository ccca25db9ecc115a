//! NATS as the backplane: what happens is published to subjects, and JetStream keeps the messages among it.
//!
//! Must not know what packets say. Invariants: all packets of a link go over one connection, in order; a connection that
//! breaks ends here, because the client's own way to reconnect would not say what was lost.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::stream::{Config, DiscardPolicy, Stream};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectOptions, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;

use super::measures::{KEPT_MAX, KEPT_MS_MIN, Mark, PAGE, PATIENCE};
use super::outbox::Item;
use crate::config::{Backplane, Topics};

/// Publishes.
#[derive(Clone)]
pub struct Sender {
    client: Client,
    /// If it keeps messages.
    kept: Option<Context>,
    /// The subject of messages, and that of all else.
    subjects: [String; 2],
}

/// What was published.
pub struct Receiver {
    client: Client,
    heard: Subscriber,
}

/// Reads the stream.
pub struct Keeper(Stream);

/// Connects. If messages are to be kept, the last part says what keeps them, or why nothing does.
pub async fn connect(
    backplane: &Backplane,
    topics: &Topics,
) -> Result<(Sender, Receiver, Option<Result<Keeper, String>>), String> {
    let options = ConnectOptions::new()
        .connection_timeout(PATIENCE)
        .request_timeout(Some(PATIENCE))
        .ping_interval(PATIENCE)
        .max_reconnects(1)
        .name("weft");
    let options = match backplane.credentials() {
        Some((token, password)) if password.is_empty() => options.token(token),
        Some((user, password)) => options.user_and_password(user, password),
        None => options,
    };
    let client = options.connect(backplane.place()).await.map_err(|error| explain(&error))?;
    let prefix = format!("weft.{}", topics.backplane_name);
    let subjects = [format!("{prefix}.messages"), format!("{prefix}.links")];
    // One subscription to both: so they come in order.
    let heard = client.subscribe(format!("{prefix}.*")).await.map_err(|error| explain(&error))?;
    client.flush().await.map_err(|error| explain(&error))?;
    let mut sender = Sender { client: client.clone(), kept: None, subjects };
    let receiver = Receiver { client: client.clone(), heard };
    if !topics.backplane_history {
        return Ok((sender, receiver, None));
    }
    let keeper = keep(&client, &sender.subjects[0], topics).await.map(|(context, stream)| {
        sender.kept = Some(context);
        Keeper(stream)
    });
    Ok((sender, receiver, Some(keeper)))
}

/// Has JetStream keep what is published to a subject.
async fn keep(client: &Client, subject: &str, topics: &Topics) -> Result<(Context, Stream), String> {
    let context = jetstream::new(client.clone());
    let config = Config {
        name: format!("weft_{}", topics.backplane_name),
        subjects: vec![subject.to_owned()],
        max_age: Duration::from_millis(topics.history_ms.max(KEPT_MS_MIN)),
        max_messages: KEPT_MAX as i64,
        discard: DiscardPolicy::Old,
        ..Config::default()
    };
    let stream = context.get_or_create_stream(config).await.map_err(|error| explain(&error))?;
    Ok((context, stream))
}

impl Sender {
    /// Publishes packets; returns how many were too large.
    pub async fn send(&mut self, items: &[Item]) -> Result<u64, String> {
        let (mut too_large, mut confirmations) = (0, Vec::new());
        let bytes_max = self.client.server_info().max_payload;
        for item in items {
            if item.payload.len() > bytes_max {
                too_large += 1;
                continue;
            }
            let subject = self.subjects[usize::from(!item.is_message)].clone();
            match self.kept.as_ref().filter(|_| item.is_message) {
                Some(kept) => {
                    let sent = kept.publish(subject, item.payload.clone()).await;
                    confirmations.push(sent.map_err(|error| explain(&error))?);
                }
                None => {
                    let sent = self.client.publish(subject, item.payload.clone()).await;
                    sent.map_err(|error| explain(&error))?;
                }
            }
        }
        self.client.flush().await.map_err(|error| explain(&error))?;
        for confirmation in confirmations {
            confirmation.await.map_err(|error| explain(&error))?;
        }
        if is_first(&self.client) { Ok(too_large) } else { Err("the connection has ended".into()) }
    }
}

impl Receiver {
    /// The next packet.
    pub async fn next(&mut self) -> Option<Bytes> {
        /// How often is looked whether the connection is still the same.
        const LOOK_EVERY: Duration = Duration::from_secs(1);
        loop {
            if !is_first(&self.client) {
                return None;
            }
            if let Ok(message) = tokio::time::timeout(LOOK_EVERY, self.heard.next()).await {
                return Some(message?.payload);
            }
        }
    }
}

impl Keeper {
    /// The position of the last message.
    pub async fn mark(&mut self) -> Result<Mark, String> {
        let info = self.0.info().await.map_err(|error| explain(&error))?;
        Ok(info.state.last_sequence.to_string())
    }

    /// The messages behind a position.
    pub async fn page(&mut self, after: Option<&Mark>) -> Result<(Vec<Bytes>, Option<Mark>), String> {
        let state = &self.0.info().await.map_err(|error| explain(&error))?.state;
        let wanted = after.and_then(|mark| mark.parse::<u64>().ok()).map_or(0, |last| last + 1);
        // The numbers of a stream that was made anew begin anew.
        let wanted = if wanted > state.last_sequence + 1 { 0 } else { wanted };
        let first = wanted.max(state.first_sequence).max(1);
        if state.messages == 0 || first > state.last_sequence {
            return Ok((Vec::new(), None));
        }
        let config = pull::Config {
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: first },
            ack_policy: AckPolicy::None,
            inactive_threshold: PATIENCE,
            ..pull::Config::default()
        };
        let consumer = self.0.create_consumer(config).await.map_err(|error| explain(&error))?;
        let fetched = consumer.fetch().max_messages(PAGE).messages().await;
        let mut fetched = fetched.map_err(|error| explain(&error))?;
        let (mut found, mut last) = (Vec::new(), None);
        while let Some(message) = fetched.next().await {
            let message = message.map_err(|error| error.to_string())?;
            last = message.info().ok().map(|info| info.stream_sequence.to_string());
            found.push(message.payload.clone());
        }
        Ok((found, last))
    }
}

/// Whether the connection is still the first one.
fn is_first(client: &Client) -> bool {
    client.connection_state() == State::Connected && client.statistics().connects.load(Relaxed) <= 1
}

/// An error with what it comes from.
fn explain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.to_lowercase().contains(&cause_text.to_lowercase()) && !cause_text.contains(&text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
