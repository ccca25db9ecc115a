//! What is published to a topic goes to its subscribers among the tunnels of this worker.
//!
//! Must not know who publishes, or how a message came here. Invariants: a message is framed once for all tunnels that get
//! it in the same form; no subscriber is waited for; those whose peers take nothing of what they got before are left alone.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::rc::Rc;

use weft_proto::websocket::{CloseCode, Kind};

use crate::keys::TunnelKey;
use crate::server::Server;
use crate::tunnel::Tunnel;
use crate::tunnel::coders::Message;
use crate::tunnel::newest::StateKey;
use crate::tunnel::outbox::{Overflow, Sent};
use crate::tunnel::topics::{Subscribed, is_topic};
use crate::tunnel::tunnels::Tunnels;

/// A message of a topic.
pub struct Published<'a> {
    /// The topic.
    pub topic: &'a [u8],
    /// What kind of message it is.
    pub kind: Kind,
    /// What subscribers get.
    pub payload: &'a [u8],
    /// The state that it tells, if it tells one.
    pub state: Option<StateKey>,
    /// Its id, for subscribers who want labels or events.
    pub id: &'a dyn Fn() -> Vec<u8>,
    /// The subscribers that do not get it.
    pub except: &'a [TunnelKey],
}

/// A message with its label: a line with its id and its topic.
pub fn label(id: &[u8], topic: &[u8], payload: &[u8]) -> Vec<u8> {
    [id, b" ", topic, b"\n", payload].concat()
}

impl Server {
    /// `watch` is told of each topic that has a first subscriber (`true`), or no more of them (`false`). It MUST NOT ask the
    /// server anything.
    pub fn watch_topics(&self, watch: impl Fn(&[u8], bool) + 'static) {
        self.tunnels.borrow_mut().topics.watch = Some(Box::new(watch));
    }

    /// Subscribes a tunnel to a topic ([`is_topic`]), with labels or without.
    pub fn subscribe(&self, key: TunnelKey, topic: &[u8], is_labelled: bool) -> Subscribed {
        debug_assert!(is_topic(topic));
        self.tunnels.borrow_mut().subscribe(key, topic, is_labelled)
    }

    /// Ends a subscription; returns whether there was one.
    pub fn unsubscribe(&self, key: TunnelKey, topic: &[u8]) -> bool {
        self.tunnels.borrow_mut().unsubscribe(key, topic)
    }

    /// Whether a tunnel has subscribed to a topic.
    pub fn has_subscribed(&self, key: TunnelKey, topic: &[u8]) -> bool {
        self.tunnels.borrow().has_subscribed(key, topic)
    }

    /// Whether a topic has subscribers.
    pub fn is_heard(&self, topic: &[u8]) -> bool {
        self.tunnels.borrow().topics.find(topic).is_some()
    }

    /// The topics of a tunnel.
    pub fn topics_of(&self, key: TunnelKey) -> Vec<Rc<[u8]>> {
        self.tunnels.borrow().topics_of(key)
    }

    /// The tunnels that have subscribed to a topic.
    pub fn members(&self, topic: &[u8]) -> Vec<TunnelKey> {
        let tunnels: &mut Tunnels = &mut self.tunnels.borrow_mut();
        let members = tunnels.members(topic);
        members.iter().filter_map(|member| tunnels.at(member.tunnel).map(|tunnel| tunnel.key)).collect()
    }

    /// The topics whose names begin so, and how many tunnels have subscribed to each.
    pub fn topics(&self, prefix: &[u8]) -> Vec<(Rc<[u8]>, usize)> {
        self.tunnels.borrow().topics.with_prefix(prefix)
    }

    /// Queues a message for the subscribers of its topic. Returns for how many.
    pub fn publish(&self, message: &Published<'_>) -> usize {
        let (mut touched, mut queued) = (Vec::new(), 0);
        {
            let tunnels: &mut Tunnels = &mut self.tunnels.borrow_mut();
            let members = tunnels.members(message.topic);
            let excluded: HashSet<u64> = message.except.iter().map(|key| key.0).collect();
            let mut plain = Message::new(message.kind, message.payload, &self.coders);
            let is_labelled = members.iter().any(|member| member.is_labelled);
            let made_id = OnceCell::new();
            let id = || made_id.get_or_init(|| (message.id)()).as_slice();
            let text = is_labelled.then(|| label(id(), message.topic, message.payload));
            let mut labelled = text.as_deref().map(|text| Message::new(message.kind, text, &self.coders));
            for member in members {
                let is_meant = |tunnel: &&mut Tunnel| !excluded.contains(&tunnel.key.0);
                let Some(tunnel) = tunnels.at(member.tunnel).filter(is_meant) else { continue };
                let framed = if let Some(events) = tunnel.codec.events() {
                    let topic = member.is_labelled.then_some(message.topic);
                    Ok(plain.as_event(events, Some(id()), topic))
                } else {
                    let made = labelled.as_mut().filter(|_| member.is_labelled).unwrap_or(&mut plain);
                    made.for_tunnel(tunnel)
                };
                let sent = match framed {
                    Ok(frame) => self.queue_frame(tunnel, frame, message.state),
                    Err(why) => Sent::Unframable(why),
                };
                queued += usize::from(sent == Sent::Queued);
                // Where a peer does not take what was sent before, an event will say when it does.
                let waits_for_peer = tunnel.blocked_since > 0 && sent != Sent::Overflowed;
                touched.extend(tunnel.connection.filter(|_| !waits_for_peer));
            }
        }
        self.stats.messages_delivered.add(queued as u64);
        self.deliver(&touched);
        queued
    }

    /// Messages are lost for this worker: the tunnels that may not miss any are closed with 1013, so that their clients come
    /// back and start anew. Returns how many.
    pub fn missed_messages(&self) -> usize {
        let mut touched = Vec::new();
        for tunnel in self.tunnels.borrow_mut().iter_mut() {
            let may_miss = matches!(tunnel.overflow, Overflow::DropOldest | Overflow::DropNewest);
            let counts = !may_miss && !tunnel.topics.is_empty();
            if counts && tunnel.takes() {
                let until = self.close_ends(tunnel, self.runtime.turn_time());
                tunnel.begin_closing(CloseCode::TRY_AGAIN_LATER, "messages were missed", until);
                touched.extend(tunnel.connection);
            }
        }
        for index in &touched {
            self.touch(*index);
        }
        touched.len()
    }
}
