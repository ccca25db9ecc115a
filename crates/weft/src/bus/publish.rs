//! Publishing: what is checked, how long it may wait, and what is said when it fails.
//!
//! Must not know who publishes. Invariant: a publisher waits for at most [`PATIENCE`]; then the reader that has not read for
//! so long is left behind, so that one worker that stands still delays nobody for ever.

use std::fmt;

use weft_rt::{MILLISECOND, Nanos, Runtime, Wake, clock};
use weft_serve::{STATE_KEY_BYTES_MAX, is_topic};

use super::message::{EXCLUDED_MAX, Kind, Message, excluded_of};
use super::name::name_of;
use super::shared::{Bus, NEWS, Refused};

/// How long a publisher waits for the reader that has read least.
const PATIENCE: Nanos = 1_000 * MILLISECOND;
/// How often it looks.
const LOOK_EVERY: Nanos = 2 * MILLISECOND;

/// What is to be published.
#[derive(Debug, Clone, Copy)]
pub struct Publication<'a> {
    /// The topic: [`is_topic`].
    pub topic: &'a [u8],
    /// What subscribers get.
    pub payload: &'a [u8],
    /// Whether it is bytes, and not a text.
    pub is_binary: bool,
    /// The names of the connections that do not get it, with a space in between.
    pub except: &'a [u8],
    /// Which of the topic's states it tells; empty for none.
    pub key: &'a [u8],
}

/// Why it was not published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotPublished {
    /// The topic cannot have this name.
    Topic,
    /// A text is not UTF-8.
    NotText,
    /// It has more than so many bytes.
    TooLong(usize),
    /// Too many connections are left out.
    Excluded,
    /// Its key is too long.
    Key,
    /// Workers have not read what it would overwrite.
    Full,
    /// Another process has the lock of the bus, and does not go on.
    Busy,
    /// The publisher was cancelled while it waited.
    Cancelled,
}

impl fmt::Display for NotPublished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotPublished::Topic => {
                f.write_str("a topic's name is UTF-8, has 1 to 255 bytes, and no control characters")
            }
            NotPublished::NotText => {
                f.write_str("a text message is UTF-8; other bytes are published as a binary message")
            }
            NotPublished::TooLong(most) => {
                write!(f, "a message to this topic has at most {most} bytes, an eighth of topics_bytes")
            }
            NotPublished::Excluded => write!(f, "a message leaves out at most {EXCLUDED_MAX} connections"),
            NotPublished::Key => write!(f, "the key of a message has at most {STATE_KEY_BYTES_MAX} bytes"),
            NotPublished::Full => {
                f.write_str("workers do not keep up with what is published; try again later")
            }
            NotPublished::Busy => f.write_str("a process stands still while it publishes; try again later"),
            NotPublished::Cancelled => f.write_str("the wait for room on the bus was cancelled"),
        }
    }
}

/// Publishes without waiting; returns the message's id.
///
/// # Errors
/// See [`NotPublished`]; nothing was published.
pub fn publish_at_once(bus: &Bus, publication: &Publication<'_>) -> Result<String, NotPublished> {
    if !is_topic(publication.topic) {
        return Err(NotPublished::Topic);
    }
    if !publication.is_binary && std::str::from_utf8(publication.payload).is_err() {
        return Err(NotPublished::NotText);
    }
    if publication.key.len() > STATE_KEY_BYTES_MAX {
        return Err(NotPublished::Key);
    }
    let kind = if publication.is_binary { Kind::Binary } else { Kind::Text };
    let except = excluded_of(publication.except).ok_or(NotPublished::Excluded)?;
    let message = Message::new(kind, (0, 0), publication.topic, publication.payload);
    let message = Message { except: &except, key: publication.key, ..message };
    match bus.publish(&message) {
        Ok((end, seen)) => Ok(name_of(bus.epoch, end, None, &seen)),
        Err(Refused::TooLong(most)) => Err(NotPublished::TooLong(most)),
        Err(Refused::Full) => Err(NotPublished::Full),
        Err(Refused::Busy) => Err(NotPublished::Busy),
    }
}

/// Publishes, and waits for room if need be and if the caller can wait; returns the message's id.
///
/// # Errors
/// See [`NotPublished`]; nothing was published.
pub fn publish(bus: &Bus, publication: &Publication<'_>) -> Result<String, NotPublished> {
    let mut until = None;
    loop {
        let published = publish_at_once(bus, publication);
        let Some(runtime) = Runtime::get().filter(|runtime| runtime.can_park()) else { return published };
        if !matches!(published, Err(NotPublished::Full | NotPublished::Busy)) {
            return published;
        }
        let now = clock::now();
        if now >= *until.get_or_insert(now + PATIENCE) {
            let behind = (published == Err(NotPublished::Full)).then(|| bus.leave_behind(NEWS)).flatten();
            let Some(pid) = behind else { return published };
            tracing::warn!(
                "worker {pid} has not read messages of topics for a second: nobody waits for it any more, and it misses some"
            );
            return publish_at_once(bus, publication);
        }
        if runtime.sleep_until(now + LOOK_EVERY) == Wake::Cancelled {
            return Err(NotPublished::Cancelled);
        }
    }
}
