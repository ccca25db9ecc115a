//! What a handler does with a tunnel: takes its events, sends, closes, remembers.
//!
//! Any coroutine may call these. Must not know how bytes travel. Invariants: a key whose tunnel has ended is no error, the
//! call has no effect and says so; an event is given once, and the next one of the same tunnel only after
//! [`Server::event_done`].

use weft_proto::websocket::{CloseCode, Kind};
use weft_rt::Nanos;

use crate::keys::TunnelKey;
use crate::server::Server;
use crate::tunnel::coders::Message;
use crate::tunnel::newest::StateKey;
use crate::tunnel::outbox::{Frame, Sent};
use crate::tunnel::{Stage, Tunnel, TunnelEvent, Turn, after};

/// Events given to the handler in one turn; answers are sent in between.
const EVENTS_PER_TURN: usize = 256;
/// How long no event is given after one that could not be handled.
const REST_MS: u64 = 100;

/// Events.
impl Server {
    /// Gives the handler tunnels that have events, as long as it has room.
    pub(crate) fn give_events(&self) {
        {
            let mut tunnels = self.tunnels.borrow_mut();
            if tunnels.due.is_empty() || tunnels.rests_until > self.runtime.turn_time() {
                return;
            }
            tunnels.left_in_turn = EVENTS_PER_TURN;
        }
        while let Some(key) = self.next_due() {
            self.handler.tunnel(key);
        }
        self.tunnels.borrow_mut().left_in_turn = 0;
    }

    /// Another tunnel that has events in this turn, for a handler that has done with the last one but has not returned. It counts
    /// as given, as by [`Handler::tunnel`](crate::Handler::tunnel). `None` at all other times.
    pub fn next_due(&self) -> Option<TunnelKey> {
        let mut tunnels = self.tunnels.borrow_mut();
        while tunnels.left_in_turn > 0 && !tunnels.due.is_empty() && self.handler.event_room() > 0 {
            tunnels.left_in_turn -= 1;
            let key = tunnels.due.pop_front()?;
            if let Some(tunnel) = tunnels.get_mut(key) {
                tunnel.turn = Turn::Runs;
                return Some(key);
            }
        }
        None
    }

    /// Whether an event could be given to the handler.
    fn has_due_events(&self) -> bool {
        !self.tunnels.borrow().due.is_empty() && self.handler.event_room() > 0
    }

    /// When an event can be given to the handler.
    pub(crate) fn events_due_at(&self) -> Option<Nanos> {
        self.has_due_events().then(|| self.tunnels.borrow().rests_until)
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
        if tunnel.connection.is_none() && (tunnel.inbox.is_empty() || tunnel.is_mute) {
            return tunnels.remove(key);
        }
        let index = tunnel.connection.filter(|_| tunnel.is_handled(self.runtime));
        let Some(index) = index else { return tunnels.make_due(key.0 as u32, self.runtime) };
        if matches!(tunnel.stage, Stage::Answering(_)) {
            let until = self.close_ends(tunnel, self.runtime.turn_time());
            tunnel.answer_close(until);
            drop(tunnels);
            self.touch(index);
        }
    }

    /// The handler was given an event that it has not taken, and that it cannot handle now: it is given again a little later.
    pub fn postpone_event(&self, key: TunnelKey) {
        if key == TunnelKey::DATAGRAM {
            return self.postpone_datagram();
        }
        self.tunnels.borrow_mut().rests_until = after(self.runtime.turn_time(), REST_MS);
        self.event_done(key);
    }

    /// Ends a tunnel without another event.
    pub(super) fn forget_tunnel(&self, key: TunnelKey) {
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
    pub fn tunnel_send(&self, key: TunnelKey, kind: Kind, payload: &[u8], state: Option<StateKey>) -> Sent {
        let (sent, connection) = {
            let mut tunnels = self.tunnels.borrow_mut();
            let Some(tunnel) = tunnels.get_mut(key) else { return Sent::Gone };
            let frame = match Message::new(kind, payload, &self.coders).for_tunnel(tunnel) {
                Ok(frame) => frame,
                Err(why) => return Sent::Unframable(why),
            };
            (self.queue_frame(tunnel, frame, state), tunnel.connection)
        };
        if let Some(index) = connection {
            self.touch(index);
        }
        sent
    }

    /// Puts a frame into a tunnel's queue, or does what its policy says.
    pub(crate) fn queue_frame(&self, tunnel: &mut Tunnel, frame: Frame, state: Option<StateKey>) -> Sent {
        if !tunnel.takes() {
            return Sent::Gone;
        }
        let sent = tunnel.out.push(frame, state, self.queue_bytes_max(tunnel), tunnel.overflow);
        match sent {
            // There it is a time without an event that counts.
            Sent::Queued if tunnel.codec.events().is_some() => tunnel.since = self.runtime.turn_time(),
            Sent::Queued | Sent::Gone | Sent::Unframable(_) => (),
            Sent::Dropped => {
                self.stats.messages_dropped.add(1);
                tunnel.is_drain_due = true;
            }
            Sent::Overflowed => {
                self.stats.messages_dropped.add(1);
                tunnel.out.drop_messages();
                let until = self.close_ends(tunnel, self.runtime.turn_time());
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
            let Some(tunnel) = tunnels.get_mut(key).filter(|tunnel| tunnel.takes()) else { return false };
            let until = self.close_ends(tunnel, self.runtime.turn_time());
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
        self.tunnels.borrow().get(key).is_some_and(Tunnel::takes)
    }

    /// Bytes that wait for the peer, those of files included; 0 after the tunnel's end.
    pub fn tunnel_waiting(&self, key: TunnelKey) -> usize {
        let mut tunnels = self.tunnels.borrow_mut();
        let Some(tunnel) = tunnels.get_mut(key) else { return 0 };
        let bytes = tunnel.out.bytes().saturating_add(tunnel.out.file_bytes() as usize);
        tunnel.is_drain_due |= bytes > 0;
        bytes
    }

    /// Bytes that its queue has still room for; 0 after its end.
    pub fn tunnel_room(&self, key: TunnelKey) -> usize {
        let tunnels = self.tunnels.borrow();
        let open = tunnels.get(key).filter(|tunnel| tunnel.takes());
        open.map_or(0, |tunnel| self.queue_bytes_max(tunnel).saturating_sub(tunnel.out.bytes()))
    }

    fn queue_bytes_max(&self, tunnel: &Tunnel) -> usize {
        let limits = &self.limits.tunnels;
        let is_stream = tunnel.codec.framing().is_some();
        if is_stream { limits.stream_queue_bytes_max } else { limits.queue_bytes_max }
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
