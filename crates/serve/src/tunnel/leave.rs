//! The end of a worker, as its tunnels see it.
//!
//! Must not know why the worker ends, nor when its master loses patience. Invariant: a tunnel whose handler was told of its
//! beginning stays until it was told of its end, whatever the peer does.

use weft_proto::websocket::CloseCode;
use weft_rt::{Nanos, SECOND};

use crate::connection::Phase;
use crate::server::Server;
use crate::table::Table;
use crate::tunnel::phase::RESTARTS;
use crate::tunnel::{Stage, TunnelEvent};

impl Server {
    /// The worker ends: from this time on its tunnels are told so, one after another, so that their clients do not come back all at
    /// once.
    pub(crate) fn drain_tunnels(&self, table: &mut Table, from: Nanos) {
        let mut tunnels = self.tunnels.borrow_mut();
        let span = self.limits.tunnels.leave_ms.saturating_mul(SECOND / 1000);
        let count = tunnels.count().max(1) as u64;
        let mut leaving = Vec::new();
        for (tunnel, place) in tunnels.iter_mut().zip(0u64..) {
            tunnel.leaves_at =
                from.saturating_add((u128::from(span) * u128::from(place) / u128::from(count)) as Nanos);
            leaving.extend(tunnel.connection.map(|index| (index, self.tunnel_deadline(tunnel))));
        }
        drop(tunnels);
        for (index, deadline) in leaving {
            self.set_deadline(index, deadline, table);
        }
    }

    /// The worker's time is over: no peer is waited for any more, and of what has arrived the handler is only told the
    /// end. Returns how many messages it was not given.
    pub fn cut_tunnels(&self) -> usize {
        let now = self.runtime.turn_time();
        let (mut cut, mut strangers, mut dropped) = (Vec::new(), Vec::new(), 0);
        for tunnel in self.tunnels.borrow_mut().iter_mut() {
            dropped += tunnel.drop_messages();
            // One of which the handler knows nothing needs no end.
            if tunnel.stage == Stage::Reserved || matches!(tunnel.inbox.front(), Some(TunnelEvent::Opened)) {
                strangers.push(tunnel.key);
                continue;
            }
            match tunnel.stage {
                Stage::Open | Stage::Answering(_) => {
                    tunnel.begin_closing(CloseCode::GOING_AWAY, RESTARTS, now);
                }
                Stage::Closing(_) => tunnel.stage = Stage::Closing(now),
                Stage::Closed(_) | Stage::Reserved => tunnel.stage = Stage::Closed(now),
            }
            cut.extend(tunnel.connection);
        }
        for key in strangers {
            self.forget_tunnel(key);
        }
        for index in cut {
            self.set_deadline(index, now, &mut self.table.borrow_mut());
            self.touch(index);
        }
        dropped
    }

    fn set_deadline(&self, index: u32, deadline: Nanos, table: &mut Table) {
        if let Some(connection) = table.at(index).filter(|connection| connection.phase == Phase::Tunnel) {
            connection.heard = deadline;
            self.arm(index, table);
        }
    }
}
