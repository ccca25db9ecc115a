//! The Forwarded field (RFC 7239 section 4).
//!
//! Invariant: a malformed value yields nothing, so a proxy's account is believed whole or not at all.

use std::borrow::Cow;

use super::{HOPS_MAX, Hop, https, is_host, node};
use crate::bytes::{is_ows, is_tchar};

/// Reads every Forwarded value of a request, in order, into hops: the client's end first.
/// `None` when one is malformed or there are more than [`HOPS_MAX`].
pub fn forwarded<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Option<Vec<Hop<'a>>> {
    let mut hops = Vec::new();
    for value in values {
        let mut rest = skip_ows(value);
        while !rest.is_empty() {
            // Empty list members are allowed (RFC 9110 5.6.1).
            if rest[0] != b',' {
                if hops.len() == HOPS_MAX {
                    return None;
                }
                let (hop, after) = element(rest)?;
                hops.push(hop);
                rest = after;
            }
            rest = match rest {
                [] => break,
                [b',', after @ ..] => skip_ows(after),
                _ => return None,
            };
        }
    }
    Some(hops)
}

/// `[ pair ] *( ";" [ pair ] )`, whitespace around the semicolons forgiven; the rest starts with a comma or is empty.
fn element(mut rest: &[u8]) -> Option<(Hop<'_>, &[u8])> {
    let mut hop = Hop::default();
    // RFC 7239 4: each parameter at most once per element.
    let (mut seen_for, mut seen_by, mut seen_proto, mut seen_host) = (false, false, false, false);
    loop {
        if !matches!(rest, [] | [b';' | b',', ..]) {
            let name_end = rest.iter().position(|&b| !is_tchar(b))?;
            let (name, after) = rest.split_at(name_end);
            let (value, after) = parameter_value(after.strip_prefix(b"=")?)?;
            let seen = match name {
                n if n.eq_ignore_ascii_case(b"for") => {
                    hop.node = Some(node(&value));
                    &mut seen_for
                }
                n if n.eq_ignore_ascii_case(b"proto") => {
                    hop.https = https(&value);
                    &mut seen_proto
                }
                n if n.eq_ignore_ascii_case(b"host") => {
                    hop.host = Some(value).filter(|host| is_host(host));
                    &mut seen_host
                }
                n if n.eq_ignore_ascii_case(b"by") => &mut seen_by,
                [] => return None,
                _ => &mut false,
            };
            if std::mem::replace(seen, true) {
                return None;
            }
            rest = skip_ows(after);
        }
        rest = match rest {
            [] | [b',', ..] => return Some((hop, rest)),
            [b';', after @ ..] => skip_ows(after),
            _ => return None,
        };
    }
}

/// A token or a quoted string, and what follows it.
fn parameter_value(rest: &[u8]) -> Option<(Cow<'_, [u8]>, &[u8])> {
    let [b'"', inside @ ..] = rest else {
        let end = rest.iter().position(|&b| !is_tchar(b)).unwrap_or(rest.len());
        return (end > 0).then(|| (Cow::Borrowed(&rest[..end]), &rest[end..]));
    };
    let stop = inside.iter().position(|&b| b == b'"' || b == b'\\')?;
    if inside[stop] == b'"' {
        return Some((Cow::Borrowed(&inside[..stop]), &inside[stop + 1..]));
    }
    let mut text = inside[..stop].to_vec();
    let mut at = stop;
    loop {
        match *inside.get(at)? {
            b'"' => return Some((Cow::Owned(text), &inside[at + 1..])),
            b'\\' => {
                text.push(*inside.get(at + 1)?);
                at += 2;
            }
            byte => {
                text.push(byte);
                at += 1;
            }
        }
    }
}

fn skip_ows(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&b| !is_ows(b)).unwrap_or(bytes.len());
    &bytes[end..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forwarded::Node;

    fn one(text: &str) -> Option<Vec<Hop<'_>>> {
        forwarded([text.as_bytes()])
    }

    fn address(text: &str, port: Option<u16>) -> Option<Node> {
        Some(Node::Address(text.parse().unwrap(), port))
    }

    #[test]
    fn examples_of_the_rfc() {
        let hops = one("for=\"_gazonk\"").unwrap();
        assert_eq!(hops[0].node, Some(Node::Unknown));
        let hops = one("For=\"[2001:db8:cafe::17]:4711\"").unwrap();
        assert_eq!(hops[0].node, address("2001:db8:cafe::17", Some(4711)));
        let hops = one("for=192.0.2.60;proto=http;by=203.0.113.43").unwrap();
        assert_eq!(hops, [Hop { node: address("192.0.2.60", None), https: Some(false), host: None }]);
        let hops = one("for=192.0.2.43, for=198.51.100.17").unwrap();
        assert_eq!(hops[0].node, address("192.0.2.43", None));
        assert_eq!(hops[1].node, address("198.51.100.17", None));
    }

    #[test]
    fn quoting_spaces_and_extensions() {
        let hops = one(" for=\"192.0.2.\\43\" ; HOST=\"a.example:8080\";ext=\"a,b;c\\\"\" , ,;proto=HTTPS;")
            .unwrap();
        assert_eq!(hops.len(), 2);
        assert_eq!(hops[0].node, address("192.0.2.43", None));
        assert_eq!(hops[0].host.as_deref(), Some(&b"a.example:8080"[..]));
        assert_eq!(hops[1].https, Some(true));
        assert_eq!(one("host=\"a/b\"").unwrap()[0].host, None);
        assert_eq!(one("").unwrap(), []);
    }

    #[test]
    fn malformed_values_yield_nothing() {
        for text in [
            "for",
            "for=",
            "=x",
            "for=a b",
            "for=1.2.3.4:80",
            "for=\"x",
            "for=\"x\\",
            "for=x;for=y",
            "for =x",
            "for= x",
            "for=\"x\"y",
            "by=a;by=b",
        ] {
            assert_eq!(one(text), None, "{text:?}");
        }
        let long = vec!["for=1.1.1.1"; HOPS_MAX + 1].join(",");
        assert_eq!(one(&long), None);
        assert_eq!(one(&long[12..]).map(|hops| hops.len()), Some(HOPS_MAX));
    }
}
