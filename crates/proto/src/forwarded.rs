//! What proxies report about the client, and how much of it to believe.
//!
//! Must not know the configuration: the caller answers which addresses are trusted. Invariant: hops are read from the
//! nearest proxy outward, one at a time, and no further than the last one that a trusted address reports. So whatever a
//! client wrote before them, however long or malformed, cannot change how they are read.

mod rfc7239;
mod x_forwarded;

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::authority::{port, split_authority};
pub use rfc7239::forwarded;
pub use x_forwarded::x_forwarded;

/// The most hops that are followed, even if all of them come from trusted addresses.
pub const HOPS_MAX: usize = 32;

/// The peer from which a hop received the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Node {
    /// An address, with IPv4-mapped ones as IPv4, and its port if it was given.
    Address(IpAddr, Option<u16>),
    /// Nothing said, `unknown`, an obfuscated identifier, or something unreadable.
    #[default]
    Unknown,
}

/// One proxy's report of the request it forwarded. A report that cannot be read is the default: it says
/// nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hop<'a> {
    /// The peer of this proxy.
    pub node: Node,
    /// Whether the request came to this proxy over TLS (`https`) or not (`http`); `None` for anything else.
    pub https: Option<bool>,
    /// The Host that this proxy received, if it is valid.
    pub host: Option<Cow<'a, [u8]>>,
}

/// The client as far as trusted proxies vouch for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client<'a> {
    /// The nearest address that is not a trusted proxy, or the last known one.
    pub address: IpAddr,
    /// The port of that address, if it was given; `None` if the address is that of the peer itself.
    pub port: Option<u16>,
    /// Whether the client used TLS, if it was given.
    pub https: Option<bool>,
    /// The Host that the client sent, if it was given.
    pub host: Option<Cow<'a, [u8]>>,
}

/// Walks `hops` from the nearest proxy towards the client, as long as each report comes from an address that `trusted`
/// accepts. A report that does not name its peer ends the walk: the client is then the proxy that made the report.
/// `hops` must all come from one kind of field; with two kinds mixed, a client could forge one of them.
pub fn client<'a>(
    peer: IpAddr,
    hops: impl IntoIterator<Item = Hop<'a>>,
    trusted: impl Fn(IpAddr) -> bool,
) -> Client<'a> {
    let mut client = Client { address: peer.to_canonical(), port: None, https: None, host: None };
    let mut hops = hops.into_iter().take(HOPS_MAX);
    while trusted(client.address) {
        let Some(hop) = hops.next() else { break };
        client.https = hop.https.or(client.https);
        client.host = hop.host.or(client.host);
        match hop.node {
            Node::Address(address, port) => (client.address, client.port) = (address, port),
            Node::Unknown => break,
        }
    }
    client
}

/// `address`, `address:port`, `[v6]` or `[v6]:port`. Anything else, including obfuscated identifiers, is
/// unknown.
fn node(text: &[u8]) -> Node {
    let address = |text: &[u8]| str::from_utf8(text).ok()?.parse::<Ipv4Addr>().ok().map(IpAddr::V4);
    let v6 = |text: &[u8]| {
        str::from_utf8(text).ok()?.parse::<Ipv6Addr>().ok().map(|a| IpAddr::V6(a).to_canonical())
    };
    let (found, rest) = match text {
        [b'[', inside @ ..] => match inside.iter().position(|&b| b == b']') {
            Some(end) => (v6(&inside[..end]), &inside[end + 1..]),
            None => (None, &[][..]),
        },
        _ => {
            let end = text.iter().position(|&b| b == b':').unwrap_or(text.len());
            (address(&text[..end]), &text[end..])
        }
    };
    match (found, rest) {
        (Some(address), []) => Node::Address(address, None),
        // RFC 7239 6: a port may be obfuscated; the address still counts.
        (Some(address), [b':', b'_', ..]) => Node::Address(address, None),
        (Some(address), [b':', digits @ ..]) => match port(digits) {
            Some(port) => Node::Address(address, Some(port)),
            None => Node::Unknown,
        },
        _ => Node::Unknown,
    }
}

fn https(scheme: &[u8]) -> Option<bool> {
    match scheme {
        s if s.eq_ignore_ascii_case(b"https") => Some(true),
        s if s.eq_ignore_ascii_case(b"http") => Some(false),
        _ => None,
    }
}

fn is_host(text: &[u8]) -> bool {
    split_authority(text).is_some_and(|authority| !authority.host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trusted(address: IpAddr) -> bool {
        matches!(address, IpAddr::V4(v4) if v4.octets()[0] == 10)
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_untrusted_peer_is_the_client() {
        let hops = forwarded([&b"for=1.2.3.4;proto=https;host=evil"[..]]);
        let found = client(ip("192.0.2.1"), hops, trusted);
        assert_eq!(found, Client { address: ip("192.0.2.1"), port: None, https: None, host: None });
    }

    #[test]
    fn the_chain_is_followed_as_far_as_it_is_trusted() {
        let hops = forwarded([
            &b"for=6.6.6.6;host=forged, for=\"192.0.2.9:4711\";proto=https;host=shop.example"[..],
            b"for=10.0.0.2",
        ]);
        let found = client(ip("10.0.0.1"), hops, trusted);
        assert_eq!(found.address, ip("192.0.2.9"));
        assert_eq!(found.port, Some(4711));
        assert_eq!(found.https, Some(true));
        assert_eq!(found.host.as_deref(), Some(&b"shop.example"[..]));
    }

    #[test]
    fn an_unknown_hop_ends_the_walk() {
        let hops = forwarded([&b"for=192.0.2.9, for=unknown;proto=http"[..]]);
        let found = client(ip("::ffff:10.0.0.1"), hops, trusted);
        assert_eq!((found.address, found.https), (ip("10.0.0.1"), Some(false)));
    }

    #[test]
    fn the_walk_is_bounded() {
        let long = vec!["10.0.0.2"; 2 * HOPS_MAX].join(",");
        let found = client(ip("10.0.0.1"), x_forwarded([long.as_bytes()], [], []), trusted);
        assert_eq!(found.address, ip("10.0.0.2"));
        let own = "192.0.2.7,".repeat(4000) + "192.0.2.9";
        let found = client(ip("10.0.0.1"), x_forwarded([own.as_bytes()], [], []), trusted);
        assert_eq!(found.address, ip("192.0.2.9"), "what a client says does not hide what a proxy says");
    }

    #[test]
    fn nodes() {
        let v4 = ip("192.0.2.1");
        let v6 = ip("2001:db8::1");
        assert_eq!(node(b"192.0.2.1"), Node::Address(v4, None));
        assert_eq!(node(b"192.0.2.1:80"), Node::Address(v4, Some(80)));
        assert_eq!(node(b"192.0.2.1:_p"), Node::Address(v4, None));
        assert_eq!(node(b"[2001:db8::1]:443"), Node::Address(v6, Some(443)));
        assert_eq!(node(b"[::ffff:192.0.2.1]"), Node::Address(v4, None));
        for text in
            [&b""[..], b"unknown", b"_hidden", b"[::1", b"[::1]x", b"1.2.3", b"1.2.3.4:x", b"1.2.3.4:99999"]
        {
            assert_eq!(node(text), Node::Unknown, "{text:?}");
        }
    }
}
