//! X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host: no standard, but what most proxies send.
//!
//! Invariant: the last member of each list is the nearest proxy's, and is what counts when the lists differ in length.

use std::borrow::Cow;

use super::{HOPS_MAX, Hop, Node, https, is_host, node};
use crate::bytes::list;

/// Combines the three fields' values (each an iterator over the values of that field, in order) into hops, the
/// client's end first. `None` when there are more than [`HOPS_MAX`].
///
/// Proxies append to X-Forwarded-For, but mostly set or pass on the other two: when such a list is as long as the
/// addresses', its members belong to the hops one by one; otherwise its last member holds for all of them.
pub fn x_forwarded<'a>(
    addresses: impl IntoIterator<Item = &'a [u8]>,
    protos: impl IntoIterator<Item = &'a [u8]>,
    hosts: impl IntoIterator<Item = &'a [u8]>,
) -> Option<Vec<Hop<'a>>> {
    let nodes = members(addresses)?;
    let protos = members(protos)?;
    let hosts = members(hosts)?;
    if nodes.is_empty() && protos.is_empty() && hosts.is_empty() {
        return Some(Vec::new());
    }
    // Without addresses the nearest proxy still says how it was spoken to.
    let count = nodes.len().max(1);
    let at = |values: &[&'a [u8]], index: usize| -> Option<&'a [u8]> {
        if values.len() == count { values.get(index).copied() } else { values.last().copied() }
    };
    let hop = |index: usize| Hop {
        node: nodes.get(index).map(|&text| x_node(text)),
        https: at(&protos, index).and_then(https),
        host: at(&hosts, index).filter(|host| is_host(host)).map(Cow::Borrowed),
    };
    Some((0..count).map(hop).collect())
}

fn members<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Option<Vec<&'a [u8]>> {
    let all: Vec<_> =
        values.into_iter().flat_map(list).filter(|member| !member.is_empty()).take(HOPS_MAX + 1).collect();
    (all.len() <= HOPS_MAX).then_some(all)
}

/// As in Forwarded, and IPv6 without brackets.
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
        x_forwarded(value(addresses), value(protos), value(hosts)).unwrap()
    }

    #[test]
    fn one_proto_holds_for_all_hops() {
        let hops = read("192.0.2.1, 10.0.0.1:8080,2001:db8::1, [::1]:1, garbage", "https", "shop.example");
        assert!(
            hops.iter().all(|hop| hop.https == Some(true) && hop.host.as_deref() == Some(b"shop.example"))
        );
        let nodes: Vec<_> = hops.iter().map(|hop| hop.node.unwrap()).collect();
        let address = |text: &str, port| Node::Address(text.parse().unwrap(), port);
        assert_eq!(
            nodes,
            [
                address("192.0.2.1", None),
                address("10.0.0.1", Some(8080)),
                address("2001:db8::1", None),
                address("::1", Some(1)),
                Node::Unknown
            ]
        );
    }

    #[test]
    fn lists_of_equal_length_go_hop_by_hop_and_others_by_their_last() {
        let protos = |protos| read("1.1.1.1,2.2.2.2", protos, "").iter().map(|h| h.https).collect::<Vec<_>>();
        assert_eq!(protos("https, http"), [Some(true), Some(false)]);
        assert_eq!(protos("https, https, http"), [Some(false), Some(false)]);
        assert_eq!(protos("gopher"), [None, None]);
        assert_eq!(protos(""), [None, None]);
    }

    #[test]
    fn proto_without_addresses_and_limits() {
        assert_eq!(read("", "https", ""), [Hop { node: None, https: Some(true), host: None }]);
        assert_eq!(read("", "", ""), []);
        assert_eq!(read("", "", "a b")[0].host, None);
        let long = vec!["1.1.1.1"; HOPS_MAX + 1].join(",");
        assert_eq!(x_forwarded([long.as_bytes()], [], []), None);
    }
}
