//! The life of a tunnel's connection: bytes in, frames out, deadlines.
//!
//! Must not call the handler: events go into the tunnel's inbox, and the tunnel into the line of those that have some.
//! Invariants: nothing is received while the handler does not keep up; a peer that is silent, does not read, or does not
//! answer a close frame is given up in time.

use std::num::NonZeroU32;

use weft_proto::websocket::{CloseCode, Received as Frame};
use weft_rt::{MILLISECOND, Nanos, SECOND};

use crate::connection::{Connection, Phase};
use crate::server::{Server, TurnStage};
use crate::step::Next;
use crate::stream::Stream;
use crate::stream::outgoing::Flush;
use crate::transport::Received;
use crate::tunnel::owner::Awaited;
use crate::tunnel::{Stage, Tunnel, TunnelEvent, Turn, after};

/// Bytes received for one tunnel before others get their turn.
const BYTES_PER_TURN: usize = 256 * 1024;
/// Bytes received at once while no message is on its way: a peer that sends many small messages fills its inbox with no
/// more than so many bytes of them beyond the bound.
const RECEIVE_BYTES: usize = 8 * 1024;
/// The reason in the close frames of a worker that ends.
pub(super) const RESTARTS: &str = "the server restarts";
/// Why a stream was cut of which a peer expects the rest of a file.
const CUT: &str = "a file became shorter while it was sent";
/// Why a stream was closed whose peer has sent nothing for too long.
const SILENT: &str = "the client was silent for tcp_idle_timeout_ms";

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
        // No more than its outbox may keep, where messages count, and where older ones may give way to newer ones.
        connection.transport.bound_unsent(self.limits.tunnels.queue_bytes_max);
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
        tunnels.make_due(number, self.runtime);
    }

    pub(crate) fn tunnel_phase(&self, connection: &mut Connection) -> Next {
        let Some(number) = connection.tunnel.map(NonZeroU32::get) else { return Next::Close };
        let mut tunnels = self.tunnels.borrow_mut();
        let Some(tunnel) = tunnels.at(number) else { return Next::Close };
        let outcome = self.move_tunnel(connection, tunnel);
        connection.heard = self.tunnel_deadline(tunnel);
        tunnels.make_due(number, self.runtime);
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
        while !tunnel.rest.is_empty() && tunnel.reads() {
            let rest = std::mem::take(&mut tunnel.rest);
            self.take_frames(tunnel, &rest);
        }
        let mut scratch = self.scratch.borrow_mut();
        while connection.transport.readable && tunnel.reads() {
            if taken >= BYTES_PER_TURN {
                later = true;
                break;
            }
            let room = if tunnel.codec.is_within() { scratch.len() } else { RECEIVE_BYTES };
            match connection.transport.receive(&mut scratch[..room]) {
                Received::Bytes(count) => {
                    taken += count;
                    self.take_frames(tunnel, &scratch[..count]);
                }
                Received::Nothing => break,
                // A request by HTTP/2 has ended before it was answered.
                Received::End
                    if tunnel.codec.events().is_some() && connection.transport.carried().is_some() =>
                {
                    break;
                }
                Received::End if self.input_of_tunnel_ended(tunnel) => break,
                Received::End | Received::Broken => return Outcome::Broken,
            }
        }
        if self.stage.get() != TurnStage::Send && !tunnel.out.is_empty() {
            return Outcome::Later;
        }
        match tunnel.out.flush(&mut connection.transport) {
            Flush::Broken => {
                if tunnel.out.is_cut() {
                    tunnel.note_end(CloseCode::INTERNAL_ERROR, CUT);
                }
                return Outcome::Broken;
            }
            Flush::Done => self.note_drained(tunnel),
            Flush::Blocked { sent } => {
                tunnel.is_drain_due = true;
                if sent > 0 || tunnel.blocked_since == 0 {
                    tunnel.blocked_since = self.runtime.turn_time();
                }
            }
        }
        let all_sent = tunnel.out.is_empty() && !connection.transport.has_unsent();
        match tunnel.stage {
            Stage::Closed(_) if all_sent => Outcome::Over,
            _ if later => Outcome::Later,
            _ => Outcome::Wait,
        }
    }

    /// Nothing waits for the peer.
    fn note_drained(&self, tunnel: &mut Tunnel) {
        if let Some(owner) = &mut tunnel.owner {
            owner.wake(Awaited::Drained, self.runtime);
        }
        tunnel.blocked_since = 0;
        let is_due = std::mem::take(&mut tunnel.is_drain_due) && tunnel.wants_drained && tunnel.takes();
        if is_due && !tunnel.inbox.any(|event| *event == TunnelEvent::Drained) {
            tunnel.push(TunnelEvent::Drained);
        }
    }

    /// Takes in bytes that the peer has sent.
    fn take_frames(&self, tunnel: &mut Tunnel, mut bytes: &[u8]) {
        if tunnel.codec.events().is_some() {
            return; // whatever it is, nobody asks for it
        }
        tunnel.since = self.runtime.turn_time();
        tunnel.is_pinged = false;
        let until = after(tunnel.since, self.limits.tunnels.close_timeout_ms);
        let bytes_max = self.limits.tunnels.message_bytes_max;
        while !bytes.is_empty() && matches!(tunnel.stage, Stage::Open | Stage::Closing(_)) {
            if !tunnel.reads() {
                tunnel.rest = bytes.to_vec();
                return;
            }
            let decoded = tunnel.codec.decode(bytes).and_then(|(used, received)| {
                bytes = &bytes[used..];
                received.map(|received| self.coders.restore(received, bytes_max)).transpose()
            });
            let received = match decoded {
                Ok(received) => received,
                Err(failure) => {
                    if tunnel.stage == Stage::Open {
                        tunnel.begin_closing(failure.code, failure.reason, until);
                    }
                    tunnel.stage = Stage::Closed(until);
                    return;
                }
            };
            match received {
                Some(Frame::Message(kind, message)) if tunnel.stage == Stage::Open => {
                    self.stats.messages_received.add(1);
                    tunnel.push(TunnelEvent::Message(kind, message));
                }
                Some(Frame::Ping(payload)) if tunnel.stage == Stage::Open => tunnel.out.pong(&payload),
                Some(Frame::Close(code, reason)) if tunnel.stage == Stage::Open => {
                    tunnel.note_end(code, &reason);
                    tunnel.stage = Stage::Answering(until);
                    if tunnel.is_handled(self.runtime) {
                        tunnel.answer_close(until);
                    }
                }
                Some(Frame::Close(..)) => tunnel.stage = Stage::Closed(until),
                Some(_) | None => (),
            }
        }
    }

    /// When something has to happen if nothing does.
    pub(super) fn tunnel_deadline(&self, tunnel: &Tunnel) -> Nanos {
        let blocked = match tunnel.blocked_since {
            0 => Nanos::MAX,
            since => after(since, self.limits.write_timeout_ms),
        };
        let next = match tunnel.stage {
            Stage::Reserved => Nanos::MAX,
            Stage::Open => tunnel.leaves_at.min(self.silence_ends(tunnel)),
            Stage::Answering(until) | Stage::Closing(until) | Stage::Closed(until) => until,
        };
        next.min(blocked)
    }

    /// When the silence of a peer is over: it gets a ping, or has not answered it.
    fn silence_ends(&self, tunnel: &Tunnel) -> Nanos {
        let limits = &self.limits.tunnels;
        if let Some(events) = tunnel.codec.events() {
            let span = u64::from(events.heartbeat_ms);
            return if span > 0 { after(tunnel.since, span) } else { Nanos::MAX };
        }
        if tunnel.codec.framing().is_some() {
            let span = limits.stream_idle_ms;
            return if span > 0 { after(tunnel.since, span) } else { Nanos::MAX };
        }
        match tunnel.is_pinged {
            true => after(tunnel.since, limits.ping_timeout_ms),
            false if limits.ping_ms > 0 => ping_due(tunnel.since, limits.ping_ms),
            false => Nanos::MAX,
        }
    }

    /// Until when a peer that is told now may take to answer a close frame. A worker that ends needs the rest of its time to
    /// tell the handler.
    pub(super) fn close_ends(&self, tunnel: &Tunnel, now: Nanos) -> Nanos {
        let limits = &self.limits.tunnels;
        // Others have nothing to answer; a peer that does not read what was sent before is late by itself.
        let is_answered = tunnel.codec.has_closing_handshake();
        let until = if is_answered { after(now, limits.close_timeout_ms) } else { Nanos::MAX };
        match self.leaving_from.get() {
            Some(from) if limits.leave_ms > 0 => until.min(after(from, limits.leave_ms / 2 * 3)).max(now),
            _ => until,
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
                let until = self.close_ends(tunnel, now);
                tunnel.begin_closing(CloseCode::GOING_AWAY, RESTARTS, until);
            }
            // Its answer may wait where nothing is read.
            Stage::Open if !tunnel.reads() => tunnel.since = now,
            Stage::Open if let Some(events) = tunnel.codec.events() => {
                tunnel.out.beat(events.heartbeat());
                tunnel.since = now;
            }
            // It has spoken, and this worker has not come to it yet.
            Stage::Open if is_to_speak(tunnel) && connection.transport.has_unread() == Some(true) => {
                tunnel.since = now;
            }
            Stage::Open if tunnel.codec.framing().is_some() => {
                let until = self.close_ends(tunnel, now);
                tunnel.begin_closing(CloseCode::GOING_AWAY, SILENT, until);
            }
            Stage::Open if tunnel.is_pinged => connection.transport.broken = true,
            Stage::Open => {
                tunnel.out.ping();
                (tunnel.is_pinged, tunnel.since) = (true, now);
            }
            // The handler is late. What it still sends is lost, and it is told so.
            Stage::Answering(_) => tunnel.answer_close(self.close_ends(tunnel, now)),
            Stage::Reserved | Stage::Closing(_) | Stage::Closed(_) => connection.transport.broken = true,
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
        if tunnel.stage == Stage::Reserved {
            let key = tunnel.key;
            return tunnels.remove(key);
        }
        (tunnel.stage, tunnel.out) = (Stage::Closed(0), Default::default());
        let (code, reason) = match tunnel.end.take() {
            Some(end) => *end,
            None => (CloseCode::ABNORMAL, String::new()),
        };
        if let Some(owner) = &mut tunnel.owner {
            owner.wake(Awaited::Drained, self.runtime);
        }
        let (key, is_mute, tells_end) = (tunnel.key, tunnel.is_mute, tunnel.tells_end);
        tunnel.push(TunnelEvent::Closed(code, reason));
        tunnels.unsubscribe_all(key);
        if tells_end {
            tunnels.ended_streams.push(key);
        }
        if is_mute && tunnels.at(number).is_some_and(|tunnel| tunnel.turn == Turn::Rests) {
            tunnels.remove(key);
        }
        tunnels.make_due(number, self.runtime);
        self.stats.tunnels.set(self.stats.tunnels.get().saturating_sub(1));
    }
}

