//! Connections that are streams of messages from their first byte: TCP services, with TLS below them or not.
//!
//! ```text
//!   accepted ── TLS, PROXY header ──▶ established: Open ── the peer's FIN ──▶ Answering ── all handled ──▶ Closed
//! ```
//!
//! Must not know what a message says. Invariants: the handler hears of a connection when it is established, not before; a
//! peer that has ended its side gets everything that the handler still has to say.

use std::num::NonZeroU32;
use std::rc::Rc;

use weft_proto::framing::{Framer, FramingError};
use weft_proto::websocket::CloseCode;
use weft_rt::Nanos;

use crate::address::Peer;
use crate::connection::{Connection, Phase};
use crate::keys::TunnelKey;
use crate::server::Server;
use crate::tunnel::codec::Codec;
use crate::tunnel::stream_service::StreamService;
use crate::tunnel::{Stage, Tunnel, TunnelEvent};

impl Server {
    /// The tunnel of a connection that has been accepted, and may still have to be established.
    pub(crate) fn reserve_stream(&self, stream: &StreamService, index: u32) -> Option<NonZeroU32> {
        let bytes_max = self.limits.tunnels.stream_message_bytes_max;
        let now = self.runtime.turn_time();
        let mut tunnel = Tunnel::new(stream.service, stream.overflow, 0, now);
        tunnel.codec = Codec::Stream(Framer::new(Rc::clone(&stream.framing), bytes_max));
        tunnel.wants_drained = stream.wants_drained;
        tunnel.owner = stream.is_owned.then(Box::default);
        (tunnel.stage, tunnel.connection) = (Stage::Reserved, Some(index));
        NonZeroU32::new(self.tunnels.borrow_mut().insert(tunnel).0 as u32)
    }

    /// What a connection is whose own bytes may follow now: HTTP, or the stream of a service.
    pub(crate) fn established(&self, connection: &mut Connection) {
        let now = self.runtime.turn_time();
        connection.since = now;
        connection.phase = Phase::Idle;
        let Some(number) = connection.tunnel.map(NonZeroU32::get) else { return };
        let mut tunnels = self.tunnels.borrow_mut();
        let Some(tunnel) = tunnels.at(number) else { return };
        connection.phase = Phase::Tunnel;
        connection.transport.bound_unsent(self.limits.tunnels.stream_queue_bytes_max);
        (tunnel.stage, tunnel.since) = (Stage::Open, now);
        if let Some(from) = self.leaving_from.get() {
            tunnel.leaves_at = tunnel.leaves_at.min(from.max(now));
        }
        tunnel.push(TunnelEvent::Opened);
        connection.heard = self.tunnel_deadline(tunnel);
        tunnels.make_due(number, self.runtime);
        self.stats.tunnels.set(self.stats.tunnels.get() + 1);
    }

    /// The peer has ended its side. Returns false if that is the end of the tunnel.
    pub(super) fn input_of_tunnel_ended(&self, tunnel: &mut Tunnel) -> bool {
        if tunnel.codec.framing().is_none() || tunnel.stage != Stage::Open {
            return tunnel.codec.framing().is_some();
        }
        tunnel.note_end(CloseCode::NORMAL, "");
        tunnel.stage = Stage::Answering(Nanos::MAX);
        if tunnel.owner.is_some() {
            tunnel.push(TunnelEvent::Ended);
        }
        if tunnel.is_handled(self.runtime) {
            tunnel.answer_close(Nanos::MAX);
        }
        true
    }

    /// What the handler calls the service of a tunnel; `None` if that is forgotten.
    pub fn tunnel_service(&self, key: TunnelKey) -> Option<u32> {
        self.tunnels.borrow().get(key).map(|tunnel| tunnel.service)
    }

    /// The peer of a tunnel; `None` if that has ended.
    pub fn tunnel_peer(&self, key: TunnelKey) -> Option<Peer> {
        let index = self.tunnels.borrow().get(key)?.connection?;
        self.table.borrow_mut().at(index).map(|connection| connection.peer)
    }

    /// Gives back the end of a message of a raw stream, of which the handler could not use the whole: it is the beginning of
    /// the next one, which is given when there are `wanted` bytes of it.
    pub fn give_back(&self, key: TunnelKey, bytes: &[u8], wanted: usize) {
        let connection = {
            let mut tunnels = self.tunnels.borrow_mut();
            let Some(tunnel) = tunnels.get_mut(key) else { return };
            let bytes_max = self.limits.tunnels.stream_message_bytes_max;
            if wanted > bytes_max || bytes.len() >= bytes_max {
                if tunnel.takes() {
                    tunnel.drop_messages();
                    tunnel.begin_closing(CloseCode::TOO_BIG, FramingError::TooBig.reason(), Nanos::MAX);
                }
            } else if let Some(TunnelEvent::Message(_, next)) = tunnel.inbox.front_mut() {
                next.splice(..0, bytes.iter().copied());
                tunnel.inbox_bytes += bytes.len();
            } else if let Codec::Stream(framer) = &mut tunnel.codec {
                framer.give_back(bytes, wanted);
            }
            tunnel.connection
        };
        if let Some(index) = connection {
            self.touch(index);
        }
    }
}
