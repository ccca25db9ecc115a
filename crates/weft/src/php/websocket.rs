//! The answers to what PHP asks about WebSockets, in terms of weft-serve's tunnels.
//!
//! To PHP a connection is a name, which no other connection of any worker has; in this worker it stands for a key, and a
//! name of another worker is asked about there, while the caller waits. Must not know what a service does. Invariant: the name
//! of a connection that has ended is no error.

use weft_proto::framing::Unframable;
use weft_proto::websocket::{CloseCode, Kind};
use weft_serve::{
    NotUpgraded, RequestKey, STATE_KEY_BYTES_MAX, Sent, StateKey, TunnelEvent, TunnelKey, Upgrade,
};
use weft_zend::abi::{Accepted, Asked, EventKind, MessageSent, Remembered};
use weft_zend::host::Accept;
use weft_zend::{Event, RequestId, Slice};

use super::server_host::ServerHost;
use super::services::overflow_of;
use crate::bus::{NO_TOPIC, What, name_of, write_name};

impl ServerHost {
    fn name_of(&self, key: TunnelKey) -> String {
        name_of(&self.id_prefix, key)
    }

    fn lend_name(&self, key: TunnelKey) -> Slice {
        self.lent.connection(key, |name| write_name(&self.id_prefix, key, name))
    }

    pub(super) fn tunnel_of(&self, name: &[u8]) -> Option<TunnelKey> {
        self.lent.connection_of(name).or_else(|| self.parsed(name))
    }

    fn parsed(&self, name: &[u8]) -> Option<TunnelKey> {
        let number = name.strip_prefix(self.id_prefix.as_bytes())?.strip_prefix(b"-w")?;
        let number = std::str::from_utf8(number).ok()?;
        u64::from_str_radix(number, 16).ok().map(TunnelKey)
    }

    /// "an event of the connection …", for reports to the operator.
    pub fn describe_event(&self, tunnel: u64) -> String {
        if ServerHost::is_datagram(tunnel) {
            return "a datagram".to_owned();
        }
        format!("an event of the WebSocket connection {}", self.name_of(TunnelKey(tunnel)))
    }

    pub(super) fn asked(&self, request: RequestId) -> Asked {
        let key = RequestKey(request);
        let asked = self.server.with_request(key, |view| {
            if !view.asks_for_websocket() {
                return (Asked::No, None);
            }
            let asked = if view.is_of_own_origin() { Asked::OwnOrigin } else { Asked::OtherOrigin };
            (asked, view.websocket_fault())
        });
        match asked {
            None => Asked::No,
            Some((asked, None)) => asked,
            Some((_, Some(reject))) => {
                // Gone means that no client waits for the answer.
                let _ = self.server.refuse_upgrade(key, reject);
                Asked::Answered
            }
        }
    }

    pub(super) fn accept(&self, request: RequestId, accept: &Accept<'_>) -> (Accepted, Slice) {
        let key = RequestKey(request);
        let upgrade = Upgrade {
            service: accept.service,
            overflow: overflow_of(accept.overflow),
            wants_drained: accept.wants_drained,
            is_owned: accept.is_owned,
            protocol: accept.protocol,
            headers: accept.headers,
            attributes: accept.attributes,
        };
        let accepted = match self.server.upgrade(key, &upgrade) {
            Ok(tunnel) => return (Accepted::Open, self.lend_name(tunnel)),
            Err(NotUpgraded::Gone) => Accepted::Answered,
            Err(NotUpgraded::Refused(reject)) => {
                let _ = self.server.refuse_upgrade(key, reject);
                Accepted::Answered
            }
            Err(NotUpgraded::Draining) => {
                let _ = self.server.respond_error(key, 503, Some(1));
                Accepted::Answered
            }
            Err(NotUpgraded::Protocol) => Accepted::Protocol,
            Err(NotUpgraded::Attributes) => Accepted::Attributes,
            Err(NotUpgraded::Header(_)) => Accepted::Header,
        };
        (accepted, Slice::NONE)
    }

    pub(super) fn event_of(&self, tunnel: u64) -> Option<Event> {
        if ServerHost::is_datagram(tunnel) {
            return self.next_datagram();
        }
        let (service, event) = self.server.take_event(TunnelKey(tunnel))?;
        Some(self.lend(TunnelKey(tunnel), service, event))
    }

