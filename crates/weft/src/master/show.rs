//! What the master writes on the board.
//!
//! Must not know who reads it. Invariant: called in each turn of the master's loop, and before the console says that
//! weft is ready, so the board is as old as the last event, and no older than what was announced.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::Pid;

use super::Master;
use super::worker_process::Stage;
use crate::board::{self, Page};

impl Master {
    /// Says on the board what the master is, once.
    pub fn introduce(&self) {
        let page = &self.board.master;
        page.pid.set(u64::from(std::process::id()));
        page.since.set(unix_seconds());
    }

    /// Writes what it knows of itself and of its workers.
    pub fn show(&self) {
        let own = &self.board.master;
        own.generation.set(u64::from(self.generation));
        own.wanted.set(self.slots.len());
        own.ready.set(usize::from(self.announced && !self.stopping));
        for worker in &self.workers {
            let Some(page) = worker.page else { continue };
            page.slot.set(worker.slot as u64);
            page.generation.set(u64::from(worker.generation));
            page.held.set(usize::from(worker.is_held));
            page.stage.set(match worker.stage {
                Stage::Booting { .. } => board::Stage::Booting,
                Stage::Ready => board::Stage::Ready,
                Stage::Draining { .. } | Stage::Killed => board::Stage::Draining,
            } as usize);
        }
    }
}

/// A page is a new worker's from here on.
pub fn assign(page: &Page, worker: Pid) {
    page.pid.set(worker.as_raw_nonzero().get() as u64);
    page.since.set(unix_seconds());
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
