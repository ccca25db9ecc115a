//! When a connection is late, and what happens then.
//!
//! Must not know what the phases do before their deadlines. Invariant: after [`Server::late`] a connection has a
//! different deadline from the one it missed, so the expiry loop ends.

use weft_proto::Reject;
use weft_rt::{MILLISECOND, Nanos};

use crate::admission::Admission;
use crate::connection::{Connection, Phase};
use crate::server::Server;
use crate::stream::Stream;
use crate::table::{ConnectionSlot, Table};
use crate::wheel::Wheel;

const HEAD_LATE: Reject = Reject { status: 408, reason: "the request head did not arrive in time" };

impl Server {
    /// Makes sure that the wheel checks a connection in time.
    pub(crate) fn arm(&self, index: u32, table: &mut Table) {
        let Some((slot, stream)) = table.slot_and_stream(index) else { return };
        let Some(connection) = &mut slot.connection else { return };
        let deadline = self.deadline_of(connection, stream.as_deref());
        if deadline == Nanos::MAX {
            return;
        }
        let tick = Wheel::tick(deadline);
        if tick < connection.tick {
            connection.tick = tick;
            self.wheel.borrow_mut().insert(tick, (index, slot.generation));
        }
    }

    /// The deadline of a connection if nothing happens; `Nanos::MAX` for never.
    fn deadline_of(&self, connection: &Connection, stream: Option<&Stream>) -> Nanos {
        let limits = &self.limits;
        let after = |since: Nanos, span_ms: u64| since.saturating_add(span_ms.saturating_mul(MILLISECOND));
        if connection.transport.broken {
            // It is closed at once, or its handler ends it.
            return Nanos::MAX;
        }
        let mut deadline = Nanos::MAX;
        if let Some(stream) = stream {
            if stream.blocked_since > 0 {
                deadline = after(stream.blocked_since, limits.write_timeout_ms);
            }
            if stream.body.is_wanted() && !stream.body.expects && connection.phase != Phase::Head {
                deadline = deadline.min(self.body_deadline(stream));
            }
        }
        match connection.phase {
            Phase::Idle | Phase::Head if connection.admission == Admission::Waits => deadline,
            Phase::Announced | Phase::Opening => after(connection.since, limits.head_timeout_ms),
            Phase::Carrier | Phase::Tunnel => connection.heard,
            Phase::Idle => {
                let idle = after(connection.since, limits.idle_timeout_ms);
                let drained = |began: Nanos| after(began.max(connection.since), limits.drain_idle_ms);
                self.draining.get().map_or(idle, |began| idle.min(drained(began)))
            }
            Phase::Head => {
                let begun = stream.filter(|stream| stream.unparsed() > 0);
                deadline.min(begun.map_or(Nanos::MAX, |stream| after(stream.since, limits.head_timeout_ms)))
            }
            Phase::Active | Phase::Ended => deadline,
            Phase::Linger => self.linger_ends(connection),
        }
    }

    /// Processes the entries that are due.
    pub(crate) fn expire(&self, now: Nanos) {
        while let Some((tick, entries)) = { self.wheel.borrow_mut().expire(now) } {
            for (index, generation) in entries {
                if self.look_at(index, generation, tick, now) {
                    self.process(index);
                }
            }
        }
    }

    /// Checks whether the connection of a due entry is late; if not, makes a new entry.
    fn look_at(&self, index: u32, generation: u32, tick: u64, now: Nanos) -> bool {
        let mut table = self.table.borrow_mut();
        let is_meant = |slot: &mut ConnectionSlot| {
            slot.generation == generation && slot.connection.as_ref().is_some_and(|found| found.tick == tick)
        };
        if !table.slot(index).is_some_and(is_meant) {
            return false;
        }
        self.claim(index, &mut table);
        let Some((slot, mut stream)) = table.slot_and_stream(index) else { return false };
        let Some(connection) = slot.connection.as_mut() else { return false };
        connection.tick = u64::MAX;
        if connection.is_gone {
            return true;
        }
        if let Some(stream) = stream.as_deref_mut() {
            self.renew_pace(stream, now);
        }
        if self.deadline_of(connection, stream.as_deref()) > now {
            self.arm(index, &mut table);
            self.offer(index, &mut table);
            return false;
        }
        // A tunnel has deadlines that nobody has missed, such as that of the next ping.
        if connection.phase != Phase::Tunnel {
            self.stats.timed_out.set(self.stats.timed_out.get() + 1);
        }
        self.late(connection, stream, now);
        true
    }

    /// A connection has missed its deadline.
    fn late(&self, connection: &mut Connection, stream: Option<&mut Stream>, now: Nanos) {
        let write_late = stream.as_deref().is_some_and(|stream| {
            let span = self.limits.write_timeout_ms.saturating_mul(MILLISECOND);
            stream.blocked_since > 0 && stream.blocked_since.saturating_add(span) <= now
        });
        match (connection.phase, stream) {
            (Phase::Head, Some(stream)) if stream.unparsed() > 0 && !write_late => {
                self.refuse(connection, stream, HEAD_LATE);
            }
            (Phase::Active, Some(stream)) if !write_late => {
                stream.body.fail(408);
                stream.wake_all(self.runtime);
            }
            (Phase::Ended, Some(stream)) if !write_late => {
                stream.body.fail(408);
                stream.wire.keep_alive = false;
            }
            (Phase::Tunnel, _) => self.tunnel_late(connection, now),
            // Silence: an idle connection, a lingering one, or a peer that does not read.
            _ => connection.transport.broken = true,
        }
    }
}
