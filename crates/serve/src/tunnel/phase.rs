//! The life of a tunnel's connection: bytes in, frames out, deadlines.
//!
//! Must not call the handler: events go into the tunnel's inbox, and the tunnel into the line of those that have some.
//! Invariants: nothing is received while the handler does not keep up; a peer that is silent, does not read, or does not
//! answer a close frame is given up in time.

use std::num::NonZeroU32;

use weft_proto::websocket::{CloseCode, Received as Frame};
use weft_rt::{Nanos, SECOND};

use crate::connection::{Connection, Phase};
use crate::server::{Server, TurnStage};
use crate::step::Next;
use crate::stream::Stream;
use crate::stream::outgoing::Flush;
use crate::table::Table;
use crate::transport::Received;
use crate::tunnel::{Stage, Tunnel, TunnelEvent, after};

/// Bytes received for one tunnel before others get their turn.
const BYTES_PER_TURN: usize = 256 * 1024;
/// Bytes received at once while no message is on its way: a peer that sends many small messages fills its inbox with no
/// more than so many bytes of them beyond the bound.
const RECEIVE_BYTES: usize = 8 * 1024;

/// What becomes of the connection.
#[derive(PartialEq, Eq)]
enum Outcome {
    Wait,
    Later,
    /// Everything is said and sent.
    Over,
    Broken,
}

impl Server {
    /// The answer 101 has been sent: from here on the connection is a tunnel, and these are its first bytes.
    pub(crate) fn begin_tunnel(&self, connection: &mut Connection, stream: &mut Stream) -> Vec<u8> {
        connection.phase = Phase::Tunnel;
        let mut first = stream.input.split_off(stream.wire.next.min(stream.input.len()));
        first.append(&mut stream.wire.carry);
        first
    }

    /// Takes in what had arrived together with the request.
    pub(crate) fn first_frames(&self, connection: &mut Connection, first: &[u8]) {
        let mut tunnels = self.tunnels.borrow_mut();
        let Some(number) = connection.tunnel.map(NonZeroU32::get) else { return };
        let Some(tunnel) = tunnels.at(number) else { return };
        self.take_frames(tunnel, first);
        tunnels.make_due(number);
    }

    pub(crate) fn tunnel_phase(&self, connection: &mut Connection) -> Next {
        let Some(number) = connection.tunnel.map(NonZeroU32::get) else { return Next::Close };
        let mut tunnels = self.tunnels.borrow_mut();
        let Some(tunnel) = tunnels.at(number) else { return Next::Close };
        let outcome = self.move_tunnel(connection, tunnel);
        connection.heard = self.tunnel_deadline(tunnel);
        tunnels.make_due(number);
        drop(tunnels);
        match outcome {
            Outcome::Wait => Next::Wait,
            Outcome::Later => Next::Later,
            Outcome::Broken => {
                connection.transport.broken = true;
                Next::Close
            }
            Outcome::Over => {
                self.tunnel_ended(connection);
                // The peer may still be sending, and must be able to read the close frame.
                connection.transport.end_sending();
                connection.phase = Phase::Linger;
                connection.since = self.runtime.turn_time();
                connection.heard = connection.since;
                Next::Again
            }
        }
    }

    fn move_tunnel(&self, connection: &mut Connection, tunnel: &mut Tunnel) -> Outcome {
        let (mut taken, mut later) = (0, false);
        let mut scratch = self.scratch.borrow_mut();
        while connection.transport.readable && tunnel.reads() {
            if taken >= BYTES_PER_TURN {
                later = true;
                break;
            }
            let room = if tunnel.decoder.is_within() { scratch.len() } else { RECEIVE_BYTES };
            match connection.transport.receive(&mut scratch[..room]) {
                Received::Bytes(count) => {
                    taken += count;
                    self.take_frames(tunnel, &scratch[..count]);
                }
                Received::Nothing => break,
                Received::End | Received::Broken => return Outcome::Broken,
            }
        }
        if self.stage.get() != TurnStage::Send && !tunnel.out.is_empty() {
            return Outcome::Later;
        }
        match tunnel.out.flush(&mut connection.transport) {
            Flush::Broken => return Outcome::Broken,
            Flush::Done => tunnel.blocked_since = 0,
            Flush::Blocked { sent } => {
                if sent > 0 || tunnel.blocked_since == 0 {
                    tunnel.blocked_since = self.runtime.turn_time();
                }
            }
        }
        let all_sent = tunnel.out.is_empty() && !connection.transport.has_unsent();
        match tunnel.stage {
            Stage::Closed if all_sent => Outcome::Over,
            _ if later => Outcome::Later,
            _ => Outcome::Wait,
        }
    }

