//! Responses that are streams of server-sent events: a tunnel in which only the server speaks.
//!
//! The handler starts the response, and hands it over; from then on it holds nothing for it. Must not know what an event
//! says. Invariants: what was written of the response before goes out before the first event; a peer that does not take what
//! it is sent is given up after `write_timeout_ms`.

use std::num::NonZeroU32;

use weft_proto::SentBody;

use crate::keys::{RequestKey, TunnelKey};
use crate::server::Server;
use crate::stream::Stage;
use crate::stream::respond::Error;
use crate::tunnel::Tunnel;
use crate::tunnel::codec::Codec;
use crate::tunnel::event_form::EventStream;
use crate::tunnel::outbox::{Overflow, Sent};

/// The service of a tunnel whose events nobody is told.
const NOBODY: u32 = u32::MAX;

impl Server {
    /// Makes a response that was started ([`Server::start`]) a stream of events, which may subscribe to topics; the request
    /// has ended. `None` if the response has no body, as for HEAD.
    ///
    /// # Errors
    /// [`Error::NotStarted`]; [`Error::Started`] if its length was announced, or it is compressed; [`Error::Gone`].
    pub fn begin_events(
        &self,
        key: RequestKey,
        overflow: Overflow,
        heartbeat_ms: u32,
    ) -> Result<Option<TunnelKey>, Error> {
        let mut table = self.table.borrow_mut();
        let (connection, stream) = self.answerable(&mut table, key)?;
        let Stage::Started(body) = stream.stage else { return Err(Error::NotStarted) };
        if body == SentBody::None {
            self.end_response(connection, stream);
            self.enqueue(stream.connection, connection);
            return Ok(None);
        }
        if matches!(body, SentBody::Length(_)) || stream.coder.is_some() {
            return Err(Error::Started);
        }
        let now = self.runtime.turn_time();
        let mut tunnel = Tunnel::new(NOBODY, overflow, 0, now);
        tunnel.codec = Codec::Events(EventStream { is_chunked: body == SentBody::Chunked, heartbeat_ms });
        (tunnel.is_mute, tunnel.connection) = (true, Some(stream.connection));
        if let Some(from) = self.leaving_from.get() {
            tunnel.leaves_at = from.max(now);
        }
        connection.transport.give_up_after(self.limits.write_timeout_ms);
        let tunnel = self.tunnels.borrow_mut().insert(tunnel);
        connection.tunnel = NonZeroU32::new(tunnel.0 as u32);
        self.stats.tunnels.set(self.stats.tunnels.get() + 1);
        self.end_response(connection, stream);
        self.enqueue(stream.connection, connection);
        Ok(Some(tunnel))
    }

    /// If a tunnel is a stream of events, notes its end for [`Server::take_ended_streams`]: the handler has no event of it.
    pub fn note_end(&self, key: TunnelKey) {
        let mut tunnels = self.tunnels.borrow_mut();
        if let Some(tunnel) = tunnels.get_mut(key).filter(|tunnel| tunnel.codec.events().is_some()) {
            tunnel.tells_end = true;
        }
    }

    /// The streams of events whose end was to be noted, and that have ended since this was asked last.
    pub fn take_ended_streams(&self) -> Vec<TunnelKey> {
        std::mem::take(&mut self.tunnels.borrow_mut().ended_streams)
    }

    /// Sends events as they are, whatever their size if nothing waits.
    pub fn send_events(&self, key: TunnelKey, events: &[u8]) -> Sent {
        let (sent, connection) = {
            let mut tunnels = self.tunnels.borrow_mut();
            let Some(tunnel) = tunnels.get_mut(key) else { return Sent::Gone };
            let Codec::Events(form) = tunnel.codec else { return Sent::Gone };
            (self.queue_frame(tunnel, form.frame(events), None), tunnel.connection)
        };
        if let Some(index) = connection {
            self.touch(index);
        }
        sent
    }
}
