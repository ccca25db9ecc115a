//! A connection to the backplane, whichever it is: what is sent, what is received, what it has kept.
//!
//! Must not know what packets say. Invariants: `send` returns only when the backplane has taken all of it, as far as it says
//! so; packets of one link are received in the order in which they were sent.

use bytes::Bytes;

use super::measures::{Mark, PATIENCE};
use super::outbox::Item;
use super::{nats, redis};
use crate::config::{BackplaneKind, Topics};

/// The three parts of a connection, which are used at the same time.
pub struct Connection {
    /// Sends.
    pub sender: Sender,
    /// Receives.
    pub receiver: Receiver,
    /// Reads what was kept, if it keeps anything.
    pub keeper: Option<Keeper>,
    /// Why it keeps nothing although it should.
    pub complaint: Option<String>,
}

/// Sends packets.
#[derive(Clone)]
pub enum Sender {
    /// To Redis.
    Redis(redis::Sender),
    /// To NATS.
    Nats(Box<nats::Sender>),
}

/// Receives packets.
pub enum Receiver {
    /// From Redis.
    Redis(redis::Receiver),
    /// From NATS.
    Nats(nats::Receiver),
}

/// Reads messages that were kept.
pub enum Keeper {
    /// A stream of Redis.
    Redis(redis::Keeper),
    /// One of JetStream.
    Nats(Box<nats::Keeper>),
}

/// Connects, and subscribes to what other links send.
///
/// # Errors
/// In the words of the client, or of the server.
pub async fn connect(topics: &Topics) -> Result<Connection, String> {
    let Some(backplane) = &topics.backplane else { return Err("none is configured".into()) };
    let connected = async {
        match backplane.kind {
            BackplaneKind::Redis => {
                let (sender, receiver, keeper) = redis::connect(backplane, topics).await?;
                Ok(Connection {
                    sender: Sender::Redis(sender),
                    receiver: Receiver::Redis(receiver),
                    keeper: keeper.map(Keeper::Redis),
                    complaint: None,
                })
            }
            BackplaneKind::Nats => {
                let (sender, receiver, keeper) = nats::connect(backplane, topics).await?;
                let (keeper, complaint) = match keeper {
                    Some(Ok(keeper)) => (Some(Keeper::Nats(Box::new(keeper))), None),
                    Some(Err(why)) => (None, Some(why)),
                    None => (None, None),
                };
                let (sender, receiver) = (Sender::Nats(Box::new(sender)), Receiver::Nats(receiver));
                Ok(Connection { sender, receiver, keeper, complaint })
            }
        }
    };
    let late = |_| format!("it has not answered within {} s", PATIENCE.as_secs());
    tokio::time::timeout(2 * PATIENCE, connected).await.map_err(late)?
}

impl Sender {
    /// Sends packets; returns how many were too large for the backplane.
    pub async fn send(&mut self, items: Vec<Item>) -> Result<u64, String> {
        match self {
            Sender::Redis(sender) => sender.send(&items).await.map(|()| 0),
            Sender::Nats(sender) => sender.send(&items).await,
        }
    }
}

impl Receiver {
    /// The next packet; `None` when the connection has ended. Nothing is lost if this is given up.
    pub async fn next(&mut self) -> Option<Bytes> {
        match self {
            Receiver::Redis(receiver) => receiver.next().await,
            Receiver::Nats(receiver) => receiver.next().await,
        }
    }
}

impl Keeper {
    /// The position of the last message.
    pub async fn mark(&mut self) -> Result<Mark, String> {
        match self {
            Keeper::Redis(keeper) => keeper.mark().await,
            Keeper::Nats(keeper) => keeper.mark().await,
        }
    }

    /// The messages behind a position, or from the first on, and where the next page begins; `None` if there is none.
    pub async fn page(&mut self, after: Option<&Mark>) -> Result<(Vec<Bytes>, Option<Mark>), String> {
        match self {
            Keeper::Redis(keeper) => keeper.page(after).await,
            Keeper::Nats(keeper) => keeper.page(after).await,
        }
    }
}
