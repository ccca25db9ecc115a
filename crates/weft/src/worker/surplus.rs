//! Requests for which this worker has no room: other workers get them that have some.
//!
//! All workers accept from the same queues, and none knows before it has read a request whether it has to wait: so one may have a
//! line of requests while another is idle. Here the loop passes on what is in its line. It must not know how a connection moves.
//! Invariants: a request leaves only while another worker has room that nobody waits for; whoever passes on takes nothing in for a
//! while, so that what has left does not come back.

use std::cell::Cell;

use weft_rt::{MILLISECOND, Nanos, Runtime};
use weft_serve::Server;

use crate::board::{Board, Page, Stage};
use crate::php;

/// How often a worker with a line looks at the others.
const LOOK_EVERY: Nanos = 5 * MILLISECOND;

/// This worker among the others.
pub struct Surplus {
    board: &'static Board,
    own: &'static Page,
    next: Cell<Nanos>,
    /// Whether the others accept what comes.
    leaves: Cell<bool>,
}

impl Surplus {
    /// A worker whose own page is not on the board keeps what it has.
    pub fn new(board: &'static Board, own: &'static Page) -> Surplus {
        Surplus { board, own, next: Cell::default(), leaves: Cell::default() }
    }

    /// When to look again; `None` while nobody has to wait for room.
    pub fn deadline(&self, (runtime, server): (&Runtime, &Server)) -> Option<Nanos> {
        (runtime.waiting() + server.unread() > 0).then(|| self.next.get())
    }

    /// Passes on what others have room for.
    pub fn turn(&self, now: Nanos, (runtime, server): (&Runtime, &Server)) {
        if self.leaves.get() && runtime.room() > 0 {
            self.leaves.set(false);
            server.accept_again();
        }
        if runtime.waiting() + server.unread() == 0 || runtime.room() > 0 || now < self.next.get() {
            return;
        }
        self.next.set(now + LOOK_EVERY);
        let room = room_of_others(self.board.workers(), self.own);
        if room > 0 {
            server.leave_to_others(now + LOOK_EVERY);
            self.leaves.set(true);
            let passed = runtime.withdraw(room, php::pass_on);
            server.pass_on_unread(room - passed);
        }
    }
}

/// How many requests the other workers could begin at once.
fn room_of_others<'a>(workers: impl Iterator<Item = &'a Page>, own: &Page) -> usize {
    let serves = |page: &&Page| {
        !std::ptr::eq(*page, own)
            && page.generation.get() == own.generation.get()
            && page.stage.get() == Stage::Ready as usize
            && page.held.get() == 0
    };
    workers.filter(serves).map(room_of).sum()
}

fn room_of(page: &Page) -> usize {
    let (runtime, server) = (&page.counted.runtime, &page.counted.server);
    let has_line = runtime.queued.get() + server.unread.get() > 0;
    if has_line { 0 } else { page.room.get().saturating_sub(runtime.live.get()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_what_workers_that_serve_have_beside_this_one() {
        let board = Board::new().unwrap();
        let pages: Vec<&Page> = (1..=6)
            .map(|pid| {
                let page = board.free().unwrap();
                page.pid.set(pid);
                page.stage.set(Stage::Ready as usize);
                page.room.set(10);
                page.counted.runtime.live.set(pid as usize);
                page
            })
            .collect();
        let room = |own: usize| room_of_others(board.workers(), pages[own]);
        assert_eq!(room(0), 8 + 7 + 6 + 5 + 4);
        pages[1].held.set(1);
        pages[2].stage.set(Stage::Draining as usize);
        pages[3].generation.set(1);
        pages[4].counted.runtime.queued.set(1);
        assert_eq!(room(0), 4);
        pages[5].counted.runtime.live.set(11);
        assert_eq!(room(0), 0);
    }
}
