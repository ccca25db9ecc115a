//! Responses that are produced while they are sent.
//!
//! Must not know what produces them. Invariant: at most `write_buffer_bytes_max` bytes wait for the peer in memory,
//! whatever the handler writes, and never more bytes than announced.
//!
//! The excess goes to a temporary file if the response may have one (`Stream::spools`): a writer that occupies
//! something scarce, such as a PHP instance, does not occupy it at the pace of a slow peer. Otherwise, and if there is
//! no room for files, writers wait.

use weft_proto::{BodyLength, ChunkPrefix, SentBody, write_chunk, write_interim, write_last_chunk};
use weft_rt::{Nanos, Wake};

use crate::connection::Connection;
use crate::keys::RequestKey;
use crate::server::Server;
use crate::stream::coded::{CodedHead, Plan};
use crate::stream::outgoing::Flush;
use crate::stream::respond::{DIRECT_BYTES_MIN, Error, Headers};
use crate::stream::wait::Waited;
use crate::stream::{Stage, Stream};

/// Written bytes are sent at once if there are this many; fewer are sent at the end of the turn.
const FLUSH_BYTES: usize = 16 * 1024;

/// How much a coder gets at once: others wait meanwhile.
const CODED_BYTES: usize = 64 * 1024;

/// How much of a write was accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Write {
    /// This many bytes from the start, perhaps not all; the next write may accept more.
    Accepted(usize),
    /// None: too many bytes wait for the peer. [`Server::wait_writable`] parks until that changes.
    Full,
}

