//! Coroutines that wait for a body or for room in a response.
//!
//! Must not know what the wait is for. Invariant: nothing is borrowed while a coroutine is parked. A woken coroutine
//! checks again, because the reason may no longer hold.

use weft_rt::{Nanos, WaitKind, Wake, clock};

use crate::keys::RequestKey;
use crate::server::Server;
use crate::stream::Stream;

/// How a coroutine's wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waited {
    /// The awaited event has happened.
    Ready,
    /// The deadline has passed.
    TimedOut,
    /// The coroutine was cancelled.
    Cancelled,
    /// The peer has disconnected, or the response has ended.
    Gone,
}

impl Server {
    /// Parks the running coroutine until `ready`. If it must not park, the whole worker waits.
    pub(crate) fn wait_until(
        &self,
        key: RequestKey,
        deadline: Option<Nanos>,
        ready: impl Fn(&Stream) -> bool,
    ) -> Waited {
        loop {
            let wait = {
                let mut table = self.table.borrow_mut();
                let Some((connection, stream)) = table.active(key) else { return Waited::Gone };
                if connection.transport.broken {
                    return Waited::Gone;
                }
                if ready(stream) {
                    return Waited::Ready;
                }
                if self.runtime.can_park() {
                    let wait = self.runtime.begin_wait();
                    stream.waiters.push(wait);
                    Some(wait)
                } else {
                    None
                }
            };
            let Some(wait) = wait else {
                if !self.block(key, deadline) {
                    return Waited::TimedOut;
                }
                continue;
            };
            self.runtime.waits_for(WaitKind::Client);
            let wake = self.runtime.park(wait, deadline);
            if let Some((_, stream)) = self.table.borrow_mut().active(key) {
                stream.waiters.retain(|waiter| *waiter != wait);
            }
            match wake {
                Wake::Ready(_) => (),
                Wake::TimedOut => return Waited::TimedOut,
                Wake::Cancelled => return Waited::Cancelled,
            }
        }
    }

    /// Blocks the whole worker on the socket, where a switch is forbidden. Returns false if the deadline has
    /// passed.
    fn block(&self, key: RequestKey, deadline: Option<Nanos>) -> bool {
        let left = deadline.map(|at| at.saturating_sub(clock::now()));
        if left == Some(0) {
            return false;
        }
        self.runtime.stats.blocked.set(self.runtime.stats.blocked.get() + 1);
        let mut table = self.table.borrow_mut();
        let Some((connection, stream)) = table.active(key) else { return true };
        let (reads, sends) = (stream.body.is_wanted(), !stream.out.is_empty());
        let carrier = Server::carrier_of(connection);
        // At most as long as either side of the connection may stall, because the deadlines of the loop do not
        // run meanwhile.
        let stall = self.limits.body_timeout_ms.min(self.limits.write_timeout_ms).saturating_mul(1_000_000);
        let span = left.map_or(stall, |left| left.min(stall));
        let ready = match carrier {
            None => connection.transport.block(reads, sends, span),
            Some(carrier) => {
                drop(table);
                let ready = self.block_carrier(carrier, span);
                table = self.table.borrow_mut();
                ready
            }
        };
        let Some((connection, stream)) = table.active(key) else { return true };
        connection.transport.look();
        if !ready {
            if span != stall {
                return false;
            }
            connection.transport.broken = true;
        }
        if self.receive_body(connection, stream) {
            // Coroutines of the same request must not miss what arrived here.
            stream.wake_all(self.runtime);
        }
        self.flush(connection, stream);
        true
    }
}