/// When a peer gets a ping that was heard at this time: a little early, at a time that it shares with many. So a worker wakes
/// once for the pings of a second, and finds their answers together, in place of once for each of both.
fn ping_due(since: Nanos, ping_ms: u64) -> Nanos {
    /// A ping is early by less than this part of its span,
    const PART: u64 = 16;
    /// ... and by less than this.
    const EARLY_MAX: Nanos = SECOND;
    let shared = (ping_ms.saturating_mul(MILLISECOND) / PART).clamp(1, EARLY_MAX);
    after(since, ping_ms) / shared * shared
}

/// Whether the peer's silence ends the connection: it has a ping to answer, or its protocol has none.
fn is_to_speak(tunnel: &Tunnel) -> bool {
    tunnel.is_pinged || tunnel.codec.framing().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pings_are_early_by_less_than_a_second_and_a_sixteenth_and_share_their_times() {
        for ping_ms in [1, 15, 100, 1_000, 30_000, 120_000, u64::MAX] {
            let mut times = std::collections::BTreeSet::new();
            for step in 0..1_000 {
                let since = 77 * SECOND + 123 + step * MILLISECOND;
                let (due, latest) = (ping_due(since, ping_ms), after(since, ping_ms));
                assert!(since < due && due <= latest, "{ping_ms}");
                let span = latest - since;
                assert!(latest - due < SECOND.min(span / 16).max(2), "{ping_ms}");
                times.insert(due);
            }
            let shared = SECOND.min(ping_ms.saturating_mul(MILLISECOND) / 16);
            assert!(times.len() as u64 <= SECOND / shared + 2, "{ping_ms}: {}", times.len());
        }
    }
}
