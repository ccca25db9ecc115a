//! The client's address, if there are proxies between.
//!
//! Must not know which proxies exist: it asks the caller. Invariant: it reads only the fields of one kind, because
//! a proxy that sets one kind passes the other on as the client sent it.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};

use weft_proto::Head;
use weft_proto::forwarded;

use crate::address::Peer;
use crate::stream::request::RequestView;

/// The fields in which trusted proxies report their clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ProxyFields {
    /// X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host.
    #[default]
    XForwarded,
    /// Forwarded (RFC 7239).
    Forwarded,
}

/// Which reports of trusted proxies count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProxyWord {
    /// The fields that count. The fields of the other kind may come from the client.
    pub fields: ProxyFields,
    /// Whether the host that they report is the requested host. Many proxies pass the field on as their client sent it.
    pub host: bool,
}

/// The client, according to trusted proxies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Client<'a> {
    /// Its address; `None` for a client of a Unix socket that no proxy reports.
    pub address: Option<IpAddr>,
    /// Its port, if known.
    pub port: Option<u16>,
    /// Whether it used TLS, to the proxy or to this server.
    pub https: bool,
    /// The host that it requested, with the port.
    pub host: Option<Cow<'a, [u8]>>,
}

/// Follows the proxies' reports from the nearest on, as long as `trusted` accepts the address that makes the report.
/// The peer of a Unix socket is always trusted: the file system has let it open the socket. `bytes` are those of
/// `head`; `secure` tells whether the peer itself uses TLS.
pub fn client<'a>(
    head: &'a Head,
    bytes: &'a [u8],
    (peer, secure): (Peer, bool),
    word: ProxyWord,
    trusted: impl Fn(IpAddr) -> bool,
) -> Client<'a> {
    // Never the address of a peer, so it can stand for a Unix socket's.
    const NO_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let (peer, peer_port) = match peer {
        Peer::Tcp(address) => (address.ip().to_canonical(), Some(address.port())),
        Peer::Unix => (NO_ADDRESS, None),
    };
    let is_trusted = |address: IpAddr| (address == NO_ADDRESS && peer == NO_ADDRESS) || trusted(address);
    let all = |name: &'static str| head.get_all(bytes, name);
    let found = match word.fields {
        // The fields are not even searched for.
        _ if !is_trusted(peer) => forwarded::client(peer, [], is_trusted),
        ProxyFields::Forwarded => forwarded::client(peer, forwarded::forwarded(all("forwarded")), is_trusted),
        ProxyFields::XForwarded => {
            let hosts = word.host.then(|| all("x-forwarded-host")).into_iter().flatten();
            let hops = forwarded::x_forwarded(all("x-forwarded-for"), all("x-forwarded-proto"), hosts);
            forwarded::client(peer, hops, is_trusted)
        }
    };
    let is_peer = found.address == peer && found.port.is_none();
    Client {
        address: Some(found.address).filter(|address| *address != NO_ADDRESS),
        port: if is_peer { peer_port } else { found.port },
        https: found.https.unwrap_or(secure),
        host: found.host.filter(|_| word.host).or_else(|| head.authority(bytes).map(Cow::Borrowed)),
    }
}

impl<'a> RequestView<'a> {
    /// Calls [`client`] for this request.
    pub fn client(&self, word: ProxyWord, trusted: impl Fn(IpAddr) -> bool) -> Client<'a> {
        client(self.head(), self.bytes(), (self.peer(), self.session().is_some()), word, trusted)
    }
}
