//! Requests that wait unread: while the handler has no room for them, their bytes stay with the kernel.
//!
//! A waiting request then needs no buffers, and its bytes are still in the processor's caches when it is answered. Must
//! not know what room is: the handler decides. Invariant: first come, first read. A connection in the line is neither
//! read nor closed before its turn, so the line holds each connection at most once and none that is closed.

use weft_rt::{MILLISECOND, Nanos};

use crate::admission::Admission;
use crate::connection::Connection;
use crate::server::{Server, TurnStage};

/// Requests taken from the line in one turn of the loop, so that answers are sent and events are handled in
/// between.
const PER_TURN: usize = 64;

impl Server {
    /// Connections whose request waits to be read.
    pub fn unread(&self) -> usize {
        self.line.waiting.borrow().len()
    }

    /// A request is about to be read. Returns whether it must wait; it is then in the line.
    #[inline]
    pub(crate) fn waits_unread(&self, index: u32, connection: &mut Connection) -> bool {
        if connection.admission != Admission::None {
            return connection.admission == Admission::Waits;
        }
        if let Some(left) = self.line.room.get().checked_sub(1) {
            self.line.room.set(left);
            return false;
        }
        self.join(index, connection)
    }

    #[cold]
    fn join(&self, index: u32, connection: &mut Connection) -> bool {
        if connection.is_admin {
            return false;
        }
        let mut waiting = self.line.waiting.borrow_mut();
        if waiting.len() >= self.limits.queue_max {
            connection.admission = Admission::TurnedAway;
            return false;
        }
        connection.admission = Admission::Waits;
        connection.since = self.runtime.turn_time();
        waiting.push_back((index, connection.since));
        true
    }

    /// Gives the handler the requests that arrived in this turn, and then as many from the line as it has room
    /// for.
    pub(crate) fn admit(&self, now: Nanos) {
        self.dispatch_arrived();
        let mut left = PER_TURN;
        while left > 0 && self.unread() > 0 {
            let room = self.handler.room().min(left);
            left -= room;
            self.stage.set(TurnStage::Receive);
            for _ in 0..room {
                let Some((index, _)) = ({ self.line.waiting.borrow_mut().pop_front() }) else { break };
                self.take_out(index, Admission::Admitted);
            }
            if self.arrived.borrow().is_empty() {
                break;
            }
            self.dispatch_arrived();
        }
        while let Some(index) = self.overdue(now) {
            self.take_out(index, Admission::TurnedAway);
        }
    }

    /// The end of a turn: requests of the next one may be read as far as there is room.
    pub(crate) fn note_room(&self) {
        let unread = self.unread();
        self.stats.unread.set(unread);
        self.line.room.set(if unread > 0 { 0 } else { self.handler.room() });
    }

    /// Passes on up to so many connections of the line, the first first, as [`Server::pass_on`] does with requests.
    pub fn pass_on_unread(&self, most: usize) {
        let Some(way_out) = self.way_out() else { return };
        let mut gone = Vec::new();
        self.line.waiting.borrow_mut().retain(|(index, _)| {
            let leaves = gone.len() < most && self.depart(*index, &way_out);
            if leaves {
                gone.push(*index);
            }
            !leaves
        });
        gone.into_iter().for_each(|index| self.close(index));
    }

    fn take_out(&self, index: u32, admission: Admission) {
        if let Some(connection) = self.table.borrow_mut().at(index) {
            connection.admission = admission;
        }
        self.process(index);
    }

    fn overdue(&self, now: Nanos) -> Option<u32> {
        let mut waiting = self.line.waiting.borrow_mut();
        let (_, since) = *waiting.front()?;
        (self.patience_ends(since) <= now).then(|| waiting.pop_front())?.map(|(index, _)| index)
    }

    fn patience_ends(&self, since: Nanos) -> Nanos {
        since.saturating_add(self.limits.queue_timeout_ms.saturating_mul(MILLISECOND))
    }

    /// When [`Server::admit`] has work even if nothing happens.
    pub(crate) fn line_deadline(&self) -> Option<Nanos> {
        let (_, since) = *self.line.waiting.borrow().front()?;
        Some(if self.handler.room() > 0 { 0 } else { self.patience_ends(since) })
    }
}
