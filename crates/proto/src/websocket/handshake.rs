//! The handshake by which a connection becomes a WebSocket (RFC 6455 section 4.2).
//!
//! Must not know whether the client may connect. Invariant: [`Handshake::read`] accepts only what a WebSocket client can
//! send on purpose: a page cannot make a browser send the fields that it requires.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest as _, Sha1};

use crate::bytes::list;
use crate::{Framing, Head, Reject};

/// The version of the protocol, which a refused client is told.
pub const VERSION: &[u8] = b"13";
/// RFC 6455 section 1.3.
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// Bytes of the nonce in the key.
const NONCE_BYTES: usize = 16;

/// A valid handshake.
#[derive(Clone, Copy, Debug)]
pub struct Handshake<'a> {
    key: &'a [u8],
}

/// Whether a request asks for a WebSocket, validly or not.
pub fn is_asked(head: &Head, bytes: &[u8]) -> bool {
    head.upgrade(bytes).any(|protocol| protocol.eq_ignore_ascii_case(b"websocket"))
}

impl<'a> Handshake<'a> {
    /// RFC 6455 section 4.2.1: a GET, without a body.
    pub const REQUEST: Reject =
        Reject { status: 400, reason: "a WebSocket is asked for with GET, without a body" };
    /// RFC 6455 section 4.4: the answer names the version.
    pub const VERSION: Reject = Reject { status: 426, reason: "Sec-WebSocket-Version is not 13" };
    /// RFC 6455 section 4.2.1: 16 bytes in base64.
    pub const KEY: Reject =
        Reject { status: 400, reason: "Sec-WebSocket-Key is not one nonce of 16 bytes in base64" };

    /// Reads the handshake of a request for which [`is_asked`] is true.
    ///
    /// # Errors
    /// The first rule that it breaks. With 426 the answer must name the [`VERSION`].
    pub fn read(head: &Head, bytes: &'a [u8]) -> Result<Handshake<'a>, Reject> {
        if head.method(bytes) != b"GET" || head.framing() != Framing::None {
            return Err(Handshake::REQUEST);
        }
        let mut versions = head.get_all(bytes, "sec-websocket-version");
        if versions.next() != Some(VERSION) || versions.next().is_some() {
            return Err(Handshake::VERSION);
        }
        let mut keys = head.get_all(bytes, "sec-websocket-key");
        let key =
            keys.next().filter(|key| STANDARD.decode(key).is_ok_and(|nonce| nonce.len() == NONCE_BYTES));
        match (key, keys.next()) {
            (Some(key), None) => Ok(Handshake { key }),
            _ => Err(Handshake::KEY),
        }
    }

    /// The value of Sec-WebSocket-Accept, which shows the client that its handshake was understood.
    pub fn accept(&self) -> String {
        STANDARD.encode(Sha1::new().chain_update(self.key).chain_update(GUID).finalize())
    }

    /// The subprotocols that a client offers, those that it prefers first.
    pub fn protocols<'h>(head: &'h Head, bytes: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + use<'a, 'h> {
        head.get_all(bytes, "sec-websocket-protocol").flat_map(list).filter(|protocol| !protocol.is_empty())
    }
}

/// Whether an Origin (RFC 6454 section 7) is a page of the host that the request asks for: host and port agree, and the
/// scheme is http or https. The scheme's own port may be left out.
pub fn is_of_host(origin: &[u8], authority: &[u8]) -> bool {
    let (host, port) = if let Some(host) = strip_scheme(origin, b"https://") {
        (host, &b":443"[..])
    } else if let Some(host) = strip_scheme(origin, b"http://") {
        (host, &b":80"[..])
    } else {
        return false;
    };
    let bare = |name: &'_ [u8]| name.strip_suffix(port).unwrap_or(name).to_ascii_lowercase();
    !host.is_empty() && bare(host) == bare(authority)
}

fn strip_scheme<'o>(origin: &'o [u8], scheme: &[u8]) -> Option<&'o [u8]> {
    let (start, rest) = origin.split_at_checked(scheme.len())?;
    start.eq_ignore_ascii_case(scheme).then_some(rest)
}
