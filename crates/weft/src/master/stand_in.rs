//! Accepting on behalf of a worker that cannot, or may be held.
//!
//! Must not know why it cannot. Invariant: while any worker serves, each TCP accept queue has a worker that accepts
//! from it: its own, or all the others, and all further workers besides. So a connection that the kernel puts there waits no longer
//! than any other. A unix socket has one queue, from which all workers accept anyway.

use std::os::fd::{AsFd, BorrowedFd};

use super::Master;
use super::control::{EVERY_SLOT, ToWorker};
use super::listen::Listener;
use super::worker_process::{Stage, Worker};
use crate::config::Config;

impl Master {
    /// The same after another image of the master was in charge, whose stand-ins this one does not know.
    pub fn share_sockets_anew(&mut self) {
        for worker in self.workers.iter_mut().filter(|worker| takes_connections(worker)) {
            worker.tell(&ToWorker::StopStandingIn { slot: EVERY_SLOT });
            worker.stands_in_for.clear();
            worker.accepts_singly = None;
        }
        self.share_sockets();
    }

    /// Gives the sockets of slots without a serving worker to all workers that serve, and takes back those of slots
    /// that are served again. Further workers have the sockets of all slots: where one has become held, the next may be at any
    /// moment, and until that is noticed a connection in its queue would wait.
    pub fn share_sockets(&mut self) {
        // During a boot, slots of the old and the new generation differ; that ends soon, with a worker in each
        // slot.
        if self.reload.is_booting() || self.stopping {
            return;
        }
        let count = self.slots.len();
        let mut served = vec![false; count];
        for worker in self.workers.iter().filter(|worker| takes_connections(worker)) {
            if let Some(served) = served.get_mut(worker.slot) {
                *served = true;
            }
        }
        let has_further = self.workers.iter().any(|worker| takes_connections(worker) && worker.slot >= count);
        let queues = accept_queues(&self.listeners, &self.config);
        for worker in self.workers.iter_mut().filter(|worker| takes_connections(worker)) {
            let is_further = worker.slot >= count;
            let is_wanted = |slot: usize| slot < count && (is_further || !served[slot]);
            let back: Vec<usize> = worker.stands_in_for.extract_if(.., |slot| !is_wanted(*slot)).collect();
            for slot in back {
                worker.tell(&ToWorker::StopStandingIn { slot: slot as u64 });
            }
            let missing: Vec<usize> =
                (0..count).filter(|slot| is_wanted(*slot) && !worker.stands_in_for.contains(slot)).collect();
            for slot in missing {
                for (_, service, socket) in queues.iter().filter(|(number, ..)| number % count == slot) {
                    worker.tell_with(&ToWorker::StandIn { slot: slot as u64, service: *service }, *socket);
                }
                worker.stands_in_for.push(slot);
            }
            if worker.accepts_singly.replace(has_further) != Some(has_further) {
                worker.tell(if has_further { &ToWorker::AcceptSingly } else { &ToWorker::AcceptAll });
            }
        }
    }
}

/// The accept queues of slots: their numbers at their address, what is served there, and their sockets.
fn accept_queues<'a>(listeners: &'a [Listener], config: &Config) -> Vec<(usize, u64, BorrowedFd<'a>)> {
    let own = listeners.iter().filter(|listener| !listener.is_shared());
    let numbered = own.filter_map(|listener| {
        // One that is not configured any more goes with its workers.
        let service = config.services().position(|address| *address == listener.configured)?;
        Some(
            listener
                .sockets
                .iter()
                .enumerate()
                .map(move |(slot, socket)| (slot, service as u64, socket.as_fd())),
        )
    });
    numbered.flatten().collect()
}

/// Whether a worker accepts the connections in its queue.
fn takes_connections(worker: &Worker) -> bool {
    worker.stage == Stage::Ready && !worker.silence.is_silent
}
