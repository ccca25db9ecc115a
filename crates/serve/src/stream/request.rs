//! What a handler can ask about a request.
//!
//! Must not know how it is answered. Invariant: the slices of a [`RequestView`] lie in the connection's buffer, which
//! stays in place until the response has ended; they are the bytes that the peer sent, unchanged.

use std::net::SocketAddr;
use std::path::PathBuf;

use rustix::net::SocketAddrUnix;
use weft_proto::{Framing, Head, Version};
use weft_rt::Nanos;

use crate::address::{Endpoint, Peer};
use crate::connection::Connection;
use crate::keys::RequestKey;
use crate::stream::Stream;
use crate::transport::Session;

/// One request, lent to a closure.
#[derive(Clone, Copy)]
pub struct RequestView<'a> {
    connection: &'a Connection,
    /// The connection with the socket.
    carrier: &'a Connection,
    stream: &'a Stream,
    head: &'a Head,
    bytes: &'a [u8],
}

impl<'a> RequestView<'a> {
    pub(crate) fn of(
        connection: &'a Connection,
        stream: &'a Stream,
        carrier: &'a Connection,
    ) -> RequestView<'a> {
        RequestView { connection, carrier, stream, head: &stream.head, bytes: stream.bytes() }
    }

    /// The parsed head, for everything that has no method below: it takes [`RequestView::bytes`].
    pub fn head(&self) -> &'a Head {
        self.head
    }

    /// The bytes from which the head was parsed, and those that followed it.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether it came to a listener for the operator.
    pub fn is_admin(&self) -> bool {
        self.carrier.is_admin
    }

    /// The method, as sent.
    pub fn method(&self) -> &'a [u8] {
        self.head.method(self.bytes)
    }

    /// The request target, as sent.
    pub fn target(&self) -> &'a [u8] {
        self.head.target(self.bytes)
    }

    /// The target's path, percent-encoded as sent.
    pub fn path(&self) -> &'a [u8] {
        self.head.path(self.bytes)
    }

    /// What follows the target's first `?`.
    pub fn query(&self) -> Option<&'a [u8]> {
        self.head.query(self.bytes)
    }

    /// The HTTP version.
    pub fn version(&self) -> Version {
        self.head.version()
    }

    /// The requested host and port: the target's, else the Host field's.
    pub fn authority(&self) -> Option<&'a [u8]> {
        self.head.authority(self.bytes)
    }

    /// All header fields in order.
    pub fn headers(&self) -> impl ExactSizeIterator<Item = (&'a [u8], &'a [u8])> {
        self.head.headers(self.bytes)
    }

    /// The first value of a header field, by case-insensitive name.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.head.get(self.bytes, name)
    }

    /// The announced length of the body; `None` for a chunked one.
    pub fn content_length(&self) -> Option<u64> {
        match self.head.framing() {
            Framing::None => Some(0),
            Framing::Length(length) => Some(length),
            Framing::Chunked | Framing::UntilEnd => None,
        }
    }

    /// The address of the peer, which may be a proxy: see [`RequestView::client`].
    pub fn peer(&self) -> Peer {
        self.connection.peer
    }

    /// The TLS session of the connection, if it has one.
    pub fn session(&self) -> Option<&'a Session> {
        self.carrier.transport.session()
    }

    /// The address of this end of the connection, from the kernel.
    ///
    /// # Errors
    /// Those of getsockname(2).
    pub fn local(&self) -> std::io::Result<Endpoint> {
        use std::os::unix::ffi::OsStringExt;
        let address = self.carrier.transport.local()?;
        if let Ok(address) = SocketAddr::try_from(address.clone()) {
            return Ok(Endpoint::Tcp(address));
        }
        let unix = SocketAddrUnix::try_from(address)?;
        let path = unix.path().map(|path| path.to_bytes().to_vec()).unwrap_or_default();
        Ok(Endpoint::Unix(PathBuf::from(std::ffi::OsString::from_vec(path))))
    }

    /// When the first byte of the request arrived.
    pub fn started(&self) -> Nanos {
        self.stream.since
    }

    /// Requests on this connection so far, this one included.
    pub fn ordinal(&self) -> u32 {
        self.connection.requests
    }
}

/// An answered request, for the access log.
pub struct Summary<'a> {
    /// The key of the request.
    pub key: RequestKey,
    /// The request.
    pub request: RequestView<'a>,
    /// Its [mark](crate::Server::mark); 0 if it has none.
    pub mark: u16,
    /// The status of the answer; 0 if there was none.
    pub status: u16,
    /// Bytes of the response's content, as the handler provided them (before chunking).
    pub body_bytes: u64,
    /// From the request's first byte to the end of its response.
    pub duration: Nanos,
    /// Whether the peer disconnected before the end.
    pub aborted: bool,
}
