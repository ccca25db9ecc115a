//! The Forwarded field (RFC 7239 section 4).
//!
//! Invariant: each element is found from the end of its line and read by itself, so a proxy's report counts as a whole
//! or not at all, whatever precedes it: a quotation mark that a client opened cannot swallow it.

use std::borrow::Cow;

use super::{Hop, https, is_host, node};
use crate::bytes::{is_ows, is_tchar, trim_ows};

/// Reads the Forwarded lines of a request, given in order, into hops, the nearest proxy's first. Hops are read lazily.
/// A malformed element becomes a hop that says nothing.
pub fn forwarded<'a, V>(lines: V) -> impl Iterator<Item = Hop<'a>>
where
    V: IntoIterator<Item = &'a [u8]>,
    V::IntoIter: DoubleEndedIterator,
{
    let elements = lines.into_iter().rev().flat_map(|line| Elements { rest: Some(line) });
    elements.map(|text| element(trim_ows(text)).unwrap_or_default())
}

/// The elements of one line, from the last to the first.
struct Elements<'a> {
    /// The part of the line before the elements already returned.
    rest: Option<&'a [u8]>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a [u8];

    /// In a well-formed line an unescaped quotation mark begins or ends a string, in this direction as well.
    fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.rest.take()?;
        let (mut at, mut quoted) = (line.len(), false);
        while at > 0 {
            at -= 1;
            match line[at] {
                b',' if !quoted => {
                    self.rest = Some(&line[..at]);
                    return Some(&line[at + 1..]);
                }
                b'"' => {
                    let escapes = line[..at].iter().rev().take_while(|&&byte| byte == b'\\').count();
                    if !quoted || escapes.is_multiple_of(2) {
                        quoted = !quoted;
                    }
                    at -= escapes;
                }
                _ => (),
            }
        }
        Some(line)
    }
}

/// `[ pair ] *( ";" [ pair ] )`; whitespace around the semicolons is tolerated.
fn element(mut rest: &[u8]) -> Option<Hop<'_>> {
    let mut hop = Hop::default();
    // RFC 7239 4: each parameter at most once per element.
    let (mut seen_for, mut seen_by, mut seen_proto, mut seen_host) = (false, false, false, false);
    loop {
        if !matches!(rest, [] | [b';', ..]) {
            let name_end = rest.iter().position(|&b| !is_tchar(b))?;
            let (name, after) = rest.split_at(name_end);
            let (value, after) = parameter_value(after.strip_prefix(b"=")?)?;
            let seen = match name {
                n if n.eq_ignore_ascii_case(b"for") => {
                    hop.node = node(&value);
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
            [] => return Some(hop),
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

    fn all(text: &str) -> Vec<Hop<'_>> {
        forwarded([text.as_bytes()]).collect()
    }

    fn address(text: &str, port: Option<u16>) -> Node {
        Node::Address(text.parse().unwrap(), port)
    }

    fn nodes(text: &str) -> Vec<Node> {
        all(text).iter().map(|hop| hop.node).collect()
    }

    #[test]
    fn examples_of_the_rfc() {
        assert_eq!(nodes("for=\"_gazonk\""), [Node::Unknown]);
        assert_eq!(nodes("For=\"[2001:db8:cafe::17]:4711\""), [address("2001:db8:cafe::17", Some(4711))]);
        let hops = all("for=192.0.2.60;proto=http;by=203.0.113.43");
        assert_eq!(hops, [Hop { node: address("192.0.2.60", None), https: Some(false), host: None }]);
        let both = [address("198.51.100.17", None), address("192.0.2.43", None)];
        assert_eq!(nodes("for=192.0.2.43, for=198.51.100.17"), both);
    }

    #[test]
    fn quoting_spaces_and_extensions() {
        let hops = all(
            " for=\"192.0.2.\\43\" ; HOST=\"a.example:8080\";ext=\"a,b;c\\\"\";x=\"\\\\\" , ,;proto=HTTPS;",
        );
        assert_eq!(hops.len(), 3);
        assert_eq!(hops[0].https, Some(true));
        assert_eq!(hops[1], Hop::default(), "an empty element says nothing");
        assert_eq!(hops[2].node, address("192.0.2.43", None));
        assert_eq!(hops[2].host.as_deref(), Some(&b"a.example:8080"[..]));
        assert_eq!(all("host=\"a/b\"")[0].host, None);
        assert_eq!(all(""), [Hop::default()]);
    }

    #[test]
    fn malformed_elements_say_nothing() {
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
            assert_eq!(all(text), [Hop::default()], "{text:?}");
        }
    }

    #[test]
    fn what_stands_before_an_element_does_not_change_it() {
        let own = Hop { node: address("2001:db8::7", Some(81)), https: Some(true), host: None };
        for forged in [
            "for=1.1.1.1:x",
            "for=\"x",
            "\"",
            "\\",
            "for=\"\\",
            "for=\"\\\"",
            "\"\"\"",
            ",,,",
            "for=10.0.0.1\"",
            "=;,",
        ] {
            let line = format!("{forged}, for=\"[2001:db8::7]:81\";proto=https");
            assert_eq!(all(&line)[0], own, "{line}");
        }
        let long = "for=10.0.0.1,".repeat(4000) + "for=\"[2001:db8::7]:81\";proto=https";
        assert_eq!(forwarded([long.as_bytes()]).next(), Some(own));
    }
}
