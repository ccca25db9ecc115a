//! What workers are like inside: how their loops keep up, what connections do, what coroutines and instances there are and what
//! those cost, and which calls block. Gathered from the board.
//!
//! Must not know how it is measured, nor how it is shown. Invariant: whatever the workers do, there is a bound to what is reported.

use weft_rt::hook::function_name;
use weft_rt::lag::Lag;
use weft_serve::ConnectionState;

use crate::board::{Board, Counted};

/// States of connections.
pub const STATES: usize = ConnectionState::ALL.len();

/// One worker.
pub struct Insides {
    pub lag: [u64; Lag::BOUNDS.len() + 1],
    pub lag_sum: u64,
    pub connections: [usize; STATES],
    pub streams: [usize; STATES],
    /// Coroutines that have a job, and wait for something.
    pub parked: usize,
    /// Those that have none.
    pub idle: usize,
    pub live_stacks: usize,
    pub idle_stacks: usize,
    pub live_heaps: usize,
    pub idle_heaps: usize,
}

impl Insides {
    pub fn of(counted: &Counted) -> Insides {
        let (runtime, server) = (&counted.runtime, &counted.server);
        let contexts = &runtime.contexts;
        Insides {
            lag: runtime.lag.counts.each_ref().map(weft_rt::counter::Counter::get),
            lag_sum: runtime.lag.sum.get(),
            connections: server.connection_states.all(),
            streams: server.stream_states.all(),
            parked: runtime.waits.iter().map(|waits| waits.lasting.get()).sum(),
            idle: contexts.idle.get(),
            live_stacks: contexts.live_stacks.get(),
            idle_stacks: contexts.idle_stacks.get(),
            live_heaps: contexts.live_heaps.get(),
            idle_heaps: contexts.idle_heaps.get(),
        }
    }
}

/// Calls that have blocked a whole worker, at one place.
pub struct Blocked {
    /// Of the C library.
    pub function: &'static str,
    /// Empty: no PHP code ran.
    pub file: String,
    pub line: u64,
    pub count: u64,
}

/// Those of all workers; calls at places that were not kept apart have the function `other`.
pub fn blocked(board: &Board) -> Vec<Blocked> {
    board.sum(|all| {
        let (mut found, mut rest): (Vec<Blocked>, u64) = (Vec::new(), 0);
        for blocking in all.map(|counted| &counted.runtime.blocking) {
            rest += blocking.rest();
            for at in blocking.places() {
                let function = function_name(at.function);
                let same =
                    |one: &&mut Blocked| (one.function, &one.file, one.line) == (function, &at.file, at.line);
                match found.iter_mut().find(same) {
                    Some(known) => known.count += at.count,
                    None => found.push(Blocked { function, file: at.file, line: at.line, count: at.count }),
                }
            }
        }
        if rest > 0 {
            found.push(Blocked { function: "other", file: String::new(), line: 0, count: rest });
        }
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_all_workers_are_added_up_also_when_one_has_ended() {
        let board = Board::new().unwrap();
        let pages: Vec<_> = (1..=2)
            .map(|pid| {
                let page = board.free().unwrap();
                page.pid.set(pid);
                page.counted.runtime.blocking.add(0, b"/a.php", 7, pid);
                page
            })
            .collect();
        pages[1].counted.runtime.blocking.add(1, b"/a.php", 7, 5);
        let told = || {
            blocked(board)
                .into_iter()
                .map(|one| (one.function, one.file, one.line, one.count))
                .collect::<Vec<_>>()
        };
        let all =
            [(function_name(0), "/a.php".to_owned(), 7, 3), (function_name(1), "/a.php".to_owned(), 7, 5)];
        assert_eq!(told(), all);
        board.clear(pages[0]);
        let mut now = told();
        now.sort_by_key(|one| one.3);
        assert_eq!(now, all, "a sum does not fall");
        assert_eq!(pages[0].counted.runtime.blocking.places().count(), 0);
    }
}
