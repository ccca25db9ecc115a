//! Responses that are produced while they are sent.
//!
//! Must not know who produces them. Invariant: no more than `write_buffer_bytes_max` waits for the peer, whatever the
//! handler writes, and never a byte more than was announced.

use weft_proto::{BodyLength, ChunkPrefix, SentBody, write_chunk, write_interim, write_last_chunk};
use weft_rt::Nanos;

use crate::connection::Connection;
use crate::exchange::Stage;
use crate::outgoing::Flush;
use crate::respond::{DIRECT_BYTES_MIN, Error, Headers};
use crate::server::Server;
use crate::table::RequestKey;
use crate::wait::Waited;

/// Written bytes are sent at once when they are this many; fewer are sent at the end of the turn.
const FLUSH_BYTES: usize = 16 * 1024;

/// How much of a write was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Write {
    /// This many bytes from the start, perhaps not all; the next write may take more.
    Accepted(usize),
    /// None: too much waits for the peer. [`Server::wait_writable`] parks until that changes.
    Full,
}

impl Server {
    /// Starts a response whose body follows by [`Server::write`]. Without a `length` (and without a Content-Length
    /// among `headers`) it is chunked, or for HTTP/1.0 ended by closing the connection.
    ///
    /// # Errors
    /// As [`Server::respond`].
    pub fn start(
        &self,
        key: RequestKey,
        status: u16,
        headers: &Headers<'_>,
        length: Option<u64>,
    ) -> Result<(), Error> {
        let mut table = self.table.borrow_mut();
        let connection = self.answerable(&mut table, key)?;
        let body = length.map_or(BodyLength::Unknown, BodyLength::Known);
        self.encode_head(connection, status, headers, body)?;
        self.enqueue(key.index(), connection);
        Ok(())
    }

    /// Writes a piece of the body. It leaves at the end of the loop's turn at the latest. Where the response has no
    /// body (HEAD, 204, 304) the bytes are dropped.
    ///
    /// # Errors
    /// [`Error::NotStarted`]. [`Error::Length`]: more than was announced; what fits was taken, the connection will be
    /// closed. [`Error::Gone`]: the peer has gone; end the request by [`Server::finish`] or [`Server::abort`].
    pub fn write(&self, key: RequestKey, data: &[u8]) -> Result<Write, Error> {
        let mut table = self.table.borrow_mut();
        let connection = table.active(key).ok_or(Error::Gone)?;
        if connection.link.broken {
            return Err(Error::Gone);
        }
        let Some(exchange) = connection.exchange.as_deref_mut() else { return Err(Error::Gone) };
        let Stage::Started(body) = exchange.stage else { return Err(Error::NotStarted) };
        if body == SentBody::None || data.is_empty() {
            return Ok(Write::Accepted(data.len()));
        }
        if let SentBody::Length(announced) = body {
            let given = exchange.written + data.len() as u64;
            if given > announced {
                let fits = (announced - exchange.written) as usize;
                exchange.keep_alive = false;
                self.put(connection, body, &data[..fits]);
                self.enqueue(key.index(), connection);
                return Err(Error::Length { announced, given });
            }
        }
        let room = self.limits.write_buffer_bytes_max.saturating_sub(exchange.out.pending());
        if room == 0 {
            self.enqueue(key.index(), connection);
            return Ok(Write::Full);
        }
        let count = data.len().min(room);
        self.put(connection, body, &data[..count]);
        self.enqueue(key.index(), connection);
        Ok(Write::Accepted(count))
    }

