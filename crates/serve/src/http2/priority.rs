//! Which stream of a connection sends next (RFC 9218).
//!
//! h2 sends what it has been given in turns, whatever its priority; so it is given little: [`ROUND_BYTES`] per connection,
//! then the socket takes them, then those that wait are asked again, the most urgent first. Must not know frames or the
//! table. Invariants: a stream that waits here has bytes and room in its window, so nobody waits for a client that does
//! not read; every end of a round asks somebody, so nobody waits for ever beside others that have finished.

use std::cell::{Cell, RefCell};
use std::task::Waker;

/// Bytes that streams may give before the socket has taken them: more than a round trip to the socket costs, less than
/// anybody notices who is more urgent.
pub(crate) const ROUND_BYTES: usize = 128 * 1024;
/// RFC 9218 section 4.1.
const URGENCY_DEFAULT: u8 = 3;
const URGENCY_MAX: u8 = 7;
/// Priorities that came before their streams (section 7.1); later ones replace the oldest.
const EARLY_MAX: usize = 16;

/// What a client says of a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Priority {
    /// 0 comes first, 7 last.
    pub urgency: u8,
    /// Whether it is of use in pieces, so that those of the same urgency share.
    pub is_incremental: bool,
}

impl Default for Priority {
    fn default() -> Priority {
        Priority { urgency: URGENCY_DEFAULT, is_incremental: false }
    }
}

impl Priority {
    /// Reads the field, or the value of a PRIORITY_UPDATE frame: a dictionary of RFC 9651 of which the members `u` and `i`
    /// count. What is malformed says nothing.
    pub(crate) fn read(field: &[u8]) -> Priority {
        let mut priority = Priority::default();
        for member in field.split(|byte| *byte == b',') {
            // Parameters of a member have no meaning.
            let member = member.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
            match member {
                [b'u', b'=', digit @ b'0'..=b'7'] => priority.urgency = digit - b'0',
                b"i" | b"i=?1" => priority.is_incremental = true,
                b"i=?0" => priority.is_incremental = false,
                _ => (),
            }
        }
        priority
    }
}

/// A stream that waits for the next round.
struct Waiting {
    stream: u32,
    urgency: u8,
    rank: u64,
    bytes: usize,
    bell: Waker,
}

/// Where a stream stands among those of its connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub priority: Priority,
    /// Who is older goes first among those of the same urgency.
    rank: u64,
    /// The round in which it gave bytes last.
    gave: u64,
}

/// The streams of a connection that have something to send.
pub(crate) struct Line {
    /// Bytes that may still be given in this round.
    left: Cell<usize>,
    round: Cell<u64>,
    ranks: Cell<u64>,
    waiting: RefCell<Vec<Waiting>>,
    /// What clients said of streams that had not come yet, or have not looked since.
    told: RefCell<Vec<(u32, Priority)>>,
}

impl Place {
    /// What orders it: the least goes first.
    pub(crate) fn key(&self) -> (u8, u64) {
        (self.priority.urgency, self.rank)
    }
}

impl Default for Line {
    fn default() -> Line {
        Line {
            left: Cell::new(ROUND_BYTES),
            round: Cell::new(1),
            ranks: Cell::default(),
            waiting: RefCell::default(),
            told: RefCell::default(),
        }
    }
}

impl Line {
    /// A place for a new stream.
    pub(crate) fn place(&self, priority: Priority) -> Place {
        Place { priority, rank: self.next_rank(), gave: 0 }
    }

    fn next_rank(&self) -> u64 {
        self.ranks.set(self.ranks.get() + 1);
        self.ranks.get()
    }

    /// How many of `bytes` a stream may give now; if not all, it is called when it may give more.
    pub(crate) fn grant(&self, stream: u32, place: &mut Place, bytes: usize, bell: &Waker) -> usize {
        if let Some(priority) = self.take_told(stream) {
            place.priority = priority;
        }
        let key = (place.priority.urgency.min(URGENCY_MAX), place.rank);
        let mut waiting = self.waiting.borrow_mut();
        waiting.retain(|other| other.stream != stream);
        let is_first = waiting.iter().all(|other| (other.urgency, other.rank) > key);
        let granted = if is_first { bytes.min(self.left.get()) } else { 0 };
        if granted < bytes {
            let (urgency, rank) = key;
            waiting.push(Waiting { stream, urgency, rank, bytes: bytes - granted, bell: bell.clone() });
        }
        granted
    }

    /// A stream has bytes, but h2 takes none: it keeps its place if that is because of what it has given in this round, else
    /// its client has no window for it, and others need not wait.
    pub(crate) fn stall(&self, stream: u32, place: &Place, bytes: usize, bell: &Waker) {
        if place.gave != self.round.get() {
            return self.leave(stream);
        }
        let mut waiting = self.waiting.borrow_mut();
        waiting.retain(|other| other.stream != stream);
        let (urgency, rank) = (place.priority.urgency.min(URGENCY_MAX), place.rank);
        waiting.push(Waiting { stream, urgency, rank, bytes, bell: bell.clone() });
    }

