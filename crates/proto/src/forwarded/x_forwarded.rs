//! X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host: not a standard, but what most proxies send.
//!
//! Invariant: only the last part of each field counts, because the nearest proxy appended it or passed it on. What a
//! client sends in these fields comes before it.

use std::borrow::Cow;

use super::{Hop, Node, https, is_host, node};
use crate::bytes::trim_ows;

/// Combines the values of the three fields (each an iterator over the lines of that field, in order) into hops, the
/// nearest proxy's first. The values are read lazily.
///
/// Proxies append to X-Forwarded-For, but mostly set or pass on the other two. So those two do not report each hop:
/// their last member is the nearest proxy's report and applies to all hops. If they were matched hop by hop whenever
/// the lists are equally long, a client could choose that length.
pub fn x_forwarded<'a, A>(
    addresses: A,
    protos: impl IntoIterator<Item = &'a [u8]>,
    hosts: impl IntoIterator<Item = &'a [u8]>,
) -> impl Iterator<Item = Hop<'a>>
where
    A: IntoIterator<Item = &'a [u8]>,
    A::IntoIter: DoubleEndedIterator,
{
    let https = last_member(protos).and_then(https);
    let host = last_member(hosts).filter(|host| is_host(host)).map(Cow::Borrowed);
    let mut nodes = addresses.into_iter().rev().flat_map(members_from_last).map(x_node);
    // Without addresses, the nearest proxy still reports the protocol and the host.
    let first = nodes.next().unwrap_or_default();
    std::iter::once(first).chain(nodes).map(move |node| Hop { node, https, host: host.clone() })
}

/// The members of one line, from the last to the first. An empty member counts as a member that says nothing: a proxy
/// that adds nothing must not make the client's member count as its own.
fn members_from_last(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.rsplit(|&byte| byte == b',').map(trim_ows)
}

fn last_member<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Option<&'a [u8]> {
    lines.into_iter().last().and_then(|line| members_from_last(line).next())
}

/// As in Forwarded, and also IPv6 without brackets.
fn x_node(text: &[u8]) -> Node {
    let bare_v6 = || str::from_utf8(text).ok()?.parse::<std::net::Ipv6Addr>().ok();
    match node(text) {
        Node::Unknown => {
            bare_v6().map_or(Node::Unknown, |v6| Node::Address(std::net::IpAddr::V6(v6).to_canonical(), None))
        }
        known => known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'a>(addresses: &'a str, protos: &'a str, hosts: &'a str) -> Vec<Hop<'a>> {
        let value = |text: &'a str| (!text.is_empty()).then_some(text.as_bytes());
        x_forwarded(value(addresses), value(protos), value(hosts)).collect()
    }

    #[test]
    fn one_proto_holds_for_all_hops() {
        let hops = read("garbage, 192.0.2.1, 10.0.0.1:8080,2001:db8::1,, [::1]:1", "https", "shop.example");
        assert!(
            hops.iter().all(|hop| hop.https == Some(true) && hop.host.as_deref() == Some(b"shop.example"))
        );
        let nodes: Vec<_> = hops.iter().map(|hop| hop.node).collect();
        let address = |text: &str, port| Node::Address(text.parse().unwrap(), port);
        assert_eq!(
            nodes,
            [
                address("::1", Some(1)),
                Node::Unknown,
                address("2001:db8::1", None),
                address("10.0.0.1", Some(8080)),
                address("192.0.2.1", None),
                Node::Unknown,
            ]
        );
    }

    #[test]
    fn the_last_proto_and_host_count_however_many_there_are() {
        let protos = |protos| read("1.1.1.1,2.2.2.2", protos, "").iter().map(|h| h.https).collect::<Vec<_>>();
        assert_eq!(protos("https, http"), [Some(false), Some(false)]);
        assert_eq!(protos("http, http, https"), [Some(true), Some(true)]);
        assert_eq!(protos("https, gopher"), [None, None]);
        assert_eq!(protos("https,"), [None, None]);
        assert_eq!(protos(""), [None, None]);
        let lines = x_forwarded([], [&b"https"[..], b"http"], [&b"a"[..], b"b"]);
        assert_eq!(
            lines.map(|hop| (hop.https, hop.host)).collect::<Vec<_>>(),
            [(Some(false), Some(Cow::Borrowed(&b"b"[..])))]
        );
    }

    #[test]
    fn lines_are_read_from_the_last() {
        let hops = x_forwarded([&b"1.1.1.1, 2.2.2.2"[..], b"3.3.3.3"], [], []);
        let nodes: Vec<_> = hops.map(|hop| hop.node).collect();
        assert_eq!(nodes, ["3.3.3.3", "2.2.2.2", "1.1.1.1"].map(|text| node(text.as_bytes())));
    }

    #[test]
    fn proto_without_addresses() {
        assert_eq!(read("", "https", ""), [Hop { https: Some(true), ..Hop::default() }]);
        assert_eq!(read("", "", ""), [Hop::default()]);
        assert_eq!(read("", "", "a b")[0].host, None);
    }
}
