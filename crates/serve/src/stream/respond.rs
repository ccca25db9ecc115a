//! Responses that are available as a whole.
//!
//! Must not know where a body comes from. Invariant: a head that cannot be encoded leaves the request unanswered, so
//! that the handler can answer it with an error page.

use std::fmt;

use weft_proto::{BodyLength, InvalidHeader, SentBody, reason_phrase};

use crate::connection::Connection;
use crate::keys::RequestKey;
use crate::server::Server;
use crate::stream::coded::{CodedHead, Plan};
use crate::stream::{Fields, Stage, Stream};
use crate::table::Table;

/// Header fields as names and values.
pub type Headers<'h> = [(&'h [u8], &'h [u8])];

/// Bodies of at least this size are sent from the caller's memory; smaller ones are copied behind their head.
pub(crate) const DIRECT_BYTES_MIN: usize = 16 * 1024;

/// Why a response was not accepted.
#[derive(Debug)]
pub enum Error {
    /// The peer has disconnected, or the response has already ended.
    Gone,
    /// A status or header field that must not be sent. Nothing was sent.
    Header(InvalidHeader),
    /// The response has already been started.
    Started,
    /// The response has not been started.
    NotStarted,
    /// The body is longer than announced: the rest is not sent. Or it is shorter: the connection is closed, so that the
    /// peer can tell.
    Length {
        /// Bytes that were announced.
        announced: u64,
        /// Bytes provided, including the refused ones.
        given: u64,
    },
    /// The file does not exist, or is not a regular file.
    NotFound,
    /// The file must not be read.
    Forbidden,
    /// The file cannot be read.
    File(std::io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Gone => f.write_str("the response has ended or its client has gone"),
            Error::Header(invalid) => invalid.fmt(f),
            Error::Started => f.write_str("the response has been started: status and headers are sent"),
            Error::NotStarted => {
                f.write_str("the response has not been started: send status and headers first")
            }
            Error::Length { announced, given } => {
                write!(f, "Content-Length announced {announced} bytes, but the body has {given}")
            }
            Error::NotFound => f.write_str("no such file"),
            Error::Forbidden => f.write_str("the file may not be read"),
            Error::File(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl Server {
    /// Answers with a whole response. The length is that of `body`; for HEAD, 204, 205 and 304 no body is sent. Parks
    /// while there is no room for the body in memory or in temporary files; for less than 16 KiB there always is.
    ///
    /// # Errors
    /// [`Error::Header`]: the request is still unanswered. [`Error::Started`]. [`Error::Gone`].
    pub fn respond(
        &self,
        key: RequestKey,
        status: u16,
        headers: &Headers<'_>,
        body: &[u8],
    ) -> Result<(), Error> {
        match self.respond_first(key, status, headers, body)? {
            taken if taken < body.len() => self.respond_rest(key, &body[taken..]),
            _ => Ok(()),
        }
    }

    /// The first step of [`Server::respond`], which does not park. Returns how many bytes of the body were accepted. If
    /// these are not all, the rest MUST be given to [`Server::respond_rest`].
    ///
    /// # Errors
    /// As [`Server::respond`].
    pub fn respond_first(
        &self,
        key: RequestKey,
        status: u16,
        headers: &Headers<'_>,
        body: &[u8],
    ) -> Result<usize, Error> {
        let mut table = self.table.borrow_mut();
        let (connection, stream) = self.answerable(&mut table, key)?;
        if self.limits.compress_responses
            && let Some(taken) = self.respond_coded_first(connection, stream, status, headers, body)?
        {
            return Ok(taken);
        }
        self.encode_head(connection, stream, status, headers, BodyLength::Known(body.len() as u64))?;
        if let Stage::Started(SentBody::Length(length)) = stream.stage {
            if body.len() < DIRECT_BYTES_MIN {
                stream.written = length;
                stream.out.bytes.extend_from_slice(body);
            } else {
                stream.spools = true;
                let taken = self.take(connection, stream, SentBody::Length(length), body);
                if taken < body.len() {
                    self.enqueue(stream.connection, connection);
                    return Ok(taken);
                }
            }
        }
        self.end_response(connection, stream);
        self.enqueue(stream.connection, connection);
        Ok(body.len())
    }

    /// The same for a response that is compressed, or may be for another client; `None` if nothing was sent.
    fn respond_coded_first(
        &self,
        connection: &mut Connection,
        stream: &mut Stream,
        status: u16,
        headers: &Headers<'_>,
        body: &[u8],
    ) -> Result<Option<usize>, Error> {
        let coding = match self.coding_of(stream, status, headers, Some(body.len())) {
            Plan::Plain => return Ok(None),
            Plan::Varies => None,
            Plan::With(coding) => Some(coding),
        };
        let coder =
            coding.filter(|_| body.len() > self.buffer_bytes_max()).and_then(|coding| self.coder(coding));
        let whole = coding.filter(|_| coder.is_none() && body.len() <= self.buffer_bytes_max());
        let coded = whole.and_then(|coding| self.coded_whole(coding, body));
        let is_coded = coder.is_some() || coded.is_some();
        let length = match (&coder, &coded) {
            (Some(_), _) => BodyLength::Unknown,
            (None, Some(coded)) => BodyLength::Known(coded.len() as u64),
            (None, None) => BodyLength::Known(body.len() as u64),
        };
        CodedHead::new(headers, coding.filter(|_| is_coded))
            .with(|headers| self.encode_head(connection, stream, status, headers, length))?;
        let Stage::Started(sent) = stream.stage else { return Err(Error::NotStarted) };
        let mut taken = body.len();
        match coded {
            _ if sent == SentBody::None => (),
            // The rest, which is all of it, follows as it does for other long bodies.
            _ if coder.is_some() => {
                (stream.coder, stream.spools, taken) = (coder, true, 0);
            }
            Some(coded) => {
                stream.written = coded.len() as u64;
                stream.out.bytes.extend_from_slice(&coded);
            }
            None => {
                stream.spools = true;
                taken = self.take(connection, stream, sent, body);
            }
        }
        if taken == body.len() {
            self.end_response(connection, stream);
        }
        self.enqueue(stream.connection, connection);
        Ok(Some(taken))
    }

    /// Sends the rest of a body of which [`Server::respond_first`] has accepted a part. Parks as often as needed.
    ///
    /// # Errors
    /// [`Error::Gone`]: the peer has disconnected, or the coroutine was cancelled; in that case the connection is
    /// closed, so that the peer can tell.
    pub fn respond_rest(&self, key: RequestKey, rest: &[u8]) -> Result<(), Error> {
        let written = self.write_all(key, rest);
        if written.is_err() {
            self.abort(key);
            return written;
        }
        self.finish(key, &[])
    }

    /// Answers with a small text page that names the status. `retry_after` is in seconds and is meant for 429
    /// and 503.
    ///
    /// # Errors
    /// As [`Server::respond`].
    pub fn respond_error(&self, key: RequestKey, status: u16, retry_after: Option<u32>) -> Result<(), Error> {
        let seconds = retry_after.map(|seconds| seconds.to_string());
        let mut headers: Vec<(&[u8], &[u8])> = vec![PAGE_TYPE];
        if let Some(seconds) = &seconds {
            headers.push((b"Retry-After", seconds.as_bytes()));
        }
        self.respond(key, status, &headers, page(status, "").as_bytes())
    }

    /// Adds fields to the head of the response to come: each whose name the handler does not give itself.
    pub fn add_fields(&self, key: RequestKey, fields: Fields) {
        if let Some((_, stream)) = self.table.borrow_mut().active(key) {
            stream.fields = Some(fields);
        }
    }

    /// Adds a field as [`Server::add_fields`] does, to those that are to be added.
    pub fn add_field(&self, key: RequestKey, field: (Vec<u8>, Vec<u8>)) {
        if let Some((_, stream)) = self.table.borrow_mut().active(key) {
            let before = stream.fields.iter().flat_map(|fields| fields.iter().cloned());
            stream.fields = Some(before.chain([field]).collect());
        }
    }

    /// Ends a request without (the rest of) a response. The connection is closed after the bytes queued so far, so that
    /// the peer can tell that the response is cut off. A response that has all its announced bytes is not cut off.
    pub fn abort(&self, key: RequestKey) {
        let mut table = self.table.borrow_mut();
        let Some((connection, stream)) = table.active(key) else { return };
        stream.wire.keep_alive &= stream.stage == Stage::Started(SentBody::Length(stream.written));
        self.end_response(connection, stream);
        self.enqueue(stream.connection, connection);
    }

    /// The stream on which to answer `key`, and its connection. If that is broken, the request ends here.
    pub(crate) fn answerable<'t>(
        &self,
        table: &'t mut Table,
        key: RequestKey,
    ) -> Result<(&'t mut Connection, &'t mut Stream), Error> {
        let (connection, stream) = table.active(key).ok_or(Error::Gone)?;
        if connection.transport.broken {
            self.end_response(connection, stream);
            self.enqueue(stream.connection, connection);
            return Err(Error::Gone);
        }
        Ok((connection, stream))
    }
}

pub(crate) const PAGE_TYPE: (&[u8], &[u8]) = (b"Content-Type", b"text/plain; charset=utf-8");

/// The server's own text for a status.
pub(crate) fn page(status: u16, reason: &str) -> String {
    let phrase = reason_phrase(status).unwrap_or("Error");
    if reason.is_empty() { format!("{status} {phrase}\n") } else { format!("{status} {phrase}: {reason}\n") }
}