    /// Takes in bytes that the peer has sent.
    fn take_frames(&self, tunnel: &mut Tunnel, mut bytes: &[u8]) {
        tunnel.since = self.runtime.turn_time();
        tunnel.is_pinged = false;
        while !bytes.is_empty() && tunnel.stage != Stage::Closed {
            let received = match tunnel.decoder.decode(bytes) {
                Ok((used, received)) => {
                    bytes = &bytes[used..];
                    received
                }
                Err(failure) => {
                    if tunnel.stage == Stage::Open {
                        tunnel.note_end(failure.code, failure.reason);
                        tunnel.out.close(failure.code, failure.reason);
                    }
                    tunnel.stage = Stage::Closed;
                    return;
                }
            };
            match received {
                Some(Frame::Message(kind, message)) if tunnel.stage == Stage::Open => {
                    self.stats.messages_received.add(1);
                    tunnel.push(TunnelEvent::Message(kind, message));
                }
                Some(Frame::Ping(payload)) if tunnel.stage == Stage::Open => tunnel.out.pong(&payload),
                Some(Frame::Close(code, reason)) => {
                    if tunnel.stage == Stage::Open {
                        tunnel.note_end(code, &reason);
                        // RFC 6455 section 5.5.1: the answer has the same code.
                        tunnel.out.close(code, "");
                    }
                    tunnel.stage = Stage::Closed;
                }
                Some(Frame::Message(..) | Frame::Ping(_) | Frame::Pong(_)) | None => (),
            }
        }
    }

    /// When something has to happen if nothing does.
    fn tunnel_deadline(&self, tunnel: &Tunnel) -> Nanos {
        let limits = &self.limits.tunnels;
        let blocked = match tunnel.blocked_since {
            0 => Nanos::MAX,
            since => after(since, self.limits.write_timeout_ms),
        };
        let next = match tunnel.stage {
            Stage::Open => tunnel.leaves_at.min(self.silence_ends(tunnel)),
            Stage::Closing(until) => until,
            Stage::Closed => after(tunnel.since, limits.close_timeout_ms),
        };
        next.min(blocked)
    }

    /// When the silence of a peer is over: it gets a ping, or has not answered it.
    fn silence_ends(&self, tunnel: &Tunnel) -> Nanos {
        let limits = &self.limits.tunnels;
        match tunnel.is_pinged {
            true => after(tunnel.since, limits.ping_timeout_ms),
            false if limits.ping_ms > 0 => after(tunnel.since, limits.ping_ms),
            false => Nanos::MAX,
        }
    }

    /// A tunnel's deadline has passed. Afterwards it has another one.
    pub(crate) fn tunnel_late(&self, connection: &mut Connection, now: Nanos) {
        let mut tunnels = self.tunnels.borrow_mut();
        let Some(tunnel) = connection.tunnel.and_then(|number| tunnels.at(number.get())) else {
            connection.transport.broken = true;
            return;
        };
        let is_blocked =
            tunnel.blocked_since > 0 && after(tunnel.blocked_since, self.limits.write_timeout_ms) <= now;
        match tunnel.stage {
            _ if is_blocked => connection.transport.broken = true,
            Stage::Open if tunnel.leaves_at <= now => {
                let until = after(now, self.limits.tunnels.close_timeout_ms);
                tunnel.begin_closing(CloseCode::GOING_AWAY, "the server restarts", until);
            }
            // Its answer may wait where nothing is read.
            Stage::Open if !tunnel.reads() => tunnel.since = now,
            Stage::Open if tunnel.is_pinged => connection.transport.broken = true,
            Stage::Open => {
                tunnel.out.ping();
                (tunnel.is_pinged, tunnel.since) = (true, now);
            }
            Stage::Closing(_) | Stage::Closed => connection.transport.broken = true,
        }
        if connection.transport.broken {
            self.stats.timed_out.set(self.stats.timed_out.get() + 1);
        }
        connection.heard = self.tunnel_deadline(tunnel);
    }

    /// The connection of a tunnel has ended: its last event follows.
    #[cold]
    pub(crate) fn tunnel_ended(&self, connection: &mut Connection) {
        let Some(number) = connection.tunnel.take().map(NonZeroU32::get) else { return };
        let mut tunnels = self.tunnels.borrow_mut();
        let Some(tunnel) = tunnels.at(number) else { return };
        tunnel.connection = None;
        (tunnel.stage, tunnel.out) = (Stage::Closed, Default::default());
        let (code, reason) = match tunnel.end.take() {
            Some(end) => *end,
            None => (CloseCode::ABNORMAL, String::new()),
        };
        tunnel.push(TunnelEvent::Closed(code, reason));
        let key = tunnel.key;
        tunnels.unsubscribe_all(key);
        tunnels.make_due(number);
        self.stats.tunnels.set(self.stats.tunnels.get().saturating_sub(1));
    }

    /// The worker ends: its tunnels are told so, one after another, so that their clients do not come back all at once.
    pub(crate) fn drain_tunnels(&self, table: &mut Table) {
        let mut tunnels = self.tunnels.borrow_mut();
        let now = self.runtime.turn_time();
        let span = self.limits.tunnels.leave_ms.saturating_mul(SECOND / 1000);
        let count = tunnels.count().max(1) as u64;
        let mut leaving = Vec::new();
        for (tunnel, place) in tunnels.iter_mut().zip(0u64..) {
            tunnel.leaves_at =
                now.saturating_add((u128::from(span) * u128::from(place) / u128::from(count)) as Nanos);
            leaving.extend(tunnel.connection.map(|index| (index, self.tunnel_deadline(tunnel))));
        }
        drop(tunnels);
        for (index, deadline) in leaving {
            if let Some(connection) = table.at(index).filter(|connection| connection.phase == Phase::Tunnel) {
                connection.heard = deadline;
                self.arm(index, table);
            }
        }
    }
}
