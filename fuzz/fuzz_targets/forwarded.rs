//! Forwarded and X-Forwarded-*: bounded, hosts valid, an untrusted peer always wins, and hops written out read back.
#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use libfuzzer_sys::fuzz_target;
use weft_proto::forwarded::{HOPS_MAX, Hop, Node, client, forwarded, x_forwarded};
use weft_proto::split_authority;

fn check(hops: &[Hop<'_>]) {
    assert!(hops.len() <= HOPS_MAX);
    let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let untrusted = client(peer, hops, |_| false);
    assert_eq!((untrusted.address, untrusted.https, untrusted.host), (peer, None, None));
    let all = client(peer, hops, |_| true);
    let told =
        hops.iter().any(|hop| matches!(hop.node, Some(Node::Address(address, _)) if address == all.address));
    assert!(told || all.address == peer);
    for host in hops.iter().filter_map(|hop| hop.host.as_deref()) {
        assert!(split_authority(host).is_some_and(|authority| !authority.host.is_empty()));
    }
}

fn write(hop: &Hop<'_>) -> Vec<u8> {
    let mut text = match hop.node {
        None => String::from("by=x"),
        Some(Node::Unknown) => String::from("for=unknown"),
        Some(Node::Address(IpAddr::V4(v4), None)) => format!("for={v4}"),
        Some(Node::Address(IpAddr::V4(v4), Some(port))) => format!("for=\"{v4}:{port}\""),
        Some(Node::Address(IpAddr::V6(v6), None)) => format!("for=\"[{v6}]\""),
        Some(Node::Address(IpAddr::V6(v6), Some(port))) => format!("for=\"[{v6}]:{port}\""),
    };
    match hop.https {
        Some(true) => text += ";proto=https",
        Some(false) => text += ";proto=http",
        None => {}
    }
    let mut bytes = text.into_bytes();
    if let Some(host) = &hop.host {
        bytes.extend_from_slice(&[b";host=\"", &host[..], b"\""].concat());
    }
    bytes
}

fuzz_target!(|data: &[u8]| {
    if let Some(hops) = forwarded([data]) {
        check(&hops);
        let again = hops.iter().map(write).collect::<Vec<_>>().join(&b","[..]);
        assert_eq!(forwarded([&again[..]]), Some(hops));
    }
    // Two values mean what one with a comma between them means.
    let mut parts = data.splitn(2, |&b| b == b'\n');
    let (first, second) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if let (Some(mut a), Some(b)) = (forwarded([first]), forwarded([second])) {
        a.extend(b);
        let joined = [first, b",", second].concat();
        assert_eq!(forwarded([&joined[..]]), (a.len() <= HOPS_MAX).then_some(a));
    }
    let mut lines = data.split(|&b| b == b'\n');
    let (addresses, protos, hosts) = (lines.next(), lines.next(), lines.next());
    if let Some(hops) = x_forwarded(addresses, protos, hosts) {
        check(&hops);
    }
});
