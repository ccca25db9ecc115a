//! What may be asked of a request that is running, and what is told of one that has ended.
//!
//! Must not know what a request is for. Invariant: the table is borrowed only while something is read.

use crate::connection::Connection;
use crate::keys::RequestKey;
use crate::server::Server;
use crate::stream::Stream;
use crate::stream::request::{RequestView, Summary};

impl Server {
    /// Lends a request to `look`, which MUST NOT call the server. `None` if its response has ended.
    pub fn with_request<T>(&self, key: RequestKey, look: impl FnOnce(&RequestView<'_>) -> T) -> Option<T> {
        let table = self.table.borrow();
        let (connection, stream) = table.active_ref(key)?;
        Some(look(&RequestView::of(connection, stream, table.carrier_of(connection))))
    }

    /// Whether a request is the operator's ([`RequestView::is_admin`]), in few instructions: every request is asked.
    #[inline]
    pub fn is_admin(&self, key: RequestKey) -> bool {
        if self.admins.get() == 0 {
            return false;
        }
        let table = self.table.borrow();
        table.active_ref(key).is_some_and(|(connection, _)| table.carrier_of(connection).is_admin)
    }

    /// Whether the peer has disconnected or closed its side while the request is in flight (or the response has
    /// ended). After a half-close the response is still delivered.
    pub fn aborted(&self, key: RequestKey) -> bool {
        let table = self.table.borrow();
        table
            .active_ref(key)
            .is_none_or(|(connection, _)| connection.transport.broken || connection.transport.half_closed)
    }

    pub(crate) fn summary<'a>(
        &self,
        connection: &'a Connection,
        stream: &'a Stream,
        carrier: &'a Connection,
    ) -> Summary<'a> {
        Summary {
            key: stream.key,
            request: RequestView::of(connection, stream, carrier),
            mark: self.mark_known(stream),
            status: stream.status,
            body_bytes: stream.written,
            duration: weft_rt::clock::now().saturating_sub(stream.since),
            aborted: connection.transport.broken && !connection.is_gone,
        }
    }
}
