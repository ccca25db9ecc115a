//! What PHP can ask of a request's head: the fields of `$_SERVER` and of `Weft\Http\Request`.
//!
//! Must not know where the head lies: in a connection's buffer, or in the copy that a kept Request object has. Invariant:
//! nothing a client sends is believed about addresses unless the peer is a trusted proxy.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};

use weft_proto::Head;
use weft_proto::forwarded::{self, Client};
use weft_serve::Peer;
use weft_zend::{Field, Slice};

use crate::config::Network;

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
        trusted: &[Network],
        local: Option<SocketAddr>,
        scratch: &mut Scratch,
    ) -> Slice {
        use std::io::Write;
        scratch.clear();
        // Writing to a vector cannot fail.
        let _ = match field {
            Field::Client => {
                self.client(trusted).map_or(Ok(()), |client| write!(scratch, "{}", client.address))
            }
            Field::ClientPort => self.client_port(trusted).map_or(Ok(()), |port| write!(scratch, "{port}")),
            Field::Peer => {
                self.address().map_or(Ok(()), |peer| write!(scratch, "{}", peer.ip().to_canonical()))
            }
            Field::PeerPort => self.address().map_or(Ok(()), |peer| write!(scratch, "{}", peer.port())),
            Field::Server => local.map_or(Ok(()), |local| write!(scratch, "{}", local.ip().to_canonical())),
            Field::ServerPort => local.map_or(Ok(()), |local| write!(scratch, "{}", local.port())),
            Field::Scheme => scratch.write_all(self.scheme(trusted)),
            Field::Host => scratch.write_all(&self.host(trusted)),
            _ => Ok(()),
        };
        Slice::of(scratch)
    }

    fn address(&self) -> Option<SocketAddr> {
        match self.peer {
            Peer::Tcp(address) => Some(address),
            Peer::Unix => None,
        }
    }

    /// The client as far as trusted proxies vouch for it. A unix socket's peer is on this machine, and was let in by the
    /// permissions of a file: it counts as 127.0.0.1 to decide whether it is trusted.
    fn client(&self, trusted: &[Network]) -> Option<Client<'a>> {
        let peer = self.address().map(|address| address.ip());
        let asked = peer.unwrap_or(IpAddr::from([127, 0, 0, 1]));
        let trusts = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
        if !trusts(asked) {
            return peer.map(|address| Client {
                address: address.to_canonical(),
                port: None,
                https: None,
                host: None,
            });
        }
        let hops = if self.head.get(self.bytes, "forwarded").is_some() {
            forwarded::forwarded(self.all("forwarded"))
        } else {
            forwarded::x_forwarded(
                self.all("x-forwarded-for"),
                self.all("x-forwarded-proto"),
                self.all("x-forwarded-host"),
            )
        };
        Some(forwarded::client(asked, &hops.unwrap_or_default(), trusts))
    }

    fn all(&self, name: &'static str) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.head.get_all(self.bytes, name)
    }

    fn client_port(&self, trusted: &[Network]) -> Option<u16> {
        let client = self.client(trusted)?;
        let own = self.address().filter(|peer| peer.ip().to_canonical() == client.address);
        client.port.or(own.map(|peer| peer.port()))
    }

    fn scheme(&self, trusted: &[Network]) -> &'static [u8] {
        let https = self.client(trusted).and_then(|client| client.https);
        if https == Some(true) { b"https" } else { b"http" }
    }

    fn host(&self, trusted: &[Network]) -> Cow<'a, [u8]> {
        let told = self.client(trusted).and_then(|client| client.host);
        told.unwrap_or_else(|| self.head.authority(self.bytes).unwrap_or_default().into())
    }
}