    pub(super) fn lend(&self, tunnel: TunnelKey, service: u32, event: TunnelEvent) -> Event {
        let (kind, code, data) = match event {
            TunnelEvent::Opened => (EventKind::Opened, 0, Vec::new()),
            TunnelEvent::Message(Kind::Text, bytes) => (EventKind::Text, 0, bytes),
            TunnelEvent::Message(Kind::Binary, bytes) => (EventKind::Binary, 0, bytes),
            TunnelEvent::Drained => (EventKind::Drained, 0, Vec::new()),
            TunnelEvent::Ended => (EventKind::Ended, 0, Vec::new()),
            TunnelEvent::Closed(code, reason) => {
                self.topics.ended(tunnel);
                (EventKind::Closed, code.0, reason.into_bytes())
            }
        };
        let (name, data) = (self.lend_name(tunnel), self.lent.data(data));
        Event { service, kind: kind as u32, code: u32::from(code), name, data }
    }

    pub(super) fn end_event(&self, tunnel: u64, failed: bool) {
        let key = TunnelKey(tunnel);
        self.lent.data(Vec::new()); // a large message is not kept
        if ServerHost::is_datagram(tunnel) {
            return;
        }
        if failed {
            self.server.tunnel_close(key, CloseCode::INTERNAL_ERROR, "");
        }
        self.server.event_done(key);
    }

    pub(super) fn send_to(&self, name: &[u8], is_binary: bool, message: &[u8], state: &[u8]) -> MessageSent {
        let of_queued = |is_queued| if is_queued { MessageSent::Queued } else { MessageSent::Lost };
        let own = self.tunnel_of(name);
        if own.is_none()
            && let Some(is_queued) = self.answer_datagram(name, message)
        {
            return of_queued(is_queued);
        }
        let kind = if is_binary { Kind::Binary } else { Kind::Text };
        if state.len() > STATE_KEY_BYTES_MAX {
            return MessageSent::Key;
        }
        if !is_binary && std::str::from_utf8(message).is_err() {
            return MessageSent::NoText;
        }
        let Some(own) = own else {
            let what = if is_binary { What::Binary } else { What::Text };
            let is_sent = || self.topics.is_done_elsewhere(name, what, &[message, state]);
            return of_queued(self.topics.is_elsewhere(name) && is_sent());
        };
        match self.server.tunnel_send(own, kind, message, StateKey::of(NO_TOPIC, state)) {
            Sent::Queued => MessageSent::Queued,
            Sent::Unframable(Unframable::Delimiter) => MessageSent::HasDelimiter,
            Sent::Unframable(Unframable::Length) => MessageSent::TooLong,
            Sent::Dropped | Sent::Overflowed | Sent::Gone => MessageSent::Lost,
        }
    }

    pub(super) fn close_one(&self, name: &[u8], code: u16, reason: &[u8]) -> bool {
        if self.topics.is_elsewhere(name) {
            return self.topics.is_done_elsewhere(name, What::Close, &[code.to_string().as_bytes(), reason]);
        }
        let reason = String::from_utf8_lossy(reason);
        self.tunnel_of(name).is_some_and(|key| self.server.tunnel_close(key, CloseCode(code), &reason))
    }

    pub(super) fn waiting_for(&self, name: &[u8]) -> Option<usize> {
        if self.topics.is_elsewhere(name) {
            let rows = self.topics.ask_owner(name, What::Waiting, &[]);
            return std::str::from_utf8(rows.first()?).ok()?.parse().ok();
        }
        let key = self.tunnel_of(name).filter(|key| self.server.tunnel_is_open(*key))?;
        Some(self.server.tunnel_waiting(key))
    }

    pub(super) fn attribute_of(&self, name: &[u8], attribute: &[u8]) -> Slice {
        if self.topics.is_elsewhere(name) {
            let row = self.topics.ask_owner(name, What::Get, &[attribute]).into_iter().next();
            return row.map_or(Slice::NONE, |value| self.lent.data(value));
        }
        let value = self.tunnel_of(name).and_then(|key| self.server.tunnel_attribute(key, attribute));
        value.map_or(Slice::NONE, |value| self.lent.data(value))
    }

    pub(super) fn remember(&self, name: &[u8], attribute: &[u8], value: Option<&[u8]>) -> Remembered {
        if self.topics.is_elsewhere(name) {
            let more: Vec<&[u8]> = [attribute].into_iter().chain(value).collect();
            return match self.topics.ask_owner(name, What::Set, &more).first().map(Vec::as_slice) {
                Some(b"1") => Remembered::Yes,
                Some(_) => Remembered::Full,
                None => Remembered::Gone,
            };
        }
        let set =
            self.tunnel_of(name).and_then(|key| self.server.set_tunnel_attribute(key, attribute, value));
        match set {
            Some(true) => Remembered::Yes,
            Some(false) => Remembered::Full,
            None => Remembered::Gone,
        }
    }
}
