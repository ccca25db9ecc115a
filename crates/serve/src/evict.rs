//! Room for new connections: the connection that has kept the server waiting longest is closed for them.
//!
//! Must not know why there is no room. Invariant: a connection is never closed while its request is being answered,
//! waits for its turn, or lies unread in its socket. Nor is one that was just opened or answered, because it is likely
//! to send a request soon.
//!
//! While there is room, the connections are kept in no order, so a request pays nothing for this. The oldest ones are
//! searched when they are needed, for many evictions at a time: `since` only ever grows, so a connection of such a
//! batch that has not moved is older than all connections outside of it.

use weft_rt::{MILLISECOND, Nanos};

use crate::admission::Admission;
use crate::connection::{Connection, Phase};
use crate::eviction::{Candidate, Worth};
use crate::server::Server;
use crate::stream::Stream;
use crate::table::{ConnectionSlot, Table};

/// How long a connection must have been idle after its last answer before it may be closed.
const ANSWERED_AGE_MIN: Nanos = 100 * MILLISECOND;
/// How long a connection may stay without an answer (it has sent nothing, or part of a head), or linger after its last
/// answer, before it may be closed.
const UNANSWERED_AGE_MIN: Nanos = 1000 * MILLISECOND;
/// One search finds at most this fraction of all connections.
const BATCH_PART: usize = 16;
/// The minimum size of a batch.
const BATCH_MIN: usize = 64;
/// How long the next search waits after one that found few.
const LOOK_AGAIN: Nanos = 10 * MILLISECOND;

impl Server {
    /// Closes up to `count` connections; returns how many.
    pub(crate) fn evict(&self, count: usize) -> usize {
        let closed = (0..count).take_while(|_| self.evict_one()).count();
        self.stats.evicted.set(self.stats.evicted.get() + closed as u64);
        closed
    }

    fn evict_one(&self) -> bool {
        let now = self.runtime.turn_time();
        self.close_candidate(now) || self.look_round(now) && self.close_candidate(now)
    }

    /// Closes the first connection of the batch that has not changed.
    fn close_candidate(&self, now: Nanos) -> bool {
        while let Some((worth, index, generation)) = { self.eviction.batch.borrow_mut().pop_front() } {
            let unmoved = {
                let table = self.table.borrow();
                table.connection(index, generation).is_some_and(|(connection, stream)| {
                    self.worth(index, connection, stream, now) == Some(worth)
                        && (connection.phase == Phase::Linger
                            || connection.transport.has_unread() == Some(false))
                })
            };
            if unmoved {
                self.close(index);
                return true;
            }
        }
        false
    }

    /// Makes a batch of the oldest connections. Returns false if there are none, or if the last search found
    /// few and is too recent.
    fn look_round(&self, now: Nanos) -> bool {
        if now < self.eviction.look_at.get() {
            return false;
        }
        let wanted = BATCH_MIN.max(self.stats.connections.get() / BATCH_PART);
        let mut found = self.candidates(&self.table.borrow(), now);
        if found.len() > wanted {
            found.select_nth_unstable(wanted);
            found.truncate(wanted);
        } else {
            self.eviction.look_at.set(now + LOOK_AGAIN);
        }
        found.sort_unstable();
        *self.eviction.batch.borrow_mut() = found.into();
        !self.eviction.batch.borrow().is_empty()
    }

    fn candidates(&self, table: &Table, now: Nanos) -> Vec<Candidate> {
        let worth =
            |(index, slot, connection, stream): (u32, &ConnectionSlot, &Connection, Option<&Stream>)| {
                Some((self.worth(index, connection, stream, now)?, index, slot.generation))
            };
        table.occupied().filter_map(worth).collect()
    }

    /// `None` if the connection must stay.
    fn worth(
        &self,
        index: u32,
        connection: &Connection,
        stream: Option<&Stream>,
        now: Nanos,
    ) -> Option<Worth> {
        if connection.admission == Admission::Waits || connection.queued {
            return None;
        }
        let (kind, since, age_min) = match connection.phase {
            _ if connection.transport.carried().is_some() => return None,
            Phase::Carrier => (0, self.quiet_since(index)?, ANSWERED_AGE_MIN),
            Phase::Idle if connection.requests > 0 => (0, connection.since, ANSWERED_AGE_MIN),
            Phase::Idle => (0, connection.since, UNANSWERED_AGE_MIN),
            Phase::Announced | Phase::Opening => (2, connection.since, UNANSWERED_AGE_MIN),
            Phase::Linger => (1, connection.since, UNANSWERED_AGE_MIN),
            Phase::Head => {
                let stream = stream.filter(|stream| stream.out.is_empty())?;
                (2, stream.since, UNANSWERED_AGE_MIN)
            }
            Phase::Active | Phase::Ended | Phase::Tunnel => return None,
        };
        (now.saturating_sub(since) >= age_min).then_some((kind, since))
    }
}
