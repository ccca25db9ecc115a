//! How a request becomes a tunnel.
//!
//! Must not know who has allowed it. Invariant: the answer that opens it is queued if and only if there is a tunnel, and nothing of
//! the tunnel is sent before it.

use std::fmt;
use std::num::NonZeroU32;

use weft_proto::websocket::{Decoder, Deflate, Handshake, VERSION, is_asked, is_of_host};
use weft_proto::{InvalidHeader, Reject, Sent, SentBody, Version, write_interim};

use crate::RequestView;
use crate::keys::RequestKey;
use crate::keys::TunnelKey;
use crate::server::Server;
use crate::stream::respond::{Error, Headers, PAGE_TYPE, page};
use crate::tunnel::codec::Codec;
use crate::tunnel::outbox::Overflow;
use crate::tunnel::{Tunnel, TunnelEvent};

/// What a handler says of the tunnel that it wants.
#[derive(Clone, Copy, Debug)]
pub struct Upgrade<'a> {
    /// What the handler calls the service; [`Server::take_event`] returns it.
    pub service: u32,
    /// What becomes of messages for which there is no room.
    pub overflow: Overflow,
    /// Whether the handler wants the events [`TunnelEvent::Drained`].
    pub wants_drained: bool,
    /// Whether a coroutine takes all events but the first: see [`Server::next_event`].
    pub is_owned: bool,
    /// The subprotocol, one that the client offers.
    pub protocol: Option<&'a [u8]>,
    /// Further fields of the answer.
    pub headers: &'a Headers<'a>,
    /// What is remembered of it.
    pub attributes: &'a [(&'a [u8], &'a [u8])],
}

/// Why a request did not become a tunnel; it is still unanswered.
#[derive(Debug)]
pub enum NotUpgraded {
    /// The peer has disconnected, or the response has already begun or ended.
    Gone,
    /// The request is no valid handshake: answer it with this.
    Refused(Reject),
    /// The worker ends: answer with 503.
    Draining,
    /// The client does not offer this subprotocol.
    Protocol,
    /// The attributes are too many or too large.
    Attributes,
    /// A header field that must not be sent.
    Header(InvalidHeader),
}

impl fmt::Display for NotUpgraded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotUpgraded::Gone => f.write_str("the response has begun, or the client has gone"),
            NotUpgraded::Refused(reject) => reject.fmt(f),
            NotUpgraded::Draining => f.write_str("this worker ends"),
            NotUpgraded::Protocol => f.write_str("the client does not offer this subprotocol"),
            NotUpgraded::Attributes => f.write_str("the attributes exceed 16 names or 1,024 bytes"),
            NotUpgraded::Header(invalid) => invalid.fmt(f),
        }
    }
}

impl RequestView<'_> {
    /// Whether the request asks for a WebSocket, validly or not.
    pub fn asks_for_websocket(&self) -> bool {
        is_asked(self.head(), self.bytes())
    }

    /// What is wrong with the handshake of a request that asks for one.
    pub fn websocket_fault(&self) -> Option<Reject> {
        Handshake::read(self.head(), self.bytes()).err()
    }

    /// Whether the page that asks for a WebSocket comes from the host that it asks, or the client is no browser.
    pub fn is_of_own_origin(&self) -> bool {
        let authority = self.authority().unwrap_or_default();
        self.header("origin").is_none_or(|origin| is_of_host(origin, authority))
    }
}

