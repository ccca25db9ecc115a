//! What PHP can ask about a request's head: the fields of `$_SERVER` and of `Weft\Http\Request`.
//!
//! Must not know where the head is stored: in a connection's buffer, or in the copy for a kept Request object.
//! Invariant: no client is believed about addresses unless the peer is a trusted proxy.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};

use weft_proto::{Head, TargetForm, Version, split_authority};
use weft_serve::{Client, Peer, ProxyWord, RequestView};
use weft_zend::{Field, Slice};

use crate::config::Trust;

/// A request's head and the ends of its connection.
pub struct Facts<'a> {
    /// The parsed head.
    pub head: &'a Head,
    /// The bytes from which it was parsed.
    pub bytes: &'a [u8],
    /// The other end.
    pub peer: Peer,
    /// Whether the other end speaks TLS to this server.
    pub secure: bool,
}

/// Storage for derived values, until the host is called again.
pub type Scratch = Vec<u8>;

impl<'a> Facts<'a> {
    /// Those of a request that has not been answered.
    pub fn of(request: &RequestView<'a>) -> Facts<'a> {
        let secure = request.session().is_some();
        Facts { head: request.head(), bytes: request.bytes(), peer: request.peer(), secure }
    }

    /// A field that lies in the head as it was sent; `None` for those that [`Facts::made`] derives.
    pub fn received(&self, field: Field) -> Option<&'a [u8]> {
        match field {
            Field::Method => Some(self.head.method(self.bytes)),
            Field::Path => Some(self.head.path(self.bytes)),
            Field::Query => self.head.query(self.bytes),
            Field::Version => Some(match self.head.version() {
                Version::Http10 => b"1.0",
                Version::Http11 => b"1.1",
                Version::Http2 => b"2.0",
            }),
            _ => None,
        }
    }

    /// A field that depends on which peers are trusted; empty if it has none.
    pub fn made(
        &self,
        field: Field,
        trust: &Trust,
        local: Option<SocketAddr>,
        scratch: &mut Scratch,
    ) -> Slice {
        scratch.clear();
        let text = match field {
            Field::Target => match self.head.origin(self.bytes) {
                Cow::Borrowed(target) => return Slice::of(target),
                Cow::Owned(target) => {
                    scratch.extend_from_slice(&target);
                    None
                }
            },
            Field::Client => self.client(trust).address.map(|address| address.to_string()),
            Field::ClientPort => self.client(trust).port.map(|port| port.to_string()),
            Field::Peer => self.address().map(|peer| peer.ip().to_canonical().to_string()),
            Field::PeerPort => self.address().map(|peer| peer.port().to_string()),
            Field::Server => local.map(|local| local.ip().to_canonical().to_string()),
            Field::ServerPort => local.map(|local| local.port().to_string()),
            Field::Scheme => Some(if self.client(trust).https { "https" } else { "http" }.to_owned()),
            Field::Host => {
                scratch.extend_from_slice(&self.client(trust).host.unwrap_or_default());
                None
            }
            Field::HostName => {
                let host = self.client(trust).host.unwrap_or_default();
                let name = split_authority(&host).map_or(&b""[..], |authority| authority.host);
                scratch.extend_from_slice(name);
                None
            }
            _ => None,
        };
        scratch.extend_from_slice(text.unwrap_or_default().as_bytes());
        Slice::of(scratch)
    }

    /// A header line. Host is that of an absolute target, if there is one (RFC 9112 section 3.2.2: the received one
    /// is ignored), or the host that a trusted proxy reports: the same as [`Field::Host`].
    pub fn header_at(&self, index: usize, trust: &Trust, scratch: &mut Scratch) -> Option<(Slice, Slice)> {
        const HOST: &str = "host";
        if index < self.head.header_count() {
            let (name, value) = self.head.header(self.bytes, index);
            let is_replaced = name.len() == HOST.len()
                && (trust.host || self.head.form() == TargetForm::Absolute)
                && name.eq_ignore_ascii_case(HOST.as_bytes());
            let value =
                if is_replaced { self.made(Field::Host, trust, None, scratch) } else { Slice::of(value) };
            return Some((Slice::of(name), value));
        }
        // Only HTTP/1.0 may omit the field although the target names a host.
        let is_behind = index == self.head.header_count() && self.head.version() == Version::Http10;
        if !is_behind || self.head.get(self.bytes, HOST).is_some() || self.client(trust).host.is_none() {
            return None;
        }
        Some((Slice::of(HOST.as_bytes()), self.made(Field::Host, trust, None, scratch)))
    }

    fn address(&self) -> Option<SocketAddr> {
        match self.peer {
            Peer::Tcp(address) => Some(address),
            Peer::Unix => None,
        }
    }

    /// Whether the client uses TLS, according to trusted proxies.
    pub fn is_https(&self, trust: &Trust) -> bool {
        self.client(trust).https
    }

    /// The client, according to trusted proxies.
    fn client(&self, trust: &Trust) -> Client<'a> {
        let trusts = |address: IpAddr| trust.proxies.iter().any(|network| network.contains(address));
        let word = ProxyWord { fields: trust.fields, host: trust.host };
        weft_serve::client(self.head, self.bytes, (self.peer, self.secure), word, trusts)
    }
}
