//! Requests whose body has not arrived yet: they are held back from the handler, but not forever.
//!
//! A request that the handler has occupies resources that requests share (a coroutine, an instance); one that is held
//! back occupies only its buffers. So a request begins when its whole body has arrived, or enough of it to be worth
//! streaming: a client that sends a byte now and then keeps no other request out. A body that arrives too slowly fails
//! in any case.
//!
//! Must not know what a handler does with a body. Invariant: only its own client waits for a request that is held back,
//! and it is either given to the handler or refused here, once.

use weft_proto::Reject;
use weft_rt::{MILLISECOND, Nanos, SECOND};

use crate::connection::Connection;
use crate::server::Server;
use crate::step::Next;
use crate::stream::Stream;

impl Server {
    /// A head is complete. Returns whether the request is held back for its body; `is_late` for a request that only
    /// waits to be refused.
    pub(crate) fn hold_back(&self, connection: &mut Connection, stream: &mut Stream, is_late: bool) -> bool {
        if is_late || !self.is_early(stream) {
            return false;
        }
        self.ask_for_body(connection, stream);
        stream.body.is_pending()
    }

    /// Whether too little of a body has arrived for its request to begin: then the rest is wanted.
    fn is_early(&self, stream: &mut Stream) -> bool {
        let (body, enough) = (&mut stream.body, self.limits.body_begin_bytes);
        if !body.is_pending() || enough == 0 {
            return false;
        }
        let whole = enough == u64::MAX || self.handler.is_busy();
        // A client that expects 100 asks whether the server wants its body: the handler decides (RFC 9110
        // 10.1.1).
        let is_early = whole || !body.expects && body.received() < enough;
        if is_early && body.want(if whole { u64::MAX } else { enough }) {
            self.start_body_clock(stream);
        }
        is_early
    }

    /// More bytes have arrived for a request that is held back, or no more will.
    pub(crate) fn held_phase(&self, connection: &mut Connection, stream: &mut Stream) -> Option<Next> {
        if self.is_early(stream) {
            return None;
        }
        stream.held = false;
        Some(if self.refuse_body(connection, stream) { Next::Again } else { Next::Whole })
    }

    /// Refuses a request whose body failed before the handler got it; returns whether it did.
    pub(crate) fn refuse_body(&self, connection: &mut Connection, stream: &mut Stream) -> bool {
        let Some(status) = stream.body.failed().filter(|_| self.limits.body_begin_bytes > 0) else {
            return false;
        };
        let reason = match status {
            408 => "the request body did not arrive in time",
            413 => "the request body is too large",
            507 => "there is no space for the request body",
            _ => "the request body is malformed or cut off",
        };
        self.refuse(connection, stream, Reject { status, reason });
        self.stats.in_flight.set(self.stats.in_flight.get() - 1);
        // It has a head, so it gets a line in the access log.
        stream.reported = false;
        self.refusal.set(None);
        true
    }

    /// Starts the clock of the body.
    pub(crate) fn start_body_clock(&self, stream: &mut Stream) {
        stream.body_since = self.runtime.turn_time();
        (stream.pace_since, stream.pace_from) = (stream.body_since, stream.body.received());
    }

    /// The deadline of an incomplete body: no bytes for too long, or too few in all.
    pub(crate) fn body_deadline(&self, stream: &Stream) -> Nanos {
        let limits = &self.limits;
        let after = |since: Nanos, span_ms: u64| since.saturating_add(span_ms.saturating_mul(MILLISECOND));
        let stalled = after(stream.body_since, limits.body_timeout_ms);
        match limits.body_rate_bytes_min {
            0 => stalled,
            _ => stalled.min(after(stream.pace_since, limits.body_pace_ms)),
        }
    }

    /// Starts the next interval, if enough of the body arrived in the last one.
    pub(crate) fn renew_pace(&self, stream: &mut Stream, now: Nanos) {
        if !stream.body.is_wanted() {
            return;
        }
        let span = now.saturating_sub(stream.pace_since);
        let due = self.limits.body_rate_bytes_min.saturating_mul(span / SECOND);
        let came = stream.body.received().saturating_sub(stream.pace_from);
        if span >= self.limits.body_pace_ms.saturating_mul(MILLISECOND) && came >= due {
            (stream.pace_since, stream.pace_from) = (now, stream.body.received());
        }
    }
}