impl Server {
    /// Answers a request with 101, or its stream with 200: it becomes a WebSocket, whose first event is `Opened`.
    ///
    /// # Errors
    /// See [`NotUpgraded`]: the request is still unanswered.
    pub fn upgrade(&self, key: RequestKey, upgrade: &Upgrade<'_>) -> Result<TunnelKey, NotUpgraded> {
        let mut table = self.table.borrow_mut();
        let (connection, stream) = self.answerable(&mut table, key).map_err(|_| NotUpgraded::Gone)?;
        if stream.stage != crate::stream::Stage::Waiting {
            return Err(NotUpgraded::Gone);
        }
        if self.draining.get().is_some() {
            return Err(NotUpgraded::Draining);
        }
        let bytes = stream.bytes();
        if !is_asked(&stream.head, bytes) {
            return Err(NotUpgraded::Refused(Handshake::REQUEST));
        }
        let handshake = Handshake::read(&stream.head, bytes).map_err(NotUpgraded::Refused)?;
        let offers = |name: &[u8]| Handshake::protocols(&stream.head, bytes).any(|offered| offered == name);
        if upgrade.protocol.is_some_and(|name| !offers(name)) {
            return Err(NotUpgraded::Protocol);
        }
        let limits = &self.limits.tunnels;
        let deflate = limits.deflates.then(|| Deflate::negotiate(&stream.head, bytes)).flatten();
        let now = self.runtime.turn_time();
        let mut tunnel = Tunnel::new(upgrade.service, upgrade.overflow, limits.message_bytes_max, now);
        tunnel.wants_drained = upgrade.wants_drained;
        tunnel.owner = upgrade.is_owned.then(Box::default);
        if let Some(deflate) = deflate {
            tunnel.codec = Codec::WebSocket(Decoder::inflating(limits.message_bytes_max));
            tunnel.window_bits = deflate.window_bits;
        }
        for (name, value) in upgrade.attributes {
            if !tunnel.attributes.set(name, Some(value)) {
                return Err(NotUpgraded::Attributes);
            }
        }
        let accept = handshake.accept();
        let is_carried = connection.transport.carried().is_some();
        let mut fields: Vec<(&[u8], &[u8])> = Vec::new();
        if !is_carried {
            fields
                .extend([(&b"Upgrade"[..], &b"websocket"[..]), (b"Sec-WebSocket-Accept", accept.as_bytes())]);
        }
        fields.extend(upgrade.protocol.map(|name| (&b"Sec-WebSocket-Protocol"[..], name)));
        let deflate = deflate.map(|deflate| deflate.answer());
        fields.extend(deflate.as_ref().map(|answer| (&b"Sec-WebSocket-Extensions"[..], answer.as_bytes())));
        fields.extend(upgrade.headers.iter().filter(|(name, _)| !is_of_handshake(name)));
        let status = if is_carried {
            // A stream has no connection to upgrade: it is opened by success (RFC 8441 section 5).
            if !self.open_carried(connection, &fields).map_err(NotUpgraded::Header)? {
                return Err(NotUpgraded::Gone);
            }
            200
        } else {
            write_interim(&mut stream.out.bytes, Version::Http11, 101, fields)
                .map_err(NotUpgraded::Header)?;
            101
        };
        stream.begin_response(status, Sent { body: SentBody::None, keep_alive: true });
        self.charge(stream);
        tunnel.connection = Some(stream.connection);
        tunnel.push(TunnelEvent::Opened);
        let key = {
            let mut tunnels = self.tunnels.borrow_mut();
            let key = tunnels.insert(tunnel);
            tunnels.make_due(key.0 as u32, self.runtime);
            key
        };
        connection.tunnel = NonZeroU32::new(key.0 as u32);
        self.stats.tunnels.set(self.stats.tunnels.get() + 1);
        self.end_response(connection, stream);
        self.enqueue(stream.connection, connection);
        Ok(key)
    }

    /// Answers a request that did not become a tunnel, with the fields that its client needs to do better.
    ///
    /// # Errors
    /// As [`Server::respond`].
    pub fn refuse_upgrade(&self, key: RequestKey, reject: Reject) -> Result<(), Error> {
        let mut headers: Vec<(&[u8], &[u8])> = vec![PAGE_TYPE];
        if reject.status == 426 {
            headers.push((b"Sec-WebSocket-Version", VERSION));
        }
        self.respond(key, reject.status, &headers, page(reject.status, reject.reason).as_bytes())
    }
}

/// Fields that only the server can fill in.
fn is_of_handshake(name: &[u8]) -> bool {
    const OWN: [&[u8]; 7] = [
        b"upgrade",
        b"connection",
        b"sec-websocket-accept",
        b"sec-websocket-protocol",
        b"sec-websocket-extensions",
        b"content-length",
        b"transfer-encoding",
    ];
    OWN.iter().any(|own| name.eq_ignore_ascii_case(own))
}