    /// Queues bytes of the body in its framing, and sends when there are enough.
    fn put(&self, connection: &mut Connection, body: SentBody, data: &[u8]) {
        let Some(exchange) = connection.exchange.as_deref_mut() else { return };
        exchange.written += data.len() as u64;
        let chunked = body == SentBody::Chunked;
        let direct = data.len() >= DIRECT_BYTES_MIN && exchange.blocked_since == 0;
        if direct {
            if chunked {
                exchange.out.bytes.extend_from_slice(ChunkPrefix::new(data.len()).as_bytes());
            }
            let sent = exchange.out.send_with(connection.link.fd(), data);
            if chunked {
                exchange.out.bytes.extend_from_slice(b"\r\n");
            }
            if sent != Flush::Done {
                self.flushed(connection, sent);
            }
        } else if chunked {
            write_chunk(&mut exchange.out.bytes, data);
        } else {
            exchange.out.bytes.extend_from_slice(data);
        }
        if connection.exchange.as_ref().is_some_and(|exchange| exchange.out.pending() >= FLUSH_BYTES) {
            self.flush(connection);
        }
    }

    /// Sends what is queued now, not at the end of the turn.
    pub fn flush_now(&self, key: RequestKey) {
        if let Some(connection) = self.table.borrow_mut().active(key) {
            self.flush(connection);
        }
    }

    /// Parks the running coroutine until half of `write_buffer_bytes_max` is free, or the peer has gone.
    pub fn wait_writable(&self, key: RequestKey, deadline: Option<Nanos>) -> Waited {
        let low = self.limits.write_buffer_bytes_max / 2;
        self.wait_until(key, deadline, |exchange| exchange.out.pending() <= low)
    }

    /// Ends a streamed response. `trailers` are sent if it is chunked.
    ///
    /// # Errors
    /// [`Error::Length`]: less was written than announced; the connection is closed, so that the peer can tell.
    /// [`Error::Header`]: a trailer that must not be sent; the response has not ended. [`Error::NotStarted`].
    /// [`Error::Gone`].
    pub fn finish(&self, key: RequestKey, trailers: &Headers<'_>) -> Result<(), Error> {
        let mut table = self.table.borrow_mut();
        let connection = self.answerable(&mut table, key)?;
        let Some(exchange) = connection.exchange.as_deref_mut() else { return Err(Error::Gone) };
        let Stage::Started(body) = exchange.stage else { return Err(Error::NotStarted) };
        let mut result = Ok(());
        match body {
            SentBody::Chunked => {
                write_last_chunk(&mut exchange.out.bytes, trailers.iter().copied()).map_err(Error::Header)?;
            }
            SentBody::Length(announced) if exchange.written < announced => {
                exchange.keep_alive = false;
                result = Err(Error::Length { announced, given: exchange.written });
            }
            _ => (),
        }
        self.end_response(connection);
        self.enqueue(key.index(), connection);
        result
    }

    /// Sends 103 Early Hints with `headers` (Link fields, RFC 8297) before the response; nothing to HTTP/1.0.
    ///
    /// # Errors
    /// As [`Server::respond`].
    pub fn early_hints(&self, key: RequestKey, headers: &Headers<'_>) -> Result<(), Error> {
        self.interim(key, 103, headers)
    }

    fn interim(&self, key: RequestKey, status: u16, headers: &Headers<'_>) -> Result<(), Error> {
        let mut table = self.table.borrow_mut();
        let connection = table.active(key).filter(|connection| !connection.link.broken).ok_or(Error::Gone)?;
        let Some(exchange) = connection.exchange.as_deref_mut() else { return Err(Error::Gone) };
        if exchange.stage != Stage::Waiting {
            return Err(Error::Started);
        }
        let version = exchange.head.version();
        write_interim(&mut exchange.out.bytes, version, status, headers.iter().copied())
            .map_err(Error::Header)?;
        self.flush(connection);
        Ok(())
    }

    /// Tells a peer that waits for it to send its body (RFC 9110 10.1.1).
    pub(crate) fn ask_for_body(&self, connection: &mut Connection) {
        let Some(exchange) = connection.exchange.as_deref_mut() else { return };
        if !exchange.body.expects {
            return;
        }
        exchange.body.expects = false;
        if exchange.stage != Stage::Waiting {
            // The final response told the peer not to send it.
            return exchange.body.fail(400);
        }
        exchange.body_since = self.runtime.turn_time();
        exchange.out.bytes.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        self.flush(connection);
    }
}
