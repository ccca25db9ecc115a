//! A request's body, as the handler reads it.
//!
//! Must not know how it arrives. Invariants: the body is kept whole until the response has ended, so that a handler
//! can stream it first and look at it as a whole afterwards. Bytes that no coroutine has asked for stay with the
//! kernel, and so with the peer, except for `body_memory_bytes_max`.

use std::os::fd::{AsFd, BorrowedFd};

use weft_rt::Nanos;

use crate::connection::Connection;
use crate::keys::RequestKey;
use crate::server::Server;
use crate::stream::Stream;
use crate::stream::wait::Waited;

/// The result of reading the body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BodyRead {
    /// This many bytes, at least one.
    Data(usize),
    /// Nothing now: see [`Server::wait_body`].
    Pending,
    /// The body has been read to its end.
    End,
    /// No more data will arrive. Answer with this status: 400 malformed or cut off, 408 too slow, 413 too large,
    /// 507 no space to store it.
    Failed(u16),
    /// The peer has disconnected, or the response has ended.
    Gone,
}

/// Where a body is stored.
#[derive(Clone, Copy, Debug)]
pub enum BodyView<'a> {
    /// In memory.
    Memory(&'a [u8]),
    /// In a file without a name. The file position is at the end: use pread(2), or seek.
    File {
        /// Open for reading and writing.
        file: BorrowedFd<'a>,
        /// Bytes of the body.
        length: u64,
    },
}

impl BodyView<'_> {
    /// Bytes of the body.
    pub fn length(&self) -> u64 {
        match self {
            BodyView::Memory(bytes) => bytes.len() as u64,
            BodyView::File { length, .. } => *length,
        }
    }
}

impl Server {
    /// Reads the body from `offset` on. On the first read, a peer that waits for `100 Continue` gets it.
    pub fn read_body(&self, key: RequestKey, offset: u64, buffer: &mut [u8]) -> BodyRead {
        let mut table = self.table.borrow_mut();
        let Some((connection, stream)) = table.active(key) else { return BodyRead::Gone };
        self.want_body(connection, stream, offset.saturating_add(buffer.len() as u64));
        if buffer.is_empty() {
            return BodyRead::Data(0);
        }
        match stream.body.read(offset, buffer) {
            0 if stream.body.is_complete() => BodyRead::End,
            0 => match stream.body.failed() {
                Some(status) => BodyRead::Failed(status),
                None if connection.transport.broken => BodyRead::Gone,
                None => BodyRead::Pending,
            },
            count => BodyRead::Data(count),
        }
    }

    /// Parks the running coroutine until a read at `offset` would return something other than
    /// [`BodyRead::Pending`].
    pub fn wait_body(&self, key: RequestKey, offset: u64, deadline: Option<Nanos>) -> Waited {
        self.with_active(key, |server, connection, stream| server.want_body(connection, stream, offset));
        self.wait_until(key, deadline, |stream| stream.body.is_readable(offset))
    }

    /// Parks the running coroutine until the whole body has arrived, or no more will: see [`Server::body_failed`].
    pub fn wait_whole_body(&self, key: RequestKey, deadline: Option<Nanos>) -> Waited {
        self.with_active(key, |server, connection, stream| server.want_body(connection, stream, u64::MAX));
        self.wait_until(key, deadline, |stream| !stream.body.is_pending())
    }

    /// Has the whole body received, for a handler that looks again in each turn: [`Server::body_complete`],
    /// [`Server::body_failed`].
    pub fn want_whole_body(&self, key: RequestKey) {
        self.with_active(key, |server, connection, stream| server.want_body(connection, stream, u64::MAX));
    }

    /// A reader wants the bytes before `end`. They are received, with as many after them as fit in memory, so that the
    /// reader finds those at its next read.
    fn want_body(&self, connection: &mut Connection, stream: &mut Stream, end: u64) {
        const AHEAD_BYTES_MIN: u64 = 64 * 1024;
        self.ask_for_body(connection, stream);
        let ahead = (self.limits.body_memory_bytes_max as u64).max(AHEAD_BYTES_MIN);
        if stream.body.want(end.saturating_add(ahead)) {
            self.start_body_clock(stream);
            // For bytes that have already arrived, no event will come.
            self.enqueue(stream.connection, connection);
        }
    }

    /// Whether the whole body has arrived. True for a request without a body.
    pub fn body_complete(&self, key: RequestKey) -> bool {
        let table = self.table.borrow();
        table.active_ref(key).is_some_and(|(_, stream)| stream.body.is_complete())
    }

    /// The status to answer with if the body cannot be received.
    pub fn body_failed(&self, key: RequestKey) -> Option<u16> {
        let table = self.table.borrow();
        table.active_ref(key)?.1.body.failed()
    }

    /// Lends the part of the body that has arrived to `look`, which MUST NOT call the server. `None` if the response
    /// has ended.
    pub fn with_body<T>(&self, key: RequestKey, look: impl FnOnce(BodyView<'_>) -> T) -> Option<T> {
        let table = self.table.borrow();
        let body = &table.active_ref(key)?.1.body;
        let view = match body.file() {
            Some(file) => BodyView::File { file: file.as_fd(), length: body.received() },
            None => BodyView::Memory(body.memory()),
        };
        Some(look(view))
    }

    /// The trailer fields of a complete body.
    pub fn trailers(&self, key: RequestKey) -> Vec<(Vec<u8>, Vec<u8>)> {
        let table = self.table.borrow();
        let active = table.active_ref(key);
        if let Some(carried) = active.and_then(|(connection, _)| connection.transport.carried()) {
            let fields = carried.trailers.iter();
            return fields
                .map(|(name, value)| (name.as_str().as_bytes().to_vec(), value.as_bytes().to_vec()))
                .collect();
        }
        let fields = active.map(|(_, stream)| stream).into_iter().flat_map(|stream| stream.body.trailers());
        fields.map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
    }
}
