//! Heads between HTTP/2 and the text of HTTP/1.1, which the parser checks and the handler reads.
//!
//! Must not know streams. Invariant: a field cannot end its line, because the types of the crate http hold no line end; and
//! the fields of HTTP/1.1's connections (RFC 9113 8.2.2) pass in neither direction: who reads the frames refuses them in requests.

use bytes::Bytes;
use http::Method;
use http::header::{COOKIE, HOST, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_KEY};
use http::request::Parts;

/// What a WebSocket's handshake has in HTTP/1.1 and not in HTTP/2 (RFC 8441 section 5): its key shows nothing here, because
/// nobody but a WebSocket client can ask in this way.
const HANDSHAKE: &[u8] =
    b"connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";

/// As many as most answers have: a table for more is so large that the allocator sweeps for each.
const FIELDS_USUAL: usize = 6;

/// Whether the stream is to become a tunnel (RFC 8441 section 4), for a protocol that there is or another one: `asked` is the
/// value of `:protocol`.
pub fn is_tunnel(parts: &Parts, asked: Option<&str>) -> bool {
    parts.method == Method::CONNECT && asked.is_some()
}

/// The head of a request as HTTP/1.1 writes it. `None` if it contradicts itself (RFC 9113 8.3.1), or asks for a tunnel for
/// another protocol than WebSocket.
pub fn text(parts: &Parts, asked: Option<&str>) -> Option<Vec<u8>> {
    let is_tunnel = is_tunnel(parts, asked);
    if is_tunnel && asked != Some("websocket") {
        return None;
    }
    let method = if is_tunnel { "GET" } else { parts.method.as_str() };
    let mut head = Vec::with_capacity(512);
    let authority = parts.uri.authority().map(http::uri::Authority::as_str);
    let target = parts.uri.path_and_query().map_or("", http::uri::PathAndQuery::as_str);
    let target = if target.is_empty() { authority? } else { target };
    for part in [method, " ", target, " HTTP/1.1\r\n"] {
        head.extend_from_slice(part.as_bytes());
    }
    if let Some(authority) = authority {
        let differs = |host: &HeaderValue| !host.as_bytes().eq_ignore_ascii_case(authority.as_bytes());
        if parts.headers.get_all(HOST).iter().any(differs) {
            return None;
        }
        push(&mut head, b"host", authority.as_bytes());
    }
    for (name, value) in &parts.headers {
        let is_own =
            name == COOKIE || name == HOST && authority.is_some() || name == SEC_WEBSOCKET_KEY && is_tunnel;
        if !is_own {
            push(&mut head, name.as_str().as_bytes(), value.as_bytes());
        }
    }
    // RFC 9113 8.2.3: crumbs are joined before they leave HTTP/2.
    let crumbs: Vec<&[u8]> = parts.headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if !crumbs.is_empty() {
        push(&mut head, b"cookie", &crumbs.join(&b"; "[..]));
    }
    if is_tunnel {
        head.extend_from_slice(HANDSHAKE);
    }
    head.extend_from_slice(b"\r\n");
    Some(head)
}

fn push(head: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    for part in [name, b": ", value, b"\r\n"] {
        head.extend_from_slice(part);
    }
}

/// The fields of a head that was encoded and checked as text; its first line, and any without a colon, is not one of them.
/// Their values stay where the text is.
pub fn lines(text: &Bytes) -> HeaderMap {
    let mut fields = HeaderMap::with_capacity(FIELDS_USUAL);
    let mut begin = 0;
    for line in text.split(|byte| *byte == b'\n') {
        let end = begin + line.strip_suffix(b"\r").unwrap_or(line).len();
        let next = begin + line.len() + 1;
        if let Some(colon) = line.iter().position(|byte| *byte == b':')
            && line.get(colon + 1) == Some(&b' ')
            && let Ok(name) = HeaderName::from_bytes(&line[..colon])
            && let Ok(value) = HeaderValue::from_maybe_shared(text.slice(begin + colon + 2..end))
            && !matches!(
                name.as_str(),
                "connection" | "keep-alive" | "proxy-connection" | "transfer-encoding" | "upgrade" | "te"
            )
        {
            fields.append(name, value);
        }
        begin = next;
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(build: impl FnOnce(http::request::Builder) -> http::request::Builder) -> Parts {
        build(http::Request::builder()).body(()).unwrap().into_parts().0
    }

    #[test]
    fn a_request_becomes_text() {
        let request = parts(|request| {
            request
                .method("POST")
                .uri("https://a.example:8443/x?y=1")
                .header("cookie", "a=1")
                .header("host", "A.example:8443")
                .header("accept", "*/*")
                .header("cookie", "b=2")
        });
        let want = "POST /x?y=1 HTTP/1.1\r\nhost: a.example:8443\r\naccept: */*\r\ncookie: a=1; b=2\r\n\r\n";
        assert_eq!(String::from_utf8(text(&request, None).unwrap()).unwrap(), want);
        assert!(text(&parts(|request| request.uri("https://a/").header("host", "b")), None).is_none());
        let bare = parts(|request| request.uri("/").header("host", "b"));
        assert_eq!(text(&bare, None).unwrap(), b"GET / HTTP/1.1\r\nhost: b\r\n\r\n");
    }

    #[test]
    fn a_tunnel_is_asked_for_as_by_http1() {
        let connect = parts(|request| {
            request.method("CONNECT").uri("https://a.example/chat").header("sec-websocket-key", "own")
        });
        let text =
            |asked: &str| super::text(&connect, Some(asked)).map(|text| String::from_utf8(text).unwrap());
        let handshake = String::from_utf8(HANDSHAKE.to_vec()).unwrap();
        assert_eq!(
            text("websocket"),
            Some(format!("GET /chat HTTP/1.1\r\nhost: a.example\r\n{handshake}\r\n"))
        );
        assert_eq!(text("connect-udp"), None);
    }

    #[test]
    fn fields_of_connections_do_not_pass() {
        let fields = lines(&Bytes::from_static(
            b"HTTP/1.1 200 OK\r\nServer: weft\r\nUpgrade: x\r\nSet-Cookie: a\r\nSet-Cookie: b: c\r\n\r\n",
        ));
        assert_eq!(fields.get_all("set-cookie").iter().nth(1).unwrap(), "b: c");
        assert_eq!(fields.get("server").unwrap(), "weft");
        assert_eq!(fields.get_all("set-cookie").iter().count(), 2);
        assert_eq!(fields.len(), 3);
    }
}