    /// A stream has given so many of the bytes that it was granted.
    pub(crate) fn give(&self, stream: u32, place: &mut Place, bytes: usize) {
        self.left.set(self.left.get().saturating_sub(bytes));
        place.gave = self.round.get();
        if !place.priority.is_incremental || bytes == 0 {
            return;
        }
        place.rank = self.next_rank();
        if let Some(own) = self.waiting.borrow_mut().iter_mut().find(|one| one.stream == stream) {
            own.rank = place.rank;
        }
    }

    /// A stream has gone, or nothing of it can be sent: others need not wait for it.
    pub(crate) fn leave(&self, stream: u32) {
        let mut waiting = self.waiting.borrow_mut();
        let Some(at) = waiting.iter().position(|one| one.stream == stream) else { return };
        waiting.swap_remove(at);
        if let Some(next) = waiting.iter().min_by_key(|one| (one.urgency, one.rank)) {
            next.bell.wake_by_ref();
        }
    }

    /// The socket has taken what was given: calls those whose turn it is.
    pub(crate) fn next_round(&self) {
        self.left.set(ROUND_BYTES);
        self.round.set(self.round.get() + 1);
        let mut waiting = self.waiting.borrow_mut();
        waiting.sort_unstable_by_key(|one| (one.urgency, one.rank));
        let mut left = ROUND_BYTES;
        for one in waiting.iter() {
            one.bell.wake_by_ref();
            left = left.saturating_sub(one.bytes);
            if left == 0 {
                return;
            }
        }
    }

    /// A client has said another priority of a stream (RFC 9218 section 7.1).
    pub(crate) fn tell(&self, stream: u32, priority: Priority) {
        if let Some(own) = self.waiting.borrow_mut().iter_mut().find(|one| one.stream == stream) {
            own.urgency = priority.urgency.min(URGENCY_MAX);
        }
        let mut told = self.told.borrow_mut();
        told.retain(|(other, _)| *other != stream);
        if told.len() == EARLY_MAX {
            told.remove(0);
        }
        told.push((stream, priority));
    }

    fn take_told(&self, stream: u32) -> Option<Priority> {
        let mut told = self.told.borrow_mut();
        let at = told.iter().position(|(other, _)| *other == stream)?;
        Some(told.swap_remove(at).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_says_urgency_and_increments() {
        let is = |field: &str, urgency, is_incremental| {
            assert_eq!(Priority::read(field.as_bytes()), Priority { urgency, is_incremental }, "{field}");
        };
        is("", 3, false);
        is("u=0", 0, false);
        is("u=5, i", 5, true);
        is("i=?1,u=7", 7, true);
        is("i, i=?0", 3, false);
        is("u=1;x=2, i;y", 1, true);
        is("u=8", 3, false);
        is("u=-1, a=b, , i=1", 3, false);
    }

    fn grant(line: &Line, stream: u32, place: &mut Place, bytes: usize) -> usize {
        let granted = line.grant(stream, place, bytes, Waker::noop());
        line.give(stream, place, granted);
        granted
    }

    #[test]
    fn the_urgent_go_first_and_the_older_before_the_younger() {
        let line = Line::default();
        let place = |field: &str| line.place(Priority::read(field.as_bytes()));
        let (mut one, mut two, mut first) = (place(""), place(""), place("u=0"));
        assert_eq!(grant(&line, 1, &mut one, 10 * ROUND_BYTES), ROUND_BYTES);
        assert_eq!(grant(&line, 3, &mut two, 100), 0);
        assert_eq!(grant(&line, 5, &mut first, 100), 0);
        line.next_round();
        assert_eq!(grant(&line, 1, &mut one, 10 * ROUND_BYTES), 0, "somebody is more urgent");
        assert_eq!(grant(&line, 5, &mut first, 100), 100);
        assert_eq!(grant(&line, 3, &mut two, 100), 0, "somebody is older");
        assert_eq!(grant(&line, 1, &mut one, 10 * ROUND_BYTES), ROUND_BYTES - 100);
        line.leave(1);
        line.next_round();
        assert_eq!(grant(&line, 3, &mut two, 100), 100);
    }

    #[test]
    fn who_is_incremental_shares() {
        let line = Line::default();
        let place = || line.place(Priority::read(b"i"));
        let (mut one, mut two) = (place(), place());
        let lots = 10 * ROUND_BYTES;
        assert_eq!((grant(&line, 1, &mut one, lots), grant(&line, 3, &mut two, lots)), (ROUND_BYTES, 0));
        line.next_round();
        assert_eq!((grant(&line, 1, &mut one, lots), grant(&line, 3, &mut two, lots)), (0, ROUND_BYTES));
        line.next_round();
        assert_eq!((grant(&line, 3, &mut two, lots), grant(&line, 1, &mut one, lots)), (0, ROUND_BYTES));
    }

    #[test]
    fn a_client_may_change_its_mind() {
        let line = Line::default();
        let (mut one, mut two) = (line.place(Priority::default()), line.place(Priority::default()));
        assert_eq!(grant(&line, 1, &mut one, 10 * ROUND_BYTES), ROUND_BYTES);
        line.tell(3, Priority { urgency: 1, is_incremental: false });
        assert_eq!(grant(&line, 3, &mut two, 10), 0);
        line.next_round();
        assert_eq!((grant(&line, 1, &mut one, 10), grant(&line, 3, &mut two, 10)), (0, 10));
        (0..100).for_each(|stream| line.tell(stream, Priority::default()));
        assert_eq!(line.told.borrow().len(), EARLY_MAX);
    }
}
