//! Forwarded and X-Forwarded-*: hosts are valid, an untrusted peer always wins, hops that are written out read back the
//! same, and what a client sends before a proxy's own element does not change it.
#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use libfuzzer_sys::fuzz_target;
use weft_proto::forwarded::{Hop, Node, client, forwarded, x_forwarded};
use weft_proto::split_authority;

fn check(hops: &[Hop<'_>]) {
    let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let untrusted = client(peer, hops.to_vec(), |_| false);
    assert_eq!((untrusted.address, untrusted.https, untrusted.host), (peer, None, None));
    let all = client(peer, hops.to_vec(), |_| true);
    let told =
        hops.iter().any(|hop| matches!(hop.node, Node::Address(address, _) if address == all.address));
    assert!(told || all.address == peer);
    for host in hops.iter().filter_map(|hop| hop.host.as_deref()) {
        assert!(split_authority(host).is_some_and(|authority| !authority.host.is_empty()));
    }
}

fn write(hop: &Hop<'_>) -> Vec<u8> {
    let mut text = match hop.node {
        Node::Unknown => String::from("for=unknown"),
        Node::Address(IpAddr::V4(v4), None) => format!("for={v4}"),
        Node::Address(IpAddr::V4(v4), Some(port)) => format!("for=\"{v4}:{port}\""),
        Node::Address(IpAddr::V6(v6), None) => format!("for=\"[{v6}]\""),
        Node::Address(IpAddr::V6(v6), Some(port)) => format!("for=\"[{v6}]:{port}\""),
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
    let mut hops: Vec<_> = forwarded([data]).collect();
    check(&hops);
    hops.reverse();
    let again = hops.iter().map(write).collect::<Vec<_>>().join(&b","[..]);
    hops.reverse();
    assert_eq!(forwarded([&again[..]]).collect::<Vec<_>>(), hops);
    let own = Hop { node: Node::Address(IpAddr::V4(Ipv4Addr::BROADCAST), Some(1)), https: Some(true), host: None };
    let appended = [data, b", ", &write(&own)].concat();
    assert_eq!(forwarded([&appended[..]]).next(), Some(own.clone()));
    assert_eq!(forwarded([data, &write(&own)]).next(), Some(own));
    let mut lines = data.split(|&b| b == b'\n');
    let (addresses, protos, hosts) = (lines.next(), lines.next(), lines.next());
    check(&x_forwarded(addresses, protos, hosts).collect::<Vec<_>>());
});
