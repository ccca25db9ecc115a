//! Topics, as PHP sees them: the trait behind the rows of [`crate::topic`].
//!
//! Must not know how a message travels. Invariant: no method calls Zend, or keeps a borrow while it parks.

use crate::abi::{EventsBegun, OverflowPolicy, TopicPublished, TopicSubscribed};
use crate::slice::Slice;

/// What is to be published.
#[derive(Clone, Copy, Debug)]
pub struct Publish<'a> {
    /// The topic.
    pub topic: &'a [u8],
    /// What its subscribers get.
    pub message: &'a [u8],
    /// Whether that is bytes, and not a text.
    pub is_binary: bool,
    /// The names of the connections that do not get it, with a space in between.
    pub except: Option<&'a [u8]>,
    /// Which of the topic's states it tells; empty for none.
    pub key: &'a [u8],
}

/// What a connection subscribes to.
#[derive(Clone, Copy, Debug)]
pub struct Subscribe<'a> {
    /// The connection's name.
    pub connection: &'a [u8],
    /// The topic.
    pub topic: &'a [u8],
    /// Whether each message begins with a line that has its id and its topic.
    pub is_labelled: bool,
    /// The id of the last message that its client has: those that follow are sent first.
    pub after: Option<&'a [u8]>,
    /// How many of the last messages are sent first, if there is no such id, or it is too late for what followed it.
    pub recent: usize,
}

/// What a response that is bound to topics is like.
#[derive(Clone, Copy, Debug)]
pub struct EventStream<'a> {
    /// The topics, without repetition.
    pub topics: &'a [&'a [u8]],
    /// For each of them the name under which the client is present there, if it is.
    pub names: &'a [Option<&'a [u8]>],
    /// The id of the last message that is known; `None`: what the request shows as Last-Event-ID.
    pub after: Option<&'a [u8]>,
    /// How many of each topic's last messages are sent first, if no message is known, or it is too late for what followed it.
    pub recent: usize,
    /// Whether events have the names of their topics.
    pub is_labelled: bool,
    /// What becomes of messages for which there is no room.
    pub overflow: OverflowPolicy,
    /// Milliseconds without an event after which a comment is sent; 0 for never.
    pub heartbeat_ms: u32,
    /// Milliseconds after which a client comes back that was cut off.
    pub retry_ms: u32,
}

impl<'a> EventStream<'a> {
    /// The topics at which the client is present, and under which names.
    pub fn attended(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        self.topics.iter().zip(self.names).filter_map(|(topic, name)| name.map(|name| (*topic, name)))
    }
}

/// Topics, as PHP sees them. What is lent stays valid until the next question.
pub trait Topics {
    /// Publishes; with [`TopicPublished::Yes`] the message's id is lent, else what is wrong. Parks while there is no room.
    fn publish(&self, publish: &Publish<'_>) -> (TopicPublished, Slice);
    /// Subscribes a connection. Parks while what its client knows is not here, or the past cannot be read.
    fn subscribe(&self, subscribe: &Subscribe<'_>) -> TopicSubscribed;
    /// A connection that has subscribed to a topic is present there under a name.
    fn attend(&self, connection: &[u8], topic: &[u8], name: &[u8]) -> TopicSubscribed;
    /// Binds the response of a request, whose head was sent, to topics; with [`EventsBegun::Yes`] the request has ended.
    fn stream(&self, request: u64, stream: &EventStream<'_>) -> EventsBegun;
    /// The id after which follows what this worker has still to deliver.
    fn position(&self) -> Slice;
    /// Ends a subscription; returns whether there was one.
    fn unsubscribe(&self, connection: &[u8], topic: &[u8]) -> bool;
    /// Asks all workers about a topic, or the one that has a connection about that: what is a number of the host's. The
    /// rows of the answers are lent, each behind its length in four bytes; `None` if not all have answered in time.
    /// Parks.
    fn ask(&self, what: u32, subject: &[u8]) -> Option<Slice>;
    /// The topics of a connection, each with the end of a line behind it.
    fn list(&self, connection: &[u8]) -> Slice;
}
