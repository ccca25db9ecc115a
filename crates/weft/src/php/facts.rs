//! What PHP can ask of a request's head: the fields of `$_SERVER` and of `Weft\Http\Request`.
//!
//! Must not know where the head lies: in a connection's buffer, or in the copy that a kept Request object has. Invariant:
//! nothing a client sends is believed about addresses unless the peer is a trusted proxy.

use std::net::{IpAddr, SocketAddr};

use weft_proto::Head;
use weft_serve::{Client, Peer, ProxyWord};
use weft_zend::{Field, Slice};

use crate::config::Trust;

/// A request's head and the ends of its connection.
pub struct Facts<'a> {
    /// The parsed head.
    pub head: &'a Head,
    /// What it was parsed from.
    pub bytes: &'a [u8],
    /// The other end.
    pub peer: Peer,
}

/// Values that are made, not received, lie in here until the host is called again.
pub type Scratch = Vec<u8>;

impl<'a> Facts<'a> {
    /// A field that lies in the head as it was sent; `None` for those that [`Facts::made`] makes.
    pub fn received(&self, field: Field) -> Option<&'a [u8]> {
        match field {
            Field::Method => Some(self.head.method(self.bytes)),
            Field::Target => Some(self.head.target(self.bytes)),
            Field::Path => Some(self.head.path(self.bytes)),
            Field::Query => self.head.query(self.bytes),
            Field::Version => Some(match self.head.version() {
                weft_proto::Version::Http10 => b"1.0",
                weft_proto::Version::Http11 => b"1.1",
            }),
            _ => None,
        }
    }

    /// A field that depends on who is believed; empty when it has none.
    pub fn made(
        &self,
        field: Field,
        trust: &Trust,
        local: Option<SocketAddr>,
        scratch: &mut Scratch,
    ) -> Slice {
        scratch.clear();
        let text = match field {
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
            _ => None,
        };
        scratch.extend_from_slice(text.unwrap_or_default().as_bytes());
        Slice::of(scratch)
    }

    fn address(&self) -> Option<SocketAddr> {
        match self.peer {
            Peer::Tcp(address) => Some(address),
            Peer::Unix => None,
        }
    }

    /// The client as far as trusted proxies vouch for it.
    fn client(&self, trust: &Trust) -> Client<'a> {
        let trusts = |address: IpAddr| trust.proxies.iter().any(|network| network.contains(address));
        let word = ProxyWord { fields: trust.fields, host: trust.host };
        weft_serve::client(self.head, self.bytes, self.peer, word, trusts)
    }
}
