//! What a handler can ask of a request.
//!
//! Must not know how it is answered. Invariant: the slices of a [`RequestView`] lie in the connection's buffer, which
//! stays in place until the response has ended; they are the bytes the peer sent, unchanged.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::PathBuf;

use rustix::net::{SocketAddrUnix, getsockname};
use weft_proto::{Framing, Head, Version};
use weft_rt::Nanos;

use crate::address::{Endpoint, Peer};
use crate::connection::Connection;
use crate::exchange::Exchange;
use crate::server::Server;
use crate::table::RequestKey;

/// One request, lent to a closure.
#[derive(Clone, Copy)]
pub struct RequestView<'a> {
    connection: &'a Connection,
    exchange: &'a Exchange,
    head: &'a Head,
    bytes: &'a [u8],
}

impl<'a> RequestView<'a> {
    pub(crate) fn of(connection: &'a Connection) -> Option<RequestView<'a>> {
        let exchange = connection.exchange.as_deref()?;
        Some(RequestView { connection, exchange, head: &exchange.head, bytes: exchange.bytes() })
    }

    /// The parsed head, for what is not below: it takes [`RequestView::bytes`].
    pub fn head(&self) -> &'a Head {
        self.head
    }

    /// The bytes the head was parsed from, and what followed it.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
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

    /// Host and port the request is for: the target's, else the Host field's.
    pub fn authority(&self) -> Option<&'a [u8]> {
        self.head.authority(self.bytes)
    }

    /// All header fields in order.
    pub fn headers(&self) -> impl ExactSizeIterator<Item = (&'a [u8], &'a [u8])> {
        self.head.headers(self.bytes)
    }

    /// The first value of a header field, by its name in any case.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.head.get(self.bytes, name)
    }

    /// The length the body was announced with; `None` for a chunked one.
    pub fn content_length(&self) -> Option<u64> {
        match self.head.framing() {
            Framing::None => Some(0),
            Framing::Length(length) => Some(length),
            Framing::Chunked => None,
        }
    }

    /// The other end of the connection, which may be a proxy: see [`RequestView::client`].
    pub fn peer(&self) -> Peer {
        self.connection.peer
    }

    /// This end of the connection, asked of the kernel.
    ///
    /// # Errors
    /// Those of getsockname(2).
    pub fn local(&self) -> std::io::Result<Endpoint> {
        use std::os::unix::ffi::OsStringExt;
        let address = getsockname(self.connection.link.fd.as_fd())?;
        if let Ok(address) = SocketAddr::try_from(address.clone()) {
            return Ok(Endpoint::Tcp(address));
        }
        let unix = SocketAddrUnix::try_from(address)?;
        let path = unix.path().map(|path| path.to_bytes().to_vec()).unwrap_or_default();
        Ok(Endpoint::Unix(PathBuf::from(std::ffi::OsString::from_vec(path))))
    }

    /// When the first byte of the request was seen.
    pub fn started(&self) -> Nanos {
        self.exchange.since
    }

    /// Requests on this connection so far, this one included.
    pub fn ordinal(&self) -> u32 {
        self.connection.requests
    }
}

/// One request that is answered, for the access log.
pub struct Summary<'a> {
    /// Its name.
    pub key: RequestKey,
    /// The request.
    pub request: RequestView<'a>,
    /// The status it was answered with; 0 when it was not.
    pub status: u16,
    /// Bytes of the response's content, as the handler gave them (before chunking).
    pub body_bytes: u64,
    /// From the request's first byte to the end of its response.
    pub duration: Nanos,
    /// The peer had gone before.
    pub aborted: bool,
}

impl Server {
    /// Lends a request to `look`, which MUST NOT call the server. `None` when its response has ended.
    pub fn with_request<T>(&self, key: RequestKey, look: impl FnOnce(&RequestView<'_>) -> T) -> Option<T> {
        let table = self.table.borrow();
        RequestView::of(table.active_ref(key)?).map(|view| look(&view))
    }

    /// The peer has gone, or has ended its side, while the request is in flight (or the response has ended). After a
    /// half-close the response is still delivered.
    pub fn aborted(&self, key: RequestKey) -> bool {
        let table = self.table.borrow();
        table.active_ref(key).is_none_or(|connection| connection.link.broken || connection.link.half_closed)
    }

    pub(crate) fn summary<'a>(&self, key: RequestKey, connection: &'a Connection) -> Option<Summary<'a>> {
        let request = RequestView::of(connection)?;
        Some(Summary {
            key,
            request,
            status: request.exchange.status,
            body_bytes: request.exchange.written,
            duration: weft_rt::clock::now().saturating_sub(request.exchange.since),
            aborted: connection.link.broken,
        })
    }
}
