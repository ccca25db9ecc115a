//! The end of a server: what is told to whom, and when.
//!
//! Must not know why it ends. Invariant: a request that was accepted is answered; what has no end of its own, a tunnel, gets one.

use weft_rt::Nanos;

use crate::server::Server;

impl Server {
    /// Answers the requests in flight and then closes: responses carry `Connection: close`, and idle connections are
    /// closed after `drain_idle_ms` without a request. Draining is complete when [`Stats::connections`] is 0.
    ///
    /// Tunnels stay for `keep` before they are told; another call can only make that earlier.
    pub fn drain(&self, keep: Nanos) {
        let now = self.runtime.turn_time();
        let mut table = self.table.borrow_mut();
        if self.draining.get().is_none() {
            self.draining.set(Some(now));
            let all: Vec<u32> = table.occupied().map(|(index, ..)| index).collect();
            for index in all {
                self.arm(index, &mut table);
            }
            self.drain_carriers(&mut table);
        }
        let from = now.saturating_add(keep);
        if self.leaving_from.get().is_none_or(|known| from < known) {
            self.leaving_from.set(Some(from));
            self.drain_tunnels(&mut table, from);
        }
    }

    /// Whether [`Server::drain`] was called.
    pub fn draining(&self) -> bool {
        self.draining.get().is_some()
    }
}
