//! Room for new connections: whoever has kept the server waiting longest is closed for them.
//!
//! Must not know why there is no room. Invariant: nobody is closed whose request has begun to be answered, waits for its turn,
//! or lies unread in its socket; and none that has only just come or been answered, as it is likely to be about to ask.
//!
//! No order of connections is kept while there is room, so a request pays nothing for this. Who is oldest is looked for when
//! it is needed, for many evictions at a time: `since` only ever grows, so whoever is in such a batch and has not moved is
//! older than all who are not in it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use weft_rt::{MILLISECOND, Nanos};

use crate::connection::{Connection, Phase};
use crate::server::Server;
use crate::table::Table;
use crate::unread::Admission;

/// Idle for so long after its last answer: it may be closed.
const ANSWERED_AGE_MIN: Nanos = 100 * MILLISECOND;
/// So long without an answer (it has sent nothing, or a part of a head), or since its last answer was sent and lingers.
const UNANSWERED_AGE_MIN: Nanos = 1000 * MILLISECOND;
/// Part of all connections that one look round finds at most.
const BATCH_PART: usize = 16;
/// The least it looks for.
const BATCH_MIN: usize = 64;
/// After a look round that found few, the next one waits.
const LOOK_AGAIN: Nanos = 10 * MILLISECOND;

/// How much is lost by closing a connection: the lesser first, and among equals whoever has waited longest.
type Worth = (u8, Nanos);

/// One that may be closed, as long as it has not moved since: its slot, which connection of the slot, its worth.
type Candidate = (Worth, u32, u32);

/// Who is closed next.
#[derive(Default)]
pub(crate) struct Eviction {
    batch: RefCell<VecDeque<Candidate>>,
    /// Not before this time is looked round again.
    look_at: Cell<Nanos>,
}

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

    /// Closes the first of the batch that still is what it was.
    fn close_candidate(&self, now: Nanos) -> bool {
        while let Some((worth, index, generation)) = { self.eviction.batch.borrow_mut().pop_front() } {
            let unmoved = {
                let mut table = self.table.borrow_mut();
                table.connection(index, generation).is_some_and(|connection| {
                    self.worth(connection, now) == Some(worth)
                        && (connection.phase == Phase::Linger || !connection.link.has_unread())
                })
            };
            if unmoved {
                self.close(index);
                return true;
            }
        }
        false
    }

    /// Makes a batch of the oldest. False: there are none, or too little time has passed since there were few.
    fn look_round(&self, now: Nanos) -> bool {
        if now < self.eviction.look_at.get() {
            return false;
        }
        let wanted = BATCH_MIN.max(self.stats.connections.get() / BATCH_PART);
        let mut found = self.candidates(&mut self.table.borrow_mut(), now);
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

    fn candidates(&self, table: &mut Table, now: Nanos) -> Vec<Candidate> {
        let candidate = |(index, slot): (u32, &mut crate::table::ConnectionSlot)| {
            let worth = self.worth(slot.connection.as_ref()?, now)?;
            Some((worth, index, slot.generation))
        };
        table.occupied().filter_map(candidate).collect()
    }

    /// `None`: it stays.
    fn worth(&self, connection: &Connection, now: Nanos) -> Option<Worth> {
        if connection.admission == Admission::Waits || connection.queued {
            return None;
        }
        let (kind, since, age_min) = match connection.phase {
            Phase::Idle if connection.requests > 0 => (0, connection.since, ANSWERED_AGE_MIN),
            Phase::Idle => (0, connection.since, UNANSWERED_AGE_MIN),
            Phase::Linger => (1, connection.since, UNANSWERED_AGE_MIN),
            Phase::Head => {
                let exchange = connection.exchange.as_deref().filter(|exchange| exchange.out.is_empty())?;
                (2, exchange.since, UNANSWERED_AGE_MIN)
            }
            Phase::Active | Phase::Ended => return None,
        };
        (now.saturating_sub(since) >= age_min).then_some((kind, since))
    }
}