impl Server {
    /// Starts a response whose body follows through [`Server::write`]. Without a `length` (and without a
    /// Content-Length among `headers`) it is chunked; for HTTP/1.0 it ends by closing the connection.
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
        let (connection, stream) = self.answerable(&mut table, key)?;
        let body = length.map_or(BodyLength::Unknown, BodyLength::Known);
        let plan = match self.limits.compress_responses {
            true => self.coding_of(stream, status, headers, length.map(|length| length as usize)),
            false => Plan::Plain,
        };
        match plan {
            Plan::Plain => self.encode_head(connection, stream, status, headers, body)?,
            Plan::Varies => CodedHead::new(headers, None)
                .with(|headers| self.encode_head(connection, stream, status, headers, body))?,
            Plan::With(coding) => {
                let coder = self.coder(coding);
                let (body, coding) =
                    if coder.is_some() { (BodyLength::Unknown, Some(coding)) } else { (body, None) };
                CodedHead::new(headers, coding)
                    .with(|headers| self.encode_head(connection, stream, status, headers, body))?;
                stream.coder = coder.filter(|_| stream.stage != Stage::Started(SentBody::None));
            }
        }
        stream.spools = self.spools_streams;
        self.enqueue(stream.connection, connection);
        Ok(())
    }

    /// Makes the writer of a streamed response wait for the peer, whatever [`Handler::spools_streams`](crate::Handler)
    /// returns.
    pub fn keep_pace(&self, key: RequestKey) {
        if let Some((_, stream)) = self.table.borrow_mut().active(key) {
            stream.spools = false;
        }
    }

    /// Writes a piece of the body. It is sent at the end of the loop's turn at the latest. If the response has no body
    /// (HEAD, 204, 205, 304) the bytes are dropped.
    ///
    /// # Errors
    /// [`Error::NotStarted`]. [`Error::Length`]: more than announced; the part that fits was accepted, and the response
    /// is complete to the peer. [`Error::Gone`]: the peer has disconnected, or has been given everything that was
    /// announced; end the request with [`Server::finish`] or [`Server::abort`].
    pub fn write(&self, key: RequestKey, data: &[u8]) -> Result<Write, Error> {
        let mut table = self.table.borrow_mut();
        let (connection, stream) = table.active(key).ok_or(Error::Gone)?;
        if connection.transport.broken {
            return Err(Error::Gone);
        }
        let Stage::Started(body) = stream.stage else { return Err(Error::NotStarted) };
        if body == SentBody::None || data.is_empty() {
            return Ok(Write::Accepted(data.len()));
        }
        if stream.coder.is_some() {
            return Ok(self.write_coded(connection, stream, body, data));
        }
        let announced = if let SentBody::Length(announced) = body { announced } else { u64::MAX };
        let given = stream.written + data.len() as u64;
        let fits = data.len().min((announced - stream.written) as usize);
        let count = self.take(connection, stream, body, &data[..fits]);
        self.enqueue(stream.connection, connection);
        if fits < data.len() && count == fits {
            let told = std::mem::replace(&mut stream.overrun, true);
            return Err(if told { Error::Gone } else { Error::Length { announced, given } });
        }
        Ok(if count == 0 { Write::Full } else { Write::Accepted(count) })
    }

    /// The same for a response that is compressed: a piece of what was given, as much as a chunk may have.
    fn write_coded(
        &self,
        connection: &mut Connection,
        stream: &mut Stream,
        body: SentBody,
        data: &[u8],
    ) -> Write {
        if self.room(connection, stream) == 0 {
            return Write::Full;
        }
        let piece = &data[..data.len().min(CODED_BYTES)];
        let coded = stream.coder.as_mut().map(|coder| coder.write(piece));
        self.put_coded(stream, body, coded);
        stream.written += piece.len() as u64;
        if stream.out.pending() >= FLUSH_BYTES && stream.blocked_since == 0 {
            self.flush(connection, stream);
        }
        self.enqueue(stream.connection, connection);
        Write::Accepted(piece.len())
    }

    /// Queues what a coder has made: hardly more than it was given.
    fn put_coded(&self, stream: &mut Stream, body: SentBody, coded: Option<std::io::Result<Vec<u8>>>) {
        match coded {
            Some(Ok(coded)) if coded.is_empty() => (),
            Some(Ok(coded)) if body == SentBody::Chunked => write_chunk(&mut stream.out.bytes, &coded),
            Some(Ok(coded)) => stream.out.bytes.extend_from_slice(&coded),
            // A vector takes everything; if it did not, the peer would have to know.
            Some(Err(_)) => stream.wire.keep_alive = false,
            None => (),
        }
    }

    /// Writes all of `data`, and parks as often as necessary.
    ///
    /// # Errors
    /// As [`Server::write`]; [`Error::Gone`] also if the coroutine was cancelled.
    pub fn write_all(&self, key: RequestKey, mut data: &[u8]) -> Result<(), Error> {
        while !data.is_empty() {
            let spills = self.spool.spills.get();
            match self.write(key, data)? {
                Write::Full if self.wait_writable(key, None) != Waited::Ready => return Err(Error::Gone),
                Write::Full => (),
                Write::Accepted(count) => data = &data[count..],
            }
            // No other coroutine runs while a piece is written: now others may.
            let spilled = self.spool.spills.get() != spills && !data.is_empty();
            if spilled && self.runtime.can_park() && self.runtime.yield_now() == Wake::Cancelled {
                return Err(Error::Gone);
            }
        }
        Ok(())
    }

    /// Takes as many bytes of the body as there is room for. 0 means that there is none until the peer has
    /// taken some.
    pub(crate) fn take(
        &self,
        connection: &mut Connection,
        stream: &mut Stream,
        body: SentBody,
        data: &[u8],
    ) -> usize {
        let mut taken = 0;
        while taken < data.len() && !connection.transport.broken {
            let spills = self.spool.spills.get();
            let room = self.room(connection, stream);
            if room == 0 {
                break;
            }
            taken += self.put(connection, stream, body, &data[taken..], room);
            if self.spool.spills.get() != spills {
                break;
            }
        }
        if connection.transport.broken { data.len() } else { taken }
    }

    /// Bytes that may be queued now. If there is no room, it tries to make some.
    fn room(&self, connection: &mut Connection, stream: &mut Stream) -> usize {
        let max = self.buffer_bytes_max();
        if stream.out.pending() < max {
            return max - stream.out.pending();
        }
        self.flush(connection, stream);
        if stream.spools && stream.out.pending() >= max {
            stream.out.spill(&self.spool);
        }
        max.saturating_sub(stream.out.pending())
    }

    /// Queues bytes of the body in its framing, and sends once there are enough. Returns how many were accepted: at
    /// most `room` are kept in memory.
    fn put(
        &self,
        connection: &mut Connection,
        stream: &mut Stream,
        body: SentBody,
        data: &[u8],
        room: usize,
    ) -> usize {
        let chunked = body == SentBody::Chunked;
        let direct = data.len() >= DIRECT_BYTES_MIN && stream.blocked_since == 0;
        // A chunk's length precedes it, so a chunk is accepted as a whole.
        let data = if direct && !chunked { data } else { &data[..data.len().min(room)] };
        let (mut taken, mut sent) = (data.len(), Flush::Done);
        if direct {
            if chunked {
                stream.out.bytes.extend_from_slice(ChunkPrefix::new(data.len()).as_bytes());
            }
            let room = if chunked { usize::MAX } else { self.buffer_bytes_max() };
            (sent, taken) = stream.out.send_with(&mut connection.transport, data, room);
            if chunked {
                stream.out.bytes.extend_from_slice(b"\r\n");
            }
        } else if chunked {
            write_chunk(&mut stream.out.bytes, data);
        } else {
            stream.out.bytes.extend_from_slice(data);
        }
        stream.written += taken as u64;
        let flush = stream.out.pending() >= FLUSH_BYTES && stream.blocked_since == 0;
        if sent != Flush::Done {
            self.flushed(connection, stream, sent);
        } else if flush {
            self.flush(connection, stream);
        }
        taken
    }

    /// Sends the queued bytes now instead of at the end of the turn.
    pub fn flush_now(&self, key: RequestKey) {
        let carrier = match self.table.borrow_mut().active(key) {
            Some((connection, stream)) => {
                self.flush(connection, stream);
                Server::carrier_of(connection)
            }
            None => None,
        };
        if let Some(carrier) = carrier {
            self.carry_now(carrier);
        }
    }

    /// Parks the running coroutine until half of `write_buffer_bytes_max` is free, or there is room in temporary files,
    /// or the peer has disconnected.
    pub fn wait_writable(&self, key: RequestKey, deadline: Option<Nanos>) -> Waited {
        let waited = self.wait_until(key, deadline, |stream| {
            let room = stream.out.pending() <= self.buffer_bytes_max() / 2
                || stream.spools && self.spool.takes(stream.out.spilled(), stream.out.pending());
            if !room && stream.spools {
                self.spool.waiters.borrow_mut().insert(key);
            }
            room
        });
        self.spool.waiters.borrow_mut().remove(&key);
        waited
    }

    /// Wakes the writers that wait for room in temporary files if there is some, and warns the operator if there was
    /// none.
    pub(crate) fn note_spool(&self, now: Nanos) {
        if self.spool.room_again() {
            let waiters = std::mem::take(&mut *self.spool.waiters.borrow_mut());
            for key in waiters {
                self.with_active(key, |server, _, stream| stream.wake_all(server.runtime));
            }
        }
        if let Some(warning) = self.spool.warning(now) {
            self.handler.warn(&warning);
        }
    }

    /// Bytes in temporary files, of bodies and responses.
    pub fn spooled_bytes(&self) -> u64 {
        self.spool.used()
    }

    /// Ends a streamed response. `trailers` are sent if it is chunked.
    ///
    /// # Errors
    /// [`Error::Length`]: less was written than announced; the connection is closed, so that the peer can tell.
    /// [`Error::Header`]: a trailer that must not be sent; the response has not ended. [`Error::NotStarted`].
    /// [`Error::Gone`].
    pub fn finish(&self, key: RequestKey, trailers: &Headers<'_>) -> Result<(), Error> {
        let mut table = self.table.borrow_mut();
        let (connection, stream) = self.answerable(&mut table, key)?;
        let Stage::Started(body) = stream.stage else { return Err(Error::NotStarted) };
        let mut result = Ok(());
        let coded = stream.coder.take().map(|coder| coder.finish());
        self.put_coded(stream, body, coded);
        match body {
            SentBody::Chunked => {
                write_last_chunk(&mut stream.out.bytes, trailers.iter().copied()).map_err(Error::Header)?;
            }
            SentBody::UntilClose => self.end_carried(connection, trailers).map_err(Error::Header)?,
            SentBody::Length(announced) if stream.written < announced => {
                stream.wire.keep_alive = false;
                result = Err(Error::Length { announced, given: stream.written });
            }
            _ => (),
        }
        self.end_response(connection, stream);
        self.enqueue(stream.connection, connection);
        result
    }

    /// Sends 103 Early Hints with `headers` (Link fields, RFC 8297) before the response; sends nothing to an
    /// HTTP/1.0 client.
    ///
    /// # Errors
    /// As [`Server::respond`].
    pub fn early_hints(&self, key: RequestKey, headers: &Headers<'_>) -> Result<(), Error> {
        self.interim(key, 103, headers)
    }

    fn interim(&self, key: RequestKey, status: u16, headers: &Headers<'_>) -> Result<(), Error> {
        let mut table = self.table.borrow_mut();
        let (connection, stream) =
            table.active(key).filter(|(connection, _)| !connection.transport.broken).ok_or(Error::Gone)?;
        if stream.stage != Stage::Waiting {
            return Err(Error::Started);
        }
        if stream.out.pending() >= self.buffer_bytes_max() {
            return Err(Error::Gone); // the peer reads none of the bytes already queued
        }
        if self.inform_carried(connection, status, headers).map_err(Error::Header)? {
            self.enqueue(stream.connection, connection);
            return Ok(());
        }
        let version = stream.head.version();
        write_interim(&mut stream.out.bytes, version, status, headers.iter().copied())
            .map_err(Error::Header)?;
        self.flush(connection, stream);
        Ok(())
    }

    /// Tells a peer to send its body if it waits for that (RFC 9110 10.1.1).
    pub(crate) fn ask_for_body(&self, connection: &mut Connection, stream: &mut Stream) {
        if !stream.body.expects {
            return;
        }
        stream.body.expects = false;
        if stream.stage != Stage::Waiting {
            // The final response told the peer not to send its body.
            return stream.body.fail(400);
        }
        self.start_body_clock(stream);
        if matches!(self.inform_carried(connection, 100, &[]), Ok(true)) {
            return;
        }
        stream.out.bytes.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        self.flush(connection, stream);
    }
}
