//! Answers as HTTP/1.1: heads, and whether the connection goes on after them.
//!
//! Must not know what is answered. Invariant: a head that cannot be encoded leaves nothing in the queue.

use weft_proto::{BodyLength, InvalidHeader, ResponseHead, Sent, Version};

use crate::connection::Connection;
use crate::server::Server;
use crate::stream::respond::{Error, Headers, PAGE_TYPE, page};
use crate::stream::{Fields, Stage, Stream};

impl Server {
    /// Queues a response's head, or returns why it cannot.
    pub(crate) fn encode_head(
        &self,
        connection: &mut Connection,
        stream: &mut Stream,
        status: u16,
        headers: &Headers<'_>,
        body: BodyLength,
    ) -> Result<(), Error> {
        let may_continue = self.may_continue(connection, stream);
        if stream.stage != Stage::Waiting {
            return Err(Error::Started);
        }
        let head = ResponseHead {
            status,
            version: stream.head.version(),
            head_request: stream.head.method(stream.bytes()) == b"HEAD",
            keep_alive: may_continue && stream.head.keep_alive(),
            body,
            own_lines: b"",
        };
        let sent = self.encode(connection, stream, head, headers).map_err(Error::Header)?;
        stream.begin_response(status, sent);
        self.charge(stream);
        Ok(())
    }

    /// Whether the server allows another request on this connection.
    fn may_continue(&self, connection: &Connection, stream: &Stream) -> bool {
        let allowed = self.limits.requests_max == 0 || connection.requests < self.limits.requests_max;
        // A peer that was not told to continue sends either its body or the next request, and the server cannot
        // tell which (RFC 9110 10.1.1).
        let body = &stream.body;
        let body_ends = body.is_complete()
            || body.is_pending()
                && !body.expects
                && body.left().is_none_or(|left| left <= self.limits.discard_bytes_max);
        allowed && body_ends && self.draining.get().is_none() && !self.makes_room()
    }

    /// Whether this connection ends with its response, to make room for one that waits while no connection is
    /// idle.
    fn makes_room(&self) -> bool {
        self.crowded.get() && self.crowded.take()
    }

    /// Encodes a head with the server's own fields.
    fn encode(
        &self,
        connection: &mut Connection,
        stream: &mut Stream,
        head: ResponseHead,
        headers: &Headers<'_>,
    ) -> Result<Sent, InvalidHeader> {
        let (fields, joined) = (stream.fields.clone(), &mut Vec::new());
        let headers = match &fields {
            None => headers,
            Some(fields) => join(headers, fields, joined),
        };
        let has = |field: &[u8]| headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(field));
        let secure =
            self.limits.hsts_s > 0 && connection.transport.is_secure() && !has(b"strict-transport-security");
        let own_lines = self.own_lines.get(has(b"server"), secure);
        let head = ResponseHead { own_lines, ..head };
        if connection.transport.carried().is_some() {
            return self.encode_carried(connection, head, headers);
        }
        head.encode(headers, &self.date(), &mut self.repeated.borrow_mut(), &mut stream.out.bytes)
    }

    /// Queues the server's own answer to an invalid request, or to one that it does not serve. The answer
    /// closes the connection.
    pub(crate) fn encode_error(
        &self,
        connection: &mut Connection,
        stream: &mut Stream,
        status: u16,
        reason: &str,
        retry_after: Option<&[u8]>,
    ) {
        let page = page(status, reason);
        let mut headers: Vec<(&[u8], &[u8])> = vec![PAGE_TYPE];
        headers.extend(retry_after.map(|seconds| (&b"Retry-After"[..], seconds)));
        let body = BodyLength::Known(page.len() as u64);
        // RFC 9110 9.3.2: the answer to HEAD has no content. The first bytes of a refused request tell whether
        // it is HEAD.
        let head_request = stream.request_line().starts_with(b"HEAD ");
        let head = ResponseHead {
            status,
            version: Version::Http11,
            head_request,
            keep_alive: false,
            body,
            own_lines: b"",
        };
        // This cannot fail: the fields are constants, and the status comes from a parser.
        if let Ok(sent) = self.encode(connection, stream, head, &headers) {
            stream.begin_response(status, sent);
            if !head_request {
                stream.out.bytes.extend_from_slice(page.as_bytes());
                stream.written = page.len() as u64;
            }
        }
    }
}

/// The handler's fields, then those that it does not name.
#[cold]
fn join<'h>(
    headers: &Headers<'h>,
    fields: &'h Fields,
    joined: &'h mut Vec<(&'h [u8], &'h [u8])>,
) -> &'h Headers<'h> {
    joined.extend_from_slice(headers);
    for (name, value) in fields.iter() {
        if !headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
            joined.push((name, value));
        }
    }
    joined
}
