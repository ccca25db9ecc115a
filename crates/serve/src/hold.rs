//! Requests whose body has not come yet: kept back from the handler, but not for ever.
//!
//! A request with the handler holds what requests share (a coroutine, an instance); one that is kept back holds its buffers
//! only. So it begins with its whole body, or with enough of it to be worth streaming: a client that sends a byte now and
//! then keeps nobody out. Whatever begins, a body that comes too slowly ends.
//!
//! Must not know what a handler does with a body. Invariant: nobody but its client waits for a request that is kept back, and
//! it is either given to the handler or refused here, once.

use weft_proto::Reject;
use weft_rt::{MILLISECOND, Nanos, SECOND};

use crate::connection::{Connection, Next};
use crate::exchange::Exchange;
use crate::server::Server;

impl Server {
    /// A head is complete. Whether its request is kept back for its body; `is_late` for one that only waits to be refused.
    pub(crate) fn hold_back(&self, connection: &mut Connection, is_late: bool) -> bool {
        let Some(exchange) = connection.exchange.as_deref_mut() else { return false };
        if is_late || !self.is_early(exchange) {
            return false;
        }
        self.ask_for_body(connection);
        connection.exchange.as_deref().is_some_and(|exchange| exchange.body.is_pending())
    }

    /// Whether too little of a body is there for its request to begin: then the rest is wanted.
    fn is_early(&self, exchange: &mut Exchange) -> bool {
        let (body, enough) = (&mut exchange.body, self.limits.body_begin_bytes);
        if !body.is_pending() || enough == 0 {
            return false;
        }
        let whole = enough == u64::MAX || self.handler.is_busy();
        // Whoever expects 100 asks whether its body is wanted: the handler decides (RFC 9110 10.1.1).
        let is_early = whole || !body.expects && body.received() < enough;
        if is_early && body.want(if whole { u64::MAX } else { enough }) {
            self.start_body_clock(exchange);
        }
        is_early
    }

    /// More has come for a request that is kept back, or nothing more will.
    pub(crate) fn held_phase(&self, connection: &mut Connection) -> Option<Next> {
        let exchange = connection.exchange.as_deref_mut()?;
        if self.is_early(exchange) {
            return None;
        }
        exchange.held = false;
        Some(if self.refuse_body(connection) { Next::Again } else { Next::Whole })
    }

    /// Refuses a request whose body has failed before the handler had it. Whether it has.
    pub(crate) fn refuse_body(&self, connection: &mut Connection) -> bool {
        let Some(exchange) = connection.exchange.as_deref_mut() else { return false };
        let Some(status) = exchange.body.failed().filter(|_| self.limits.body_begin_bytes > 0) else {
            return false;
        };
        let reason = match status {
            408 => "the request body did not arrive in time",
            413 => "the request body is too large",
            507 => "there is no space for the request body",
            _ => "the request body is malformed or cut off",
        };
        self.refuse(connection, Reject { status, reason });
        self.stats.in_flight.set(self.stats.in_flight.get() - 1);
        if let Some(exchange) = connection.exchange.as_deref_mut() {
            // It has a head, so it has a line in the access log.
            exchange.reported = false;
        }
        self.refusal.set(None);
        true
    }

    /// The body's time begins.
    pub(crate) fn start_body_clock(&self, exchange: &mut Exchange) {
        exchange.body_since = self.runtime.turn_time();
        (exchange.pace_since, exchange.pace_from) = (exchange.body_since, exchange.body.received());
    }

    /// When a body that comes is late: nothing of it came for long, or too little in all.
    pub(crate) fn body_deadline(&self, exchange: &Exchange) -> Nanos {
        let limits = &self.limits;
        let after = |since: Nanos, span_ms: u64| since.saturating_add(span_ms.saturating_mul(MILLISECOND));
        let stalled = after(exchange.body_since, limits.body_timeout_ms);
        match limits.body_rate_bytes_min {
            0 => stalled,
            _ => stalled.min(after(exchange.pace_since, limits.body_pace_ms)),
        }
    }

    /// A span is over in which enough of a body came: the next one begins.
    pub(crate) fn renew_pace(&self, exchange: &mut Exchange, now: Nanos) {
        if !exchange.body.is_wanted() {
            return;
        }
        let span = now.saturating_sub(exchange.pace_since);
        let due = self.limits.body_rate_bytes_min.saturating_mul(span / SECOND);
        let came = exchange.body.received().saturating_sub(exchange.pace_from);
        if span >= self.limits.body_pace_ms.saturating_mul(MILLISECOND) && came >= due {
            (exchange.pace_since, exchange.pace_from) = (now, exchange.body.received());
        }
    }
}
