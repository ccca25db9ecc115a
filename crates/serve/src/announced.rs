//! Connections whose peer is a proxy that names its client first: the PROXY protocol.
//!
//! Must not know the protocol's form, which `weft_proto` reads. Invariant: nothing but the header itself is taken from the
//! connection, so what follows, TLS or HTTP, finds its first byte.

use weft_proto::Proxied;

use crate::address::Peer;
use crate::connection::{Connection, Phase};
use crate::server::Server;
use crate::step::Next;
use crate::transport::Received;

impl Server {
    /// The header is expected: until it is complete, a connection has nothing to say.
    #[cold]
    pub(crate) fn announced_phase(&self, connection: &mut Connection) -> Next {
        let mut scratch = self.scratch.borrow_mut();
        let seen = &mut scratch[..Proxied::BYTES_MAX];
        let count = match connection.transport.peek(seen) {
            Received::Bytes(count) => count,
            Received::Nothing => return Next::Wait,
            Received::End | Received::Broken => return Next::Close,
        };
        let read = match Proxied::read(&seen[..count]) {
            // More cannot come, or a further event reports it.
            Ok(Proxied::Partial) if connection.transport.half_closed => Err("it ends within a PROXY header"),
            other => other,
        };
        match read {
            Ok(Proxied::Partial) => Next::Wait,
            Ok(Proxied::Complete { length, client }) => {
                if !connection.transport.skip(&mut seen[..length]) {
                    return Next::Close;
                }
                connection.peer = client.map_or(connection.peer, Peer::Tcp);
                if connection.transport.is_plain() {
                    self.established(connection);
                } else {
                    connection.phase = Phase::Opening;
                    connection.since = self.runtime.turn_time();
                }
                // There may be more than the header, and no event will say so.
                connection.transport.readable = true;
                Next::Again
            }
            Err(reason) => {
                self.handler.proxy_refused(connection.peer, reason);
                Next::Close
            }
        }
    }
}
