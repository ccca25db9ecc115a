//! What a handler does with a tunnel: takes its events, sends, closes, remembers, publishes.
//!
//! Any coroutine may call these. Must not know how bytes travel. Invariants: a key whose tunnel has ended is no error, the
//! call has no effect and says so; an event is given once, and the next one of the same tunnel only after
//! [`Server::event_done`].

use std::rc::Rc;

use weft_proto::websocket::{CloseCode, Kind, frame};

use crate::keys::TunnelKey;
use crate::server::Server;
use crate::tunnel::outbox::{Frame, Sent};
use crate::tunnel::topics::{NAME_BYTES_MAX, Subscribed};
use crate::tunnel::tunnels::Tunnels;
use crate::tunnel::{Stage, Tunnel, TunnelEvent, Turn, after};

/// Events given to the handler in one turn; answers are sent in between.
const EVENTS_PER_TURN: usize = 256;

/// Events.
impl Server {
    /// Gives the handler tunnels that have events, as long as it has room.
    pub(crate) fn give_events(&self) {
        for _ in 0..EVENTS_PER_TURN {
            if self.tunnels.borrow().due.is_empty() || self.handler.event_room() == 0 {
                return;
            }
            let key = {
                let mut tunnels = self.tunnels.borrow_mut();
                let Some(key) = tunnels.due.pop_front() else { return };
                let Some(tunnel) = tunnels.get_mut(key) else { continue };
                tunnel.turn = Turn::Runs;
                key
            };
            self.handler.tunnel(key);
        }
    }

    /// Whether an event could be given to the handler now.
    pub(crate) fn has_due_events(&self) -> bool {
        !self.tunnels.borrow().due.is_empty() && self.handler.event_room() > 0
    }

    /// The service and the next event of a tunnel that the handler was given. [`Server::event_done`] MUST follow, once,
    /// when the event has been handled.
    pub fn take_event(&self, key: TunnelKey) -> Option<(u32, TunnelEvent)> {
        let (event, connection) = {
            let mut tunnels = self.tunnels.borrow_mut();
            let tunnel = tunnels.get_mut(key)?;
            let read_before = tunnel.reads();
            let event = (tunnel.service, tunnel.pop()?);
            (event, tunnel.connection.filter(|_| !read_before && tunnel.reads()))
        };
        // The peer waited for this.
        if let Some(index) = connection {
            self.touch(index);
        }
        Some(event)
    }

    /// The handler has done with an event: the next one may be given. After the last one the tunnel is forgotten.
    pub fn event_done(&self, key: TunnelKey) {
        let mut tunnels = self.tunnels.borrow_mut();
        let Some(tunnel) = tunnels.get_mut(key) else { return };
        tunnel.turn = Turn::Rests;
        if tunnel.connection.is_none() && tunnel.inbox.is_empty() {
            tunnels.remove(key);
        } else {
            tunnels.make_due(key.0 as u32);
        }
    }

    /// The handler cannot take the events of a tunnel: it is closed without another event.
    pub fn abandon_tunnel(&self, key: TunnelKey) {
        let connection = {
            let mut tunnels = self.tunnels.borrow_mut();
            let connection = tunnels.get(key).and_then(|tunnel| tunnel.connection);
            tunnels.remove(key);
            connection
        };
        if let Some(index) = connection {
            if let Some(connection) = self.table.borrow_mut().at(index) {
                (connection.tunnel, connection.transport.broken) = (None, true);
            }
            self.stats.tunnels.set(self.stats.tunnels.get().saturating_sub(1));
            self.touch(index);
        }
    }

    /// Tunnels whose last event has not been handled.
    pub fn tunnels(&self) -> usize {
        self.tunnels.borrow().count()
    }
}

/// Sending.
impl Server {
    /// Sends a message. It never waits: what the peer does not take is kept within `queue_bytes_max` of
    /// [`TunnelLimits`](crate::TunnelLimits).
    pub fn tunnel_send(&self, key: TunnelKey, kind: Kind, payload: &[u8]) -> Sent {
        let (sent, connection) = {
            let mut tunnels = self.tunnels.borrow_mut();
            let Some(tunnel) = tunnels.get_mut(key) else { return Sent::Gone };
            (self.queue_frame(tunnel, frame(kind, payload).into()), tunnel.connection)
        };
        if let Some(index) = connection {
            self.touch(index);
        }
        sent
    }

