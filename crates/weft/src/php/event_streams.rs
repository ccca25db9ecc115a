//! Responses that are bound to topics: the request ends, and its connection gets as events what is published.
//!
//! Must not know how an event is written. Invariants: what a client that comes back has missed is sent to it before anything
//! newer, each message once, or it is told that it is too late; what one gets that is new, too; nothing parks between the
//! subscription and that.

use weft_proto::event_stream::event;
use weft_proto::websocket::Kind;
use weft_rt::{MILLISECOND, Nanos, Runtime, SECOND, Wake, clock};
use weft_serve::{RequestKey, Subscribed, TunnelKey, is_topic, message_event};
use weft_zend::abi::EventsBegun;
use weft_zend::{EventStream, RequestId};

use super::services::overflow_of;
use super::topics::{WorkerTopics, may_be_there};
use crate::bus::{self, Missed};

/// How long room for an announcement is waited for, and how often is tried.
const PATIENCE: Nanos = SECOND;
const TRY_EVERY: Nanos = 2 * MILLISECOND;
/// The name of the event that tells a client that it is too late for what it has missed.
const MISSED: &[u8] = b"missed";
const TOO_LATE: &[u8] = b"messages were missed";

/// Messages of the past, each with its topic.
type Messages<'t> = Vec<(&'t [u8], Missed)>;

impl WorkerTopics {
    /// A request whose response was started is bound to topics.
    pub(super) fn begin_events(&self, request: RequestId, stream: &EventStream<'_>) -> EventsBegun {
        if !stream.topics.iter().all(|topic| is_topic(topic)) {
            return EventsBegun::Name;
        }
        if !stream.attended().all(|(topic, name)| may_be_there(topic, name)) {
            return EventsBegun::Name;
        }
        let key = RequestKey(request);
        let last = self.server.with_request(key, |view| view.header("last-event-id").map(<[u8]>::to_vec));
        let shown = last.flatten();
        let after = stream.after.or(shown.as_deref()).filter(|id| !id.is_empty());
        bus::read_up(self.presence, self.server);
        // May wait, so it comes before anything that must be of one moment.
        let caught_up = after.and_then(|after| bus::catch_up(self.post, after, stream.topics));
        let lasts = match &caught_up {
            None if stream.recent > 0 => bus::lasts(self.member, stream.topics),
            _ => caught_up.clone(),
        };
        let begun = self.server.begin_events(key, overflow_of(stream.overflow), stream.heartbeat_ms);
        let tunnel = match begun {
            Ok(Some(tunnel)) => tunnel,
            Ok(None) => return EventsBegun::Yes, // its client wants the head alone
            Err(weft_serve::Error::Gone) => return EventsBegun::Gone,
            Err(_) => return EventsBegun::Started,
        };
        for topic in stream.topics {
            if self.server.subscribe(tunnel, topic, stream.is_labelled) == Subscribed::TooMany {
                // Its client comes back; PHP has checked it.
                self.server.tunnel_close(tunnel, weft_proto::websocket::CloseCode::INTERNAL_ERROR, "");
                return EventsBegun::TooMany;
            }
        }
        let missed = |after| self.missed_of_all(stream.topics, &caught_up?, after);
        let missed = after.map(missed);
        self.open(tunnel, stream, missed, lasts.as_deref());
        for (topic, name) in stream.attended() {
            if !self.come_soon(tunnel, topic, name) {
                // Its client comes back.
                self.server.tunnel_close(tunnel, weft_proto::websocket::CloseCode::TRY_AGAIN_LATER, "");
            }
        }
        EventsBegun::Yes
    }

    /// Announces that a stream has come to a topic, and waits for room on the bus if need be; returns whether it could.
    fn come_soon(&self, tunnel: TunnelKey, topic: &[u8], name: &[u8]) -> bool {
        let until = clock::now() + PATIENCE;
        while self.server.has_subscribed(tunnel, topic) {
            if self.come(tunnel, topic, name) {
                return true;
            }
            let runtime = Runtime::get().filter(|runtime| runtime.can_park() && clock::now() < until);
            if runtime.is_none_or(|runtime| runtime.sleep_until(clock::now() + TRY_EVERY) == Wake::Cancelled)
            {
                return false;
            }
        }
        true // it has ended meanwhile, and nobody was told that it had come
    }

    /// Sends what comes first: when to come back, and what was missed, or, if its client knows nothing or it is too late,
    /// what was last; or only from where on it is sent.
    fn open(
        &self,
        tunnel: TunnelKey,
        stream: &EventStream<'_>,
        missed: Option<Option<Messages<'_>>>,
        lasts: Option<&[Result<u64, u64>]>,
    ) {
        let mut first = format!("retry: {}\n\n", stream.retry_ms).into_bytes();
        let position = || bus::position(self.member);
        let may_be_late = stream.recent > 0 && lasts.is_none();
        let is_too_late = missed.as_ref().map_or(may_be_late, Option::is_none);
        let messages = missed.flatten().unwrap_or_else(|| match lasts {
            Some(lasts) if stream.recent > 0 => {
                bus::recent_of_all(self.member, stream.topics, lasts, stream.recent, &self.limits)
            }
            _ => Vec::new(),
        });
        if is_too_late {
            first.extend_from_slice(&event(Some(&position()), Some(MISSED), TOO_LATE));
        } else if messages.is_empty() {
            first.extend_from_slice(&id_alone(&position()));
        }
        for (topic, message) in messages {
            let kind = if message.is_binary { Kind::Binary } else { Kind::Text };
            let topic = stream.is_labelled.then_some(topic);
            first.extend_from_slice(&message_event(Some(&message.id), topic, kind, &message.payload));
        }
        self.server.send_events(tunnel, &first);
    }

    /// What a client has missed of several topics, in the order in which it was published; `None` if it is too late.
    fn missed_of_all<'t>(
        &self,
        topics: &[&'t [u8]],
        lasts: &[Result<u64, u64>],
        after: &[u8],
    ) -> Option<Messages<'t>> {
        let mut all = Vec::new();
        for (topic, last) in topics.iter().zip(lasts) {
            let missed = bus::missed(self.member, topic, *last, after, &self.limits)?;
            all.extend(missed.into_iter().map(|message| (*topic, message)));
        }
        let bytes: usize = all.iter().map(|(topic, message)| message.bytes(topic)).sum();
        if all.len() > self.limits.messages_max || bytes > self.limits.bytes_max {
            return None;
        }
        all.sort_by_key(|(_, message)| message.at);
        Some(all)
    }
}

/// A block that is no event: it only tells the client what to show when it comes back.
fn id_alone(id: &[u8]) -> Vec<u8> {
    [b"id: ", id, b"\n\n"].concat()
}
