//! UDP sockets, what has arrived at them, and what is to be sent.
//!
//! Must not know who takes it. Invariant: each queue is bounded, in datagrams and in bytes.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use weft_rt::Nanos;
use weft_rt::datagrams::Batch;

/// Datagrams that wait for the handler, or to be sent; their bytes.
const QUEUE_MAX: usize = 1024;
const QUEUE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The two ends of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends {
    /// At which address of the configuration: the first that this server was told is 0.
    pub place: u32,
    /// Which of the machine's addresses, where the configuration says all.
    pub own: Option<IpAddr>,
    /// Who has sent it, or gets it.
    pub peer: SocketAddr,
}

/// One that has arrived.
#[derive(Debug)]
pub struct Datagram {
    /// What the handler calls the service.
    pub service: u32,
    /// Where, and from whom.
    pub ends: Ends,
    /// What it says.
    pub bytes: Vec<u8>,
}

pub(crate) struct Socket {
    /// The number in its events.
    pub number: u32,
    pub fd: OwnedFd,
    pub service: u32,
    pub is_open: bool,
}

/// A queue with a bound.
pub(crate) struct Queue<T> {
    pub all: VecDeque<(T, Vec<u8>)>,
    bytes: usize,
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue { all: VecDeque::new(), bytes: 0 }
    }
}

impl<T> Queue<T> {
    /// Returns whether there was room.
    pub(crate) fn push(&mut self, what: T, bytes: Vec<u8>) -> bool {
        let fits = self.all.len() < QUEUE_MAX && self.bytes + bytes.len() <= QUEUE_BYTES_MAX;
        if fits {
            self.bytes += bytes.len();
            self.all.push_back((what, bytes));
        }
        fits
    }

    pub(crate) fn pop(&mut self) -> Option<(T, Vec<u8>)> {
        let next = self.all.pop_front()?;
        self.bytes -= next.1.len();
        Some(next)
    }
}

/// The sockets, and what waits.
#[derive(Default)]
pub(crate) struct Datagrams {
    pub sockets: Vec<Socket>,
    pub batch: Option<Batch>,
    pub queue: Queue<Ends>,
    /// How many of them the handler was told of and has not taken.
    pub told: usize,
    /// Until when it is told of none, because it could not take one.
    pub rests_until: Nanos,
    pub out: Queue<Ends>,
}

impl Datagrams {
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.sockets.iter().map(|socket| socket.fd.as_raw_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_has_room_for_so_many_and_so_many_bytes() {
        let mut queue = Queue::default();
        for number in 0..QUEUE_MAX {
            assert!(queue.push(number, vec![0; 10]));
        }
        assert!(!queue.push(0, vec![]) && queue.bytes == 10 * QUEUE_MAX);
        assert_eq!(queue.pop(), Some((0, vec![0; 10])));
        assert!(queue.push(0, vec![]));
        let mut queue = Queue::default();
        for _ in 0..QUEUE_BYTES_MAX / 65_000 {
            assert!(queue.push((), vec![0; 65_000]));
        }
        assert!(!queue.push((), vec![0; 65_000]) && queue.push((), vec![0; 1]));
    }
}