    /// Puts a frame into a tunnel's queue, or does what its policy says.
    fn queue_frame(&self, tunnel: &mut Tunnel, frame: Frame) -> Sent {
        if tunnel.stage != Stage::Open || tunnel.connection.is_none() {
            return Sent::Gone;
        }
        let sent = tunnel.out.push(frame, self.limits.tunnels.queue_bytes_max, tunnel.overflow);
        match sent {
            Sent::Queued | Sent::Gone => (),
            Sent::Dropped => self.stats.messages_dropped.add(1),
            Sent::Overflowed => {
                self.stats.messages_dropped.add(1);
                tunnel.out.drop_messages();
                let until = after(self.runtime.turn_time(), self.limits.tunnels.close_timeout_ms);
                tunnel.begin_closing(CloseCode::TRY_AGAIN_LATER, "the client does not keep up", until);
            }
        }
        sent
    }

    /// Closes a tunnel after what was sent before. `code` MUST be one that may be sent, `reason` have at most 123 bytes.
    /// Returns false if it is closing, or has ended.
    pub fn tunnel_close(&self, key: TunnelKey, code: CloseCode, reason: &str) -> bool {
        let connection = {
            let mut tunnels = self.tunnels.borrow_mut();
            let is_open = |tunnel: &&mut Tunnel| tunnel.stage == Stage::Open && tunnel.connection.is_some();
            let Some(tunnel) = tunnels.get_mut(key).filter(is_open) else { return false };
            let until = after(self.runtime.turn_time(), self.limits.tunnels.close_timeout_ms);
            tunnel.begin_closing(code, reason, until);
            tunnel.connection
        };
        if let Some(index) = connection {
            self.touch(index);
        }
        true
    }

    /// Whether messages can be sent.
    pub fn tunnel_is_open(&self, key: TunnelKey) -> bool {
        let tunnels = self.tunnels.borrow();
        tunnels.get(key).is_some_and(|tunnel| tunnel.stage == Stage::Open && tunnel.connection.is_some())
    }

    /// Bytes that wait for the peer; 0 after the tunnel's end.
    pub fn tunnel_waiting(&self, key: TunnelKey) -> usize {
        self.tunnels.borrow().get(key).map_or(0, |tunnel| tunnel.out.bytes())
    }
}

/// What is remembered. Until the handler has done with the event `Closed`, it can be read.
impl Server {
    /// An attribute of a tunnel.
    pub fn tunnel_attribute(&self, key: TunnelKey, name: &[u8]) -> Option<Vec<u8>> {
        self.tunnels.borrow().get(key)?.attributes.get(name).map(<[u8]>::to_vec)
    }

    /// All of them.
    pub fn tunnel_attributes(&self, key: TunnelKey) -> Vec<(Vec<u8>, Vec<u8>)> {
        let tunnels = self.tunnels.borrow();
        let owned = |(name, value): (&[u8], &[u8])| (name.to_vec(), value.to_vec());
        tunnels.get(key).map_or_else(Vec::new, |tunnel| tunnel.attributes.iter().map(owned).collect())
    }

    /// Sets or removes one. `Some(false)` if there is no room for it; `None` if the tunnel has ended.
    pub fn set_tunnel_attribute(&self, key: TunnelKey, name: &[u8], value: Option<&[u8]>) -> Option<bool> {
        Some(self.tunnels.borrow_mut().get_mut(key)?.attributes.set(name, value))
    }
}

/// Topics.
impl Server {
    /// Subscribes a tunnel to a topic. A name has 1 to 255 bytes.
    pub fn subscribe(&self, key: TunnelKey, topic: &[u8]) -> Subscribed {
        debug_assert!(is_topic(topic));
        self.tunnels.borrow_mut().subscribe(key, topic)
    }

    /// Ends a subscription; returns whether there was one.
    pub fn unsubscribe(&self, key: TunnelKey, topic: &[u8]) -> bool {
        self.tunnels.borrow_mut().unsubscribe(key, topic)
    }

    /// The topics of a tunnel.
    pub fn topics_of(&self, key: TunnelKey) -> Vec<Rc<[u8]>> {
        self.tunnels.borrow().topics_of(key)
    }

    /// Sends a message to the subscribers of a topic in this worker, but not to `except`. Returns how many have it in
    /// their queue now.
    pub fn publish(&self, topic: &[u8], kind: Kind, payload: &[u8], except: Option<TunnelKey>) -> usize {
        let (mut touched, mut queued) = (Vec::new(), 0);
        {
            let tunnels: &mut Tunnels = &mut self.tunnels.borrow_mut();
            let members = tunnels.members(topic);
            if members.is_empty() {
                return 0;
            }
            let message: Frame = frame(kind, payload).into();
            for number in members {
                let Some(tunnel) = tunnels.at(number).filter(|tunnel| Some(tunnel.key) != except) else {
                    continue;
                };
                let sent = self.queue_frame(tunnel, Rc::clone(&message));
                queued += usize::from(sent == Sent::Queued);
                touched.extend(tunnel.connection);
            }
        }
        for index in touched {
            self.touch(index);
        }
        queued
    }
}

/// Whether a topic can have this name.
pub fn is_topic(name: &[u8]) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len())
}
